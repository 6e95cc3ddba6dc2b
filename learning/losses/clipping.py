"""The public side of training: the slopes of a loss, the coordinates, and the clipping of records.

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
from typing import Any, ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array

ClippedBy = Literal["parts", "record"]
KINK_SCALE = 0.1  # of the logistic errors in t that smooth a hinge for the curvature of its step
LEAST_CURVATURE = 1e-12  # of a record in a Newton step
PARTS: ClippedBy = "parts"
RECORD: ClippedBy = "record"


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
class Slopes:
    """The slopes of a loss in one number t per record, and the bounds on gradients that follow.

    t = y theta'x for labels y = +-1, theta'x - y for numbers.

    Attributes
    ----------
    name : the name in a scenario file.
    labels : whether targets are labels, -1 and +1; the cost then needs regularisation above 0 to
        have a minimum.
    linear : whether the prediction is theta'x.
    quadratic : whether sums over an owner's records replace them, and the exact law of training
        holds.
    curved : whether a record has a curvature at the start, so that Newton's step is defined there.
    steepest : the largest slope in t.
    clips_gradients : whether a record's gradient is always clipped, and never the record
        (`PublicCoordinates.clips_gradients`).
    """

    name: ClassVar[str] = ""
    labels: ClassVar[bool] = True
    linear: ClassVar[bool] = True
    quadratic: ClassVar[bool] = False
    curved: ClassVar[bool] = False
    steepest: ClassVar[float] = 1.0
    clips_gradients: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"{self.name.capitalize()}()"  # as the loss itself: budgets hold a digest of it

    def derivative(self, t: Any) -> Any:
        """Slope of the loss at t, elementwise, in any precision."""
        raise TypeError(f"{type(self).__name__} has no derivative(t): a loss needs one")

    def step_curvature(self, t: Any) -> Any:
        """Curvature at t that a Newton step counts, elementwise, at least 0."""
        raise TypeError(f"{type(self).__name__} has no step_curvature(t): Newton's step needs one")

    def working_records(self, x: Array, said: Array, y: Array) -> tuple[Array, Array]:
        """Records (z, u) of the least-squares problem that a Newton step of this loss solves.

        z = sqrt(c/2) x and u = -l'(t) y/sqrt(2 c) with the curvature c at t = y said. So sum zz' is
        half the Hessian and sum uz minus half the gradient, as sum xx' and sum ux are of squared
        loss. A record that has next to no curvature is given `LEAST_CURVATURE`, which leaves its
        score as it is.

        Parameters
        ----------
        x : array (..., n, p), records in the coordinates of training.
        said : array (..., n), what the start predicts of them.
        y : array (n,), labels +-1.

        Source: McCullagh and Nelder, Generalized Linear Models, 2.5 (working response).
        """
        t = y * said
        root = np.sqrt(np.maximum(self.step_curvature(t), LEAST_CURVATURE) / 2)
        return x * root[..., None], -self.derivative(t) * y / (2 * root)

    def negative_slopes(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """Negative slope, in single precision; may be written over t."""
        return np.asarray(-self.derivative(t), dtype=np.float32)

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
    quadratic: ClassVar[bool] = True
    curved: ClassVar[bool] = True

    def derivative(self, t: Any) -> Any:
        """2 t."""
        return 2 * t

    def working_records(self, x: Array, said: Array, y: Array) -> tuple[Array, Array]:
        """x and the residual y - said."""
        return x, y - said

    def gradient_bound(
        self, radius: float, target_bound: float, theta_max: float, norm: int
    ) -> float:
        """Xi or G of `squared_gradient_bound`."""
        return float(squared_gradient_bound(radius, target_bound, theta_max, norm))


class LogisticSlopes(Slopes):
    """Slopes of log(1 + exp(-t)) with t = y theta'x."""

    name: ClassVar[str] = "logistic"
    curved: ClassVar[bool] = True

    def derivative(self, t: Any) -> Any:
        """-1/(1 + exp(t))."""
        return -scipy.special.expit(-t)

    def step_curvature(self, t: Any) -> Any:
        """1/((1 + exp(t)) (1 + exp(-t))), at most 1/4."""
        return scipy.special.expit(t) * scipy.special.expit(-t)


class HingeSlopes(Slopes):
    """Slopes of max(0, 1 - t) with t = y theta'x."""

    name: ClassVar[str] = "hinge"
    curved: ClassVar[bool] = True

    def derivative(self, t: Any) -> Any:
        """-1 below the kink, 0 from there on."""
        return np.negative(t < 1, dtype=np.asarray(t).dtype)

    def step_curvature(self, t: Any) -> Any:
        """Curvature of s log(1 + exp((1 - t)/s)), the hinge with a smooth kink, s = `KINK_SCALE`.

        At most 1/(4 s). The score goes by the hinge's own slope.
        """
        past = (t - 1) / KINK_SCALE
        return scipy.special.expit(past) * scipy.special.expit(-past) / KINK_SCALE


# the losses whose gradients an owner can release
SLOPES: dict[str, Slopes] = {
    one.name: one for one in (SquaredSlopes(), HingeSlopes(), LogisticSlopes())
}


@dataclass(frozen=True)
class Scores:
    """Bounds of a release of sum xx' and of scores sum ux, u = y - centre'x, in the coordinates.

    Under a loss of labels x and u are those of `Slopes.working_records`, to which the same bounds
    apply: a record's score lies along its moments' direction, whatever the loss, and that is all
    that `noise_stretch` and `distance_frontier` rest on.

    A record's second moments are held to |x|_2^2 <= R^2, R the radius of the coordinates, its score
    to |u x|_2 <= h. With ``alike`` a record counts w = min(1, R^2/|x|^2, h/|u x|), in w xx' and in
    w u x, so that moments and scores stay those of one weighted least-squares problem. Otherwise
    each is bounded by itself: clipped moments with an unclipped score make steps too long, the
    reverse makes them too short.

    Parameters
    ----------
    bound : h, above 0.
    share : t > 0, of the noise: that on sum xx' has R^2/(2 h t) times the deviation of that on sum
        ux. Small: little is spent on the moments.
    alike : whether a record has one weight in both.

    Source: ours. Weights that fall with leverage and with residual: Mallows and Schweppe weights of
        bounded-influence regression (Krasker and Welsch, Efficient Bounded-Influence Regression
        Estimation).
    """

    bound: float
    share: float
    alike: bool = True

    def records(self, x: Array, u: Array, lengths: Array, radius: float) -> tuple[Array, Array]:
        """Bound records (..., n, p) of given lengths and targets (..., n) for plain sums xx', ux.

        >>> x, u = np.array([[3.0, 4.0]]), np.array([2.0])
        >>> x, u = Scores(1.0, 0.5).records(x, u, np.array([5.0]), 1.0)
        >>> (x.T @ x).round(6).tolist(), (u @ x).round(6).tolist()
        ([[0.36, 0.48], [0.48, 0.64]], [0.24, 0.32])
        """
        with np.errstate(over="ignore", invalid="ignore"):  # of lengths that overflow
            score = lengths * np.abs(u)
        # of a record whose length overflows nothing is left, and no number that is none
        held = np.divide(self.bound, score, out=np.ones_like(score), where=score > self.bound)
        short = np.divide(radius, lengths, out=np.ones_like(lengths), where=lengths > radius)
        if self.alike:
            kept = np.sqrt(np.minimum(short**2, held))
            return x * kept[..., None], np.multiply(
                u, kept, out=np.zeros_like(score), where=kept > 0
            )
        left = np.divide(u * held, short, out=np.zeros_like(score), where=short > 0)
        return x * short[..., None], left


@dataclass(frozen=True)
class Moments:
    """Bounds of second moments that owners release once, beside their first clipped gradient.

    A record counts w = min(1, R^2/|x|^2) in w xx' and in its gradient, before that is clipped, so
    that the moments are the curvature of what is trained.

    Parameters
    ----------
    radius : R, above 0.
    share : t > 0, of the noise: that on sum xx' has R^2/(c t) times the deviation of that on the
        sum of half gradients, c their radius.
    spread : standard deviation of a diagonal entry of the learner's own moments, known from its
        rows; released and own moments are averaged by their precision.
    """

    radius: float
    share: float
    spread: float
    alike: bool = True

    def shorten(self, lengths: Array) -> Array:
        """Factors that shorten records of given lengths (..., n) to the radius."""
        return self.radius / np.maximum(lengths, self.radius)

    def weights(self, lengths: Array) -> Array:
        """Weights of the gradients of records of given lengths (..., n)."""
        return self.shorten(lengths) ** 2 if self.alike else np.ones_like(lengths)


def noise_stretch(share: float) -> float:
    """Factor on Gaussian noise on scores for second moments released in the same query.

    Let t be the share. The vector (sum ux, (2 h t/R^2) sum xx') moves by at most 2 h stretch(t) in
    2-norm when one record is replaced; the score alone moves by 2 h, and sum xx' alone by sqrt(2)
    R^2: two semi-definite matrices of norm R^2 are furthest apart when they are orthogonal.
    stretch^2 is 1 + t^2, or (2t + 1/(4t))^2/2 where that is more, from t = 0.653. No pair is worst
    for both parts: two budgets would pay for 1 + 2 t^2.

    Proof. Let the records be x and z of lengths r, s <= R with |cosine| a. Their scores lie along
    them, each of length h at most, so the scores' squared distance is at most 2 h^2 (1 + a). That
    of the moments is r^4 + s^4 - 2 r^2 s^2 a^2, convex in (r^2, s^2) and so largest at a corner:
    R^4 max(1, 2(1 - a^2)) (a corner with one record of length almost 0: its score is h all the
    same). In units of 4 h^2 the sum is at most (1 + a)/2 + t^2 max(1, 2 (1 - a^2)). The first is
    largest at a = 1, opposite scores of a long record and a short one: 1 + t^2. The second, (1 +
    a)/2 + 2 t^2 (1 - a^2), at a = 1/(8 t^2), or at a = 1 where that is beyond 1: 2 t^2 (1 + 1/(8
    t^2))^2, or 1. For p = 1 it is an upper bound.

    Source: ours.

    >>> round(noise_stretch(0.5) ** 2, 12), round(noise_stretch(1.0) ** 2, 12)
    (1.25, 2.53125)
    """
    angled = (2 * share + 1 / (4 * share)) ** 2 / 2 if 8 * share**2 >= 1 else 1.0
    return float(np.sqrt(max(1 + share**2, angled)))


def distance_frontier(pairs: int) -> Array:
    """Pairs (score, moments), (pairs, 2), one of which bounds both distances of any two records.

    This holds of single records. The distances of two sums over several records may lie between the
    pairs, whose set is not convex.

    In units of 2 h for scores and R^2 for moments. By the proof of `noise_stretch` two records lie
    at most (sqrt((1 + a)/2), sqrt(max(1, 2 (1 - a^2)))) apart for some a in [0, 1]: (1, 1) covers
    all a from 1/sqrt(2), and as the first grows with a and the second falls, the ends of intervals
    of a cover the rest.

    >>> distance_frontier(3).round(3)
    array([[1.   , 1.   ],
           [0.823, 1.414],
           [0.924, 1.323]])
    """
    a = np.linspace(0.0, np.sqrt(0.5), pairs)
    below = np.column_stack([np.sqrt((1 + a[1:]) / 2), np.sqrt(2 * (1 - a[:-1] ** 2))])
    return np.vstack([[1.0, 1.0], below])


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
    given_bound: Xi or G of a record that noise is scaled to; that of `gradient_bound` unless given.
    clipping: "parts" clips a record's features and target, once; "record" its gradient, at every
        query.
    scores: bounds of a release of second moments and scores, in place of a bound on targets; None
        elsewhere.
    moments: bounds of second moments released beside the first gradient; None elsewhere.
    """

    centre: Array
    transform: Array
    radius: float = np.inf
    target_bound: float = np.inf
    theta_max: float = np.inf
    norm: int = 1
    loss: Slopes = SquaredSlopes()
    rows_per_person: int = 1
    given_bound: float | None = None
    clipping: ClippedBy = PARTS
    scores: Scores | None = None
    moments: Moments | None = None

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

    def clip_features(self, x: Array) -> Array:
        """Transform features to W x, shortened to the radius unless gradients are, (..., n, p)."""
        # columns stay columns, which lengths are summed over fastest
        order: Literal["C", "F"] = "F" if x.flags.fnc else "C"
        moved = np.matmul(x, self.transform, order=order)
        if self.moments is not None and self.moments.alike:
            return self.within(moved, self.moments.radius)
        return moved if self.clips_gradients else self.within(moved, self.radius)

    def within(self, points: Array, limit: float) -> Array:
        """Shorten points (..., n, p) longer than the limit to it."""
        length = self.lengths(points)
        shorten = np.where(length > limit, limit / np.where(length > limit, length, 1.0), 1.0)
        return points * shorten[..., None]

    def records(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Clip records under squared loss, or those of a Newton step: (..., n, p) and (..., n)."""
        said = self.centre @ x.T
        if self.scores is not None:
            moved, target = self.loss.working_records(x @ self.transform, said, y)
            return self.scores.records(moved, target, self.lengths(moved), self.radius)
        target = y - said
        if self.moments is not None:
            moved = x @ self.transform
            root = np.sqrt(self.moments.weights(self.lengths(moved)))
            return moved * root[..., None], target * root
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

    def penalty(self, regularisation: float) -> tuple[Array, Array]:
        """Hessian and linear part of r/2 |theta|^2 in phi."""
        pull = -regularisation * (self.transform @ self.centre[..., None])[..., 0]
        return regularisation * self.transform @ self.transform, pull
