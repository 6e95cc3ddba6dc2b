"""The agents of a market: data owners, who choose and are paid, and a learner, who buys."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from operator import attrgetter
from typing import Any
from weakref import WeakKeyDictionary

import mesa
import numpy as np

from agents.behaviours import Behaviour

Train = Callable[[np.ndarray], object]  # of budgets (n_owners,)


class _Counters(WeakKeyDictionary[Any, Any]):
    """Counters of agents by model, from 1, that do not keep the model alive."""

    def __getitem__(self, model: Any) -> Any:
        if model not in self:
            self[model] = count(1)
        return super().__getitem__(model)


class MarketAgent(mesa.Agent):
    """An agent of a market; its state is its row of the market's columns.

    Mesa 3.3 numbers agents from a table of its Agent class that keeps every model alive; here the
    table lets models go.

    Parameters
    ----------
    model : the market
    number : int, the place of the agent among those of its kind
    """

    _ids: Any = _Counters()
    model: Any

    def __init__(self, model: Any, number: int = 0) -> None:
        super().__init__(model)
        self.number = number

    @property
    def name(self) -> str:
        """Name of the owner in the market."""
        return str(self.model.names[self.number])


def read_column(path: str, meaning: str) -> Any:
    """Make a property of agents: the agent's own number, or sum of its row, in a model's column."""
    read = attrgetter(path)
    return property(lambda agent: float(np.sum(read(agent.model)[agent.number])), doc=meaning)


class DataOwner(MarketAgent):
    """One data owner of a `DataMarket`.

    Parameters
    ----------
    model : DataMarket
    number : int, its place among the owners of the game
    behaviour : Behaviour, its rule of choice; may be exchanged whenever the market opens
    """

    epsilon = read_column("epsilon", "Privacy budget that it sells; 0 shares nothing.")
    payment = read_column("payments", "Money that it was paid when the round ended.")
    surplus = read_column("surplus", "Payment + benefit - privacy cost when the round ended.")
    cost = read_column("costs", "Privacy cost of its budget, money.")

    def __init__(self, model: Any, number: int, behaviour: Behaviour) -> None:
        super().__init__(model, number)
        self.behaviour = behaviour

    def move(self) -> None:
        """Choose an epsilon, with all others fixed, and sell it from now on.

        A round of a market moves all owners as if each called this in its turn, in a few searches
        for all of them.
        """
        self.model.move(np.array([self.number]))


class Learner(MarketAgent):
    """The buyer of privacy budgets, who trains with them.

    Parameters
    ----------
    model : DataMarket
    train : callable(epsilon), optional
        Called once the market has ended, with a copy of its budgets.

    Attributes
    ----------
    trained : object, the result of ``train``; None before
    """

    def __init__(self, model: Any, train: Train | None = None) -> None:
        super().__init__(model)
        self._train = train
        self.trained: object = None

    def post(self, policy: Any) -> None:
        """Replace the posted policy; the market opens again from its present budgets."""
        self.model.open(policy)

    def forecast(self) -> float:
        """Forecast the relative fitness of the model that the present budgets buy."""
        return self.model.game.fitness(self.model.epsilon)

    def pay(self) -> np.ndarray:
        """Compute each owner's payment by the posted policy at the present budgets (n_owners,)."""
        return self.model.game.payments(self.model.epsilon)

    def train(self) -> object:
        """Train at the present budgets, if there is a training, and keep its result."""
        if self._train is not None:
            self.trained = self._train(self.model.epsilon.copy())
        return self.trained
