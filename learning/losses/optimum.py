"""Non-private optima of hinge and logistic loss: the smallest training cost, with a certificate of how close it is.

No closed form exists as for squared loss, and a market's relative fitness divides by f*, so f* must be right. Both
solvers are second-order and reach rounding in some tens of passes over the records; what is trusted is not the solver
but the gap, a bound on f(theta) - f* that any theta can be checked by.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.parts import blocks
from learning.spool import room

RELATIVE_GAP = 1e-8  # what is promised
ENOUGH = 1e-14  # relative gap at which the hinge solver stops: below it rounding rules
NEWTON_ENOUGH = 1e-22  # and Newton's, whose gap is the square of a gradient: theta is then known to some 1e-11
ITERATIONS = 300
INSIDE = 1e-3  # how far from their limits the multipliers and slacks start
SHORT_OF_THE_WALL = 0.99  # share of the room taken; nearer to 1 is faster, and cycled on some separable records
ROUNDING = 1e-12  # of a cost
SHORTEST = 1e-12  # a Newton step cut below this no longer changes the cost


@dataclass(frozen=True)
class Optimum:
    """A minimiser of the training cost, and how far above the smallest cost it can be at most.

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
    """Minimiser of f(theta) = r/2 |theta|^2 + mean max(0, 1 - y theta'x), a linear support vector machine.

    A primal-dual interior-point method (Mehrotra's predictor and corrector): its Newton systems are p x p, so a step
    costs one product X'DX. It starts from the logistic optimum, whose s'(margin) is dual feasible. Repeated rows,
    separable records and a single class are no special cases.

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

    Source: Wu et al., The Value of Collaboration, Section V (L-SVM, g_1 = theta'theta/2 r); Ferris and Munson,
    Interior-Point Methods for Massive Support Vector Machines (the p x p systems).

    >>> one = hinge_optimum([[1.0, 1.0], [-1.0, 1.0]], [1, -1], 0.5)
    >>> one.theta.round(6) + 0.0, round(one.value, 6)
    (array([1., 0.]), 0.25)
    """
    z = _signed(x, y, regularisation)
    return _certified("hinge", _interior_point(z, regularisation, _newton(z, regularisation).theta))


def logistic_optimum(x: ArrayLike, y: ArrayLike, regularisation: float) -> Optimum:
    """Minimiser of f(theta) = r/2 |theta|^2 + mean log(1 + exp(-y theta'x)), by Newton steps cut to descend.

    Its gap is |grad f|^2/(2 r), since f is r-strongly convex; all else is as for `hinge_optimum`.

    Source: the cost of L2-regularised logistic regression; strong convexity: Nesterov, Introductory Lectures, 2.1.3.

    >>> one = logistic_optimum([[1.0, 1.0], [-1.0, 1.0]], [1, -1], 0.5)
    >>> round(one.value, 6), one.gap < 1e-12
    (0.525457, True)
    """
    return _certified("logistic", _newton(_signed(x, y, regularisation), regularisation))


def smoothed_hinge_optimum(x: ArrayLike, y: ArrayLike, regularisation: float, scale: float) -> Optimum:
    """Minimiser of f(theta) = r/2 |theta|^2 + mean s log(1 + exp((1 - y theta'x)/s)), with s the scale; else the same.

    >>> one = smoothed_hinge_optimum([[1.0, 1.0], [-1.0, 1.0]], [1, -1], 0.25, 0.1)
    >>> one.theta.round(6) + 0.0, one.gap < 1e-12
    (array([1.097281, 0.      ]), True)
    """
    z = _signed(x, y, regularisation)
    return _certified("smoothed hinge", _newton(z, regularisation, _newton(z, regularisation).theta, 1.0, scale))


def _signed(x: ArrayLike, y: ArrayLike, regularisation: float) -> Array:
    """The rows y_i x_i, all that either loss sees of a record."""
    beside, x, y = np.asanyarray(x), np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.ndim != 2 or y.shape != x.shape[:1] or not len(y):
        raise ValueError(f"x must be (n, p) and y (n,) with n >= 1, got {x.shape} and {y.shape}")
    if not np.all(np.abs(y) == 1) or not all(np.isfinite(x[rows]).all() for rows in blocks(len(y))):
        raise ValueError("labels must be +1 or -1, and x finite")
    if not 0 < regularisation < np.inf:
        raise ValueError(f"regularisation must be positive and finite, got {regularisation}")
    return np.asarray(np.multiply(y[:, None], x, out=room(x.shape, float, beside)))


def _weighted(z: Array, weight: Array) -> Array:
    """z'Wz with a weight for each row (n,)."""
    return np.asarray(sum(z[rows].T @ (z[rows] * weight[rows, None]) for rows in blocks(len(z))))


def _certified(loss: str, found: Optimum) -> Optimum:
    if not found.gap <= RELATIVE_GAP * found.value:
        raise RuntimeError(f"the {loss} optimum is not known to within {RELATIVE_GAP:g} of its cost")
    return found


def _hinge_point(z: Array, r: float, theta: Array, a: Array) -> Optimum:
    """f(theta) and its duality gap at multipliers a in [0, 1], as a sum of terms that are none negative.

    f - dual = mean[max(0, 1 - m) - a (1 - m)] + r/2 |theta - theta(a)|^2 with m = z theta and theta(a) = mean a z/r:
    the difference of two nearly equal costs is never taken.
    """
    slack = 1 - z @ theta
    hinge = np.maximum(slack, 0)
    apart = theta - z.T @ a / (r * len(z))
    gap = np.mean(hinge - a * slack) + 0.5 * r * (apart @ apart)
    return Optimum(theta, float(0.5 * r * (theta @ theta) + hinge.mean()), float(gap))


def _logistic_point(
    z: Array, r: float, theta: Array, kink: float = 0.0, scale: float = 1.0
) -> tuple[Optimum, Array, Array]:
    """f(theta) with the bound |grad|^2/(2r), the gradient, and the slopes s'(-margin) of all records."""
    margin = (z @ theta - kink) / scale
    slope = scipy.special.expit(-margin)
    gradient = r * theta - z.T @ slope / len(z)
    value = 0.5 * r * (theta @ theta) + scale * np.logaddexp(0, -margin).mean()
    return Optimum(theta, float(value), float(gradient @ gradient / (2 * r))), gradient, slope


def _newton(z: Array, r: float, start: Array | None = None, kink: float = 0.0, scale: float = 1.0) -> Optimum:
    """Newton steps from zero or another start, halved until the cost falls (or, where rounding hides that, the gap does).

    The loss is s log(1 + exp(-(margin - kink)/s)), with s the scale.
    """
    point, gradient, slope = _logistic_point(z, r, np.zeros(z.shape[1]) if start is None else start, kink, scale)
    best = point
    for _ in range(ITERATIONS):
        hessian = _weighted(z, slope * (1 - slope) / (scale * len(z)))
        step = _factored(hessian, r)(gradient)
        fall, length, value = 1e-4 * float(gradient @ step), 1.0, point.value
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


def _factored(matrix: Array, ridge: float) -> Callable[[Array], Array]:
    """Solves (matrix + ridge I) v = rhs; near the end rounding may hide that its eigenvalues are all >= ridge."""
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
    """theta; and multipliers a of m + xi >= 1 and b = 1 - a of xi >= 0, slacks s and xi: (4, n), kept positive."""

    theta: Array
    positive: Array

    @property
    def complementarity(self) -> float:
        a, b, s, xi = self.positive
        return float(a @ s + b @ xi) / (2 * len(a))

    def moved(self, by: _Iterate, t: float) -> _Iterate:
        return _Iterate(self.theta + t * by.theta, self.positive + t * by.positive)

    def room(self, by: _Iterate) -> float:
        """The longest step along ``by`` that keeps all four non-negative."""
        return 1 / max(float(np.max(-by.positive / self.positive)), 1e-300)


def _start(z: Array, theta: Array) -> _Iterate:
    """From a logistic optimum: a = s'(margin) satisfies r n theta = z'a, so this is nearly dual feasible."""
    margin = z @ theta
    a = np.clip(scipy.special.expit(-margin), INSIDE, 1 - INSIDE)
    s, xi = np.logaddexp(0, margin - 1), np.logaddexp(0, 1 - margin)
    return _Iterate(theta, np.stack([a, 1 - a, np.maximum(s, INSIDE), np.maximum(xi, INSIDE)]))


def _direction(z: Array, r: float, at: _Iterate) -> Callable[[Array, Array], _Iterate]:
    """Newton direction towards a s = first + a s, b xi = second + b xi, with everything else made feasible."""
    a, b, s, xi = at.positive
    weight = 1 / (xi / b + s / a)
    solve = _factored(_weighted(z, weight), r * len(z))
    dual = z.T @ a - r * len(z) * at.theta
    primal = 1 - z @ at.theta - xi + s

    def towards(first: Array, second: Array) -> _Iterate:
        rest = primal - second / b + first / a
        theta = solve(dual + z.T @ (weight * rest))
        rise = weight * (rest - z @ theta)
        return _Iterate(theta, np.stack([rise, -rise, (first - s * rise) / a, (second + xi * rise) / b]))

    return towards


def _interior_point(z: Array, r: float, theta: Array) -> Optimum:
    """Predictor-corrector steps until the gap is rounding or, already small, stops falling; the best point seen."""
    at = _start(z, theta)
    best = _hinge_point(z, r, at.theta, at.positive[0])
    for _ in range(ITERATIONS):
        with np.errstate(all="ignore"):  # the last steps may leave the range of floats; the certificate sees it
            try:
                at = _stepped(z, r, at)
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


def _stepped(z: Array, r: float, at: _Iterate) -> _Iterate:
    """One step of Mehrotra's method: how far a step to zero complementarity gets sets what is aimed at instead."""
    towards, mu = _direction(z, r, at), at.complementarity
    first, second = -at.positive[:2] * at.positive[2:]
    guess = towards(first, second)
    reached = at.moved(guess, min(1.0, at.room(guess))).complementarity
    aim = (reached / mu) ** 3 * mu
    step = towards(*(aim + np.stack([first, second]) - guess.positive[:2] * guess.positive[2:]))
    return at.moved(step, min(1.0, SHORT_OF_THE_WALL * at.room(step)))
