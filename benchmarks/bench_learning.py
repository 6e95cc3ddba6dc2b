"""Speed of learning: batched training against a loop over the records, and a forecast over a million points.

    python benchmarks/bench_learning.py

The loop is timed on one round of one run and scaled up to all rounds and runs. Reading the table is left out of both
sides; the batched time includes the one pass over the records.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np

from learning.forecast.clipped_problem import oracle_problem
from learning.forecast.fitness import FitnessForecast, forecast
from learning.forecast.settings import Settings
from learning.losses.coordinates import Coordinates
from learning.losses.squared import Fitness, squared_statistics
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.engine import make_clients, train
from learning.training.plan import Plan
from learning.training.task import Task

OWNERS, RECORDS, WIDTH, HORIZON, RUNS = 3, 250_000, 10, 100, 100
GRID = 1000
AT_LEAST, AT_MOST = 300, 0.1


def timed(action: Callable[[], object], repeats: int = 3) -> float:
    """Seconds of the fastest of a few calls."""
    best = np.inf
    for _ in range(repeats):
        start = perf_counter()
        action()
        best = min(best, perf_counter() - start)
    return best


def records() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    owners = []
    for _ in range(OWNERS):
        x = np.column_stack([rng.uniform(-1, 1, size=(RECORDS, WIDTH - 1)), np.ones(RECORDS)])
        owners.append((x, x @ np.linspace(1, -1, WIDTH) + 0.5 * rng.normal(size=RECORDS)))
    return owners


def batched(owners: list, coordinates: Coordinates, plan: Plan) -> np.ndarray:
    """The engine: one pass over the records, then all runs of a round together."""
    statistics = [coordinates.statistics(x, y) for x, y in owners]
    clients = make_clients(
        [f"o{i}" for i in range(OWNERS)],
        statistics,
        np.ones(OWNERS),
        Laplace(),
        coordinates.gradient_bound,
        plan.horizon,
    )
    return train(Task(clients, coordinates, plan, Laplace(), runs=RUNS, streams=Streams(0, "noise"))).theta


def loop_round(
    owners: list, coordinates: Coordinates, theta: np.ndarray, step: float, *, rng: np.random.Generator
) -> np.ndarray:
    """One round of one run with the gradient taken over the records, vectorised within an owner."""
    gradient = np.zeros(WIDTH)
    for x, y in owners:
        answer = 2 * x.T @ (x @ theta - y) / len(y)
        gradient += (answer + rng.laplace(size=WIDTH) * 2 * coordinates.gradient_bound * HORIZON / len(y)) / OWNERS
    return np.clip(theta - step * gradient, -coordinates.theta_max, coordinates.theta_max)


def interpreted_round(owners: list, theta: np.ndarray, rows: int) -> np.ndarray:
    """The same sum record by record in the interpreter, over the first ``rows`` of each owner."""
    gradient = np.zeros(WIDTH)
    for x, y in owners:
        for record, target in zip(x[:rows], y[:rows], strict=True):
            gradient += 2 * (record @ theta - target) * record
    return gradient


def forecasts(owners: list, coordinates: Coordinates) -> dict[str, FitnessForecast]:
    x, y = (np.concatenate(part) for part in zip(*owners, strict=True))
    fitness = Fitness(squared_statistics(x, y))
    problem = oracle_problem(coordinates, coordinates.statistics(x, y), fitness)

    def made(**choices) -> FitnessForecast:
        return forecast(
            problem,
            Settings("averaged", **choices),
            sizes=np.full(OWNERS, RECORDS),
            mechanism=Laplace(),
            basis="oracle",
            dispersion=2.5,
            gradient_bound=coordinates.gradient_bound,
        )

    return {"envelope": made(), "fixed plan": made(horizon=HORIZON, step_size=0.2, returned=("last",))}


def main() -> int:
    """Print the table; 1 if a target is missed."""
    owners = records()
    coordinates = Coordinates(np.zeros(WIDTH), np.eye(WIDTH), float(WIDTH), 8.0, 1.5)
    plan = Plan("averaged", "averaged", HORIZON, 0.2)
    rng, theta = np.random.default_rng(1), np.full(WIDTH, 0.1)
    engine = timed(lambda: batched(owners, coordinates, plan))
    one = timed(lambda: loop_round(owners, coordinates, theta, 0.1, rng=rng), 5)
    rows = 2000
    slow = timed(lambda: interpreted_round(owners, theta, rows), 2) * RECORDS / rows
    scale = RUNS * (HORIZON - 1)
    print(f"training: {RUNS} runs, {OWNERS} owners, n = {OWNERS * RECORDS:,}, p = {WIDTH}, T = {HORIZON}")
    print(f"  {'way':<46}{'seconds':>12}{'ratio':>12}")
    print(f"  {'batched, one pass included':<46}{engine:>12.3f}{1:>12}")
    loops = {"loop over runs, NumPy over records, scaled up": one, "loop over runs and records, scaled up": slow}
    for name, seconds in loops.items():
        print(f"  {name:<46}{scale * seconds:>12.1f}{scale * seconds / engine:>12,.0f}")
    missed = scale * one / engine < AT_LEAST
    mechanism = Laplace()
    epsilon, sizes = np.geomspace(0.1, 10, GRID)[:, None], np.geomspace(1e3, 1e6, GRID)[None]
    sums = np.stack(np.broadcast_arrays(OWNERS * mechanism.noise_term(epsilon), OWNERS * sizes), axis=-1)
    print(f"forecast over {GRID} x {GRID} points of (epsilon, n)")
    print(f"  {'forecast':<46}{'seconds':>12}{'share of target':>17}")
    for name, planner in forecasts(owners, coordinates).items():
        seconds = timed(lambda planner=planner: planner.excess(sums), 5)
        missed |= seconds > AT_MOST
        print(f"  {name:<46}{seconds:>12.3f}{seconds / AT_MOST:>17.2f}")
    print(f"targets (at least {AT_LEAST} times, at most {AT_MOST} s): {'missed' if missed else 'met'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
