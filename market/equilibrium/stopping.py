"""When a market has ended: at rest, in a cycle, or at the limit of its rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from market.game.game import Game

RETURN = 1e-6  # a profile met again this much closer than the last step is a return, not slow progress
STALL = 20  # rounds without smaller steps after which a path within RETURN of rest is as good as it gets


@dataclass(frozen=True)
class Path:
    """Where a path ended: its profile (n_owners,), rounds walked, and how: "rest", "cycle" or "limit"."""

    epsilon: np.ndarray
    rounds: int
    end: str


@dataclass
class StoppingRule:
    """Says when a market has ended: "rest", "cycle" or "limit"; "" while it goes on.

    It rests after ``patience`` rounds in a row in which no owner moves by more than ``tol`` of its ``width``
    (n_owners,), and where rounding is all that still moves. A cycle is a return to an earlier profile, the
    ``landmark``, with nothing ``drawn`` in between. Whether what it ended in is an equilibrium is for the certificate
    to say.
    """

    tol: float
    max_rounds: int
    patience: int
    width: np.ndarray
    landmark: np.ndarray
    drawn: str
    rounds: int = 0
    quiet: int = 0
    least: float = np.inf
    least_at: int = 0

    def see(self, before: np.ndarray, after: np.ndarray, drawn: str) -> str:
        """How the market has ended after one more round, from ``before`` to ``after``; ``drawn`` tells draws apart."""
        step, back = moved(before, after, self.width).max(), moved(self.landmark, after, self.width).max()
        self.rounds += 1
        self.quiet = self.quiet + 1 if step <= self.tol else 0
        if step < 0.9 * self.least:
            self.least, self.least_at = step, self.rounds
        if self.quiet >= self.patience:
            return "rest"
        if 0 < self.least <= RETURN and step <= RETURN and self.rounds - self.least_at >= max(STALL, self.patience):
            return "rest"
        if self.rounds >= 2 and step > 0 and back <= RETURN * step and drawn == self.drawn:
            return "cycle"
        if self.rounds & (self.rounds - 1) == 0:  # Brent: a landmark at every power of two is passed again by any cycle
            self.landmark, self.drawn = after, drawn
        return "limit" if self.rounds >= self.max_rounds else ""


def upper_ends(game: Game) -> np.ndarray:
    """What an owner's moves are measured by (n_owners,): the upper end of its interval, or 1 where that is 0."""
    return np.where(game.owners.epsilon_max > 0, game.owners.epsilon_max, 1.0)


def patience(name: str, n_owners: int) -> int:
    """Quiet rounds in a row after which a path is at rest: one, or with clocks so many that every clock has rung.

    A clock is silent for a unit of time with odds 1/e, so one of n is for ln(n) + 7 of them with odds below 1/1000.
    """
    return int(np.ceil(np.log(n_owners))) + 7 if name == "poisson" else 1


def moved(start: np.ndarray, end: np.ndarray, width: np.ndarray) -> np.ndarray:
    """How far each owner goes, as a part of ``width`` (n_owners,); to join a market is a whole move, however small.

    Where nobody shares, the first to do so may want next to nothing, and yet everything changes.
    """
    return np.where((start == 0) & (end > 0), 1.0, np.abs(end - start) / width)
