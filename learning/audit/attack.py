"""Threshold tests between neighbouring data sets: lower confidence bounds on privacy loss.

The threshold is chosen on one half of the draws and tested on the other; proportions get limits by
Clopper and Pearson.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from learning.arrays import Array
from learning.privacy.guarantees import Measure

Statistics = Sequence[tuple[Array, Array]]

THRESHOLDS = 200  # tried on the first half


def clopper_pearson(hits: ArrayLike, draws: int, error: float) -> tuple[Array, Array]:
    """Compute (lower, upper) limits of a proportion, each wrong with probability at most ``error``.

    Source: Clopper and Pearson, The Use of Confidence or Fiducial Limits.

    >>> low, high = clopper_pearson([0, 5, 10], 10, 0.05)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.222, 0.741], [0.259, 0.778, 1.0])
    """
    hits = np.asarray(hits, dtype=float)
    low = np.where(hits > 0, betaincinv(np.maximum(hits, 1), draws - hits + 1, error), 0.0)
    high = np.where(hits < draws, betaincinv(hits + 1, np.maximum(draws - hits, 1), 1 - error), 1.0)
    return low, high


def bound_by_tests(
    first: Array, second: Array, thresholds: Array, measure: Measure, error: float
) -> Array:
    """Compute lower bounds from single tests: a row per side, a column per threshold.

    S is {statistic >= t} with D the first data set, or {statistic < t} with D the second; the bound
    is measure(lower limit of P[S | D], upper limit of P[S | D']), at least 0.

    Parameters
    ----------
    first: array (draws,), the statistic under the first data set, where it is larger.
    second: array (draws,), the statistic under the second.
    thresholds: array (k,), t.
    measure: one of `learning.privacy.guarantees`, such as `measure_pure`.
    error: the probability that a single bound is too high.
    """
    above = [len(s) - np.searchsorted(np.sort(s), thresholds) for s in (first, second)]
    tests = [(above[0], len(first), above[1], len(second))]
    tests.append((len(second) - above[1], len(second), len(first) - above[0], len(first)))
    bounds = []
    for hits, draws, misses, others in tests:
        low = clopper_pearson(hits, draws, error / 2)[0]
        high = clopper_pearson(misses, others, error / 2)[1]
        bounds.append(measure(low, high))
    return np.maximum(np.stack(bounds), 0.0)


def lower_bound(choosing: Statistics, testing: Statistics, measure: Measure, error: float) -> float:
    """Choose statistic, side and threshold on some draws, and bound on fresh ones.

    The bound is too high with probability at most ``error``.

    Parameters
    ----------
    choosing: for each candidate statistic, (draws under D, draws under D').
    testing: as many fresh ones.
    measure, error: as in `bound_by_tests`.
    """
    best = (-1.0, 0, 0, 0.0)
    for which, (first, second) in enumerate(choosing):
        grid = np.quantile(np.concatenate([first, second]), np.linspace(0, 1, THRESHOLDS))
        step = 1e-9 * (grid[-1] - grid[0])
        grid = np.unique(np.concatenate([grid - step, grid + step]))  # either side of an atom
        bounds = bound_by_tests(first, second, grid, measure, error)
        side, place = divmod(int(bounds.argmax()), len(grid))
        best = max(best, (float(bounds[side, place]), which, side, float(grid[place])))
    _, which, side, threshold = best
    return float(bound_by_tests(*testing[which], np.array([threshold]), measure, error)[side, 0])


def largest_bound(measure: Measure, draws: int, error: float, chance: float = 1.0) -> float:
    """Compute the bound of an attack that is never wrong: larger claims cannot be refuted.

    ``draws`` are those under either data set, ``chance`` is the probability that one depends on the
    record.
    """
    low, high = clopper_pearson(np.array([0, int(chance * draws)]), draws, error / 2)
    return float(measure(low[1:], high[:1])[0])
