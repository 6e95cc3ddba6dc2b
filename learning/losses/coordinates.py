"""The coordinates of training: a public start, a public scale, and public clipping bounds.

theta = centre + W phi. Training moves phi from 0 inside {|phi|_inf <= theta_max}; each record
enters as x~ = W x, shortened to |x~|_1 <= radius, and u = y - centre'x, clipped to |u| <=
target_bound. All of this is public, so the bound on a gradient, Xi = 2 (theta_max radius +
target_bound) radius, holds for any record. Gaussian noise needs gradients bounded in 2-norm: ball
and radius are then in 2-norm, and G, half the sensitivity, is that of
`learning.losses.squared.squared_gradient_bound`. Targets relative to the public model are small,
and so is Xi.

Or the record's gradient itself is clipped to the radius, at every query ("record" clipping, the
only one of a network): Xi and G are then the radius, whatever the record, ball or target.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.losses import as_loss
from learning.losses.protocols import GradientOracle
from learning.losses.scores import Scores
from learning.losses.squared import Squared, SquaredStatistics, squared_statistics

ClippedBy = Literal["parts", "record"]
PARTS: ClippedBy = "parts"
RECORD: ClippedBy = "record"
WHITENING_FLOOR = 1e-3  # least second moment of a direction, as a share of the largest


@dataclass(frozen=True)
class Coordinates:
    """A public change of coordinates with its clipping bounds; or several, stacked.

    Parameters
    ----------
    centre: array (p,), the start of training in the model's own parameters; (m, p) of several.
    transform: array (p, p), the symmetric W; (m, p, p) of several.
    radius: bound on |W x|_1 (norm 1) or |W x|_2 (norm 2), inf if unbounded; where gradients are
        clipped, the bound on a record's gradient itself.
    target_bound: bound on |y - centre'x|; unused where gradients are clipped.
    theta_max: bound on |phi|_inf (norm 1) or |phi|_2 (norm 2), inf if there is no projection.
    norm: 1 or 2, the norm in which a record's gradient is bounded.
    loss: the loss that is trained, or its name.
    rows_per_person: k, the most records of one person at an owner, all protected together.
    given_bound: Xi or G of a record that noise is scaled to; that of `gradient_bound` unless given.
    clipping: "parts" clips a record's features and target, once; "record" its gradient, at every
        query.
    scores: bounds of a release of second moments and scores, in place of a bound on targets; None
        elsewhere.
    """

    centre: Array
    transform: Array
    radius: float = np.inf
    target_bound: float = np.inf
    theta_max: float = np.inf
    norm: int = 1
    loss: Loss = Squared()
    rows_per_person: int = 1
    given_bound: float | None = None
    clipping: ClippedBy = PARTS
    scores: Scores | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))

    @property
    def clips_gradients(self) -> bool:
        """True if a record's gradient is clipped, and not the record."""
        return self.clipping == RECORD or self.loss.clips_gradients

    @property
    def gradient_bound(self) -> float:
        """Xi (norm 1) or G (norm 2): half the distance of two persons' gradients in the ball.

        Gradients of k records of a person are summed.
        """
        if self.clips_gradients:
            return self.rows_per_person * self.radius
        if self.scores is not None:
            return self.rows_per_person * 2 * self.scores.bound  # of (u - phi'x)^2 at phi = 0
        one = self.loss.gradient_bound(self.radius, self.target_bound, self.theta_max, self.norm)
        return self.rows_per_person * one

    @property
    def noise_bound(self) -> float:
        """Bound of the noise: `gradient_bound`, the basis of every claim, unless given."""
        if self.given_bound is None:
            return self.gradient_bound
        return self.rows_per_person * self.given_bound

    @property
    def longest_gradient(self) -> float:
        """Bound on the length of a record's gradient in the ball, in the norm in use."""
        if self.clips_gradients:
            return self.radius
        # Xi holds in either norm
        return self.loss.gradient_bound(self.radius, self.target_bound, self.theta_max, 1)

    @property
    def diameter(self) -> float:
        """Diameter of the ball in 2-norm."""
        return 2 * self.theta_max * (np.sqrt(len(self.centre)) if self.norm == 1 else 1.0)

    def steepest_penalty(self, regularisation: float) -> float:
        """Bound on the gradient of r/2 |theta|^2 in phi in the ball, in the norm in use."""
        if regularisation == 0:
            return 0.0
        penalty, pull = self.penalty(regularisation)
        within = np.abs(penalty).sum() if self.norm == 1 else np.linalg.norm(penalty, ord=2)
        return float(np.linalg.norm(pull, ord=self.norm) + within * self.theta_max)

    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        """Clip one owner's records (n, p) and (n,) to the bounds: the one pass over its data.

        The result has sufficient statistics for squared loss, unless queries are for single
        records, ``one_by_one``, or gradients are clipped.
        """
        return self.loss.oracle(self, x, y, one_by_one=one_by_one)

    def clip_features(self, x: Array) -> Array:
        """Transform features to W x, shortened to the radius unless gradients are, (..., n, p)."""
        # columns stay columns, which lengths are summed over fastest
        order: Literal["C", "F"] = "F" if x.flags.fnc else "C"
        moved = np.matmul(x, self.transform, order=order)
        return moved if self.clips_gradients else self.within(moved, self.radius)

    def within(self, points: Array, limit: float) -> Array:
        """Shorten points (..., n, p) longer than the limit to it."""
        length = self.lengths(points)
        shorten = np.where(length > limit, limit / np.where(length > limit, length, 1.0), 1.0)
        return points * shorten[..., None]

    def records(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Clip records under squared loss: (..., n, p) and (..., n)."""
        target = y - self.centre @ x.T
        if self.scores is not None:
            moved = x @ self.transform
            return self.scores.records(moved, target, self.lengths(moved), self.radius)
        if not self.clips_gradients:
            target = np.clip(target, -self.target_bound, self.target_bound)
        return self.clip_features(x), target

    def gradient_lengths(self, x: Array, y: Array) -> Array:
        """Norm of each record's unclipped gradient at the start of training, (n,)."""
        if not self.loss.linear:
            return self.loss.gradient_norms(x, y, self.centre, self.norm)
        slopes = self.loss.derivative(self.loss.scores(x, y, self.centre))
        return np.asarray(np.abs(slopes) * self.lengths(x @ self.transform))

    def lengths(self, moved: Array) -> Array:
        """Norm of each transformed record (..., n, p), (..., n)."""
        return np.asarray(np.linalg.norm(moved, ord=self.norm, axis=-1))

    def largest(self, feature_bound: Array, target_bound: float) -> tuple[float, float]:
        """Bounds on the norm of W x and on |y - centre'x|, from bounds on all |x_j| and |y|."""
        radius = float(np.linalg.norm(np.abs(self.transform) @ feature_bound, ord=self.norm))
        return radius, float(target_bound + np.abs(self.centre) @ feature_bound)

    def reach(self, phi: Array) -> float:
        """Distance of a point phi (p,) from the start, in the norm of the ball; inf on overflow."""
        with np.errstate(over="ignore"):
            return float(np.linalg.norm(phi, ord=np.inf if self.norm == 1 else 2))

    def project(self, phi: Array) -> Array:
        """Project phi (runs, p) to the ball: by coordinate (norm 1), or to the start (norm 2)."""
        if self.norm == 1:
            return np.clip(phi, -self.theta_max, self.theta_max)
        return phi if np.isinf(self.theta_max) else self.within(phi, self.theta_max)

    def statistics(self, x: Array, y: Array) -> SquaredStatistics:
        """Sufficient statistics of the clipped records."""
        return squared_statistics(*self.records(x, y))

    def model(self, phi: Array) -> Array:
        """Parameters theta of the model at phi (..., p)."""
        return self.centre + phi @ self.transform

    def penalty(self, regularisation: float) -> tuple[Array, Array]:
        """Hessian and linear part of r/2 |theta|^2 in phi."""
        pull = -regularisation * (self.transform @ self.centre[..., None])[..., 0]
        return regularisation * self.transform @ self.transform, pull

    def bounded(self, radius: float, target_bound: float, theta_max: float) -> Coordinates:
        """The same coordinates with other bounds."""
        return replace(self, radius=radius, target_bound=target_bound, theta_max=theta_max)


def whitening_transform(moments: Array) -> Array:
    """Inverse square root of the second moments of public rows, (..., p, p).

    W = (X'X/n)^(-1/2) gives all directions equal curvature; second moments below WHITENING_FLOOR of
    the largest are raised to it.
    """
    values, vectors = np.linalg.eigh(moments)
    stretched = 1 / np.sqrt(np.maximum(values, WHITENING_FLOOR * values[..., -1:]))
    return (vectors * stretched[..., None, :]) @ vectors.swapaxes(-1, -2)
