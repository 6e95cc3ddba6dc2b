"""How much a differentially private answer can tell about the records behind it."""

from __future__ import annotations

import numpy as np


def leakage_bits(epsilon: np.ndarray, values: float | np.ndarray = 10, delta: float = 0.0) -> np.ndarray:
    """Bound on the min-entropy leakage of one record, in bits: ``log2(v (e^epsilon + (v-1) delta)/(v - 1 + e^epsilon))``.

    Computed as ``log2(1 + (v-1) delta e^-epsilon) - log2(1 - (v-1)/v (1 - e^-epsilon))``: with delta = 0 exactly 0 at
    epsilon = 0, ``log2 v`` at epsilon = inf, no overflow between. It holds for all that is (epsilon, delta)-private: where
    the best guess at value i is made on A_i, P_i(A_i) <= e^epsilon P_j(A_i) + delta, summed over all j != i and all i.

    Parameters
    ----------
    epsilon : array, privacy budget, 0 to inf
    values : float or array, number of values v > 1 a record can take
    delta : float, the failure probability of approximate privacy

    Returns
    -------
    array, bits per record

    Source: Wu, MRes thesis, section 2.2 (after Alvim et al., for u individuals: u times this); delta > 0: ours.

    >>> [round(float(leakage_bits(epsilon, 10)), 3) for epsilon in (0.0, 1.0, np.inf)]
    [0.0, 1.214, 3.322]
    """
    epsilon, values = np.asarray(epsilon, dtype=float), np.asarray(values, dtype=float)
    half = np.tanh(epsilon / 2)  # 1 - e^-epsilon = 2 half / (1 + half), ten times as quick as by expm1
    bits = np.log1p(-2 * (values - 1) / values * half / (1 + half)) / -np.log(2)
    return bits + np.log1p((values - 1) * delta * np.exp(-epsilon)) / np.log(2) if delta else bits


def leakage_slope(epsilon: np.ndarray, values: float | np.ndarray = 10) -> np.ndarray:
    """Bits of :func:`leakage_bits` that one more unit of epsilon leaks: ``(v-1)/(v-1+e^epsilon)/ln 2``.

    Parameters and source as there. Positive and falling: the first units of epsilon leak the most.
    """
    rest = (np.asarray(values, dtype=float) - 1) * np.exp(-np.asarray(epsilon, dtype=float))
    return rest / (1 + rest) / np.log(2)


def utility_bound(epsilon: np.ndarray, distance: int = 5, border: float | np.ndarray = 2) -> np.ndarray:
    """Bound on the probability that the best guess at a true answer, from a private one, is right.

    ``z^d (1-z) / (z^d (1-z) + c (1 - z^d))`` with ``z = e^epsilon``, computed as ``1 / (1 + c sum_{k=1..d} e^(-k
    epsilon))``: exact at epsilon = 0, where it is ``1 / (1 + c d)``, and 1 at epsilon = inf.

    Parameters
    ----------
    epsilon : array, privacy budget between neighbouring answers, 0 to inf
    distance : int, largest distance d between two answers, at least 1
    border : float or array, number c of answers at each distance 1..d from any answer

    Returns
    -------
    array, probability

    Source: Wu, MRes thesis, equation 2.3 (after Alvim et al.). It holds where all answers have the same place in the
    graph of neighbours: a ring, a complete graph, two answers. Where they have not, as on a line of three or more, no
    channel need reach it.

    >>> [round(float(utility_bound(epsilon, 5, 2)), 3) for epsilon in (0.0, 1.0, np.inf)]
    [0.091, 0.464, 1.0]
    """
    return 1 / (1 + border * _decays(epsilon, distance)[0])


def utility_slope(epsilon: np.ndarray, distance: int = 5, border: float | np.ndarray = 2) -> np.ndarray:
    """Derivative of :func:`utility_bound`: ``U^2 c sum_{k=1..d} k e^(-k epsilon)``. Parameters and source as there."""
    plain, weighted = _decays(epsilon, distance)
    return border * weighted / (1 + border * plain) ** 2


def _decays(epsilon: np.ndarray, distance: int) -> tuple[np.ndarray, np.ndarray]:
    """``sum e^(-k epsilon)`` and ``sum k e^(-k epsilon)`` over k = 1..distance."""
    if distance < 1 or distance != int(distance):
        raise ValueError(f"distance must be a whole number of at least 1; found {distance}")
    factor = np.exp(-np.asarray(epsilon, dtype=float))
    plain, weighted = np.zeros_like(factor), np.zeros_like(factor)
    for k in range(int(distance), 0, -1):
        plain, weighted = (plain + 1) * factor, (weighted + k) * factor
    return plain, weighted


def belief_bound(epsilon: np.ndarray, worlds: float | np.ndarray = 2, ratio: float | np.ndarray = 1.0) -> np.ndarray:
    """Bound on how sure an adversary becomes which of m worlds is true: ``1 / (1 + (m-1) e^(-epsilon ratio))``.

    Parameters
    ----------
    epsilon : array, privacy budget, 0 to inf
    worlds : float or array, number m > 1 of worlds the adversary holds possible, all as likely before the answer
    ratio : float or array, by how much the worlds change the answer over its sensitivity: ``(Delta v) / (Delta f)``

    Returns
    -------
    array, probability: 1/m at epsilon = 0, 1 at epsilon = inf

    Source: Lee and Clifton, How Much Is Enough? Choosing epsilon for Differential Privacy; Wu, MRes thesis, equation
    2.4, which prints e where epsilon is meant.

    >>> float(belief_bound(np.log(3), 2))
    0.75
    """
    return 1 / (1 + (np.asarray(worlds, dtype=float) - 1) * np.exp(-np.asarray(epsilon, dtype=float) * ratio))


def belief_slope(epsilon: np.ndarray, worlds: float | np.ndarray = 2, ratio: float | np.ndarray = 1.0) -> np.ndarray:
    """Derivative of :func:`belief_bound`: ``ratio * belief * (1 - belief)``. Parameters and source as there."""
    doubt = (np.asarray(worlds, dtype=float) - 1) * np.exp(-np.asarray(epsilon, dtype=float) * ratio)
    return ratio * doubt / (1 + doubt) ** 2


def belief_rise(epsilon: np.ndarray, worlds: float | np.ndarray = 2, ratio: float | np.ndarray = 1.0) -> np.ndarray:
    """How much surer than before, ``belief_bound - 1/m``, exactly 0 at epsilon = 0. Parameters and source as there."""
    exponent, rest = -np.asarray(epsilon, dtype=float) * ratio, np.asarray(worlds, dtype=float) - 1
    return rest / (1 + rest) * -np.expm1(exponent) / (1 + rest * np.exp(exponent))


def expected_harm(epsilon: np.ndarray, base_cost: float | np.ndarray) -> np.ndarray:
    """By how much taking part can raise an individual's expected cost: ``(e^epsilon - 1) E``.

    Parameters
    ----------
    epsilon : array, privacy budget, 0 to inf
    base_cost : float or array, expected cost E to an individual if it takes no part, money

    Returns
    -------
    array, money per individual; inf where it exceeds what a float can hold

    Source: Hsu et al., Differential Privacy: An Economic Method for Choosing Epsilon.
    """
    base_cost = np.asarray(base_cost, dtype=float)
    with np.errstate(over="ignore", invalid="ignore"):  # who has nothing to fear loses nothing even at epsilon = inf
        return np.where(base_cost > 0, base_cost * np.expm1(np.asarray(epsilon, dtype=float)), 0.0)
