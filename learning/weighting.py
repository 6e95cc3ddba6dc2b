"""Whom to include, and with what weight: more data is not always good, unless it is weighted well."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def best_coalition(sizes: ArrayLike, term: ArrayLike) -> NDArray[np.bool_]:
    """The owners whose answers, weighted by records, carry least noise: minimises sum_A term/(sum_A n)^2 over sets A.

    The best set is a prefix of the owners sorted by n/term (n epsilon^2 for Laplace noise), largest first. Proof: at an
    optimum of value v with m = sum_A n, leaving out a member would need term/n > 2 v m - v n, and taking in another
    term/n < 2 v m + v n; so members and others are told apart by term/n, and one pass over the prefixes finds it.

    Parameters
    ----------
    sizes : array (n_owners,), records.
    term : array (n_owners,), what each adds to the noise at its budget (`Mechanism.term`); owners that share nothing are
        given as inf and never belong.

    Returns
    -------
    array (n_owners,) of bool; empty only if nobody shares.

    Source: ours; it answers the remark of Wu et al., The Value of Collaboration, that more owners may make a worse model.

    >>> best_coalition([1e5, 1e3, 1e3], [8 / 10**2, 8 / 0.1**2, 8 / 0.1**2]).tolist()
    [True, False, False]
    """
    sizes, term = np.asarray(sizes, dtype=float), np.asarray(term, dtype=float)
    if not (np.all(sizes > 0) and np.all(term >= 0)):
        raise ValueError("sizes must be above 0 and terms at least 0")
    order = np.argsort(term / sizes, kind="stable")
    order = order[np.isfinite(term[order])]
    chosen = np.zeros(len(sizes), dtype=bool)
    if len(order):
        noise = np.cumsum(term[order]) / np.cumsum(sizes[order]) ** 2
        chosen[order[: int(np.argmin(noise)) + 1]] = True
    return chosen


def precision_weights(variance: ArrayLike, sizes: ArrayLike, gain: float = 1.0, dispersion: float = 0.0) -> Array:
    """Weights q that minimise K sum q^2 v + C sum q^2/n with sum q = 1: q proportional to 1/(K v + C/n).

    Parameters
    ----------
    variance : array (n_owners,), v of each owner's noise per coordinate; inf for who shares nothing.
    sizes : array (n_owners,), records.
    gain : K >= 0, fitness lost per unit of noise. dispersion : C >= 0, fitness lost per inverse record.

    Returns
    -------
    array (n_owners,), sums to 1; owners without noise share all the weight where C = 0.

    Raises
    ------
    ValueError
        If nobody shares.

    Source: ours (inverse-variance weighting of noise and sampling together).

    >>> precision_weights([1.0, 3.0, np.inf], [10, 10, 10]).tolist()
    [0.75, 0.25, 0.0]
    """
    variance, sizes = np.asarray(variance, dtype=float), np.asarray(sizes, dtype=float)
    cost = np.where(
        np.isfinite(variance), gain * np.where(np.isfinite(variance), variance, 0.0) + dispersion / sizes, np.inf
    )
    if not np.isfinite(cost).any():
        raise ValueError("at least one owner must share (a finite variance)")
    free = cost == 0
    if free.any():
        return free * sizes / sizes[free].sum()
    return (1 / cost) / np.sum(1 / cost)


def aggregate_noise(weights: ArrayLike, variance: ArrayLike) -> float:
    """S = sum q^2 v over owners with a weight: variance per coordinate of the aggregated answer."""
    weights, variance = np.asarray(weights, dtype=float), np.asarray(variance, dtype=float)
    return float(np.sum(np.where(weights > 0, weights**2 * np.where(weights > 0, variance, 0.0), 0.0)))
