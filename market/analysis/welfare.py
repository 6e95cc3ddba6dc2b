"""What a market is worth to all who take part and to each, and how unequally."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from market.game.game import Game

SLACK = 1e-9  # a surplus below the outside option, or a bill above the budget, by this part is rounding


def learner_surplus(game: Game, epsilon: np.ndarray) -> float:
    """The learner's gain over its outside option less what it pays: ``V (outside - psi) - sum of payments``.

    Parameters
    ----------
    epsilon : (n_owners,)

    Returns
    -------
    float, money
    """
    gain = game.value * (game.forecast.outside - game.fitness(epsilon))
    return float(gain - game.payments(epsilon).sum())


def welfare(game: Game, epsilon: np.ndarray) -> float:
    """Everybody's gain: ``V (outside - psi) + benefits - costs``; payments cancel, and taxes, which the treasury has.

    Parameters
    ----------
    game : Game
    epsilon : (n_owners,)

    Returns
    -------
    float, money
    """
    gain = game.value * (game.forecast.outside - game.fitness(epsilon))
    return float(gain + game.benefits(epsilon).sum() - game.costs(epsilon).sum() + taxes(game, epsilon).sum())


def taxes(game: Game, epsilon: np.ndarray) -> np.ndarray:
    """What each owner's cost holds of tax at a profile (n_owners,), money; 0 where nothing is taxed."""
    return game.taxes(epsilon)


@dataclass(frozen=True)
class Participation:
    """Who is better off taking part than not, and whether the learner can pay.

    Attributes
    ----------
    outside : (n_owners,), money an owner has without the market: 0, since surplus is counted over its own model
    surplus : (n_owners,), money it has in the market
    rational : (n_owners,), bool, whether that is no less
    spending : float, money the learner pays in all
    budget : float, money
    within_budget : bool

    Source: Wu, MRes thesis, Def. 3 (individual rationality).
    """

    outside: np.ndarray
    surplus: np.ndarray
    rational: np.ndarray
    spending: float
    budget: float
    within_budget: bool

    @property
    def feasible(self) -> bool:
        """Whether nobody would rather leave and the bill can be paid."""
        return bool(self.rational.all()) and self.within_budget


def rational(surplus: np.ndarray, *money: np.ndarray) -> np.ndarray:
    """Whether a surplus (n,) is no less than nothing, the rounding of the ``money`` (n,) that it comes of aside."""
    return np.asarray(surplus >= -SLACK * sum(np.abs(part) for part in money))


def participation(game: Game, epsilon: np.ndarray, *, budget: float = np.inf) -> Participation:
    """Individual rationality of each owner at a profile (n_owners,), and the learner's bill against its budget.

    >>> from market.costs.functions import Linear
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> owners = Owners(("A", "B"), 1, 1.0, 2.0, Linear([1.0, 3.0]))
    >>> part = participation(Game(owners, Posted(2.0), None, 0.0), np.array([2.0, 1.0]), budget=5.0)
    >>> part.surplus.tolist(), part.rational.tolist(), part.spending, part.within_budget
    ([2.0, -1.0], [True, False], 6.0, False)
    """
    payments, costs = game.payments(epsilon), game.costs(epsilon)
    surplus = game.payoffs(epsilon)
    spending, willing = float(payments.sum()), rational(surplus, payments, costs)
    return Participation(
        np.zeros(len(epsilon)), surplus, willing, spending, budget, spending <= budget + SLACK * abs(budget)
    )


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
