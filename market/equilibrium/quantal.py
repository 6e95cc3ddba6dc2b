"""Logit quantal responses, and quantal response equilibria of small games.

The logit response to payoffs u chooses option k with probability exp(precision u_k) / sum_j
exp(precision u_j): uniformly at precision 0, and the best option alone in the limit.

>>> logit_response(np.array([[0.0, np.log(3.0)]]), 1.0, "money").round(2).tolist()
[[0.25, 0.75]]
"""

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from market.columns import Array
from market.game.game import Game
from market.game.owners import Owners

Per = Literal["stake", "money"]
# Pairs of an owner's option and a profile of the others that are enumerated.
LARGEST = 10**6


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


@dataclass(frozen=True)
class QuantalEquilibrium:
    """Choice probabilities that are logit responses to each other.

    Attributes
    ----------
    options : (n_owners, m), budgets
    chances : (n_owners, m), choice probabilities
    payoffs : (n_owners, m), expected payoff of each option
    gap : float, the largest difference between a probability and that of the response
    converged : bool, whether that is within the tolerance
    rounds : int
    """

    options: Array
    chances: Array
    payoffs: Array
    gap: float
    converged: bool
    rounds: int

    @property
    def mean(self) -> Array:
        """Expected budget of each owner (n_owners,)."""
        return np.asarray((self.options * self.chances).sum(axis=1))


def quantal_equilibrium(
    game: Game,
    precision: float,
    *,
    per: Per = "stake",
    options: int = 41,
    damping: float = 0.5,
    tol: float = 1e-10,
    max_rounds: int = 10_000,
) -> QuantalEquilibrium:
    """Logit quantal response equilibrium of a small game, from uniform choices.

    A damped fixed point: ``chances += damping * (logit(payoffs(chances)) - chances)``. Payoffs
    are averaged over all profiles of the others' options, so owners must be few.

    Parameters
    ----------
    precision, per : of `logit_response`
    options : int, budgets of each owner, in equal steps
    damping : float, in (0, 1]
    tol : float, of the largest change of a probability
    max_rounds : int

    Raises
    ------
    ValueError
        Too many options and profiles to enumerate.

    Source: McKelvey and Palfrey, Quantal response equilibria for normal form games (1995),
        Definition 2 and Theorem 1.

    Owners who choose at random sell 2 each; precise ones sell 4 * 1 / (1 + 1)^2 each:

    >>> from market.costs.functions import Linear
    >>> from market.policies.proportional import Proportional
    >>> owners = Owners(("A", "B"), 1, 0.0, 4.0, Linear([1.0, 1.0]))
    >>> game = Game(owners, Proportional(4.0, "epsilon"), None, 0.0)
    >>> blind, sharp = quantal_equilibrium(game, 0.0), quantal_equilibrium(game, 1e3, per="money")
    >>> blind.mean.round(9).tolist(), sharp.mean.round(2).tolist()
    ([2.0, 2.0], [1.0, 1.0])
    """
    count = len(game.owners)
    grid = even_grid(game.owners, options)
    if options**count > LARGEST:
        found = f"{count} owners with {options} options each"
        raise ValueError(f"{found} are more than can be weighed; consider fewer options")
    tables = [_payoff_table(game, grid, owner) for owner in range(count)]
    chances = np.full_like(grid, 1 / options)
    gap = np.inf
    rounds = 0
    while gap > tol and rounds < max_rounds:
        expected = np.stack(
            [table @ _others_chances(chances, owner) for owner, table in enumerate(tables)]
        )
        response = logit_response(expected, precision, per)
        gap = float(np.abs(response - chances).max())
        rounds = rounds + 1
        if gap > tol:
            chances = chances + damping * (response - chances)
    return QuantalEquilibrium(grid, chances, expected, gap, gap <= tol, rounds)


def _payoff_table(game: Game, grid: Array, owner: int) -> Array:
    """Payoffs (m, profiles) of an owner's options at each profile of the others' options."""
    rows = [row[:1] if i == owner else row for i, row in enumerate(grid)]
    moves = [game.deviations(np.array(at), np.array([owner])) for at in product(*rows)]
    return np.stack([one.payoffs(grid[[owner]])[0] for one in moves], 1)


def _others_chances(chances: Array, owner: int) -> Array:
    """Probability of each profile of the others' options (profiles,)."""
    weight = np.ones(1)
    for other, row in enumerate(chances):
        if other != owner:
            weight = np.outer(weight, row).ravel()
    return weight
