"""What a behaviour is: how an owner chooses, what it looks at to do so, and what it keeps in mind.

>>> @dataclass(frozen=True)
... class Sated(Behaviour):
...     title = "takes half of its best response"
...     def choose(self, deviations, seen):
...         return np.maximum(deviations.best_responses() / 2, deviations.owners.epsilon_min)
>>> Sated().title, Sated().draws
('takes half of its best response', False)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from learning.declaration import Declaration
from learning.training.conduct import HONEST, Conduct
from market.game.deviations import Deviations
from market.game.search import in_blocks

Memory = dict[str, np.ndarray]  # a row of each array for each owner


def no_draws(m: int) -> np.ndarray:
    """What a market without draws gives who asks for some.

    Raises
    ------
    ValueError
        Whenever it is asked.
    """
    raise ValueError(f"this behaviour draws {m} numbers for each owner: say so by draws = True")


@dataclass(frozen=True)
class Seen:
    """What n owners who move together know beside their moves, a row for each.

    Parameters
    ----------
    draw : callable(m) -> (n, m)
        Uniform numbers of this round, each owner's own: whoever asks again is given the same.
    memory : dict of arrays (n, ...)
        What their behaviour has kept of the rounds before; empty where it keeps nothing.
    round : int
        The number of the round, from 1.
    """

    draw: Callable[[int], np.ndarray] = no_draws
    memory: Memory = field(default_factory=dict)
    round: int = 1

    def uniform(self, m: int = 1) -> np.ndarray:
        """``m`` numbers in [0, 1) of each owner's own in this round (n, m)."""
        return self.draw(m)

    def take(self, rows: np.ndarray) -> Seen:
        """The same of some of these owners, those in the given rows (k,)."""
        kept = {name: values[rows] for name, values in self.memory.items()}
        return Seen(lambda m: self.draw(m)[rows], kept, self.round)


class Behaviour(Declaration, ABC):
    """Base of behaviours: its fields are its parameters, and owners with equal ones choose in one search.

    What an owner chooses depends on its own row of what it is given and on nothing else: a market asks for one owner, for
    all at once, or again and again while it looks for the moves of a round.

    Attributes
    ----------
    title : str, in a few words what such an owner does
    draws : bool, whether it asks for random numbers; such owners are played for a given number of rounds
    rational : bool, whether rest among such owners is a Nash equilibrium
    meets_in_sums : bool, False where it looks at single others in ``deviations.profile`` and not at the sums over them alone;
        such owners move one at a time
    watches : bool, whether it sees those alone whom the network of sight shows it
    """

    where = "behaviours"
    title: ClassVar[str] = ""
    draws: ClassVar[bool] = False
    rational: ClassVar[bool] = False
    meets_in_sums: ClassVar[bool] = True
    watches: ClassVar[bool] = False

    @abstractmethod
    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        """What n owners who move together choose.

        Parameters
        ----------
        deviations : Deviations
            Their unilateral moves under the posted policy, everyone else fixed.
        seen : Seen
            Their draws of this round, and what they keep in mind.

        Returns
        -------
        (n,), epsilon of each, inside its interval
        """

    def seeing(self, sight: Any) -> Behaviour:
        """The same in a network, a sparse array (n_owners, n_owners) of who sees whom; by default it sees everybody."""
        return self

    @property
    def conduct(self) -> Conduct:
        """What such an owner does when it answers in training: as it sold, by default."""
        return HONEST

    def dares(self, saved: np.ndarray, at_stake: np.ndarray) -> np.ndarray:
        """Where n owners of a conduct that is not honest keep to it though they may be audited (n,); everywhere by default.

        Parameters
        ----------
        saved : (n,), privacy cost that each saves by it, money
        at_stake : (n,), money that each must expect to lose
        """
        return np.full(len(saved), True)

    def check_group(self, count: int) -> None:
        """Refuse, with an InputError, so many owners of this very behaviour; by default none are too many."""

    def divide(self, surplus: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """What all owners of this very behaviour have (k,) in the end, money; by default what each has by itself.

        Parameters
        ----------
        surplus : (k,), what each has by itself, money
        sizes : (k,), their records
        """
        return surplus

    @property
    def patience(self) -> int:
        """Rounds in a row without a move after which such owners are at rest."""
        return 1

    def begin(self, deviations: Deviations) -> Memory:
        """What n owners who stand where ``deviations`` start from have in mind when the market opens; nothing by default."""
        return {}

    def remember(self, deviations: Deviations, seen: Seen) -> Memory:
        """What n owners have in mind after a round in which all have moved, to where ``deviations`` now start from.

        ``seen.memory`` is what they had in mind in that round.
        """
        return seen.memory


def own(deviations: Deviations) -> np.ndarray:
    """Where n owners stand themselves (n,)."""
    return np.asarray(deviations.profile[deviations.index])


def weighed(deviations: Deviations, epsilon: np.ndarray) -> np.ndarray:
    """Surplus that n owners reckon with at some budgets of their own (n, m), money.

    Where the learner would ask nothing whichever of these an owner chose, what it is promised: as best responses are found
    (`Deviations.where_asked`), so that owners come out of a market in which nothing is asked.
    """
    payoffs = in_blocks(deviations.payoffs, epsilon)
    if deviations.certain:
        return payoffs
    asked = in_blocks(deviations.asks, epsilon).any(axis=1)
    unasked = np.flatnonzero(~asked)
    if unasked.size:
        payoffs[unasked] = in_blocks(deviations.take(unasked).promises, epsilon[unasked])
    return payoffs


def chosen_by(behaviour: Behaviour, deviations: Deviations, seen: Seen) -> np.ndarray:
    """What n owners with one behaviour choose (n,), checked.

    Raises
    ------
    ValueError
        The behaviour gives another shape, or leaves the interval of an owner.
    """
    chosen = np.asarray(behaviour.choose(deviations, seen), dtype=float)
    if chosen.shape != deviations.index.shape:
        raise ValueError(f"a behaviour must give one epsilon per owner {deviations.index.shape}; found {chosen.shape}")
    owners = deviations.owners
    outside = ~((chosen >= owners.epsilon_min) & (chosen <= owners.epsilon_max))
    if outside.any():
        at = int(np.argmax(outside))
        interval = f"[{owners.epsilon_min[at]:g}, {owners.epsilon_max[at]:g}]"
        raise ValueError(f"owner {owners.names[at]} must choose epsilon in {interval}; found {chosen[at]:g}")
    return chosen
