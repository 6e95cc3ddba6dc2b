"""When play has ended: at rest, in a cycle, or at the limit of its rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from learning.declaration import Count, Declaration, NonNegative
from market.game.owners import Owners

Damping = Annotated[float, Gt(0), Le(1)]
RETURN = 1e-6  # a profile met again this much closer than the last step is a return, not slow progress
TRACE = 1e-6  # part of an owner's upper end below which its moves are no longer measured by its epsilon
STALL = 20  # rounds without smaller steps after which a path within RETURN of rest is as good as it gets


@dataclass(frozen=True)
class PlayRules(Declaration):
    """How far owners go in a round, and when play ends; for the solver and for agents alike.

    Parameters
    ----------
    damping : float
        The part of the way that owners go who move all at once, in (0, 1]; 1 is undamped.
    part : float
        The chance that an owner moves in a round, where the order is "partial", in (0, 1].
    tol : float
        Play rests when no owner moves by more than this part of its epsilon,
    patience : int
        for so many rounds in a row at least; above 1 where a behaviour may sit out a round.
    max_rounds : int
        Rounds at most, per start.

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
    """Where a path ended: its profile (n_owners,), rounds played, how ("rest", "cycle" or "limit"), and all profiles."""

    epsilon: np.ndarray
    rounds: int
    end: str
    profiles: tuple[np.ndarray, ...] = ()


@dataclass
class ConvergenceMonitor:
    """Says when play has ended: "rest", "cycle" or "limit"; "" while it goes on.

    It rests after so many rounds in a row as ``rules`` and ``patience`` ask for, in which no owner moves by more than
    ``rules.tol`` (`moved`), and where rounding is all that still moves. A cycle is a return to an earlier profile,
    the ``landmark`` (at first where play starts), with nothing ``drawn`` in between. Whether what it ended in is an
    equilibrium is for the certificate to say.
    """

    rules: PlayRules
    patience: int
    width: np.ndarray
    landmark: np.ndarray
    drawn: str
    rounds: int = 0
    quiet: int = 0
    least: float = np.inf
    least_at: int = 0

    def update(self, before: np.ndarray, after: np.ndarray, *, drawn: str) -> str:
        """How play has ended after one more round, from ``before`` to ``after``; ``drawn`` tells draws apart."""
        step, back = moved(before, after, self.width).max(), moved(self.landmark, after, self.width).max()
        patience = max(self.rules.patience, self.patience)
        self.rounds += 1
        self.quiet = self.quiet + 1 if step <= self.rules.tol else 0
        if step < 0.9 * self.least:
            self.least, self.least_at = step, self.rounds
        stalled = self.rounds - self.least_at >= max(STALL, patience)
        if self.quiet >= patience or (stalled and 0 < self.least <= RETURN and step <= RETURN):
            return "rest"
        if self.rounds >= 2 and step > 0 and back <= RETURN * step and drawn == self.drawn:
            return "cycle"
        if self.rounds & (self.rounds - 1) == 0:  # Brent: a landmark at every power of two is passed again by any cycle
            self.landmark, self.drawn = after, drawn
        return "limit" if self.rounds >= self.rules.max_rounds else ""


def upper_ends(owners: Owners) -> np.ndarray:
    """The upper end of each owner's interval (n_owners,), or 1 where that is 0: what distances are measured by."""
    return np.where(owners.epsilon_max > 0, owners.epsilon_max, 1.0)


def moved(start: np.ndarray, end: np.ndarray, width: np.ndarray) -> np.ndarray:
    """How far each owner goes, as a part of its epsilon, or of a millionth of ``width`` (n_owners,) where that is more.

    However wide the interval, so, a choice is as exact. To join a market is a whole move, however small: where nobody
    shares, the first to do so may want next to nothing, and yet everything changes.
    """
    size = np.maximum(np.maximum(start, end), TRACE * width)
    return np.where((start == 0) & (end > 0), 1.0, np.abs(end - start) / size)
