"""Sufficient statistics of records under squared loss."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.arrays import Array


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
