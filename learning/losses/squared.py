"""Squared loss: sufficient statistics, the bound on gradients, and the best model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.parts import in_batches, row_blocks, stack_by_size
from learning.losses.protocols import Clipping, GradientOracle, TrainingCost


def worst_cosine(radius: ArrayLike, target_bound: ArrayLike, theta_max: ArrayLike) -> Array:
    """Cosine of the angle d between the query and the records whose gradients differ most.

    The records are B (cos d, +-sin d), of one target.

    cos d = 2 A/(Y + sqrt(Y^2 + 8 A^2)), A = theta_max B: from 0, where nothing is predicted, to
    1/sqrt(2) without targets. Parameters as in `squared_gradient_bound`, which holds the proof.
    """
    radius, target, ball = (np.asarray(v, dtype=float) for v in (radius, target_bound, theta_max))
    reach = ball * radius
    whole = target + np.hypot(target, np.sqrt(8) * reach)
    inside = np.full(np.shape(whole), 0.5)  # any angle, without bounds or between zeros
    return np.divide(2 * reach, whole, out=inside, where=(whole > 0) & np.isfinite(whole))


def squared_gradient_bound(
    radius: ArrayLike, target_bound: ArrayLike, theta_max: ArrayLike, norm: int = 1
) -> Array:
    """Half the largest distance between two records' gradients: the Xi or G of the noise.

    The gradient of (u - phi'x)^2 is -2 u x + 2 (phi'x) x, with |phi'x| <= A = theta_max B and |u|
    <= Y.

    Norm 1: Xi = 2 (A + Y) B, the largest gradient; two of them attain twice that. Norm 2: G = 2 B
    sin d (Y + A cos d), cos d as in `worst_cosine`: attained, and 0.866 to 1 times (A + 2 Y) B.

    Proof for norm 2. The distance is convex in phi and in each target, hence largest at |phi| =
    theta_max and targets +-Y; as (x, u) and (-x, -u) have one gradient, both may be -Y. Then half
    the gradients are B (Y + A c) v, with v = x/B, |v| <= 1, and c its part along phi. Opposite
    parts across phi are worst, so a plane will do. There v = (cos t, sin t) draws a curve, a
    limacon, and shorter v stay in its hull: where cos t >= -Y/(2 A) they lie between 0 and the
    curve, else no further than -Y^2/(4 A) along phi, between the two points of the curve that lie
    so far. A hull is as wide as its curve. In complex numbers that is Y e^it + A (1 + e^2it)/2, and
    its points at t = s + d and s - d are |2 Y sin d + A sin(2 d) e^is| apart, at most 2 sin d (Y +
    A |cos d|); for d up to pi/2 that is largest where Y cos d + A cos(2 d) = 0, whose root is
    `worst_cosine`. For a single feature G is an upper bound.

    Parameters
    ----------
    radius : B, bound on the norm of x (the constant included).
    target_bound : Y, bound on |u|.
    theta_max : bound on |phi|_inf (norm 1) or |phi|_2 (norm 2).
    norm : 1 or 2.

    Source: Wu et al., The Value of Collaboration, Assumption 3 (norm 1); the papers leave open Xi
        for unbounded records, here it follows from public ranges. Norm 2: ours.

    >>> squared_gradient_bound(2.0, 1.0, 0.5).item()
    8.0
    >>> squared_gradient_bound(2.0, 1.0, 0.5, norm=2).round(6).item()
    5.196152
    """
    radius, target, ball = (np.asarray(v, dtype=float) for v in (radius, target_bound, theta_max))
    if norm == 1:
        return 2 * (ball * radius + target) * radius
    cosine = worst_cosine(radius, target, ball)
    return 2 * radius * np.sqrt(1 - cosine**2) * (target + ball * radius * cosine)


@dataclass(frozen=True)
class SquaredStatistics:
    """Sufficient statistics of n records: sums of xx', xy and y^2; a sum has both their records.

    mean loss(theta) = theta' A theta - 2 b'theta + c with A = sum xx'/n, b = sum xy/n, c = sum
    y^2/n.
    """

    n_records: int
    xx: Array = field(repr=False)
    xy: Array = field(repr=False)
    yy: float = field(repr=False)

    def __add__(self, other: SquaredStatistics) -> SquaredStatistics:
        return SquaredStatistics(
            self.n_records + other.n_records,
            self.xx + other.xx,
            self.xy + other.xy,
            self.yy + other.yy,
        )

    def __mul__(self, factor: float) -> SquaredStatistics:
        """As many records, each weighted by a factor."""
        return replace(self, xx=factor * self.xx, xy=factor * self.xy, yy=factor * self.yy)

    @property
    def n_parameters(self) -> int:
        return len(self.xy)

    @cached_property
    def hessian(self) -> Array:
        """Hessian of the mean loss, 2 A, (p, p)."""
        return 2 * self.xx / self.n_records

    @cached_property
    def linear(self) -> Array:
        """Negative gradient at zero, 2 b, (p,)."""
        return 2 * self.xy / self.n_records

    def gradient(self, theta: Array) -> Array:
        """Gradient of the mean loss at theta (..., p)."""
        return theta @ self.hessian - self.linear

    def mean_loss(self, theta: Array) -> Array:
        """Mean loss at theta (..., p)."""
        quadratic = 0.5 * np.einsum("...i,ij,...j->...", theta, self.hessian, theta)
        return quadratic - theta @ self.linear + self.yy / self.n_records


def squared_statistics(x: Array, y: Array) -> SquaredStatistics:
    """Sum xx', xy and y^2 over the records."""
    return SquaredStatistics(len(y), x.T @ x, x.T @ y, float(y @ y))


def weighted_statistics(x: Array, y: Array, counted: Array) -> SquaredStatistics:
    """Statistics of records with weights ``counted`` (n,)."""
    heavy = counted[:, None] * x
    return SquaredStatistics(len(y), heavy.T @ x, heavy.T @ y, float((counted * y) @ y))


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

    def negative_slopes(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """-2 t, written over t."""
        t *= np.float32(-2)
        return t

    def gradient_bound(
        self, radius: float, target_bound: float, theta_max: float, norm: int
    ) -> float:
        """Xi or G of `squared_gradient_bound`."""
        return float(squared_gradient_bound(radius, target_bound, theta_max, norm))

    def oracle(
        self, bounds: Clipping, x: Array, y: Array, *, one_by_one: bool = False
    ) -> GradientOracle:
        """Sum over the clipped records, unless single records or clipped gradients are needed."""
        if one_by_one or bounds.clips_gradients:
            return super().oracle(bounds, x, y, one_by_one=True)
        blocks = (bounds.records(x[rows], y[rows]) for rows in row_blocks(len(y)))
        first, *rest = (squared_statistics(*block) for block in blocks)
        return sum(rest, first)

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
