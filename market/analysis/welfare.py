"""Welfare: of all, of the learner and of each owner, participation, inequality, and votes."""

from dataclasses import dataclass

import numpy as np

from market.columns import Array
from market.game.game import Game

# A surplus below the outside option, a bill above the budget, or a difference between two
# alternatives is rounding up to this part.
SLACK = 1e-9
# Relative difference of the model from the learner's own below which it is no better.
EQUAL = 1e-6


def learner_gain(game: Game, epsilon: Array) -> float:
    """Value of the model to the learner over its outside option: ``V (outside - psi)``, money."""
    return game.value * (game.forecast.outside - game.fitness(epsilon))


def learner_surplus(game: Game, epsilon: Array) -> float:
    """Learner's gain less its payments at a profile (n_owners,), money."""
    return float(learner_gain(game, epsilon) - game.payments(epsilon).sum())


def welfare(game: Game, epsilon: Array) -> float:
    """Gain of all at a profile (n_owners,): ``V (outside - psi) + benefits - costs``, money.

    Payments cancel, and taxes, which the treasury receives.
    """
    parts = (game.benefits, game.costs, game.taxes)
    benefits, costs, taxes = (part(epsilon).sum() for part in parts)
    return float(learner_gain(game, epsilon) + benefits - costs + taxes)


@dataclass(frozen=True)
class Participation:
    """Participation constraints of the owners, and the learner's budget constraint.

    Attributes
    ----------
    surplus : (n_owners,), money in the market over the owner's own model
    rational : (n_owners,), bool, whether that is no less than the outside option, 0
    spending : float, money the learner pays in all
    budget : float, money
    within_budget : bool

    Source: Wu, MRes thesis, Def. 3 (individual rationality).
    """

    surplus: Array
    rational: Array
    spending: float
    budget: float
    within_budget: bool


def individually_rational(surplus: Array, *money: Array) -> Array:
    """True if a surplus (n,) is at least 0, up to the rounding of the ``money`` (n,) in it."""
    return np.asarray(surplus >= -SLACK * sum(np.abs(part) for part in money))


def participation(game: Game, epsilon: Array, *, budget: float = np.inf) -> Participation:
    """Individual rationality of each owner at a profile (n_owners,), and the learner's bill.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> game = Game(Owners(("A", "B"), 1, 1.0, 2.0, Linear([1.0, 3.0])), Posted(2.0), None, 0.0)
    >>> part = participation(game, np.array([2.0, 1.0]), budget=5.0)
    >>> part.surplus.tolist(), part.rational.tolist(), part.spending, part.within_budget
    ([2.0, -1.0], [True, False], 6.0, False)
    """
    payments = game.payments(epsilon)
    surplus = game.payoffs(epsilon)
    spending = float(payments.sum())
    willing = individually_rational(surplus, payments, game.costs(epsilon))
    affordable = spending <= budget + SLACK * abs(budget)
    return Participation(surplus, willing, spending, budget, affordable)


def gini(values: Array) -> float:
    """Gini coefficient of values (n,): ``sum_ij |x_i - x_j| / (2 N sum x)``.

    It is 0 where all are equal, (N - 1)/N where one has all, and may exceed 1 where some lose
    money; nan where the total is not above 0, unless all are 0.

    Source: Gini, Variabilita e mutabilita (1912), by the ranks of the sorted values.

    >>> gini(np.array([2.0, 2.0, 2.0])), gini(np.array([0.0, 0.0, 3.0, 0.0]))
    (0.0, 0.75)
    """
    ordered = np.sort(np.asarray(values, dtype=float).ravel())
    if not ordered.size:
        raise ValueError("values must hold at least one number; found none")
    if not ordered.any():
        return 0.0
    total = ordered.sum()
    count = len(ordered)
    if total <= 0:
        return float("nan")
    return float(max(0.0, (2 * np.arange(1, count + 1) - count - 1) @ ordered / (count * total)))


def at_refusal(game: Game, epsilon: Array) -> bool:
    """Decide whether the learner buys at a profile (n_owners,) and gains nothing before it pays.

    That is ``|outside - psi| < 1e-6 outside``. Owners who choose together, or of whom each alone
    can end the purchase, may hold out for the whole payment: they sell just enough to be bought
    from. No owner gains by selling more or less, and every other way to make as much noise
    together is such a profile too: there is a continuum of these equilibria.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.proportional import Proportional
    >>> class Law:  # twice the noise of two owners at 1 is as bad as the learner's own model
    ...     outside = 1.0
    ...     def terms(self, epsilon):
    ...         return np.where(epsilon > 0, np.maximum(epsilon, 1e-9) ** -2.0, 0.0)[..., None]
    ...     def excess(self, sums):
    ...         return np.where(sums[..., 0] > 0, 0.25 * sums[..., 0], 1.0)
    >>> owners = Owners(("A", "B"), 1, 0.0, 9.0, Linear(1.0))
    >>> game = Game(owners, Proportional(10.0), Law(), 100.0)
    >>> at_refusal(game, np.full(2, 0.5**0.5)), at_refusal(game, np.ones(2))
    (True, False)
    """
    outside = float(game.forecast.outside)
    if not game.asks(epsilon) or not abs(outside - game.fitness(epsilon)) < EQUAL * abs(outside):
        return False
    return bool(game.payments(epsilon).sum() > 0)


@dataclass(frozen=True)
class Ballot:
    """Votes on k alternatives.

    Attributes
    ----------
    first : (n_voters,), number of each voter's best alternative; -1 where several are best
    prefer : (k, k), voters who prefer the row's alternative to the column's
    winner : the Condorcet winner, which beats every other by majority; None if there is none

    Source: Condorcet, Essai sur l'application de l'analyse (1785).
    """

    first: Array
    prefer: Array
    winner: int | None

    @property
    def against_first(self) -> Array:
        """Voters for and against each alternative in place of the first, (k, 2)."""
        return np.stack([self.prefer[:, 0], self.prefer[0]], axis=1)


def count_votes(utility: Array) -> Ballot:
    """Count the votes on alternatives by the voters' utility (n_voters, k), money.

    >>> ballot = count_votes(np.array([[3.0, 1.0, 2.0], [0.0, 2.0, 1.0], [1.0, 1.0, 5.0]]))
    >>> ballot.first.tolist(), ballot.winner, ballot.prefer.tolist()
    ([0, 1, 2], 2, [[0, 1, 1], [1, 0, 1], [2, 2, 0]])
    """
    utility = np.asarray(utility, dtype=float)
    slack = SLACK * np.abs(utility).max(axis=1, initial=0.0)[:, None]
    better = utility[:, :, None] > utility[:, None, :] + slack[:, :, None]
    prefer = better.sum(axis=0)
    best = utility >= utility.max(axis=1, keepdims=True) - slack
    first = np.where(best.sum(axis=1) == 1, utility.argmax(axis=1), -1)
    beats = prefer > prefer.T
    winners = np.flatnonzero((beats | np.eye(len(prefer), dtype=bool)).all(axis=1))
    return Ballot(first, prefer, int(winners[0]) if len(winners) else None)
