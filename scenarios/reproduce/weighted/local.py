"""Weighted local training at many steps, noises and draws at once, on logistic records of norm 1.

The same walk as `learning.training.weighted.Weighted` takes, from the same draws (a test compares them). What makes a
thousand local steps of tens of thousands of rows affordable: all schedules are one product per block of rows, equal records
are counted once, and small owners walk side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.logistic import Logistic
from learning.progress import Did, unnoticed
from learning.randomness import Streams
from scenarios.reproduce.weighted.rows import RIDGE, Rows

Gradient = Callable[[Array], Array]  # models (owners, k, p) -> mean gradients on each owner's rows
AHEAD = 50  # rounds whose noise is drawn at once
IN_A_BLOCK = 200_000  # slopes of a block for all models: stays in a core's own cache
SIDE_BY_SIDE = 1_000_000  # slopes of a round up to which small owners walk side by side
LOSS = Logistic()


@dataclass(frozen=True)
class Counted:
    """Distinct records of one owner, in single precision: rows y x, and the same times how often each occurs, over n."""

    lines: NDArray[np.float32]
    weighed: NDArray[np.float32]

    @classmethod
    def of(cls, rows: Rows, own: slice) -> Counted:
        """Of an owner who holds some of the rows."""
        alike = rows.alike[own]
        _, first, counts = np.unique(alike, return_index=True, return_counts=True)
        lines = (rows.y[own, None] * rows.x[own])[first].astype(np.float32)
        return cls(lines, lines * np.float32(counts[:, None] / len(alike)))

    def gradient(self, theta: Array) -> Array:
        """Mean gradient over all records at models (k, p), (k, p)."""
        points, total = theta.astype(np.float32), np.zeros(theta.shape)
        size = max(256, IN_A_BLOCK // len(theta))
        for first in range(0, len(self.lines), size):
            block = slice(first, first + size)
            total -= LOSS.falls(points @ self.lines[block].T) @ self.weighed[block]
        return total


def gradient_of(owners: Sequence[Counted], models: int) -> Gradient:
    """Mean gradients of all owners at so many models of each: one after the other, or side by side where they are small."""
    longest = max(len(one.lines) for one in owners)
    if len(owners) * longest * models > SIDE_BY_SIDE:
        return lambda theta: np.stack([one.gradient(own) for one, own in zip(owners, theta, strict=True)])
    lines, weighed = (np.zeros((len(owners), longest, owners[0].lines.shape[1]), np.float32) for _ in range(2))
    for place, one in enumerate(owners):
        lines[place, : len(one.lines)], weighed[place, : len(one.lines)] = one.lines, one.weighed
    return partial(_side_by_side, lines.swapaxes(1, 2).copy(), weighed)


def _side_by_side(across: NDArray[np.float32], weighed: NDArray[np.float32], theta: Array) -> Array:
    return -(LOSS.falls(theta.astype(np.float32) @ across) @ weighed).astype(float)


@dataclass(frozen=True)
class Walks:
    """Schedules that all owners walk by, from the origin.

    Parameters
    ----------
    steps : (c,), the step of each schedule.
    sigmas : (c,), the deviation of its noise on every coordinate of every local step.
    horizon : T, local steps.
    draws : trainings of each, which all schedules share the draws of.
    """

    steps: Array
    sigmas: Array
    horizon: int
    draws: int


def local_models(
    rows: Rows, sizes: Sequence[int], walks: Walks, streams: Streams, did: Did = unnoticed
) -> NDArray[np.float64]:
    """What every owner has after T noisy local steps, (owners, schedules, draws, p).

    theta <- theta - step (grad L_j(theta) + r theta + z), z ~ N(0, sigma^2 I).

    Parameters
    ----------
    rows : the table; owners hold consecutive rows of it.
    sizes : how many each.
    walks : the schedules.
    streams : noise, by the owner's number and the draw's.
    did : called with the share of the work that was done.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, Algorithm 1; started at zero, where the paper starts
    at random.
    """
    ends = np.cumsum([0, *sizes]).tolist()
    owners = [Counted.of(rows, slice(i, j)) for i, j in zip(ends, ends[1:], strict=False)]
    shape = len(owners), len(walks.steps), walks.draws, rows.x.shape[1]
    gradient = gradient_of(owners, shape[1] * shape[2])
    noise = [streams.rngs(str(owner), count=walks.draws) for owner in range(len(owners))]
    steps, sigmas = walks.steps[:, None, None], walks.sigmas[:, None, None]
    theta = np.zeros(shape)
    for first in range(0, walks.horizon, AHEAD):
        count = min(AHEAD, walks.horizon - first)
        drawn = np.array([[rng.standard_normal((count, shape[3])) for rng in own] for own in noise])
        for now in range(count):
            slope = gradient(theta.reshape(shape[0], -1, shape[3])).reshape(shape)
            slope += RIDGE * theta
            slope += sigmas * drawn[:, None, :, now]
            theta -= steps * slope
        did(count / walks.horizon)
    return theta
