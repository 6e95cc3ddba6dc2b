"""How data owners choose (BEHAVIOURS): a behaviour is one frozen dataclass with a ``choose``.

>>> @dataclass(frozen=True)
... class Sated(Behaviour):
...     title = "takes half of its best response"
...     def choose(self, deviations, rng):
...         return np.maximum(deviations.best_responses() / 2, deviations.owners.epsilon_min)
>>> make_behaviour(Sated()).title, make_behaviour("rational")
('takes half of its best response', Rational())
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from learning.declaration import Declaration
from learning.errors import InputError
from market.game.deviations import Deviations


class Behaviour(Declaration, ABC):
    """Base of behaviours: its fields are its parameters, and owners with equal ones choose in one search.

    ``title`` says in a few words what such an owner does.
    """

    where = "owners.behaviour"
    title: ClassVar[str] = ""

    @abstractmethod
    def choose(self, deviations: Deviations, rng: np.random.Generator) -> np.ndarray:
        """What n owners who move together choose.

        Parameters
        ----------
        deviations : Deviations
            Their unilateral moves under the posted policy, everyone else fixed.
        rng : numpy.random.Generator

        Returns
        -------
        (n,), epsilon of each, inside its interval
        """


@dataclass(frozen=True)
class Rational(Behaviour):
    """The best response to the others as they are; draws nothing."""

    title = "chooses its best response"

    def choose(self, deviations: Deviations, rng: np.random.Generator) -> np.ndarray:
        return deviations.best_responses()


BEHAVIOURS: dict[str, type[Behaviour]] = {"rational": Rational}


def make_behaviour(behaviour: str | Behaviour) -> Behaviour:
    """A behaviour, or the one of that name in BEHAVIOURS.

    Raises
    ------
    InputError
        An unknown name, or something else that is no behaviour.
    """
    if isinstance(behaviour, Behaviour):
        return behaviour
    if behaviour not in BEHAVIOURS:
        raise InputError(Behaviour.where, f"must be a Behaviour or one of {', '.join(BEHAVIOURS)}", repr(behaviour))
    return BEHAVIOURS[behaviour]()


def chosen_by(behaviour: Behaviour, deviations: Deviations, rng: np.random.Generator) -> np.ndarray:
    """What n owners with one behaviour choose (n,), checked.

    Raises
    ------
    ValueError
        The behaviour gives another shape, or leaves the interval of an owner.
    """
    chosen = np.asarray(behaviour.choose(deviations, rng), dtype=float)
    if chosen.shape != deviations.index.shape:
        raise ValueError(f"a behaviour must give one epsilon per owner {deviations.index.shape}; found {chosen.shape}")
    owners = deviations.owners
    outside = ~((chosen >= owners.epsilon_min) & (chosen <= owners.epsilon_max))
    if outside.any():
        at = int(np.argmax(outside))
        interval = f"[{owners.epsilon_min[at]:g}, {owners.epsilon_max[at]:g}]"
        raise ValueError(f"owner {owners.names[at]} must choose epsilon in {interval}; found {chosen[at]:g}")
    return chosen
