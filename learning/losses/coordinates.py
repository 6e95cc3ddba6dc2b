"""The coordinates of training, with what a learner computes in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.losses.clipping import PublicCoordinates
from learning.losses.first_moments import Moments
from learning.losses.loss import Loss, sum_records
from learning.losses.losses import as_loss
from learning.losses.records import GradientOracle
from learning.losses.squared import Squared
from learning.losses.statistics import SquaredStatistics

WHITENING_FLOOR = 1e-3  # least second moment of a direction, as a share of the largest
SOLVED_FLOOR = 1e-9  # the same where owners release the moments, and a model is solved for


@dataclass(frozen=True)
class Coordinates(PublicCoordinates):
    """Public coordinates and bounds, for training under a loss; ``loss`` may be its name.

    Parameters
    ----------
    Beside those of `PublicCoordinates`:

    given_bound: Xi or G of a record that noise is scaled to; that of `gradient_bound` unless given.
    moments: bounds of second moments released beside the first gradient; None elsewhere.
    """

    loss: Loss = Squared()
    given_bound: float | None = None
    moments: Moments | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))

    @classmethod
    def of(cls, public: PublicCoordinates) -> Coordinates:
        """Make the coordinates of a training from those that were agreed."""
        return cls(**{**vars(public), "loss": as_loss(public.loss.name)})

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

    def clip_features(self, x: Array) -> Array:
        """Transform and shorten features as `PublicCoordinates` does, or to the moments' radius."""
        if self.moments is None or not self.moments.alike:
            return super().clip_features(x)
        return self.within(self.move(x), self.moments.radius)

    def records(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Clip records under squared loss, or those of a Newton step: (..., n, p) and (..., n)."""
        if self.scores is None and self.moments is None:
            return super().records(x, y)
        said = self.centre @ x.T
        if self.scores is not None:
            moved, target = self.loss.working_records(x @ self.transform, said, y)
            return self.scores.records(moved, target, self.lengths(moved), self.radius)
        assert self.moments is not None
        moved = x @ self.transform
        root = np.sqrt(self.moments.weights(self.lengths(moved)))
        return moved * root[..., None], (y - said) * root

    def project(self, phi: Array) -> Array:
        """Project phi (runs, p) to the ball: by coordinate (norm 1), or to the start (norm 2)."""
        if self.norm == 1:
            return np.clip(phi, -self.theta_max, self.theta_max)
        return phi if np.isinf(self.theta_max) else self.within(phi, self.theta_max)

    def penalty(self, regularisation: float) -> tuple[Array, Array]:
        """Hessian and linear part of r/2 |theta|^2 in phi."""
        pull = -regularisation * (self.transform @ self.centre[..., None])[..., 0]
        return regularisation * self.transform @ self.transform, pull

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

    def gradient_lengths(self, x: Array, y: Array) -> Array:
        """Norm of each record's unclipped gradient at the start of training, (n,)."""
        if not self.loss.linear:
            held: Any = replace(self, radius=np.inf).oracle(x, y, one_by_one=True)
            start = np.zeros((len(y), len(self.centre)))
            return self.lengths(held.record_gradient(start, np.arange(len(y))))
        slopes = self.loss.derivative(self.loss.scores(x, y, self.centre))
        return np.asarray(np.abs(slopes) * self.lengths(x @ self.transform))

    def largest(self, feature_bound: Array, target_bound: float) -> tuple[float, float]:
        """Bounds on the norm of W x and on |y - centre'x|, from bounds on all |x_j| and |y|."""
        radius = float(np.linalg.norm(np.abs(self.transform) @ feature_bound, ord=self.norm))
        return radius, float(target_bound + np.abs(self.centre) @ feature_bound)

    def statistics(self, x: Array, y: Array) -> SquaredStatistics:
        """Sufficient statistics of the clipped records."""
        return sum_records(self, x, y)

    def bounded(self, radius: float, target_bound: float, theta_max: float) -> Coordinates:
        """The same coordinates with other bounds."""
        return replace(self, radius=radius, target_bound=target_bound, theta_max=theta_max)


def whitening_transform(moments: Array, floor: float = WHITENING_FLOOR) -> Array:
    """Inverse square root of the second moments of public rows, (..., p, p).

    W = (X'X/n)^(-1/2) gives all directions equal curvature; second moments below ``floor`` of the
    largest are raised to it. Steps along gradients hardly move in a flat direction, so they may
    leave it short. Where moments are released the error of a step grows with its length, and the
    step is long in a direction that is left short: hence `SOLVED_FLOOR`.
    """
    values, vectors = np.linalg.eigh(moments)
    stretched = 1 / np.sqrt(np.maximum(values, floor * values[..., -1:]))
    return (vectors * stretched[..., None, :]) @ vectors.swapaxes(-1, -2)
