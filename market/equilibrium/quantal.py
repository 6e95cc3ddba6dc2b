"""Quantal responses: people who choose what is better more often, and not always; and equilibria of such people.

The logit response to payoffs u of some options chooses option k with chance exp(precision u_k) / sum_j exp(precision u_j):
each alike at precision 0, the best alone as it grows.

>>> logit(np.array([[0.0, np.log(3.0)]]), 1.0, "money").round(2).tolist()
[[0.25, 0.75]]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from market.game.game import Game
from market.game.owners import Owners

Per = Literal["stake", "money"]
LARGEST = 10**6  # pairs of an owner's option and a profile of the others that are weighed one by one


def evenly(owners: Owners, count: int) -> np.ndarray:
    """Budgets that owners consider (n, count): from one end of the interval to the other in equal steps, both included.

    What is uniform over them is uniform in epsilon: privacy costs and payments are about linear in it, so that equal steps
    are about equal amounts of money. Of who may share nothing, that is one of them.
    """
    low, high = owners.epsilon_min[:, None], owners.epsilon_max[:, None]
    grid = low + (high - low) * np.linspace(0, 1, count)
    grid[:, -1] = owners.epsilon_max
    return np.minimum(grid, high)


def logit(payoffs: np.ndarray, precision: float, per: Per = "stake") -> np.ndarray:
    """The chances (n, m) with which each option is chosen, by its payoff (n, m).

    Parameters
    ----------
    precision : float, how much more likely the better is: the logarithm of the odds of two options for each unit that one
        is better
    per : what that unit is: "money", or "stake", the difference between the owner's best and worst option, so that the
        unit of money does not matter

    Source: McKelvey and Palfrey, Quantal response equilibria for normal form games (1995), section 3; there in money.
    """
    below = payoffs - payoffs.max(axis=1, keepdims=True)
    if per == "stake":
        stake = -below.min(axis=1, keepdims=True)
        below = np.divide(below, stake, out=np.zeros_like(below), where=stake > 0)
    weight = np.exp(precision * below)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def drawn(chances: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """The option that each row of chances (n, m) draws by a number in [0, 1) (n,): its column (n,).

    >>> drawn(np.array([[0.5, 0.0, 0.5]] * 3), np.array([0.0, 0.49, 0.51])).tolist()
    [0, 0, 2]
    """
    sums = np.cumsum(chances, axis=1)
    return np.asarray((sums[:, :-1] <= uniform[:, None] * sums[:, -1:]).sum(axis=1))


@dataclass(frozen=True)
class QuantalEquilibrium:
    """Chances that are logit responses to each other.

    Attributes
    ----------
    options : (n_owners, m), budgets that each considers
    chances : (n_owners, m), with which it chooses each
    payoffs : (n_owners, m), what it expects of each, the others choosing by their chances
    gap : float, the largest difference between a chance and that of the response to these chances
    converged : bool, whether that is within the tolerance asked for
    rounds : int
    """

    options: np.ndarray
    chances: np.ndarray
    payoffs: np.ndarray
    gap: float
    converged: bool
    rounds: int

    @property
    def mean(self) -> np.ndarray:
        """What each owner sells on average (n_owners,)."""
        return np.asarray((self.options * self.chances).sum(axis=1))


def quantal(
    game: Game,
    precision: float,
    *,
    per: Per = "stake",
    options: int = 41,
    damping: float = 0.5,
    tol: float = 1e-10,
    max_rounds: int = 10_000,
) -> QuantalEquilibrium:
    """The logit quantal response equilibrium of a small game, followed from one of any who choose blindly.

    A damped fixed point on the chances: ``chances += damping * (logit(payoffs(chances)) - chances)``, from equal chances.
    Every payoff is weighed over all profiles of the others' options, so owners must be few.

    Parameters
    ----------
    precision, per : of `logit`
    options : int, budgets that each owner considers, in equal steps
    damping : float, in (0, 1]
    tol : float, of the largest change of a chance
    max_rounds : int

    Raises
    ------
    ValueError
        More options and profiles than can be weighed one by one.

    Source: McKelvey and Palfrey, Quantal response equilibria for normal form games (1995), Definition 2 and Theorem 1.

    >>> from market.costs.functions import Linear
    >>> from market.policies.proportional import Proportional
    >>> game = Game(Owners(("A", "B"), 1, 0.0, 4.0, Linear([1.0, 1.0])), Proportional(4.0, "epsilon"), None, 0.0)
    >>> blind, sharp = quantal(game, 0.0), quantal(game, 1e3, per="money")
    >>> blind.mean.round(9).tolist(), sharp.mean.round(2).tolist()  # by sharp minds 4 * 1 / (1 + 1)^2 each
    ([2.0, 2.0], [1.0, 1.0])
    """
    count, grid = len(game.owners), evenly(game.owners, options)
    if options**count > LARGEST:
        raise ValueError(
            f"{count} owners with {options} options each are more than can be weighed; consider fewer options"
        )
    tables = [_payoffs(game, grid, owner) for owner in range(count)]
    chances, gap, rounds = np.full_like(grid, 1 / options), np.inf, 0
    while gap > tol and rounds < max_rounds:
        expected = np.stack([_expected(table, chances, owner) for owner, table in enumerate(tables)])
        response = logit(expected, precision, per)
        gap, rounds = float(np.abs(response - chances).max()), rounds + 1
        if gap > tol:
            chances = chances + damping * (response - chances)
    return QuantalEquilibrium(grid, chances, expected, gap, gap <= tol, rounds)


def _payoffs(game: Game, grid: np.ndarray, owner: int) -> np.ndarray:
    """What an owner has (m, profiles) at each of its options, for each profile of the others' options in turn."""
    return np.stack(
        [game.deviations(at, np.array([owner])).payoffs(grid[[owner]])[0] for at in _profiles(grid, owner)], 1
    )


def _profiles(grid: np.ndarray, owner: int) -> Iterator[np.ndarray]:
    """Each profile of the others' options, the owner at its first."""
    rows: list[Any] = [row[:1] if i == owner else row for i, row in enumerate(grid)]
    yield from map(np.array, product(*rows))


def _expected(table: np.ndarray, chances: np.ndarray, owner: int) -> np.ndarray:
    """What an owner expects of each option (m,), the others choosing by their chances."""
    weight = np.ones(1)
    for other, row in enumerate(chances):
        weight = weight if other == owner else np.outer(weight, row).ravel()
    return np.asarray(table @ weight)
