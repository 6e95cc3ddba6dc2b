"""Speed of training along clipped gradients: against the bare products that it cannot do without.

    python benchmarks/bench_clipping.py

Each round needs every record's score at every run's point, and the sum of records times slopes: two products, in the
single precision and the blocks of the engine; the first round, in which all runs ask at one point, those of one run. Engine
time includes the one pass in which records are moved and their lengths counted.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.bench_learning import OWNERS, RECORDS, RUNS, WIDTH, records, timed
from learning.losses import LOSSES, Coordinates
from learning.losses.linear_records import MOST_ROWS, NUMBERS_IN_A_BLOCK
from learning.privacy.gaussian import Gaussian
from learning.randomness import Streams
from learning.threads import one_blas_thread, over_blocks
from learning.training.engine import make_clients, train
from learning.training.plan import Plan
from learning.training.task import Task

HORIZON, AT_MOST = 3, 3.0


def trained(owners: list, coordinates: Coordinates) -> np.ndarray:
    """The engine: records moved and measured, then all runs of a round together."""
    mechanism, names = Gaussian(1e-6), [f"o{i}" for i in range(OWNERS)]
    held = [coordinates.oracle(x, y) for x, y in owners]
    clients = make_clients(names, held, np.ones(OWNERS), mechanism, coordinates.gradient_bound, HORIZON)
    plan = Plan("sgd2", "last", HORIZON, 0.2)
    return train(Task(clients, coordinates, plan, mechanism, runs=RUNS, streams=Streams(0, "noise"))).theta


def products(lines: list[np.ndarray]) -> None:
    """The products of all rounds and owners, and nothing else."""
    for runs in (1, *[RUNS] * (HORIZON - 1)):
        points = np.ones((runs, WIDTH + 1), dtype=np.float32)
        count = min(max(256, NUMBERS_IN_A_BLOCK // runs), MOST_ROWS)
        for owner in lines:
            blocks = (owner[first : first + count] for first in range(0, len(owner), count))
            for _ in over_blocks(lambda block, points=points: (points @ block.T) @ block, blocks):
                pass


def main() -> int:
    """Print the table; 1 if the target is missed."""
    owners, missed = records(), False
    labels = [(x, np.where(y > 0, 1.0, -1.0)) for x, y in owners]
    print(f"clipped training: {RUNS} runs, {OWNERS} owners, n = {OWNERS * RECORDS:,}, p = {WIDTH}, T = {HORIZON}")
    print(f"  {'way':<46}{'seconds':>12}{'ratio':>12}")
    with one_blas_thread():
        lines = [np.column_stack([x, y]).astype(np.float32) for x, y in owners]
        bare = timed(lambda: products(lines))
        print(f"  {'the bare products':<46}{bare:>12.3f}{1:>12}")
        for name in ("squared", "hinge", "logistic"):
            held, loss = labels if LOSSES[name].labels else owners, LOSSES[name]
            coordinates = Coordinates(np.zeros(WIDTH), np.eye(WIDTH), 2.0, norm=2, loss=loss, clipping="record")
            seconds = timed(lambda held=held, coordinates=coordinates: trained(held, coordinates))
            missed |= name == "squared" and seconds > AT_MOST * bare
            print(f"  {'clipped, one pass included: ' + name:<46}{seconds:>12.3f}{seconds / bare:>12.2f}")
    print(f"target (squared loss, at most {AT_MOST:g} times): {'missed' if missed else 'met'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
