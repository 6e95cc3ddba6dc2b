"""Shares of a budget that an owner's answers get.

Shares grow because under descent every later step shrinks what remains of an answer's noise: the
last answers decide the error of the model.
"""

from __future__ import annotations

import numpy as np

from learning.arrays import Array


def answer_shares(growth: float, answers: int) -> Array:
    """Compute the share of each answer, (answers,): s_k in proportion to growth^k, with sum 1.

    Parameters
    ----------
    growth: g > 0, each share over the one before; 1 for the even split.
    answers: T >= 1, the answers that the budget covers.

    Source: ours. Lee and Kifer, Concentrated Differentially Private Gradient Descent with Adaptive
        per-Iteration Privacy Budget, raise the budget where the noise hides the gradient.

    >>> answer_shares(2.0, 3).round(4).tolist(), answer_shares(1.0, 4).tolist()
    ([0.1429, 0.2857, 0.5714], [0.25, 0.25, 0.25, 0.25])
    """
    parts = np.float64(growth) ** -np.arange(answers - 1, -1, -1.0)  # the last is 1: no overflow
    return np.asarray(parts / parts.sum())
