"""Bounds on the information of a differentially private answer about the records behind it."""

import numpy as np

from market.columns import Array


def leakage_bits(epsilon: Array, values: float | Array = 10, delta: float = 0.0) -> Array:
    """Bound on the min-entropy leakage of one record, in bits.

    ``log2(v (e^epsilon + (v-1) delta) / (v - 1 + e^epsilon))``, computed as ``log2(1 + (v-1) delta
    e^-epsilon) - log2(1 - (v-1)/v (1 - e^-epsilon))``: with delta = 0 exactly 0 at epsilon = 0,
    ``log2 v`` at epsilon = inf, no overflow between. It holds for every (epsilon, delta)-private
    answer: where the best guess at value i is made on A_i, P_i(A_i) <= e^epsilon P_j(A_i) + delta,
    summed over all j != i and all i.

    Parameters
    ----------
    epsilon : array, privacy budget, 0 to inf
    values : float or array, number of values v > 1 a record can take
    delta : float, the failure probability of approximate privacy

    Source: Wu, MRes thesis, section 2.2 (after Alvim et al., for u individuals: u times this);
        delta > 0: ours.

    >>> [round(float(leakage_bits(epsilon, 10)), 3) for epsilon in (0.0, 1.0, np.inf)]
    [0.0, 1.214, 3.322]
    """
    epsilon = np.asarray(epsilon, dtype=float)
    values = np.asarray(values, dtype=float)
    # 1 - e^-epsilon = 2 half / (1 + half), ten times as quick as expm1.
    half = np.tanh(epsilon / 2)
    bits = np.log1p(-2 * (values - 1) / values * half / (1 + half)) / -np.log(2)
    return bits + np.log1p((values - 1) * delta * np.exp(-epsilon)) / np.log(2) if delta else bits


def leakage_slope(epsilon: Array, values: float | Array = 10) -> Array:
    """Derivative of `leakage_bits` at delta = 0: ``(v-1)/(v-1+e^epsilon)/ln 2``.

    It is positive and falls: the first units of epsilon leak the most.
    """
    rest = (np.asarray(values, dtype=float) - 1) * np.exp(-np.asarray(epsilon, dtype=float))
    return rest / (1 + rest) / np.log(2)


def utility_bound(epsilon: Array, distance: int = 5, border: float | Array = 2) -> Array:
    """Bound on the probability of a right guess at a true answer, given a private one.

    ``z^d (1-z) / (z^d (1-z) + c (1 - z^d))`` with ``z = e^epsilon``, computed as ``1 / (1 + c
    sum_{k=1..d} e^(-k epsilon))``: ``1 / (1 + c d)`` at epsilon = 0, and 1 at epsilon = inf.

    Parameters
    ----------
    epsilon : array, privacy budget between neighbouring answers, 0 to inf
    distance : int, largest distance d between two answers, at least 1
    border : float or array, number c of answers at each distance 1..d from any answer

    Source: Wu, MRes thesis, equation 2.3 (after Alvim et al.). It holds where all answers have the
        same place in the graph of neighbours: a ring, a complete graph, two answers. On a line of
        three or more no channel need reach it.

    >>> [round(float(utility_bound(epsilon, 5, 2)), 3) for epsilon in (0.0, 1.0, np.inf)]
    [0.091, 0.464, 1.0]
    """
    return 1 / (1 + border * _decay_sums(epsilon, distance)[0])


def utility_slope(epsilon: Array, distance: int = 5, border: float | Array = 2) -> Array:
    """Derivative of `utility_bound`: ``U^2 c sum_{k=1..d} k e^(-k epsilon)``."""
    plain, weighted = _decay_sums(epsilon, distance)
    return border * weighted / (1 + border * plain) ** 2


def _decay_sums(epsilon: Array, distance: int) -> tuple[Array, Array]:
    """``sum e^(-k epsilon)`` and ``sum k e^(-k epsilon)`` over k = 1..distance."""
    if distance < 1 or distance != int(distance):
        raise ValueError(f"distance must be a whole number of at least 1; found {distance}")
    factor = np.exp(-np.asarray(epsilon, dtype=float))
    plain = np.zeros_like(factor)
    weighted = np.zeros_like(factor)
    for k in range(int(distance), 0, -1):
        plain = (plain + 1) * factor
        weighted = (weighted + k) * factor
    return plain, weighted


def _doubt_odds(epsilon: Array, worlds: float | Array, ratio: float | Array) -> Array:
    """Odds against the true world, ``(m-1) e^(-epsilon ratio)``."""
    decay = np.exp(-np.asarray(epsilon, dtype=float) * ratio)
    return (np.asarray(worlds, dtype=float) - 1) * decay


def belief_bound(epsilon: Array, worlds: float | Array = 2, ratio: float | Array = 1.0) -> Array:
    """Bound on an adversary's belief in the true one of m worlds: ``1 / (1 + (m-1) e^(-e r))``.

    Parameters
    ----------
    epsilon : array, privacy budget e, 0 to inf
    worlds : float or array, number m > 1 of worlds the adversary holds possible, all as likely
        before the answer
    ratio : float or array, r, change of the answer between the worlds over its sensitivity:
        ``(Delta v) / (Delta f)``

    Source: Lee and Clifton, How Much Is Enough? Choosing epsilon for Differential Privacy; Wu,
        MRes thesis, equation 2.4, which prints e where epsilon is meant.

    >>> float(belief_bound(np.log(3), 2))
    0.75
    """
    return 1 / (1 + _doubt_odds(epsilon, worlds, ratio))


def belief_slope(epsilon: Array, worlds: float | Array = 2, ratio: float | Array = 1.0) -> Array:
    """Derivative of `belief_bound`: ``ratio * belief * (1 - belief)``."""
    doubt = _doubt_odds(epsilon, worlds, ratio)
    return ratio * doubt / (1 + doubt) ** 2


def belief_rise(epsilon: Array, worlds: float | Array = 2, ratio: float | Array = 1.0) -> Array:
    """Rise of the belief, ``belief_bound - 1/m``, exactly 0 at epsilon = 0."""
    exponent = -np.asarray(epsilon, dtype=float) * ratio
    rest = np.asarray(worlds, dtype=float) - 1
    return rest / (1 + rest) * -np.expm1(exponent) / (1 + rest * np.exp(exponent))


def expected_harm(epsilon: Array, base_cost: float | Array) -> Array:
    """Largest rise of an individual's expected cost by taking part: ``(e^epsilon - 1) E``.

    Parameters
    ----------
    epsilon : array, privacy budget, 0 to inf
    base_cost : float or array, expected cost E to an individual that takes no part, money

    Source: Hsu et al., Differential Privacy: An Economic Method for Choosing Epsilon.
    """
    base_cost = np.asarray(base_cost, dtype=float)
    # The rise is 0 at no cost even at epsilon = inf, and inf beyond what a float can hold.
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(base_cost > 0, base_cost * np.expm1(np.asarray(epsilon, dtype=float)), 0.0)
