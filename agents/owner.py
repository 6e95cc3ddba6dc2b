"""A data owner: looks at the market, chooses epsilon, is paid."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import mesa
import numpy as np

from market.game.game import Deviations

if TYPE_CHECKING:
    from agents.model import DataMarket

Behaviour = Callable[[Deviations, np.random.Generator], np.ndarray]
"""How owners choose: what n of them see and a generator -> the epsilon (n,) of each, inside its interval.

Hashable, as functions and frozen dataclasses are, so that owners who behave alike can choose in one search.
"""


def rational(deviations: Deviations, rng: np.random.Generator) -> np.ndarray:
    """Each owner's best response, the others as they are; draws nothing.

    Parameters
    ----------
    deviations : Deviations
        What the n owners see: the posted policy and the sums over everybody else.
    rng : numpy.random.Generator

    Returns
    -------
    (n,), epsilon
    """
    return deviations.game.best_responses(deviations.profile, deviations.index)


def choices(deviations: Deviations, respond: Behaviour, rng: np.random.Generator) -> np.ndarray:
    """What n owners with one behaviour choose (n,).

    Raises
    ------
    ValueError
        The behaviour gives another shape, or leaves the interval of an owner.
    """
    chosen = np.asarray(respond(deviations, rng), dtype=float)
    if chosen.shape != deviations.index.shape:
        raise ValueError(f"a behaviour must give one epsilon per owner {deviations.index.shape}; found {chosen.shape}")
    owners = deviations.owners
    outside = ~((chosen >= owners.epsilon_min) & (chosen <= owners.epsilon_max))
    if outside.any():
        at = int(np.argmax(outside))
        interval = f"[{owners.epsilon_min[at]:g}, {owners.epsilon_max[at]:g}]"
        raise ValueError(f"owner {owners.names[at]} must choose epsilon in {interval}; found {chosen[at]:g}")
    return chosen


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
    model: DataMarket


class DataOwner(MarketAgent):
    """One data owner; its state is its row of the market's columns.

    Parameters
    ----------
    model : DataMarket
    number : int
        Its place among the owners of the game.
    respond : Behaviour
        How it chooses; may be exchanged at any time.
    """

    def __init__(self, model: DataMarket, number: int, respond: Behaviour = rational) -> None:
        super().__init__(model)
        self.number = number
        self.respond = respond

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

    def look(self) -> Deviations:
        """What it sees now: its own moves under the posted policy, everyone else as they are."""
        return self.model.game.deviations(self.model.epsilon, np.array([self.number]))

    def choose(self) -> float:
        """The epsilon it wants now."""
        return float(choices(self.look(), self.respond, self.model.rng)[0])

    def move(self) -> None:
        """Look, choose, and sell that much from now on."""
        self.model.epsilon[self.number] = self.choose()
