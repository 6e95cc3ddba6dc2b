"""People for whom privacy is not a matter of price: those who give away as little as they may, and those who do not care."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.behaviours.base import Behaviour, Seen
from market.game.deviations import Deviations


@dataclass(frozen=True)
class Fundamentalist(Behaviour):
    """Sells as little as it may, whatever is paid: nothing, unless it is bound to.

    Source: the segment of that name in Westin's surveys; Kumaraguru and Cranor, Privacy indexes: a survey of Westin's studies
    (2005). His pragmatists weigh cost and pay: here they are the rational.
    """

    title = "sells as little as it may, whatever is paid"

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return np.array(deviations.owners.epsilon_min)


@dataclass(frozen=True)
class Indifferent(Behaviour):
    """The best response to what is paid, and to what the model is worth to it, as if privacy cost nothing; taxes count.

    What privacy costs it is lost all the same, and counted in its surplus.

    Source: the unconcerned in Westin's surveys (Kumaraguru and Cranor 2005); that many act so who say otherwise: Acquisti,
    Brandimarte and Loewenstein, Privacy and human behavior in the age of information (2015).

    A posted price of 2 where a budget costs its square: the rational sell 1, the indifferent all that they may.

    >>> from market.costs.functions import Quadratic
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> moves = Game(Owners(("A",), 1, 0.0, 5.0, Quadratic(2.0)), Posted(2.0), None, 0.0).deviations(np.zeros(1))
    >>> moves.best_responses().round(9).tolist(), Indifferent().choose(moves, Seen()).tolist()
    ([1.0], [5.0])
    """

    title = "looks at what is paid, and not at what privacy costs"

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return Careless(*(getattr(deviations, name) for name in deviations.__dataclass_fields__)).best_responses()


@dataclass(frozen=True)
class Careless(Deviations):
    """Moves as they look to owners to whom privacy costs nothing; what policies pay still follows from what it costs."""

    def promises(self, epsilon: np.ndarray) -> np.ndarray:
        """Surplus if asked (n, m), the privacy cost left out."""
        return super().promises(epsilon) + self.owners.cost.untaxed.value(epsilon, self.owners.sizes)

    def slopes(self, epsilon: np.ndarray) -> np.ndarray:
        """Its derivative at candidates above 0 (n, m)."""
        return super().slopes(epsilon) + self.owners.cost.untaxed.slope(epsilon, self.owners.sizes)
