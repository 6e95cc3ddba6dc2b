"""Who is better off in the market than out of it, and whether the learner can pay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from market.game.game import Game

SLACK = 1e-9  # a surplus below the outside option, or a bill above the budget, by this part is rounding


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
    outside = np.zeros(len(epsilon))
    rational = surplus >= outside - SLACK * (np.abs(payments) + np.abs(costs))
    spending = float(payments.sum())
    return Participation(outside, surplus, rational, spending, budget, spending <= budget + SLACK * abs(budget))
