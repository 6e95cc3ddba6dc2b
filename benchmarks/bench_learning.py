"""Speed of learning: batched and clipped training, and a forecast over a million points.

    python -m benchmarks.bench_learning

The loop is timed on one round of one run and scaled up to all rounds and runs. Reading the table is
excluded; the time of the engine includes the one pass over the records. Clipped training is
compared with its least work: each round needs every record's score at every run's point, and the
sum of records times slopes, two products in the single precision and the blocks of the engine; the
first round, in which all runs ask at one point, those of one run.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

from benchmarks.measuring import report_targets, time_wall
from learning.forecast.fitness import FitnessForecast, forecast_fitness
from learning.forecast.inputs import Settings
from learning.forecast.law import oracle_problem
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.losses.records import MOST_ROWS, NUMBERS_IN_A_BLOCK
from learning.losses.squared import Fitness
from learning.losses.statistics import squared_statistics
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.threads import one_blas_thread, over_blocks
from learning.training.client import make_clients
from learning.training.engine import train
from learning.training.plan import Plan
from learning.training.task import Task

OWNERS = 3
RECORDS = 250_000
WIDTH = 10
HORIZON = 100
RUNS = 100
GRID = 1000
AT_LEAST = 300
AT_MOST = 0.1  # seconds of a forecast
CLIPPED_HORIZON = 3
TIMES_PRODUCTS = 3.0
Owners = list[tuple[np.ndarray, np.ndarray]]


def make_records() -> Owners:
    """Make records of all owners."""
    rng = np.random.default_rng(0)
    owners = []
    for _ in range(OWNERS):
        x = np.column_stack([rng.uniform(-1, 1, size=(RECORDS, WIDTH - 1)), np.ones(RECORDS)])
        owners.append((x, x @ np.linspace(1, -1, WIDTH) + 0.5 * rng.normal(size=RECORDS)))
    return owners


def train_engine(owners: Owners, coordinates: Coordinates, plan: Plan, noise: Mechanism) -> None:
    """Train by the engine: one pass over the records, then all runs of a round together."""
    names = [f"o{i}" for i in range(OWNERS)]
    records = [coordinates.oracle(x, y) for x, y in owners]
    budgets = np.ones(OWNERS)
    bound = coordinates.gradient_bound
    clients = make_clients(names, records, budgets, noise, bound, plan.horizon)
    train(Task(clients, coordinates, plan, noise, runs=RUNS, streams=Streams(0, "noise")))


def loop_round(
    owners: Owners,
    coordinates: Coordinates,
    theta: np.ndarray,
    step: float,
    *,
    rng: np.random.Generator,
) -> np.ndarray:
    """One round of one run with gradients over the records, vectorised within an owner."""
    gradient = np.zeros(WIDTH)
    scale = 2 * coordinates.gradient_bound * HORIZON
    for x, y in owners:
        answer = 2 * x.T @ (x @ theta - y) / len(y)
        gradient += (answer + rng.laplace(size=WIDTH) * scale / len(y)) / OWNERS
    return np.clip(theta - step * gradient, -coordinates.theta_max, coordinates.theta_max)


def make_forecasts(owners: Owners, coordinates: Coordinates) -> dict[str, FitnessForecast]:
    """Make forecasts of the best plan and of a fixed one."""
    x, y = (np.concatenate(part) for part in zip(*owners, strict=True))
    fitness = Fitness(squared_statistics(x, y))
    problem = oracle_problem(coordinates, coordinates.statistics(x, y), fitness)
    plans = {
        "envelope": {},
        "fixed plan": {"horizon": HORIZON, "step_size": 0.2, "returned": ("last",)},
    }
    return {
        name: forecast_fitness(
            problem,
            Settings("averaged", **choices),
            sizes=np.full(OWNERS, RECORDS),
            mechanism=Laplace(),
            basis="oracle",
            dispersion=2.5,
            gradient_bound=coordinates.gradient_bound,
        )
        for name, choices in plans.items()
    }


def print_title(subject: str, horizon: int) -> None:
    """Print the title of a table of trainings."""
    size = f"{RUNS} runs, {OWNERS} owners, n = {OWNERS * RECORDS:,}, p = {WIDTH}, T = {horizon}"
    print(f"{subject}: {size}")
    print(f"  {'way':<46}{'seconds':>12}{'ratio':>12}")


def compare_loops(owners: Owners, coordinates: Coordinates) -> bool:
    """Print batched training against loops; True where the target is missed."""
    plan = Plan("averaged", "averaged", HORIZON, 0.2)
    rng = np.random.default_rng(1)
    theta = np.full(WIDTH, 0.1)
    engine = time_wall(lambda: train_engine(owners, coordinates, plan, Laplace()))
    one = time_wall(lambda: loop_round(owners, coordinates, theta, 0.1, rng=rng), 5)
    loop = RUNS * (HORIZON - 1) * one
    print_title("training", HORIZON)
    print(f"  {'batched, one pass included':<46}{engine:>12.3f}{1:>12}")
    name = "loop over runs, NumPy over records, scaled up"
    print(f"  {name:<46}{loop:>12.1f}{loop / engine:>12,.0f}")
    return loop / engine < AT_LEAST


def time_forecasts(owners: Owners, coordinates: Coordinates) -> bool:
    """Print seconds of forecasts; True where the target is missed."""
    epsilon = np.geomspace(0.1, 10, GRID)[:, None]
    sizes = np.geomspace(1e3, 1e6, GRID)[None]
    terms = np.broadcast_arrays(OWNERS * Laplace().noise_term(epsilon), OWNERS * sizes)
    sums = np.stack(terms, axis=-1)
    print(f"forecast over {GRID} x {GRID} points of (epsilon, n)")
    print(f"  {'forecast':<46}{'seconds':>12}{'share of target':>17}")
    missed = False
    for name, planner in make_forecasts(owners, coordinates).items():
        seconds = time_wall(partial(planner.excess, sums), 5)
        missed |= seconds > AT_MOST
        print(f"  {name:<46}{seconds:>12.3f}{seconds / AT_MOST:>17.2f}")
    return missed


def multiply_products(lines: list[np.ndarray]) -> None:
    """The products of all rounds and owners, and nothing else."""
    for runs in (1, *[RUNS] * (CLIPPED_HORIZON - 1)):
        points = np.ones((runs, WIDTH + 1), dtype=np.float32)
        count = min(max(256, NUMBERS_IN_A_BLOCK // runs), MOST_ROWS)
        for owner in lines:
            blocks = (owner[first : first + count] for first in range(0, len(owner), count))
            for _ in over_blocks(lambda block, points=points: (points @ block.T) @ block, blocks):
                pass


def compare_products(owners: Owners) -> bool:
    """Print clipped training against its bare products; True where the target is missed."""
    missed = False
    labels = [(x, np.where(y > 0, 1.0, -1.0)) for x, y in owners]
    plan = Plan("sgd2", "last", CLIPPED_HORIZON, 0.2)
    common = (np.zeros(WIDTH), np.eye(WIDTH), 2.0)
    print_title("clipped training", CLIPPED_HORIZON)
    with one_blas_thread():
        lines = [np.column_stack([x, y]).astype(np.float32) for x, y in owners]
        bare = time_wall(lambda: multiply_products(lines))
        print(f"  {'the bare products':<46}{bare:>12.3f}{1:>12}")
        for name in ("squared", "hinge", "logistic"):
            held = labels if LOSSES[name].labels else owners
            coordinates = Coordinates(*common, norm=2, loss=LOSSES[name], clipping="record")
            seconds = time_wall(partial(train_engine, held, coordinates, plan, Gaussian(1e-6)))
            missed |= name == "squared" and seconds > TIMES_PRODUCTS * bare
            way = f"clipped, one pass included: {name}"
            print(f"  {way:<46}{seconds:>12.3f}{seconds / bare:>12.2f}")
    return missed


def main() -> int:
    """Print the tables; 1 if a target is missed."""
    owners = make_records()
    coordinates = Coordinates(np.zeros(WIDTH), np.eye(WIDTH), float(WIDTH), 8.0, 1.5)
    missed = [
        compare_loops(owners, coordinates),
        time_forecasts(owners, coordinates),
        compare_products(owners),
    ]
    asked = f"loops at least {AT_LEAST} times, forecasts at most {AT_MOST} s, "
    print(f"asked: {asked}squared loss at most {TIMES_PRODUCTS:g} times the products")
    return report_targets(any(missed))


if __name__ == "__main__":
    sys.exit(main())
