"""Squared loss: sums over records that stand for them, the bound on gradients, and the best model in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.protocols import Clipping, GradientOracle, TrainingCost


def squared_gradient_bound(radius: ArrayLike, target_bound: ArrayLike, theta_max: ArrayLike, norm: int = 1) -> Array:
    """Half the furthest that two records' gradients can lie apart: the Xi or G that noise is scaled to.

    The gradient of (u - phi'x)^2 is -2 u x + 2 (phi'x) x, with |phi'x| <= theta_max B and |u| <= Y.

    Norm 1: Xi = 2 (theta_max B + Y) B, the largest gradient; two of them attain twice that.
    Norm 2: G = (theta_max B + 2 Y) B, less than the largest gradient 2 (theta_max B + Y) B: for |x| <= B the points
    (phi'x) x lie in a ball of diameter |phi| B^2, since |(2 vv' - I) phi| <= |phi| for |v| <= 1, so that part of two
    gradients is at most 2 theta_max B^2 apart, not 4.

    Parameters
    ----------
    radius : B, bound on the norm of x (the constant included).
    target_bound : Y, bound on |u|.
    theta_max : bound on |phi|_inf (norm 1) or |phi|_2 (norm 2).
    norm : 1 or 2.

    Source: Wu et al., The Value of Collaboration, Assumption 3 (norm 1); the papers do not say how Xi is found for
    unbounded records, here it follows from public ranges. Norm 2: ours.

    >>> float(squared_gradient_bound(2.0, 1.0, 0.5)), float(squared_gradient_bound(2.0, 1.0, 0.5, norm=2))
    (8.0, 6.0)
    """
    radius, target, ball = (np.asarray(v, dtype=float) for v in (radius, target_bound, theta_max))
    return 2 * (ball * radius + target) * radius if norm == 1 else (ball * radius + 2 * target) * radius


@dataclass(frozen=True)
class SquaredStatistics:
    """All that squared loss needs from n records: sums of xx', xy and y^2. Adding two adds their records.

    mean loss(theta) = theta' A theta - 2 b'theta + c with A = sum xx'/n, b = sum xy/n, c = sum y^2/n.
    """

    n_records: int
    xx: Array = field(repr=False)
    xy: Array = field(repr=False)
    yy: float = field(repr=False)

    def __add__(self, other: SquaredStatistics) -> SquaredStatistics:
        return SquaredStatistics(
            self.n_records + other.n_records, self.xx + other.xx, self.xy + other.xy, self.yy + other.yy
        )

    def __mul__(self, factor: float) -> SquaredStatistics:
        """As many records, each counted so many times."""
        return replace(self, xx=factor * self.xx, xy=factor * self.xy, yy=factor * self.yy)

    @property
    def n_parameters(self) -> int:
        return len(self.xy)

    @property
    def hessian(self) -> Array:
        """Hessian of the mean loss, 2 A, (p, p)."""
        return 2 * self.xx / self.n_records

    @property
    def linear(self) -> Array:
        """Minus its gradient at zero, 2 b, (p,)."""
        return 2 * self.xy / self.n_records

    def gradient(self, theta: Array) -> Array:
        """Gradient of the mean loss at theta (..., p)."""
        return theta @ self.hessian - self.linear

    def mean_loss(self, theta: Array) -> Array:
        """Mean loss at theta (..., p)."""
        quadratic = 0.5 * np.einsum("...i,ij,...j->...", theta, self.hessian, theta)
        return quadratic - theta @ self.linear + self.yy / self.n_records


def squared_statistics(x: Array, y: Array) -> SquaredStatistics:
    """One pass over the records: (sum xx', sum xy, sum y^2)."""
    return SquaredStatistics(len(y), x.T @ x, x.T @ y, float(y @ y))


def mixed(statistics: Sequence[SquaredStatistics], weights: ArrayLike) -> SquaredStatistics:
    """Statistics of all records together, each owner's mean counting with its weight: sum q_l mean_l.

    Weights by size n_l/n give the plain sum.
    """
    total = sum(s.n_records for s in statistics)
    first, *rest = (s * (float(q) * total / s.n_records) for s, q in zip(statistics, np.asarray(weights), strict=True))
    return sum(rest, first)


@dataclass(frozen=True)
class Fitness:
    """Training cost f(theta) = r/2 |theta|^2 + mean squared loss of the pooled records, and its minimum.

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
        return np.asarray(np.linalg.lstsq(self.hessian, self.statistics.linear, rcond=None)[0], dtype=float)

    @property
    def optimum(self) -> float:
        """f*, the smallest training cost."""
        return float(self.value(self.minimiser))

    def value(self, theta: Array) -> Array:
        """f at theta (..., p)."""
        return self.statistics.mean_loss(theta) + 0.5 * self.regularisation * np.sum(theta**2, axis=-1)

    def relative(self, theta: Array) -> Array:
        """Relative fitness f(theta)/f* - 1 >= 0 at theta (..., p), as the quadratic form of the distance to theta*.

        Taken from the difference of parameters, not of costs: two nearly equal costs would cancel.
        """
        error = theta - self.minimiser
        return 0.5 * np.einsum("...i,ij,...j->...", error, self.hessian, error) / self.optimum


class Squared(Loss):
    """(theta'x - y)^2, of a number y."""

    name: ClassVar[str] = "squared"
    labels: ClassVar[bool] = False
    quadratic: ClassVar[bool] = True
    curvature: ClassVar[float] = 2.0
    measure: ClassVar[str] = "mean squared error"

    def value(self, t: Any) -> Any:
        """t^2."""
        return np.square(t)

    def derivative(self, t: Any) -> Any:
        """2 t."""
        return 2 * t

    def gradient_bound(self, radius: float, target_bound: float, theta_max: float, norm: int) -> float:
        """Xi or G of `squared_gradient_bound`."""
        return float(squared_gradient_bound(radius, target_bound, theta_max, norm))

    def oracle(self, bounds: Clipping, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        """Sums over the clipped records, unless they are asked for one by one."""
        if one_by_one:
            return super().oracle(bounds, x, y, one_by_one=True)
        return squared_statistics(*bounds.records(x, y))

    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]:
        """Least squares."""
        fitness = Fitness(squared_statistics(x, y), regularisation)
        return fitness.minimiser, fitness.optimum

    def fitness(self, parts: Sequence[tuple[Array, Array]], regularisation: float) -> TrainingCost:
        """The training cost from sums over all records."""
        first, *rest = (squared_statistics(x, y) for x, y in parts)
        return Fitness(sum(rest, first), regularisation)
