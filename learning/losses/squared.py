"""Squared loss: the training cost by sums over records, and the best model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.losses.clipping import PublicCoordinates
from learning.losses.loss import Loss, TrainingCost, sum_records
from learning.losses.records import GradientOracle, in_batches, stack_by_size
from learning.losses.slopes import SquaredSlopes
from learning.losses.statistics import SquaredStatistics, squared_statistics


def least_squares(hessians: Array, linears: Array) -> Array:
    """Least-norm minima of quadratic costs with Hessians (m, p, p) and linear parts (m, p)."""
    rcond = np.finfo(float).eps * linears.shape[1]
    return (np.linalg.pinv(hessians, rcond=rcond, hermitian=True) @ linears[:, :, None])[:, :, 0]


@dataclass(frozen=True)
class Fitness:
    """Training cost f(theta) = r/2 |theta|^2 + mean squared loss of all records, and its minimum.

    Parameters
    ----------
    statistics : SquaredStatistics of the records that count.
    regularisation : r >= 0.
    """

    statistics: SquaredStatistics
    regularisation: float = 0.0

    @property
    def hessian(self) -> Array:
        return self.statistics.hessian + self.regularisation * np.eye(len(self.statistics.xy))

    @cached_property
    def minimiser(self) -> Array:
        """The non-private optimum theta*, of least norm where the optimum is not unique."""
        found = np.linalg.lstsq(self.hessian, self.statistics.linear, rcond=None)[0]
        return np.asarray(found, dtype=float)

    @property
    def optimum(self) -> float:
        """f*, the smallest training cost."""
        return float(self.value(self.minimiser))

    def value(self, theta: Array) -> Array:
        """f at theta (..., p)."""
        penalty = 0.5 * self.regularisation * np.sum(theta**2, axis=-1)
        return self.statistics.mean_loss(theta) + penalty

    def gradient(self, theta: Array) -> Array:
        """Gradient of f at theta (..., p)."""
        return (theta - self.minimiser) @ self.hessian

    def relative(self, theta: Array) -> Array:
        """Relative fitness f(theta)/f* - 1 >= 0 at theta (..., p).

        It is the quadratic form of theta - theta*: two nearly equal costs would cancel.
        """
        error = theta - self.minimiser
        return 0.5 * np.einsum("...i,ij,...j->...", error, self.hessian, error) / self.optimum


class Squared(SquaredSlopes, Loss):
    """(theta'x - y)^2, of a number y."""

    curvature: ClassVar[float] = 2.0
    curved: ClassVar[bool] = True
    measure: ClassVar[str] = "mean squared error"

    def value(self, t: Any) -> Any:
        """t^2."""
        return np.square(t)

    def negative_slopes(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """-2 t, written over t."""
        t *= np.float32(-2)
        return t

    def working_records(self, x: Array, said: Array, y: Array) -> tuple[Array, Array]:
        """x and the residual y - said."""
        return x, y - said

    def oracle(
        self, bounds: PublicCoordinates, x: Array, y: Array, *, one_by_one: bool = False
    ) -> GradientOracle:
        """Sum over the clipped records, unless single records or clipped gradients are needed."""
        if one_by_one or bounds.clips_gradients:
            return super().oracle(bounds, x, y, one_by_one=True)
        return sum_records(bounds, x, y)

    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]:
        """Least squares."""
        fitness = Fitness(squared_statistics(x, y), regularisation)
        return fitness.minimiser, fitness.optimum

    def fit_each(self, parts: Sequence[tuple[Array, Array]], regularisation: float) -> Array:
        """Least squares of least norm; parts of equal size share a product."""
        models = np.empty((len(parts), parts[0][0].shape[1]))
        for equal, x, y in stack_by_size(parts):
            across = x.swapaxes(1, 2)
            hessian = 2 * (across @ x) / x.shape[1] + regularisation * np.eye(x.shape[2])
            linear = 2 * (across @ y[:, :, None]) / x.shape[1]
            models[equal] = least_squares(hessian, linear[:, :, 0])
        return models

    def fitness(self, parts: Sequence[tuple[Array, Array]], regularisation: float) -> TrainingCost:
        """Training cost by sums over all records."""
        first, *rest = (squared_statistics(x, y) for x, y in in_batches(parts))
        return Fitness(sum(rest, first), regularisation)
