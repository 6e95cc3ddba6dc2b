"""Shares of a budget between the answers that it covers: even, or growing from answer to answer.

Under descent every later step shrinks what remains of an answer's noise, so the last answers decide
the error of the model, and growing shares buy a better model for the same budget.
"""

from __future__ import annotations

import numpy as np

from learning.arrays import Array

GROWTHS = (1.0, 1.5, 2.0, 3.0, 4.0)  # tried where the growth is left open
LARGEST = 10.0  # growth that may be stated
STEEPEST = 1e6  # last share over the first: beyond it the first answers are nothing but noise


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


def share_ratio(growth: float, answers: int) -> float:
    """Compute the largest share over the smallest; inf on overflow."""
    with np.errstate(over="ignore"):
        return float(np.float64(max(growth, 1 / growth)) ** (answers - 1))


def open_growths(growth: float | None, answers: int) -> tuple[float, ...]:
    """List the growths worth trying: the stated one, else those of GROWTHS that are not too steep.

    >>> open_growths(None, 2), open_growths(None, 30), open_growths(2.0, 100)
    ((1.0, 1.5, 2.0, 3.0, 4.0), (1.0, 1.5), ())
    """
    tried = GROWTHS if growth is None else (growth,)
    return tuple(one for one in tried if share_ratio(one, answers) <= STEEPEST)
