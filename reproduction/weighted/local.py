"""Weighted local training at many steps, noises and draws at once, on logistic records of norm 1.

It equals `learning.training.weighted.Weighted` with the same draws (a test compares them). Three
things make a thousand local steps of tens of thousands of rows affordable: all schedules are one
product per block of rows, equal records are counted once, and small owners are one batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.margin import Logistic
from learning.progress import ReportWork, ignore_work
from learning.randomness import Streams
from reproduction.weighted.rows import RIDGE, Rows

Gradient = Callable[[Array], Array]  # models (owners, k, p) -> mean gradients on each owner's rows
AHEAD = 50  # rounds whose noise is drawn at once
IN_A_BLOCK = 200_000  # slopes of a block for all models: fits into a core's own cache
IN_A_BATCH = 1_000_000  # slopes of a round up to which small owners are one batch
LOSS = Logistic()


@dataclass(frozen=True)
class DistinctRecords:
    """Distinct records of one owner, in single precision.

    Parameters
    ----------
    lines : rows y x.
    weighed : the same times the frequency of each.
    """

    lines: NDArray[np.float32]
    weighed: NDArray[np.float32]

    @classmethod
    def of_owner(cls, rows: Rows, own: slice) -> DistinctRecords:
        """Distinct records of an owner with a slice of the rows."""
        ids = rows.record_ids[own]
        _, first, counts = np.unique(ids, return_index=True, return_counts=True)
        lines = (rows.y[own, None] * rows.x[own])[first].astype(np.float32)
        return cls(lines, lines * np.float32(counts[:, None] / len(ids)))

    def mean_gradient(self, theta: Array) -> Array:
        """Mean gradient over all records at models (k, p), (k, p)."""
        points = theta.astype(np.float32)
        total = np.zeros(theta.shape)
        size = max(256, IN_A_BLOCK // len(theta))
        for first in range(0, len(self.lines), size):
            block = slice(first, first + size)
            total -= LOSS.negative_slopes(points @ self.lines[block].T) @ self.weighed[block]
        return total


def make_gradient(owners: Sequence[DistinctRecords], models: int) -> Gradient:
    """Mean gradients of all owners: one after the other, or one batch of small owners."""
    longest = max(len(one.lines) for one in owners)
    if len(owners) * longest * models > IN_A_BATCH:
        return lambda theta: np.stack(
            [one.mean_gradient(own) for one, own in zip(owners, theta, strict=True)]
        )
    shape = len(owners), longest, owners[0].lines.shape[1]
    lines, weighed = (np.zeros(shape, np.float32) for _ in range(2))
    for place, one in enumerate(owners):
        lines[place, : len(one.lines)] = one.lines
        weighed[place, : len(one.lines)] = one.weighed
    across = lines.swapaxes(1, 2).copy()
    return lambda theta: (
        -(LOSS.negative_slopes(theta.astype(np.float32) @ across) @ weighed).astype(float)
    )


@dataclass(frozen=True)
class Schedules:
    """Schedules of all owners' local training from the origin.

    Parameters
    ----------
    steps : (c,), the step of each schedule.
    sigmas : (c,), deviation of the noise on every coordinate of every local step.
    horizon : T, local steps.
    draws : trainings of each schedule, with common random numbers.
    """

    steps: Array
    sigmas: Array
    horizon: int
    draws: int


def train_locally(
    rows: Rows,
    sizes: Sequence[int],
    schedules: Schedules,
    streams: Streams,
    did: ReportWork = ignore_work,
) -> Array:
    """Every owner's model after T noisy local steps, (owners, schedules, draws, p).

    theta <- theta - step (grad L_j(theta) + r theta + z), z ~ N(0, sigma^2 I).

    Parameters
    ----------
    rows : the table; owners hold consecutive rows of it.
    sizes : rows of each owner.
    schedules : steps and noises.
    streams : noise, by the owner's number and the draw's.
    did : called with the share of the work that was done.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, Algorithm 1, from zero; the
    paper starts at random.
    """
    ends = np.cumsum([0, *sizes]).tolist()
    slices = (slice(i, j) for i, j in zip(ends, ends[1:], strict=False))
    owners = [DistinctRecords.of_owner(rows, own) for own in slices]
    shape = len(owners), len(schedules.steps), schedules.draws, rows.x.shape[1]
    gradient = make_gradient(owners, shape[1] * shape[2])
    noise = [streams.rngs(str(owner), count=schedules.draws) for owner in range(len(owners))]
    steps = schedules.steps[:, None, None]
    sigmas = schedules.sigmas[:, None, None]
    theta = np.zeros(shape)
    for first in range(0, schedules.horizon, AHEAD):
        count = min(AHEAD, schedules.horizon - first)
        drawn = np.array([[rng.standard_normal((count, shape[3])) for rng in own] for own in noise])
        for now in range(count):
            slope = gradient(theta.reshape(shape[0], -1, shape[3])).reshape(shape)
            slope += RIDGE * theta
            slope += sigmas * drawn[:, None, :, now]
            theta -= steps * slope
        did(count / schedules.horizon)
    return theta
