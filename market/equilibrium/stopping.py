"""Rules of play and its end: a rest point, a cycle, or the limit of rounds."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from learning.declaration import Count, Declaration, NonNegative
from market.columns import Array
from market.game.owners import Owners

Damping = Annotated[float, Gt(0), Le(1)]
# A profile met again this much closer than the last step is a return, not slow progress.
RETURN = 1e-6
# Part of an owner's upper end below which its moves are no longer measured by its epsilon.
TRACE = 1e-6
# Rounds without smaller steps after which a path within RETURN of rest has converged.
STALL = 20


@dataclass(frozen=True)
class PlayRules(Declaration):
    """Step sizes and stopping rules of play, for the solver and for agents.

    Parameters
    ----------
    damping : float, in (0, 1], part of the way that simultaneous movers go; 1 is undamped
    part : float, in (0, 1], chance that an owner moves in a round of the order "partial"
    tol : float, largest move at rest, as a part of an owner's epsilon
    patience : int, rounds at rest in a row that end play; above 1 where a behaviour may sit out
    max_rounds : int, rounds at most, per start

    Raises
    ------
    InputError
        A number out of range.
    """

    damping: Damping = 0.5
    part: Damping = 0.5
    tol: NonNegative = 1e-9
    max_rounds: Count = 1000
    patience: Count = 1


@dataclass(frozen=True)
class Path:
    """A path of play.

    Attributes
    ----------
    epsilon : (n_owners,), its last profile
    rounds : int
    end : str, "rest", "cycle" or "limit"
    profiles : all profiles in order
    """

    epsilon: Array
    rounds: int
    end: str
    profiles: tuple[Array, ...] = ()


@dataclass
class ConvergenceMonitor:
    """Detects the end of play: "rest", "cycle" or "limit"; "" while it goes on.

    Play rests after enough rounds in a row (``rules.patience`` and ``patience``) in which no owner
    moves by more than ``rules.tol`` (`relative_moves`), or where only rounding moves. A cycle is a
    return to an earlier profile, the ``landmark`` (at first the start), with the same state of
    the generator, ``drawn``. A certificate decides whether the end is an equilibrium.
    """

    rules: PlayRules
    patience: int
    width: Array
    landmark: Array
    drawn: str
    rounds: int = 0
    quiet: int = 0
    least: float = np.inf
    least_at: int = 0

    def register_round(self, before: Array, after: Array, *, drawn: str) -> str:
        """Register a round from ``before`` to ``after``; the end of play, or ""."""
        step = relative_moves(before, after, self.width).max()
        back = relative_moves(self.landmark, after, self.width).max()
        patience = max(self.rules.patience, self.patience)
        self.rounds += 1
        self.quiet = self.quiet + 1 if step <= self.rules.tol else 0
        if step < 0.9 * self.least:
            self.least = step
            self.least_at = self.rounds
        stalled = self.rounds - self.least_at >= max(STALL, patience)
        if self.quiet >= patience or (stalled and 0 < self.least <= RETURN and step <= RETURN):
            return "rest"
        if self.rounds >= 2 and step > 0 and back <= RETURN * step and drawn == self.drawn:
            return "cycle"
        # Brent: any cycle passes a landmark set at a power of two again.
        if self.rounds & (self.rounds - 1) == 0:
            self.landmark = after
            self.drawn = drawn
        return "limit" if self.rounds >= self.rules.max_rounds else ""


def upper_ends(owners: Owners) -> Array:
    """Upper end of each owner's interval (n_owners,), or 1 where that is 0: a unit of distance."""
    return np.where(owners.epsilon_max > 0, owners.epsilon_max, 1.0)


def relative_moves(start: Array, end: Array, width: Array) -> Array:
    """Move of each owner as a part of its epsilon, or of a millionth of ``width`` (n_owners,).

    The measure does not depend on the width of the interval. To join a market is a whole move,
    however small the budget: the first sharer may want next to nothing and change everything.
    """
    size = np.maximum(np.maximum(start, end), TRACE * width)
    return np.where((start == 0) & (end > 0), 1.0, np.abs(end - start) / size)
