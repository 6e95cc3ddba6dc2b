"""Logit quantal responses: choice probabilities that rise with payoffs.

The logit response to payoffs u chooses option k with probability exp(precision u_k) / sum_j
exp(precision u_j): uniformly at precision 0, and the best option alone in the limit.

>>> logit_response(np.array([[0.0, np.log(3.0)]]), 1.0, "money").round(2).tolist()
[[0.25, 0.75]]
"""

from typing import Literal

import numpy as np

from market.columns import Array
from market.game.owners import Owners

Per = Literal["stake", "money"]


def even_grid(owners: Owners, count: int) -> Array:
    """Budgets (n, count) in equal steps from one end of each owner's interval to the other.

    Privacy costs and payments are about linear in epsilon, so equal steps are about equal amounts
    of money.
    """
    low = owners.epsilon_min[:, None]
    high = owners.epsilon_max[:, None]
    grid = low + (high - low) * np.linspace(0, 1, count)
    grid[:, -1] = owners.epsilon_max
    return np.minimum(grid, high)


def logit_response(payoffs: Array, precision: float, per: Per = "stake") -> Array:
    """Choice probabilities (n, m) of the logit response to payoffs (n, m).

    Parameters
    ----------
    precision : float, log odds of two options per unit of their difference
    per : the unit: "money", or "stake", the difference between the owner's best and worst option,
        so that the unit of money does not matter

    Source: McKelvey and Palfrey, Quantal response equilibria for normal form games (1995),
        section 3; there in money.
    """
    below = payoffs - payoffs.max(axis=1, keepdims=True)
    if per == "stake":
        stake = -below.min(axis=1, keepdims=True)
        below = np.divide(below, stake, out=np.zeros_like(below), where=stake > 0)
    weight = np.exp(precision * below)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def draw_options(chances: Array, uniform: Array) -> Array:
    """Draw a column (n,) from each row of probabilities (n, m) by numbers in [0, 1) (n,).

    >>> draw_options(np.array([[0.5, 0.0, 0.5]] * 3), np.array([0.0, 0.49, 0.51])).tolist()
    [0, 0, 2]
    """
    sums = np.cumsum(chances, axis=1)
    return np.asarray((sums[:, :-1] <= uniform[:, None] * sums[:, -1:]).sum(axis=1))
