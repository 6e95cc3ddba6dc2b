"""Who would vote for which of several rules: owners compare what each leaves them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SLACK = 1e-9  # a difference below this part of what is compared is rounding: the voter does not mind


@dataclass(frozen=True)
class Ballot:
    """How voters stand on k alternatives.

    Attributes
    ----------
    first : (n_voters,), the alternative each likes best, by number; -1 where several are best
    prefer : (k, k), how many voters like the one of the row better than the one of the column
    winner : the Condorcet winner: the one that beats every other by majority of those who mind; None where there is none

    Source: Condorcet, Essai sur l'application de l'analyse (1785).
    """

    first: np.ndarray
    prefer: np.ndarray
    winner: int | None

    @property
    def against_first(self) -> np.ndarray:
        """Voters for and against each alternative in place of the first, (k, 2)."""
        return np.stack([self.prefer[:, 0], self.prefer[0]], axis=1)


def vote(utility: np.ndarray) -> Ballot:
    """How voters stand on alternatives by what each leaves them.

    Parameters
    ----------
    utility : (n_voters, k), money

    >>> ballot = vote(np.array([[3.0, 1.0, 2.0], [0.0, 2.0, 1.0], [1.0, 1.0, 5.0]]))
    >>> ballot.first.tolist(), ballot.winner, ballot.prefer.tolist()
    ([0, 1, 2], 2, [[0, 1, 1], [1, 0, 1], [2, 2, 0]])
    """
    utility = np.asarray(utility, dtype=float)
    slack = SLACK * np.abs(utility).max(axis=1, initial=0.0)[:, None]
    better = utility[:, :, None] > utility[:, None, :] + slack[:, :, None]
    prefer = better.sum(axis=0)
    best = utility >= utility.max(axis=1, keepdims=True) - slack
    first = np.where(best.sum(axis=1) == 1, utility.argmax(axis=1), -1)
    beats = prefer > prefer.T
    winners = np.flatnonzero((beats | np.eye(len(prefer), dtype=bool)).all(axis=1))
    return Ballot(first, prefer, int(winners[0]) if len(winners) else None)
