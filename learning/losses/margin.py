"""Losses of labels: logistic, hinge, and a hinge with a smoothed kink for rehearsals.

No closed form exists as for squared loss, and a market's relative fitness divides by f*, so f* must
be right. Both solvers are second-order and reach rounding in some tens of passes over the records.
The certificate is the gap, a bound on f(theta) - f* that does not depend on the solver.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array
from learning.losses.loss import Loss
from learning.losses.records import row_blocks
from learning.losses.slopes import HingeSlopes, LogisticSlopes
from learning.spool import allocate_like

RELATIVE_GAP = 1e-8  # of a certified optimum
ENOUGH = 1e-14  # relative gap at which the hinge solver stops, at the level of rounding
NEWTON_ENOUGH = 1e-22  # the same of Newton's method, whose gap is the square of a gradient
ITERATIONS = 300
INSIDE = 1e-3  # first distance of multipliers and slacks from their limits
STEP_SHARE = 0.99  # of the longest feasible step; nearer to 1 cycled on some separable records
ROUNDING = 1e-12  # of a cost
KINK_SCALE = 0.1  # of the logistic errors in t that smooth a hinge for the curvature of its step
SHORTEST = 1e-12  # least length of a Newton step that changes the cost


class Logistic(LogisticSlopes, Loss):
    """log(1 + exp(-t)) with t = y theta'x."""

    curvature: ClassVar[float] = 0.25
    curved: ClassVar[bool] = True
    measure: ClassVar[str] = "mean logistic loss"

    def value(self, t: Any) -> Any:
        """log(1 + exp(-t)), in a third of the time of ``np.logaddexp``."""
        return np.log1p(np.exp(-np.abs(t))) - np.minimum(t, 0)

    def second_derivative(self, t: Any) -> Any:
        """1/((1 + exp(t)) (1 + exp(-t)))."""
        return scipy.special.expit(t) * scipy.special.expit(-t)

    def negative_slopes(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """1/(1 + exp(t)), written over t."""
        with np.errstate(over="ignore"):  # e^t = inf gives the slope 0 that it should
            np.exp(t, out=t)
        t += 1
        return np.divide(1, t, out=t)

    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]:
        """The optimum, certified to 1e-8 of itself."""
        found = logistic_optimum(x, y, regularisation)
        return found.theta, found.value


LOGISTIC = Logistic()


class Hinge(HingeSlopes, Loss):
    """max(0, 1 - t) with t = y theta'x."""

    curved: ClassVar[bool] = True
    kinked: ClassVar[bool] = True
    measure: ClassVar[str] = "mean hinge loss"

    def value(self, t: Any) -> Any:
        """max(0, 1 - t)."""
        return np.maximum(0, 1 - t)

    def negative_slopes(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """1 below the kink, written over t."""
        return np.less(t, 1, out=t, casting="unsafe")

    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]:
        """The optimum, certified to 1e-8 of itself."""
        found = hinge_optimum(x, y, regularisation)
        return found.theta, found.value

    def step_curvature(self, t: Any) -> Any:
        """Curvature of s log(1 + exp((1 - t)/s)), the hinge with a smooth kink, s = `KINK_SCALE`.

        At most 1/(4 s). The score goes by the hinge's own slope.
        """
        past = (t - 1) / KINK_SCALE
        return scipy.special.expit(past) * scipy.special.expit(-past) / KINK_SCALE

    def smooth_kinks(self, width: float, lift: float = 0.0) -> Loss:
        """`SmoothedHinge`."""
        return SmoothedHinge(width * np.sqrt(3) / np.pi, lift)


HINGE = Hinge()


@dataclass(frozen=True)
class SmoothedHinge(Loss):
    """s log(1 + exp((1 - t)/s)) - lift: mean hinge loss over logistic errors in t.

    The errors have standard deviation s pi/sqrt(3).

    Parameters
    ----------
    scale : s > 0.
    lift : a constant that is subtracted.

    Source: He, Pan, Tan and Zhou, Smoothed Quantile Regression with Large-Scale Inference
        (convolution of a piecewise linear loss with a kernel).

    >>> SmoothedHinge(0.1).value(np.array([-1.0, 1.0, 3.0])).round(6)
    array([2.      , 0.069315, 0.      ])
    """

    scale: float
    lift: float = 0.0
    name: ClassVar[str] = Hinge.name
    curved: ClassVar[bool] = True
    measure: ClassVar[str] = Hinge.measure

    def value(self, t: Any) -> Any:
        """s log(1 + exp((1 - t)/s)) - lift."""
        return self.scale * LOGISTIC.value((t - 1) / self.scale) - self.lift

    def derivative(self, t: Any) -> Any:
        """Negative probability that an error leaves t below the kink."""
        return LOGISTIC.derivative((t - 1) / self.scale)

    def second_derivative(self, t: Any) -> Any:
        """Density of errors that move t onto the kink."""
        return LOGISTIC.second_derivative((t - 1) / self.scale) / self.scale

    def step_curvature(self, t: Any) -> Any:
        """Curvature that owners count under the hinge itself."""
        return HINGE.step_curvature(t)

    def negative_slopes(self, t: NDArray[np.float32]) -> NDArray[np.float32]:
        """Negative slope, written over t."""
        t -= 1
        t /= self.scale
        return LOGISTIC.negative_slopes(t)

    def fit(self, x: Array, y: Array, regularisation: float) -> tuple[Array, float]:
        """The optimum, certified to 1e-8 of itself."""
        found = smoothed_hinge_optimum(x, y, regularisation, self.scale)
        return found.theta, found.value - self.lift


@dataclass(frozen=True)
class Optimum:
    """A minimiser of the training cost, and a bound on its distance from the smallest cost.

    Parameters
    ----------
    theta : (p,).
    value : f(theta).
    gap : upper bound on f(theta) - f*, up to the rounding of f itself (about 1e-15 of it).
    """

    theta: Array = field(repr=False)
    value: float
    gap: float


def hinge_optimum(x: ArrayLike, y: ArrayLike, regularisation: float) -> Optimum:
    """Minimise f(theta) = r/2 |theta|^2 + mean max(0, 1 - y theta'x), a linear SVM.

    A primal-dual interior-point method (Mehrotra's predictor and corrector): its Newton systems are
    p x p, so a step costs one product X'DX. It starts from the logistic optimum, whose s'(margin)
    is dual feasible. Repeated rows, separable records and a single class are no special cases.

    Parameters
    ----------
    x : (n, p), the constant a column of its own: the bias sits in theta and is regularised with it.
    y : (n,), +1 or -1.
    regularisation : r > 0.

    Returns
    -------
    Optimum, its gap that of the feasible dual point with multipliers a in [0, 1]; within 1e-8 of f.

    Raises
    ------
    ValueError
        If r is not positive (a certificate needs strong convexity), or a label neither +1 nor -1.
    RuntimeError
        If the gap stayed above 1e-8 of f; the message gives it.

    Source: Wu et al., The Value of Collaboration, Section V (L-SVM, g_1 = theta'theta/2 r); Ferris
        and Munson, Interior-Point Methods for Massive Support Vector Machines (the p x p systems).

    >>> one = hinge_optimum([[1.0, 1.0], [-1.0, 1.0]], [1, -1], 0.5)
    >>> one.theta.round(6) + 0.0, round(one.value, 6)
    (array([1., 0.]), 0.25)
    """
    z = _signed_rows(x, y, regularisation)
    start = _newton(z, regularisation).theta
    return _check_gap("hinge", _interior_point(z, regularisation, start))


def logistic_optimum(x: ArrayLike, y: ArrayLike, regularisation: float) -> Optimum:
    """Minimise f(theta) = r/2 |theta|^2 + mean log(1 + exp(-y theta'x)) by damped Newton steps.

    Its gap is |grad f|^2/(2 r), since f is r-strongly convex; the rest is as in `hinge_optimum`.

    Source: the cost of L2-regularised logistic regression; strong convexity: Nesterov, Introductory
        Lectures, 2.1.3.

    >>> one = logistic_optimum([[1.0, 1.0], [-1.0, 1.0]], [1, -1], 0.5)
    >>> round(one.value, 6), one.gap < 1e-12
    (0.525457, True)
    """
    return _check_gap("logistic", _newton(_signed_rows(x, y, regularisation), regularisation))


def smoothed_hinge_optimum(
    x: ArrayLike, y: ArrayLike, regularisation: float, scale: float
) -> Optimum:
    """Minimise f(theta) = r/2 |theta|^2 + mean s log(1 + exp((1 - y theta'x)/s)), s the scale.

    >>> one = smoothed_hinge_optimum([[1.0, 1.0], [-1.0, 1.0]], [1, -1], 0.25, 0.1)
    >>> one.theta.round(6) + 0.0, one.gap < 1e-12
    (array([1.097281, 0.      ]), True)
    """
    z = _signed_rows(x, y, regularisation)
    start = _newton(z, regularisation).theta
    return _check_gap("smoothed hinge", _newton(z, regularisation, start, 1.0, scale))


def _signed_rows(x: ArrayLike, y: ArrayLike, regularisation: float) -> Array:
    """Rows y_i x_i, all that a loss of labels reads of a record."""
    given = np.asanyarray(x)
    x = np.asarray(x, dtype=float)
    y = np.asarray(y, dtype=float)
    if x.ndim != 2 or y.shape != x.shape[:1] or not len(y):
        raise ValueError(f"x must be (n, p) and y (n,) with n >= 1, got {x.shape} and {y.shape}")
    if not np.all(np.abs(y) == 1) or not all(
        np.isfinite(x[rows]).all() for rows in row_blocks(len(y))
    ):
        raise ValueError("labels must be +1 or -1, and x finite")
    if not 0 < regularisation < np.inf:
        raise ValueError(f"regularisation must be positive and finite, got {regularisation}")
    return np.asarray(np.multiply(y[:, None], x, out=allocate_like(x.shape, float, given)))


def _weighted_gram(z: Array, weight: Array) -> Array:
    """z'Wz with a weight for each row (n,)."""
    return np.asarray(
        sum(z[rows].T @ (z[rows] * weight[rows, None]) for rows in row_blocks(len(z)))
    )


def _check_gap(loss: str, found: Optimum) -> Optimum:
    """Refuse an optimum without a certificate."""
    if not found.gap <= RELATIVE_GAP * found.value:
        raise RuntimeError(
            f"the {loss} optimum is not known to within {RELATIVE_GAP:g} of its cost"
        )
    return found


def _hinge_point(z: Array, r: float, theta: Array, a: Array) -> Optimum:
    """f(theta) and its duality gap at multipliers a in [0, 1], as a sum of non-negative terms.

    f - dual = mean[max(0, 1 - m) - a (1 - m)] + r/2 |theta - theta(a)|^2 with m = z theta and
    theta(a) = mean a z/r: the difference of two nearly equal costs is never taken.
    """
    slack = 1 - z @ theta
    hinge = np.maximum(slack, 0)
    distance = theta - z.T @ a / (r * len(z))
    gap = np.mean(hinge - a * slack) + 0.5 * r * (distance @ distance)
    return Optimum(theta, float(0.5 * r * (theta @ theta) + hinge.mean()), float(gap))


def _logistic_point(
    z: Array, r: float, theta: Array, kink: float = 0.0, scale: float = 1.0
) -> tuple[Optimum, Array, Array]:
    """f(theta) with the bound |grad|^2/(2r), the gradient, and the slopes s'(-margin)."""
    margin = (z @ theta - kink) / scale
    slope = scipy.special.expit(-margin)
    gradient = r * theta - z.T @ slope / len(z)
    value = 0.5 * r * (theta @ theta) + scale * np.logaddexp(0, -margin).mean()
    return Optimum(theta, float(value), float(gradient @ gradient / (2 * r))), gradient, slope


def _newton(
    z: Array, r: float, start: Array | None = None, kink: float = 0.0, scale: float = 1.0
) -> Optimum:
    """Take Newton steps from zero or another start, halved until the cost or the gap falls.

    The loss is s log(1 + exp(-(margin - kink)/s)), with s the scale.
    """
    start = np.zeros(z.shape[1]) if start is None else start
    point, gradient, slope = _logistic_point(z, r, start, kink, scale)
    best = point
    for _ in range(ITERATIONS):
        hessian = _weighted_gram(z, slope * (1 - slope) / (scale * len(z)))
        step = _ridge_solver(hessian, r)(gradient)
        fall = 1e-4 * float(gradient @ step)
        length = 1.0
        value = point.value
        while length > SHORTEST:
            point, gradient, slope = _logistic_point(z, r, best.theta - length * step, kink, scale)
            if point.value <= value - length * fall or (
                point.gap < best.gap / 4 and point.value <= value * (1 + ROUNDING)
            ):
                break
            length /= 2
        if length <= SHORTEST:
            break
        best = point
        if best.gap <= NEWTON_ENOUGH * best.value:
            break
    return best


def _ridge_solver(matrix: Array, ridge: float) -> Callable[[Array], Array]:
    """Make a solver of (matrix + ridge I) v = rhs that is safe against rounded eigenvalues."""
    shifted = matrix + ridge * np.eye(len(matrix))
    try:
        factor = scipy.linalg.cho_factor(shifted)
        return lambda rhs: np.asarray(scipy.linalg.cho_solve(factor, rhs))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(shifted)
        values = np.maximum(values, ridge)
        return lambda rhs: np.asarray(vectors @ (vectors.T @ rhs / values))


@dataclass(frozen=True)
class _Iterate:
    """theta; multipliers a of m + xi >= 1, b = 1 - a of xi >= 0, slacks s and xi: (4, n) > 0."""

    theta: Array
    positive: Array

    @property
    def complementarity(self) -> float:
        a, b, s, xi = self.positive
        return float(a @ s + b @ xi) / (2 * len(a))

    def step_along(self, by: _Iterate, t: float) -> _Iterate:
        return _Iterate(self.theta + t * by.theta, self.positive + t * by.positive)

    def longest_step(self, by: _Iterate) -> float:
        """Longest step along ``by`` that keeps all four non-negative."""
        return 1 / max(float(np.max(-by.positive / self.positive)), 1e-300)


def _start_iterate(z: Array, theta: Array) -> _Iterate:
    """Start at a logistic optimum, where a = s'(margin) nearly satisfies r n theta = z'a."""
    margin = z @ theta
    a = np.clip(scipy.special.expit(-margin), INSIDE, 1 - INSIDE)
    s = np.logaddexp(0, margin - 1)
    xi = np.logaddexp(0, 1 - margin)
    return _Iterate(theta, np.stack([a, 1 - a, np.maximum(s, INSIDE), np.maximum(xi, INSIDE)]))


def _newton_direction(z: Array, r: float, at: _Iterate) -> Callable[[Array, Array], _Iterate]:
    """Make the Newton direction towards a s = first + a s, b xi = second + b xi, else feasible."""
    a, b, s, xi = at.positive
    weight = 1 / (xi / b + s / a)
    solve = _ridge_solver(_weighted_gram(z, weight), r * len(z))
    dual = z.T @ a - r * len(z) * at.theta
    primal = 1 - z @ at.theta - xi + s

    def find_direction(first: Array, second: Array) -> _Iterate:
        rest = primal - second / b + first / a
        theta = solve(dual + z.T @ (weight * rest))
        rise = weight * (rest - z @ theta)
        slacks = (first - s * rise) / a, (second + xi * rise) / b
        return _Iterate(theta, np.stack([rise, -rise, *slacks]))

    return find_direction


def _interior_point(z: Array, r: float, theta: Array) -> Optimum:
    """Take predictor-corrector steps until the gap is at rounding or stalls; the best point."""
    at = _start_iterate(z, theta)
    best = _hinge_point(z, r, at.theta, at.positive[0])
    for _ in range(ITERATIONS):
        with np.errstate(all="ignore"):  # steps may leave the range of floats; the gap shows it
            try:
                at = _mehrotra_step(z, r, at)
            except (ValueError, np.linalg.LinAlgError):  # SciPy refuses what is not finite
                break
            point = _hinge_point(z, r, at.theta, np.clip(at.positive[0], 0, 1))
        if not np.isfinite(point.gap):
            break
        stalls = best.gap <= RELATIVE_GAP / 10 * best.value and point.gap >= best.gap / 2
        best = min(best, point, key=lambda one: one.gap)
        if stalls or best.gap <= ENOUGH * best.value:
            break
    return best


def _mehrotra_step(z: Array, r: float, at: _Iterate) -> _Iterate:
    """Take one step of Mehrotra's method, whose target depends on the predictor's reach."""
    towards = _newton_direction(z, r, at)
    mu = at.complementarity
    first, second = -at.positive[:2] * at.positive[2:]
    guess = towards(first, second)
    reached = at.step_along(guess, min(1.0, at.longest_step(guess))).complementarity
    aim = (reached / mu) ** 3 * mu
    step = towards(*(aim + np.stack([first, second]) - guess.positive[:2] * guess.positive[2:]))
    return at.step_along(step, min(1.0, STEP_SHARE * at.longest_step(step)))
