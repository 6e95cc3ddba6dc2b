"""Best response, and simple departures from it: inertia, and people beyond the price of privacy."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated

import numpy as np
from annotated_types import Ge, Lt

from agents.behaviours.base import Behaviour, Seen, expected_surplus, own_epsilon
from learning.declaration import NonNegative
from market.game.deviations import Deviations


@dataclass(frozen=True)
class Rational(Behaviour):
    """The best response to the others as they are, without draws or memory."""

    title = "chooses its best response"
    rational = True

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return deviations.best_responses()


@dataclass(frozen=True)
class Inertial(Behaviour):
    """Stays with some probability, and where a move would gain too little; else best response.

    Parameters
    ----------
    stays : float, the probability that it does not look at the market in a round
    effort : float, the least gain of a move, money: the effort of a decision, which no one is paid

    Source: Samuelson and Zeckhauser, Status quo bias in decision making (1988); staying by chance
        as in adaptive play with inertia, Young, The evolution of conventions (1993).
    """

    title = "stays where it is by chance, or where moving brings too little"
    draws = True
    stays: Annotated[float, Ge(0), Lt(1)] = 0.5
    effort: NonNegative = 0.0

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        here = own_epsilon(deviations)
        best = deviations.best_responses()
        have, could = expected_surplus(deviations, np.column_stack([here, best])).T
        moves = (seen.uniform()[:, 0] >= self.stays) & (could - have > self.effort)
        return np.where(moves, best, here)


@dataclass(frozen=True)
class Fundamentalist(Behaviour):
    """Sells the least that it may at any price: nothing, unless it is bound to.

    Source: the segment of that name in Westin's surveys; Kumaraguru and Cranor, Privacy indexes: a
        survey of Westin's studies (2005). His pragmatists weigh cost and pay: here they are the
        rational.
    """

    title = "sells as little as it may, whatever is paid"

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return np.array(deviations.owners.epsilon_min)


@dataclass(frozen=True)
class Indifferent(Behaviour):
    """The best response as if privacy cost nothing; pay, the model's worth and taxes count.

    Its privacy cost is still counted in its surplus.

    Source: the unconcerned in Westin's surveys (Kumaraguru and Cranor 2005); many who claim the
        opposite act so: Acquisti, Brandimarte and Loewenstein, Privacy and human behavior in the
        age of information (2015).

    At a posted price of 2, with a cost of the square of the budget, the rational sell 1 and the
    indifferent all that they may.

    >>> from market.costs.functions import Quadratic
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> owners = Owners(("A",), 1, 0.0, 5.0, Quadratic(2.0))
    >>> moves = Game(owners, Posted(2.0), None, 0.0).deviations(np.zeros(1))
    >>> moves.best_responses().round(9).tolist(), Indifferent().choose(moves, Seen()).tolist()
    ([1.0], [5.0])
    """

    title = "looks at what is paid, and not at what privacy costs"

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        parts = (getattr(deviations, part.name) for part in fields(deviations))
        return Careless(*parts).best_responses()


@dataclass(frozen=True)
class Careless(Deviations):
    """Moves of owners to whom privacy costs nothing; payments still depend on its cost."""

    def promises(self, epsilon: np.ndarray) -> np.ndarray:
        """Surplus if asked (n, m), without the privacy cost."""
        cost = self.owners.cost.untaxed.value(epsilon, self.owners.sizes)
        return super().promises(epsilon) + cost

    def marginal_surplus(self, epsilon: np.ndarray) -> np.ndarray:
        """Derivative of the surplus at candidates above 0 (n, m)."""
        slope = self.owners.cost.untaxed.marginal_cost(epsilon, self.owners.sizes)
        return super().marginal_surplus(epsilon) + slope
