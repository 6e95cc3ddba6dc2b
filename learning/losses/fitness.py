"""The best model that records allow, and how far other models are from it: what relative fitness is counted against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from learning.arrays import Array
from learning.threads import one_blas_thread


class TrainingCost(Protocol):
    """Training cost f(theta) = r/2 |theta|^2 + mean loss, and its minimum."""

    @property
    def regularisation(self) -> float: ...
    @property
    def minimiser(self) -> Array: ...
    @property
    def optimum(self) -> float: ...
    def value(self, theta: Array) -> Array: ...
    def relative(self, theta: Array) -> Array: ...


class RecordLoss(Protocol):
    """What a training cost needs of a `learning.losses.loss.Loss`."""

    @property
    def certified(self) -> bool: ...
    def loss_sum(self, x: Array, y: Array, theta: Array) -> Array: ...
    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]: ...


@dataclass(frozen=True)
class RecordFitness:
    """Training cost under a loss that no sums stand for, counted in double precision on the records.

    Parameters
    ----------
    loss: the loss, whose best model is f*.
    parts: records (x (n, p), y (n,)) of each owner.
    regularisation: r of the cost, above 0 for labels.
    """

    loss: RecordLoss
    parts: Sequence[tuple[Array, Array]] = field(repr=False)
    regularisation: float

    @cached_property
    def _best(self) -> tuple[Array, float]:
        x, y = (np.concatenate([part[i] for part in self.parts]) for i in (0, 1))
        with one_blas_thread():
            return self.loss.fit(x, y, self.regularisation)

    @property
    def minimiser(self) -> Array:
        """The non-private optimum theta*."""
        return self._best[0]

    @property
    def optimum(self) -> float:
        """f*, the smallest training cost."""
        return self._best[1]

    def mean_loss(self, theta: Array) -> Array:
        """Mean loss of the records at theta (runs, p), (runs,)."""
        total, count = np.zeros(len(theta)), 0
        for x, y in self.parts:
            total += self.loss.loss_sum(x, y, theta)
            count += len(y)
        return total / count

    def value(self, theta: Array) -> Array:
        """f at theta (..., p)."""
        flat = theta.reshape(-1, theta.shape[-1])
        value = self.mean_loss(flat) + 0.5 * self.regularisation * np.sum(flat**2, axis=1)
        return value.reshape(theta.shape[:-1])

    def relative(self, theta: Array) -> Array:
        """Relative fitness f(theta)/f* - 1 at theta (..., p).

        Below 0 only where f* is the best found, and a better model may turn up; elsewhere that would be rounding.
        """
        relative = self.value(theta) / self.optimum - 1
        return np.maximum(relative, 0.0) if self.loss.certified else relative
