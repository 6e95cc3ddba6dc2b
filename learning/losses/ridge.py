"""Ridge regression whose penalty is chosen by generalised cross-validation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from learning.arrays import Array

RIDGES = np.geomspace(1e-8, 1e2, 41)  # tried, over the mean square of a standardised column
FLAT = 1e-10  # directions with less than this share of the largest variance have none


def fit_ridge(x: Array, y: Array, counts: Array | None = None) -> Array:
    """Fit ridge regressions whose penalty is chosen by generalised cross-validation, (m, p).

    Columns are standardised, and coefficients shrink to 0 but for the constant: without any signal
    the model is the mean. The penalty k is the one of `RIDGES` with the smallest

        GCV(k) = mean residual^2 / (1 - df(k)/n)^2,    df(k) = 1 + sum_j l_j/(l_j + k),

    l_j the eigenvalues of the correlations.

    Parameters
    ----------
    x : array (n, p), with a constant among its columns or in their span.
    y : array (n,).
    counts : array (m, n), how often each of m samples has each row; all once unless given.

    Source: Golub, Heath and Wahba, Generalized Cross-Validation as a Method for Choosing a Good
        Ridge Parameter.

    >>> x = np.column_stack([np.linspace(-1, 1, 50), np.ones(50)])
    >>> fit_ridge(x, x @ [2.0, 1.0]).round(2)
    array([[2., 1.]])
    """
    rows = len(y)
    counts = np.ones((1, rows)) if counts is None else counts
    constant = _find_constant(x)
    return np.stack([_fit_one(x, y, count / rows, constant) for count in counts])


def chance_in_slopes(x: Array, y: Array) -> Array:
    """Part of the least-squares model (p,) that chance in the rows has made too strong.

    With A the mean square of its predictions around their mean, chance adds V to that, by the
    residuals. A ridge regression loses about eV/(e + V) at a true mean square e. A - V is unbiased
    for e, but what is lost at A - V is too little on average. To second order of the chance in A,

        e = A - V (1 - 2 (1 + k)/q),    k = (1 - V/A)+,

    makes up for that, with q slopes. Along axis j of the correlations, of eigenvalue l_j, the slope
    is that of least squares times sqrt(l_j/(l_j + t)), with t such that e is left in all. If slopes
    are alike a priori, as ridge regression has it, that is the true mean square on each axis.

    Parameters
    ----------
    x : array (n, p), with a constant among its columns or in their span.
    y : array (n,), with residuals of the size that they have on fresh records.

    Source: ours; at k = 0, e is the estimate of James and Stein (1961), A - V (1 - 2/q).

    >>> x = np.column_stack([np.linspace(-1, 1, 50), np.ones(50)])
    >>> chance_in_slopes(x, x @ [2.0, 1.0]).round(2) + 0
    array([0., 0.])
    """
    shown = _show_slopes(x, y)
    if shown is None:
        return np.zeros(x.shape[1])
    found, placed, along, missed = shown
    penalty = _signal_penalty(along**2, _chance_shown(placed, missed), found.values)
    slopes = along * (1 / np.sqrt(found.values) - 1 / np.sqrt(found.values + penalty))
    return found.model(slopes, 0.0, _find_constant(x))


def possible_models(x: Array, y: Array, counts: Array, total: int) -> Array:
    """Draw models (m, p) that may be the best of all records, as rows allow them.

    In every other draw nothing is known of slopes but what rows show: they are least squares, and
    off by its variance. In the others they are alike a priori, as ridge regression has it. On axis
    j of the correlations they then are l_j/(l_j + k) times that on average, with as much of its
    variance, where k is the variance of chance over that of slopes. Rows leave k open: its
    posterior, with 1/(1 + k) uniform a priori, has as many parts of equal probability as there are
    such draws, and each takes one. How a slope departs from its mean is taken from a sample of the
    rows, to first order: the inverse of a sample's own moments scatters too widely where columns
    are many.

    Parameters
    ----------
    x : array (n, p), with a constant among its columns or in their span.
    y : array (n,), with residuals of the size that they have on fresh records.
    counts : array (m, n), how often each of m samples has each row.
    total : all records, whose best model departs from that of their source by chance, too.

    Source: ours; Strawderman (1971; the uniform prior).

    >>> x = np.column_stack([np.linspace(-1, 1, 50), np.ones(50)])
    >>> possible_models(x, x @ [2.0, 1.0], np.ones((1, 50)), 1000).round(2)
    array([[2., 1.]])
    """
    rows = len(y)
    constant = _find_constant(x)
    drawn = (counts - 1) / rows
    shown = _show_slopes(x, y)
    if shown is None:
        return np.outer(y.mean() + np.sqrt(1 + rows / total) * drawn @ (y - y.mean()), constant)
    found, placed, along, missed = shown
    chance = _chance_shown(placed, missed) / len(along)
    penalties = np.zeros(len(counts))
    penalties[1::2] = _possible_penalties(along**2, chance, found.values, len(counts) // 2)
    kept = found.values / (found.values + penalties[:, None])
    departs = np.sqrt(kept + rows / total) * (drawn * missed @ placed)
    slopes = (kept * along + departs) / np.sqrt(found.values)
    means = y.mean() + np.sqrt(1 + rows / total) * drawn @ missed
    return np.stack([found.model(*one, constant) for one in zip(slopes, means, strict=True)])


def _show_slopes(x: Array, y: Array) -> tuple[_Axes, Array, Array, Array] | None:
    """Axes of rows, their places (n, k) of mean square 1, least squares (k,), residuals (n,)."""
    rows = len(y)
    found = _Axes.of(x, np.full(rows, 1 / rows))
    if found is None:
        return None
    placed = found.columns @ found.axes / np.sqrt(found.values)
    left = y - y.mean()
    along = placed.T @ left / rows
    return found, placed, along, left - placed @ along


def _chance_shown(placed: Array, missed: Array) -> float:
    """V of `chance_in_slopes`, by places (n, k) and residuals (n,)."""
    return float(missed**2 @ np.sum(placed**2, axis=1)) / len(missed) ** 2


def _possible_penalties(squares: Array, chance: float, values: Array, count: int) -> Array:
    """Values (count,) of k of `possible_models`, of equal probability; chance is on one axis."""
    if not chance > 0:
        return np.zeros(count)
    expected = 1 + values / RIDGES[:, None]  # of a square, over chance
    logs = -0.5 * (np.log(expected) + squares / (chance * expected)).sum(axis=1)
    odds = np.exp(logs - logs.max()) * RIDGES / (1 + RIDGES) ** 2
    reached = (np.cumsum(odds) - odds / 2) / odds.sum()
    levels = (np.arange(count) + 0.5) / count
    return np.asarray(np.exp(np.interp(levels, reached, np.log(RIDGES))))


def _signal_penalty(squares: Array, chance: float, values: Array) -> float:
    """t of `chance_in_slopes`, by the mean squares (k,) on axes of eigenvalues (k,), and V."""
    shown = float(squares.sum())
    share = max(0.0, 1 - chance / shown) if shown > 0 else 0.0
    left = shown - chance * max(0.0, 1 - 2 * (1 + share) / len(values))
    if left <= 0:
        return np.inf
    most = 2 * float(values[-1]) * (shown - left) / left  # where less than e is left

    def excess(penalty: float) -> float:
        return float(squares @ (values / (values + penalty))) - left

    return float(scipy.optimize.brentq(excess, 0.0, most))


def _find_constant(x: Array) -> Array:
    """Parameters (p,) that predict 1 everywhere."""
    return np.asarray(np.linalg.lstsq(x, np.ones(len(x)), rcond=None)[0], dtype=float)


@dataclass(frozen=True)
class _Axes:
    """Columns that vary, standardised, and the axes of their correlations.

    Parameters
    ----------
    middle : array (p,), means of all columns.
    varies : array (p,), bool, of the columns that vary, and ``deviation`` (v,), how far they do.
    columns : array (n, v), standardised.
    values, axes : arrays (k,) and (v, k), rising eigenvalues of the correlations, without those
        that are nothing, and eigenvectors.
    """

    middle: Array
    varies: NDArray[np.bool_]
    deviation: Array
    columns: Array
    values: Array
    axes: Array

    @classmethod
    def of(cls, x: Array, weight: Array) -> _Axes | None:
        """Axes of rows of weights (n,) that add up to 1; None if no column varies."""
        middle = weight @ x
        centred = x - middle
        variance = weight @ centred**2
        varies = variance > FLAT * variance.max()
        if not varies.any():
            return None
        deviation = np.sqrt(variance[varies])
        columns = centred[:, varies] / deviation
        values, axes = np.linalg.eigh((columns * weight[:, None]).T @ columns)
        kept = values > FLAT * values[-1]
        return cls(middle, varies, deviation, columns, values[kept], axes[:, kept])

    def model(self, slopes: Array, mean: float, constant: Array) -> Array:
        """Model (p,) with slopes (k,) along the axes and a mean prediction."""
        model = np.zeros(len(self.middle))
        model[self.varies] = self.axes @ slopes / self.deviation
        return np.asarray(model + (mean - self.middle @ model) * constant)


def _fit_one(x: Array, y: Array, weight: Array, constant: Array) -> Array:
    """Fit one of `fit_ridge`, rows of weights (n,) that add up to 1."""
    mean = float(weight @ y)
    found = _Axes.of(x, weight)
    if found is None:
        return mean * constant
    values = found.values
    left = y - mean
    slopes = found.axes.T @ (found.columns.T @ (weight * left))
    shrunk = values / (values + RIDGES[:, None])
    residual = weight @ left**2 - np.sum(slopes**2 / values * (2 * shrunk - shrunk**2), axis=1)
    freedom = 1 - (1 + shrunk.sum(axis=1)) / len(y)
    chosen = int(np.argmin(residual / freedom**2))
    return found.model(slopes / (values + RIDGES[chosen]), mean, constant)
