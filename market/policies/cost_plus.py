"""Cost-plus: each owner is paid what sharing costs it, and a margin on top."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.declaration import PerOwner, parameter
from market.columns import column
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.policies.base import Policy


@dataclass(frozen=True)
class CostPlus(Policy):
    """Each owner's cost, fixed costs included, with a margin: ``(1 + margin) * cost(epsilon)``.

    Nobody loses by taking part, whatever it chooses: surplus is ``margin * cost``, plus any benefit. But surplus then
    grows with the cost, so with a margin above 0 every owner shares as much as it may; at margin 0 it does not care, and
    shares the least it may. The learner must know the costs, as after an audit, and sets what is bought by what it allows.

    Parameters
    ----------
    margin : scalar or (n_owners,), part of the cost paid on top, 0 or more

    Raises
    ------
    InputError
        A negative or non-finite margin.

    Source: cost-plus contracts (Laffont and Tirole, A Theory of Incentives in Procurement and Regulation).

    >>> from market.costs.functions import Quadratic
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> game = Game(Owners(("A",), 1000, 0.0, 10.0, Quadratic(price=4.0)), CostPlus(margin=0.1), None, 0.0)
    >>> chosen = game.best_responses(np.zeros(1))
    >>> float(chosen[0]), float(game.payoffs(chosen)[0].round(9))  # a tenth of the cost 4 * 10^2 / 2
    (10.0, 20.0)
    """

    money, usual = "margin", False  # what is bought does not follow from it
    margin: PerOwner = parameter("Give the part of the cost paid on top, such as 0.1.")

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        return (1 + column(self.margin, epsilon)) * deviations.costs(epsilon)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        owners = deviations.owners
        return (1 + column(self.margin, epsilon)) * owners.cost.slope(epsilon, owners.sizes)

    def sentence(self, write: Writer) -> str:
        if not np.any(self.margin):
            return "The learner pays each owner what sharing costs it, so an owner does not care how much it shares."
        paid = f"what sharing costs it and {write.amount(self.margin, write.percent)} on top"
        return f"The learner pays each owner {paid}: nobody loses, and each gains the more, the more it shares."
