"""Slopes of the losses, and the bounds on gradients that follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array


def worst_cosine(radius: ArrayLike, target_bound: ArrayLike, theta_max: ArrayLike) -> Array:
    """Cosine of the angle d between the query and the records whose gradients differ most.

    The records are B (cos d, +-sin d), of one target. cos d = 2 A/(Y + sqrt(Y^2 + 8 A^2)), from 0,
    where nothing is predicted, to 1/sqrt(2) without targets. A, B, Y: `squared_gradient_bound`.
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
class Slopes:
    """The slopes of a loss in one number t per record, and the bounds on gradients that follow.

    t = y theta'x for labels y = +-1, theta'x - y for numbers.

    Attributes
    ----------
    name : the name in a scenario file.
    labels : whether targets are labels, -1 and +1; the cost then needs regularisation above 0 to
        have a minimum.
    squares : whether it is the squared error of a predicted number.
    linear : whether the prediction is theta'x.
    quadratic : whether sums over an owner's records replace them, and the exact law of training
        holds.
    steepest : the largest slope in t.
    clips_gradients : whether a record's gradient is always clipped, and never the record
        (`PublicCoordinates.clips_gradients`).
    """

    name: ClassVar[str] = ""
    labels: ClassVar[bool] = True
    squares: ClassVar[bool] = False
    linear: ClassVar[bool] = True
    quadratic: ClassVar[bool] = False
    steepest: ClassVar[float] = 1.0
    clips_gradients: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"{self.name.capitalize()}()"  # as the loss itself: budgets hold a digest of it

    def derivative(self, t: Any) -> Any:
        """Slope of the loss at t, elementwise, in any precision."""
        raise TypeError(f"{type(self).__name__} has no derivative(t): a loss needs one")

    def predicted(self, x: Array, theta: Array) -> Array:
        """Predictions of models (..., p) for records (n, p), (..., n)."""
        return theta @ x.T

    def scores(self, x: Array, y: Array, theta: Array) -> Array:
        """t of each record (n,) under each model (..., p): (..., n)."""
        predicted = self.predicted(x, theta)
        return y * predicted if self.labels else predicted - y

    def gradient_bound(
        self, radius: float, target_bound: float, theta_max: float, norm: int
    ) -> float:
        """Half the largest distance between two records' gradients, which noise is scaled to.

        Opposite records of full length attain it where both have the steepest slope: at the kink of
        a hinge everywhere in the ball, under logistic loss as the public start misjudges them by
        more and more.
        """
        return float(self.steepest * radius)


class SquaredSlopes(Slopes):
    """Slopes of (theta'x - y)^2, of a number y."""

    name: ClassVar[str] = "squared"
    labels: ClassVar[bool] = False
    squares: ClassVar[bool] = True
    quadratic: ClassVar[bool] = True

    def derivative(self, t: Any) -> Any:
        """2 t."""
        return 2 * t

    def gradient_bound(
        self, radius: float, target_bound: float, theta_max: float, norm: int
    ) -> float:
        """Xi or G of `squared_gradient_bound`."""
        return float(squared_gradient_bound(radius, target_bound, theta_max, norm))


class LogisticSlopes(Slopes):
    """Slopes of log(1 + exp(-t)) with t = y theta'x."""

    name: ClassVar[str] = "logistic"

    def derivative(self, t: Any) -> Any:
        """-1/(1 + exp(t))."""
        return -scipy.special.expit(-t)


class HingeSlopes(Slopes):
    """Slopes of max(0, 1 - t) with t = y theta'x."""

    name: ClassVar[str] = "hinge"

    def derivative(self, t: Any) -> Any:
        """-1 below the kink, 0 from there on."""
        return np.negative(t < 1, dtype=np.asarray(t).dtype)


_RELEASED = (SquaredSlopes(), HingeSlopes(), LogisticSlopes())  # gradients that owners can release
SLOPES: dict[str, Slopes] = {one.name: one for one in _RELEASED}
