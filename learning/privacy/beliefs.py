"""How sure an onlooker can become of a record, by the privacy profile of all that it sees.

Two versions of a record are held for equally likely. M is the chance, over which of them is true and over the noise, that
what is seen leaves one of them more than b likely. With delta(e) the profile, at every e >= 0

    b < (e^e + delta(e)/M)/(1 + e^e),

so that no belief rises above the least of these but for a chance of M. Proof: let the first version become more than b
likely on A, P(A) > b (P(A) + Q(A)). As P(A) <= e^e Q(A) + delta(e), b s < (e^e s + delta(e))/(1 + e^e), s = P(A) + Q(A).
The same holds of the second version, and both s add up to 2 M. It is attained by who shows the most telling part M of a
mechanism's answers and hides the rest. With M = 1 it is the chance that the best guess is right; under pure epsilon-DP it is
e^epsilon/(1 + e^epsilon) whatever M.

Source: ours. In terms of the trade-off function f of Dong, Roth and Su, Gaussian Differential Privacy, the bound is
(1 - f(a))/M at the level a at which a + 1 - f(a) = M.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array

TRIED = np.concatenate([[0.0], np.geomspace(1e-3, 500.0, 1000)])  # e at which a profile is read
EVALUATED = 64  # of many budgets: those between count as the next larger one


def belief(epsilon: ArrayLike, delta: ArrayLike, chance: ArrayLike) -> Array:
    """The bound at one point of a profile, (e^epsilon + delta/chance)/(1 + e^epsilon), 1 where that is above 1.

    Parameters
    ----------
    epsilon, delta: arrays, a point of the profile.
    chance: array, M in (0, 1]; of no concern, and 0 if one likes, where delta is 0.

    >>> round(float(belief(np.log(3), 0.0, 0.0)), 9), round(float(belief(np.log(3), 0.1, 1.0)), 9)
    (0.75, 0.775)
    """
    delta, chance = np.asarray(delta, dtype=float), np.asarray(chance, dtype=float)
    beyond = np.where(delta > 0, delta / np.where(delta > 0, chance, 1.0), 0.0)
    return np.asarray(1 - np.maximum(1 - beyond, 0.0) * scipy.special.expit(-np.asarray(epsilon, dtype=float)))


def surest(profile: Callable[[Array], ArrayLike], chance: float) -> float:
    """The least bound over a profile.

    Parameters
    ----------
    profile: e (k,), at least 0 -> the least delta at each.
    chance: M in (0, 1].
    """
    return float(belief(TRIED, profile(TRIED), chance).min())


def by_column(law: Callable[[tuple[float, ...]], float], columns: Array) -> Array:
    """law(column) of each column of budgets (k, n), once for equal ones; very many are rounded up to a few beforehand.

    ``law`` must never fall as budgets rise.
    """
    distinct, which = np.unique(columns, axis=1, return_inverse=True)
    if distinct.shape[1] > EVALUATED:
        few = np.geomspace(columns.min(), columns.max(), EVALUATED)
        few[-1] = columns.max()
        distinct, which = np.unique(few[np.searchsorted(few, columns)], axis=1, return_inverse=True)
    return np.array([law(tuple(column)) for column in distinct.T.tolist()])[np.ravel(which)]
