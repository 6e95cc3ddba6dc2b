"""The interface of a behaviour: an owner's choice, what it sees, and its memory.

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
from market.game.grids import in_blocks

Memory = dict[str, np.ndarray]  # a row of each array for each owner


def refuse_draws(m: int) -> np.ndarray:
    """Refuse to draw in a market without draws.

    Raises
    ------
    ValueError
        Always.
    """
    raise ValueError(f"this behaviour draws {m} numbers for each owner: say so by draws = True")


@dataclass(frozen=True)
class Seen:
    """Knowledge of n owners who move together, a row for each, in addition to their moves.

    Parameters
    ----------
    draw : callable(m) -> (n, m)
        Uniform numbers of this round, each owner's own; repeated calls give the same.
    memory : dict of arrays (n, ...)
        The memory of their behaviour.
    """

    draw: Callable[[int], np.ndarray] = refuse_draws
    memory: Memory = field(default_factory=dict)

    def uniform(self, m: int = 1) -> np.ndarray:
        """Draw ``m`` numbers in [0, 1) of each owner's own in this round (n, m)."""
        return self.draw(m)


class Behaviour(Declaration, ABC):
    """Base of behaviours: its fields are its parameters; owners of equal ones share a search.

    An owner's choice depends on its own row of the arguments alone: a market asks for one owner,
    for all at once, or repeatedly while it searches for the moves of a round.

    Attributes
    ----------
    title : str, a description in a few words
    draws : bool, whether it draws random numbers; such owners play a given number of rounds
    rational : bool, whether rest among such owners is a Nash equilibrium
    meets_in_sums : bool, False if it looks at single others in ``deviations.profile`` and not at
        the sums over them alone; such owners move one at a time
    watches : bool, whether it sees only those whom the network of sight shows it
    """

    where = "behaviours"
    title: ClassVar[str] = ""
    draws: ClassVar[bool] = False
    rational: ClassVar[bool] = False
    meets_in_sums: ClassVar[bool] = True
    watches: ClassVar[bool] = False

    @abstractmethod
    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        """Choose for n owners who move together.

        Parameters
        ----------
        deviations : Deviations
            Their unilateral moves under the posted policy, all others fixed.
        seen : Seen
            Their draws of this round, and their memory.

        Returns
        -------
        (n,), epsilon of each, inside its interval
        """

    def with_sight(self, sight: Any) -> Behaviour:
        """Return the behaviour in a network of sight, a sparse array (n_owners, n_owners)."""
        return self

    @property
    def conduct(self) -> Conduct:
        """Conduct of such an owner in training: honest, by default."""
        return HONEST

    def dares_to_cheat(self, saved: np.ndarray, at_stake: np.ndarray) -> np.ndarray:
        """Return which of n owners cheat although they are audited, bool (n,); all by default.

        Parameters
        ----------
        saved : (n,), privacy cost that each saves by cheating, money
        at_stake : (n,), loss that each expects from audits, money
        """
        return np.full(len(saved), True)

    def check_group(self, count: int) -> None:
        """Refuse, with an InputError, too many owners of this behaviour; any number by default."""

    def divide_surplus(self, surplus: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Final surplus of all owners of this behaviour (k,), money; by default each its own.

        Parameters
        ----------
        surplus : (k,), each owner's own surplus, money
        sizes : (k,), their records
        """
        return surplus

    @property
    def patience(self) -> int:
        """Rounds in a row without a move after which such owners are at rest."""
        return 1

    def initial_memory(self, deviations: Deviations) -> Memory:
        """Memory of n owners as a market opens at the start of ``deviations``; none by default."""
        return {}

    def update_memory(self, deviations: Deviations, seen: Seen) -> Memory:
        """Memory of n owners after a round that ended at the start of ``deviations``.

        ``seen.memory`` is their memory of that round.
        """
        return seen.memory


def own_epsilon(deviations: Deviations) -> np.ndarray:
    """Present epsilon of n owners (n,)."""
    return np.asarray(deviations.profile[deviations.index])


def expected_surplus(deviations: Deviations, epsilon: np.ndarray) -> np.ndarray:
    """Surplus that n owners expect at some budgets of their own (n, m), money.

    Where the learner would ask nothing at any of an owner's budgets, the promised surplus counts,
    as for best responses (`Deviations.where_asked`): so owners leave a market in which nothing is
    asked.
    """
    payoffs = in_blocks(deviations.payoffs, epsilon)
    if deviations.is_certain:
        return payoffs
    asked = in_blocks(deviations.asks, epsilon).any(axis=1)
    unasked = np.flatnonzero(~asked)
    if unasked.size:
        payoffs[unasked] = in_blocks(deviations.take(unasked).promises, epsilon[unasked])
    return payoffs


def checked_choice(behaviour: Behaviour, deviations: Deviations, seen: Seen) -> np.ndarray:
    """Choose for n owners of one behaviour (n,), and check the choice.

    Raises
    ------
    ValueError
        If the behaviour gives another shape, or leaves the interval of an owner.
    """
    chosen = np.asarray(behaviour.choose(deviations, seen), dtype=float)
    shape = deviations.index.shape
    if chosen.shape != shape:
        raise ValueError(
            f"a behaviour must give one epsilon per owner {shape}; found {chosen.shape}"
        )
    owners = deviations.owners
    outside = ~((chosen >= owners.epsilon_min) & (chosen <= owners.epsilon_max))
    if outside.any():
        at = int(np.argmax(outside))
        interval = f"[{owners.epsilon_min[at]:g}, {owners.epsilon_max[at]:g}]"
        raise ValueError(
            f"owner {owners.names[at]} must choose epsilon in {interval}; found {chosen[at]:g}"
        )
    return chosen
