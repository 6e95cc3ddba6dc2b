"""How unequally money ends up."""

from __future__ import annotations

import numpy as np


def gini(values: np.ndarray) -> float:
    """Gini coefficient: ``sum_ij |x_i - x_j| / (2 N sum x)``, half the mean difference over the mean.

    0 where all have the same; (N - 1)/N where one has all. Where some lose money it may exceed 1.

    Parameters
    ----------
    values : (n,), money

    Returns
    -------
    float; 0 where nobody has anything, nan where the total is not above 0 otherwise.

    Source: Gini, Variabilita e mutabilita (1912), by the ranks of the sorted values.

    >>> gini(np.array([2.0, 2.0, 2.0])), gini(np.array([0.0, 0.0, 3.0, 0.0]))
    (0.0, 0.75)
    """
    ordered = np.sort(np.asarray(values, dtype=float).ravel())
    if not ordered.size:
        raise ValueError("values must hold at least one number; found none")
    if not ordered.any():
        return 0.0
    total, count = ordered.sum(), len(ordered)
    if total <= 0:
        return float("nan")
    return float(max(0.0, (2 * np.arange(1, count + 1) - count - 1) @ ordered / (count * total)))
