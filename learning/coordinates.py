"""The coordinates training runs in: a public start, a public scale, and the public bounds that fix the sensitivity.

theta = centre + W phi. Training moves phi from 0 inside {|phi|_inf <= theta_max}; each record enters as
x~ = W x, shortened to |x~|_1 <= radius, and u = y - centre'x, clipped to |u| <= target_bound. Everything that shapes
this is public, so the bound on a gradient, Xi = 2 (theta_max radius + target_bound) radius, holds for any record.
Counting targets from the public model keeps them, and so Xi, small: noise is spent on what is not yet known.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from learning.losses import SquaredStatistics, squared_gradient_bound, squared_statistics

Array = NDArray[np.float64]

WHITENING_FLOOR = 1e-3  # directions with less than this share of the largest second moment are not stretched further


@dataclass(frozen=True)
class Coordinates:
    """A public change of coordinates with its clipping bounds.

    Parameters
    ----------
    centre : array (p,), start of training in the model's own parameters.
    transform : array (p, p), symmetric W.
    radius : bound on |W x|_1, inf if unbounded.
    target_bound : bound on |y - centre'x|.
    theta_max : bound on |phi|_inf, inf if there is no projection.
    """

    centre: Array
    transform: Array
    radius: float = np.inf
    target_bound: float = np.inf
    theta_max: float = np.inf

    @property
    def gradient_bound(self) -> float:
        """Xi, the largest 1-norm of a record's gradient."""
        return float(squared_gradient_bound(self.radius, self.target_bound, self.theta_max))

    def records(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Records as training sees them: (n, p) and (n,)."""
        moved = x @ self.transform
        length = np.abs(moved).sum(axis=1)
        shorten = np.where(length > self.radius, self.radius / np.where(length > self.radius, length, 1.0), 1.0)
        return moved * shorten[:, None], np.clip(y - x @ self.centre, -self.target_bound, self.target_bound)

    def statistics(self, x: Array, y: Array) -> SquaredStatistics:
        """Sufficient statistics of the clipped records: the one pass over an owner's data."""
        return squared_statistics(*self.records(x, y))

    def model(self, phi: Array) -> Array:
        """Parameters theta of the model at phi (..., p)."""
        return self.centre + phi @ self.transform

    def penalty(self, regularisation: float) -> tuple[Array, Array]:
        """Hessian and linear part of r/2 |theta|^2 in phi."""
        return regularisation * self.transform @ self.transform, -regularisation * self.transform @ self.centre

    def bounded(self, radius: float, target_bound: float, theta_max: float) -> Coordinates:
        """The same coordinates with other bounds."""
        return replace(self, radius=radius, target_bound=target_bound, theta_max=theta_max)


def whitening(x: Array) -> Array:
    """Inverse square root of the second moments of public rows (n, p): all directions then curve alike.

    W = (X'X/n)^(-1/2), with directions that the public rows hardly show left at WHITENING_FLOOR of the largest.
    """
    values, vectors = np.linalg.eigh(x.T @ x / len(x))
    stretched = 1 / np.sqrt(np.maximum(values, WHITENING_FLOOR * values[-1]))
    return (vectors * stretched) @ vectors.T
