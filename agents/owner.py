"""A data owner: looks at the market, chooses epsilon, is paid."""

from __future__ import annotations

from itertools import count
from typing import Any
from weakref import WeakKeyDictionary

import mesa
import numpy as np

from agents.behaviours import Behaviour


class _Counters(WeakKeyDictionary[Any, Any]):
    """Counters of agents by model, from 1, that do not keep the model alive."""

    def __getitem__(self, model: Any) -> Any:
        if model not in self:
            self[model] = count(1)
        return super().__getitem__(model)


class MarketAgent(mesa.Agent):
    """An agent of a market that can be freed.

    Mesa 3.3 numbers agents from a table of its Agent class that holds on to every model for ever; here the table lets
    go of it.
    """

    _ids: Any = _Counters()
    model: Any  # the DataMarket


class DataOwner(MarketAgent):
    """One data owner; its state is its row of the market's columns.

    Parameters
    ----------
    model : DataMarket
    number : int
        Its place among the owners of the game.
    behaviour : Behaviour
        How it chooses; may be exchanged whenever the market opens.
    """

    def __init__(self, model: Any, number: int, behaviour: Behaviour) -> None:
        super().__init__(model)
        self.number = number
        self.behaviour = behaviour

    @property
    def name(self) -> str:
        """The name of the owner in the game."""
        return self.model.game.owners.names[self.number]

    @property
    def epsilon(self) -> float:
        """The privacy budget it sells; 0 shares nothing."""
        return float(self.model.epsilon[self.number])

    @property
    def payment(self) -> float:
        """Money it was paid when the round ended."""
        return float(self.model.payments[self.number])

    @property
    def surplus(self) -> float:
        """Payment + benefit - privacy cost when the round ended, in money."""
        return float(self.model.surplus[self.number])

    @property
    def cost(self) -> float:
        """Money that sharing so much costs it."""
        return float(self.model.game.costs(self.model.epsilon)[self.number])

    def move(self) -> None:
        """Choose an epsilon, everyone else as they are, and sell that much from now on.

        A round of a market moves all owners as if each did this in its turn, in a few searches for all of them.
        """
        self.model.move(np.array([self.number]))
