"""How a budget is shared between the answers that it covers: evenly, or each answer a larger share than the one before.

Under descent what is left of an answer's noise falls with every later step, so the last answers decide how good the model
is: shares that grow buy a better model for the same promise.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from learning.arrays import Array

GROWTHS = (1.0, 1.5, 2.0, 3.0, 4.0)  # tried where the growth is left open
LARGEST = 10.0  # growth that may be stated
STEEPEST = 1e6  # the last share over the first: beyond it the first answers are nothing but noise


def shares(growth: float, answers: int) -> Array:
    """The share of the budget that each of so many answers spends, (answers,): s_k in proportion to growth^k, sum 1.

    Parameters
    ----------
    growth: g > 0, each share over the one before; 1 for the even split.
    answers: T >= 1, the answers that the budget covers.

    Source: ours. That later steps deserve more of a budget: Lee and Kifer, Concentrated Differentially Private Gradient
    Descent with Adaptive per-Iteration Privacy Budget, who raise it where the noise hides the gradient.

    >>> shares(2.0, 3).round(4).tolist(), shares(1.0, 4).tolist()
    ([0.1429, 0.2857, 0.5714], [0.25, 0.25, 0.25, 0.25])
    """
    parts = np.float64(growth) ** -np.arange(answers - 1, -1, -1.0)  # the last is 1: no overflow
    return np.asarray(parts / parts.sum())


def steepness(growth: float, answers: int) -> float:
    """The largest share over the smallest, inf where that is no number."""
    with np.errstate(over="ignore"):
        return float(np.float64(max(growth, 1 / growth)) ** (answers - 1))


def open_growths(growth: float | None, answers: int) -> tuple[float, ...]:
    """Those worth trying with so many answers: the one that is stated, else those of GROWTHS that are not too steep.

    >>> open_growths(None, 2), open_growths(None, 30), open_growths(2.0, 100)
    ((1.0, 1.5, 2.0, 3.0, 4.0), (1.0, 1.5), ())
    """
    tried: Iterable[float] = GROWTHS if growth is None else (growth,)
    return tuple(one for one in tried if steepness(one, answers) <= STEEPEST)
