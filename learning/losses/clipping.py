"""The public side of training: the coordinates, and the clipping of records in them.

All that an owner computes with stands here; `learning.losses.loss` and
`learning.losses.coordinates` add what a learner trains with.

theta = centre + W phi. Training moves phi from 0 inside {|phi|_inf <= theta_max}; each record
enters as x~ = W x, shortened to |x~|_1 <= radius, and u = y - centre'x, clipped to |u| <=
target_bound. All of this is public, so the bound on a gradient, Xi = 2 (theta_max radius +
target_bound) radius, holds for any record. Gaussian noise needs gradients bounded in 2-norm: ball
and radius are then in 2-norm, and G, half the sensitivity, is that of `squared_gradient_bound`.
Targets relative to the public model are small, and so is Xi.

Or the record's gradient itself is clipped to the radius, at every query ("record" clipping, the
only one of a network): Xi and G are then the radius, whatever the record, ball or target.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from learning.arrays import Array
from learning.losses.moment_bounds import Scores
from learning.losses.slopes import Slopes, SquaredSlopes

ClippedBy = Literal["parts", "record"]
PARTS: ClippedBy = "parts"
RECORD: ClippedBy = "record"


@dataclass(frozen=True)
class PublicCoordinates:
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
    loss: the loss that is trained.
    rows_per_person: k, the most records of one person at an owner, all protected together.
    clipping: "parts" clips a record's features and target, once; "record" its gradient, at every
        query.
    scores: bounds of a release of second moments and scores, in place of a bound on targets; None
        elsewhere.
    targets: number of targets; a record then has a row for each, in parameters of its own, and all
        of them share its second moments.
    """

    centre: Array
    transform: Array
    radius: float = np.inf
    target_bound: float = np.inf
    theta_max: float = np.inf
    norm: int = 1
    loss: Slopes = SquaredSlopes()
    rows_per_person: int = 1
    clipping: ClippedBy = PARTS
    scores: Scores | None = None
    targets: int = 1

    @property
    def clips_gradients(self) -> bool:
        """True if a record's gradient is clipped, and not the record."""
        return self.clipping == RECORD or self.loss.clips_gradients

    @property
    def gradient_bound(self) -> float:
        """Xi (norm 1) or G (norm 2): half the distance of two persons' gradients in the ball.

        Gradients of k records of a person are summed. The rows of several targets move parameters
        of their own, so that their distances add in squares.
        """
        if self.clips_gradients:
            return self.rows_per_person * self.radius
        if self.scores is not None:
            bound = self.scores.joint_bound(self.targets)
            return self.rows_per_person * 2 * bound  # of (u - phi'x)^2 at phi = 0
        one = self.loss.gradient_bound(self.radius, self.target_bound, self.theta_max, self.norm)
        return self.rows_per_person * one

    def clip_features(self, x: Array) -> Array:
        """Transform features to W x, shortened to the radius unless gradients are, (..., n, p)."""
        moved = self.move(x)
        return moved if self.clips_gradients else self.within(moved, self.radius)

    def move(self, x: Array) -> Array:
        """Transform features to W x, (..., n, p)."""
        # columns stay columns, which lengths are summed over fastest
        order: Literal["C", "F"] = "F" if x.flags.fnc else "C"
        return np.matmul(x, self.transform, order=order)

    def within(self, points: Array, limit: float) -> Array:
        """Shorten points (..., n, p) longer than the limit to it."""
        length = self.lengths(points)
        shorten = np.where(length > limit, limit / np.where(length > limit, length, 1.0), 1.0)
        return points * shorten[..., None]

    def records(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Clip records under squared loss: (..., n, p) and (..., n)."""
        target = y - self.centre @ x.T
        if not self.clips_gradients:
            target = np.clip(target, -self.target_bound, self.target_bound)
        return self.clip_features(x), target

    def lengths(self, moved: Array) -> Array:
        """Norm of each transformed record (..., n, p), (..., n)."""
        return np.asarray(np.linalg.norm(moved, ord=self.norm, axis=-1))

    def reach(self, phi: Array) -> float:
        """Distance of a point phi (p,) from the start, in the norm of the ball; inf on overflow."""
        with np.errstate(over="ignore"):
            return float(np.linalg.norm(phi, ord=np.inf if self.norm == 1 else 2))

    def model(self, phi: Array) -> Array:
        """Parameters theta of the model at phi (..., p)."""
        return self.centre + phi @ self.transform
