"""Contracts: one offer to each owner, so much money for at least so much epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.declaration import PerOwner, parameter
from market.columns import column
from market.costs.base import Writer
from market.game.deviations import Deviations
from market.game.owners import Owners
from market.policies.base import Policy


@dataclass(frozen=True)
class Contracts(Policy):
    """Each owner is offered one contract: ``amount_i`` for sharing ``epsilon_i`` or more, nothing for less.

    Parameters
    ----------
    epsilon : scalar or (n_owners,), the least that earns the payment; 0 for owners who are offered nothing
    amounts : scalar or (n_owners,), money

    Raises
    ------
    InputError
        A number negative or not finite.

    Source: what procurement mechanisms settle (`market.procurement`), offered to owners who may refuse.

    >>> from market.costs.functions import Linear
    >>> from market.game.game import Game
    >>> owners = Owners(("A", "B"), 1, 0.0, 10.0, Linear([5.0, 15.0]))
    >>> Game(owners, Contracts(epsilon=2.0, amounts=20.0), None, 0.0).best_responses(np.zeros(2)).tolist()
    [2.0, 0.0]
    """

    money, usual = "amounts", False  # which contracts to try does not follow from the owners
    epsilon: PerOwner = parameter("Give the epsilon that earns the payment.")
    amounts: PerOwner = parameter("Give the money for it.")

    @classmethod
    def trial(cls, owners: Owners) -> dict[str, Any]:
        """The same payment to everybody for the middle of its interval."""
        return {"epsilon": ((owners.epsilon_min + owners.epsilon_max) / 2).tolist(), "amounts": 1.0}

    def payments(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        least = column(self.epsilon, epsilon)
        return np.where((epsilon >= least) & (least > 0), column(self.amounts, epsilon), 0.0)

    def slopes(self, epsilon: np.ndarray, deviations: Deviations) -> np.ndarray:
        return np.zeros_like(epsilon)

    def breakpoints(self, owners: Owners) -> np.ndarray:
        return np.broadcast_to(np.asarray(self.epsilon, dtype=float), len(owners))[:, None]

    def sentence(self, write: Writer) -> str:
        paid, least = write.amount(self.amounts, write.money), write.amount(self.epsilon)
        return f"The learner offers each owner one contract: {paid} for an ε of at least {least}; nothing for less."
