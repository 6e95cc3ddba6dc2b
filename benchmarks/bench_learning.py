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
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.bench_records import clients_for, train_engine
from benchmarks.measuring import Targets, time_wall
from learning.data.owner_data import OwnerData
from learning.forecast.fitness import forecast_fitness
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
from learning.threads import one_blas_thread, over_blocks
from learning.training.plan import Plan

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


def make_records() -> list[OwnerData]:
    """Make records of all owners."""
    rng = np.random.default_rng(0)
    owners = []
    for number in range(OWNERS):
        x = np.column_stack([rng.uniform(-1, 1, size=(RECORDS, WIDTH - 1)), np.ones(RECORDS)])
        y = x @ np.linspace(1, -1, WIDTH) + 0.5 * rng.normal(size=RECORDS)
        owners.append(OwnerData(f"o{number}", x, y))
    return owners


def train_records(
    owners: Sequence[OwnerData], coordinates: Coordinates, plan: Plan, noise: Mechanism
) -> None:
    """Train by the engine: one pass over the records, then all runs of a round together."""
    clients = clients_for(owners, coordinates, plan.horizon, 1.0, noise)
    train_engine(clients, coordinates, RUNS, plan, noise)


def loop_round(
    owners: Sequence[OwnerData],
    coordinates: Coordinates,
    theta: np.ndarray,
    step: float,
    *,
    rng: np.random.Generator,
) -> np.ndarray:
    """One round of one run with gradients over the records, vectorised within an owner."""
    gradient = np.zeros(WIDTH)
    scale = 2 * coordinates.gradient_bound * HORIZON
    for one in owners:
        answer = 2 * one.x.T @ (one.x @ theta - one.y) / len(one.y)
        gradient += (answer + rng.laplace(size=WIDTH) * scale / len(one.y)) / OWNERS
    return np.clip(theta - step * gradient, -coordinates.theta_max, coordinates.theta_max)


def compare_loops(owners: Sequence[OwnerData], coordinates: Coordinates, targets: Targets) -> None:
    """Compare batched training with a loop over runs."""
    plan = Plan("averaged", "averaged", HORIZON, 0.2)
    rng = np.random.default_rng(1)
    theta = np.full(WIDTH, 0.1)
    engine = time_wall(lambda: train_records(owners, coordinates, plan, Laplace()))
    one = time_wall(lambda: loop_round(owners, coordinates, theta, 0.1, rng=rng), 5)
    targets.show(f"batched training, T = {HORIZON}, one pass included", engine)
    ratio = RUNS * (HORIZON - 1) * one / engine
    targets.show("batched training: against a loop over runs", ratio, "times", least=AT_LEAST)


def time_forecasts(owners: Sequence[OwnerData], coordinates: Coordinates, targets: Targets) -> None:
    """Time forecasts of the best plan and of a fixed one."""
    epsilon = np.geomspace(0.1, 10, GRID)[:, None]
    sizes = np.geomspace(1e3, 1e6, GRID)[None]
    terms = np.broadcast_arrays(OWNERS * Laplace().noise_term(epsilon), OWNERS * sizes)
    sums = np.stack(terms, axis=-1)
    x = np.concatenate([one.x for one in owners])
    y = np.concatenate([one.y for one in owners])
    fitness = Fitness(squared_statistics(x, y))
    problem = oracle_problem(coordinates, coordinates.statistics(x, y), fitness)
    fixed = {"horizon": HORIZON, "step_size": 0.2, "returned": ("last",)}
    for name, choices in {"envelope": {}, "fixed plan": fixed}.items():
        made = forecast_fitness(
            problem,
            Settings("averaged", **choices),
            sizes=np.full(OWNERS, RECORDS),
            mechanism=Laplace(),
            basis="oracle",
            dispersion=2.5,
            gradient_bound=coordinates.gradient_bound,
        )
        seconds = time_wall(partial(made.excess, sums), 5)
        targets.show(f"forecast at {GRID} x {GRID} of (epsilon, n): {name}", seconds, most=AT_MOST)


def multiply_products(lines: list[np.ndarray]) -> None:
    """The products of all rounds and owners, and nothing else."""
    for runs in (1, *[RUNS] * (CLIPPED_HORIZON - 1)):
        points = np.ones((runs, WIDTH + 1), dtype=np.float32)
        count = min(max(256, NUMBERS_IN_A_BLOCK // runs), MOST_ROWS)
        for owner in lines:
            blocks = (owner[first : first + count] for first in range(0, len(owner), count))
            for _ in over_blocks(lambda block, points=points: (points @ block.T) @ block, blocks):
                pass


@one_blas_thread()
def compare_clipped(owners: Sequence[OwnerData], targets: Targets) -> None:
    """Compare clipped training with its bare products."""
    labels = [replace(one, y=np.where(one.y > 0, 1.0, -1.0)) for one in owners]
    plan = Plan("sgd2", "last", CLIPPED_HORIZON, 0.2)
    lines = [np.column_stack([one.x, one.y]).astype(np.float32) for one in owners]
    bare = time_wall(lambda: multiply_products(lines))
    targets.show(f"clipped training, T = {CLIPPED_HORIZON}: the bare products", bare)
    for name in ("squared", "hinge", "logistic"):
        loss = LOSSES[name]
        held = labels if loss.labels else owners
        common = (np.zeros(WIDTH), np.eye(WIDTH), 2.0)
        coordinates = Coordinates(*common, norm=2, loss=loss, clipping="record")
        seconds = time_wall(partial(train_records, held, coordinates, plan, Gaussian(1e-6)))
        most = TIMES_PRODUCTS if name == "squared" else np.inf
        targets.show(f"clipped training: {name}, over these", seconds / bare, "times", most=most)


def main() -> int:
    """Print all figures; 1 if a target is missed."""
    targets = Targets()
    owners = make_records()
    coordinates = Coordinates(np.zeros(WIDTH), np.eye(WIDTH), float(WIDTH), 8.0, 1.5)
    print(f"{RUNS} runs, {OWNERS} owners, n = {OWNERS * RECORDS:,}, p = {WIDTH}, by the clock")
    compare_loops(owners, coordinates, targets)
    time_forecasts(owners, coordinates, targets)
    compare_clipped(owners, targets)
    return targets.report()


if __name__ == "__main__":
    sys.exit(main())
