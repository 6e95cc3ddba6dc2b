"""Weights where owners share one noise: the strictest set it, and who is laxer than a level may as well stay there."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from learning.arrays import Array


def saturation(term: ArrayLike, sizes: ArrayLike, sharing: NDArray[np.bool_], balance: float) -> float:
    """The level r of sqrt(term) below which a budget adds nothing, where the learner sees the weighted sum only.

    One noise must hide q_l times each owner's answer at that owner's own budget, so it is as large as the largest need,
    max q^2 t/n^2, with t the `Mechanism.noise_term`. The weights that minimise

        balance max_l q_l^2 t_l/n_l^2 + sum q_l^2/n_l,   q >= 0, sum q = 1,

    are q_l proportional to n_l/max(sqrt(t_l), r). Derivation: with the largest need fixed at h^2, weights are by records,
    capped where q_l sqrt(t_l)/n_l reaches h; with q_l = c n_l elsewhere and r = h/c, who is capped is who has
    sqrt(t_l) > r, and the derivative by h is 0 where balance r = sum (n_l/sqrt(t_l)) (1 - r/sqrt(t_l))_+. A sum of positive
    parts is the largest of the sums over sets of owners, and of sets only those of the k strictest matter, so that

        r = max_k A_k/(balance + B_k),   A_k = sum n/sqrt(t), B_k = sum n/t, each over the k strictest.

    Parameters
    ----------
    term : array (n_owners,), the noise term of each owner's budget.
    sizes : array (n_owners,), records.
    sharing : array (n_owners,) of bool, who shares anything.
    balance : what a unit of noise costs relative to a unit of 1/n, at least 0, as in `Weighting`.

    Returns
    -------
    r; 0 where nobody who shares adds noise. `Mechanism.budget` of r^2 is the budget beyond which nothing is gained.

    Source: ours; with one record each, t = 2/epsilon^2 (a variable in [-1/2, 1/2] under Laplace noise) and balance 4 (its
    variance is at most 1/4) sqrt(2)/r is the threshold (8 + sum epsilon^2)/sum epsilon over the k strictest of Chaudhuri
    and Courtade, Mean Estimation Under Heterogeneous Privacy Demands (2023). Cummings et al., Optimal Data Acquisition
    with Privacy-Aware Agents (2022), find the laxest pooled likewise.

    >>> budgets = np.array([1.0, 0.1])
    >>> level = saturation(8 / budgets**2, [1000.0, 1000.0], budgets > 0, balance=1.0)
    >>> round(float(np.sqrt(8) / level), 3)  # beyond this budget the first owner brings nothing
    0.18
    """
    sizes, term, sharing = np.broadcast_arrays(np.asarray(sizes, float), np.asarray(term, float), sharing)
    noisy = sharing & (term > 0)
    if not noisy.any():
        return 0.0
    spread, records = np.sqrt(term[noisy]), sizes[noisy]
    strictest = np.argsort(-spread, kind="stable")
    spread, records = spread[strictest], records[strictest]
    return float(np.max(np.cumsum(records / spread) / (balance + np.cumsum(records / spread**2))))


def shared_raw(term: ArrayLike, sizes: ArrayLike, sharing: NDArray[np.bool_], level: float) -> Array:
    """n/max(sqrt(term), level) of who shares (...): q before it is made to sum to 1, so that the noise is 1/sum^2.

    A level announced beforehand makes the market aggregative: noise of 1/sum(raw)^2 hides every owner at its own budget,
    whoever they are, and is just enough where anybody is as strict as the level.
    """
    spread = np.maximum(np.sqrt(np.asarray(term, dtype=float)), level)
    bare = spread == 0  # nobody adds noise: weights by records
    return np.where(sharing, np.asarray(sizes, dtype=float) / np.where(bare, 1.0, spread), 0.0)


def shared_weights(term: ArrayLike, sizes: ArrayLike, sharing: NDArray[np.bool_], balance: float) -> Array:
    """q of each owner (n_owners,) under one shared noise, best at a balance; sums to 1, all zero where nobody shares.

    Parameters as in `saturation`.

    >>> terms, both = 8 / np.array([1.0, 0.1]) ** 2, np.array([True, True])
    >>> shared_weights(terms, [1000.0, 1000.0], both, balance=1.0).round(3)  # the first sells ten times as much
    array([0.643, 0.357])
    >>> shared_weights(terms / [1e6, 1.0], [1000.0, 1000.0], both, balance=1.0).round(3)  # ten thousand times
    array([0.643, 0.357])
    """
    raw = shared_raw(term, sizes, sharing, saturation(term, sizes, sharing, balance))
    return raw / max(float(raw.sum()), 1e-300)


def shared_noise(term: ArrayLike, sizes: ArrayLike, weights: ArrayLike) -> float:
    """max q^2 term/n^2: one noise that hides every owner's weighted records at its own budget, in units of `Weighting`."""
    term, sizes, weights = (np.asarray(one, dtype=float) for one in (term, sizes, weights))
    return float(np.max(weights**2 * term / sizes**2, initial=0.0))
