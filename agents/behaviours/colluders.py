"""Owners who act as one without a word to anybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from agents.behaviours.base import Behaviour, Memory, Seen
from learning.declaration import Words
from learning.errors import InputError
from market.analysis.joint_moves import JointMoves
from market.analysis.unions import LARGEST, shares
from market.game.deviations import Deviations
from market.game.game import CERTIFIED

TRIFLE = 1e-12  # a part of the money that all members move: nobody moves for less


@dataclass(frozen=True)
class Colluders(Behaviour):
    """Each does its part of what was best for all of them together when the round began; they divide what they have.

    As a data union does that nobody was told of. Those of one name are one ring.

    Parameters
    ----------
    name : tells several rings apart
    split : how they divide what they have together, "equal", in equal parts, or "by_size", in proportion to their records

    Source: rings and cartels act as one seller; Stigler, A theory of oligopoly (1964). Joint choices as of unions
    (`market.analysis.unions`).
    """

    title = "acts as one with others, and divides what they have"
    name: Annotated[str, Words("a text in quotes")] = "ring"
    split: Literal["equal", "by_size"] = "equal"

    def check_group(self, count: int) -> None:
        """Refuse more than can be searched together."""
        if count > LARGEST:
            rule = f"must be at most {LARGEST} owners of one name: all that they could do together is searched"
            raise InputError(f"{self.where}.colluders", rule, f"{count} in {self.name}")

    def divide(self, surplus: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """What each member has (k,) when all have divided what they have together."""
        return shares(self.split, surplus, sizes, None)

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return seen.memory["plan"]

    def begin(self, deviations: Deviations) -> Memory:
        members = deviations.index
        self.check_group(len(members))
        return self._planned(deviations, np.tile(members, (len(members), 1)))

    def remember(self, deviations: Deviations, seen: Seen) -> Memory:
        return self._planned(deviations, seen.memory["members"])

    def _planned(self, deviations: Deviations, members: np.ndarray) -> Memory:
        """What the owners who look do next, and the numbers of all members of the ring, a row for each."""
        plan = joint_plan(JointMoves(deviations.game, members[0], deviations.profile))
        return {"members": members, "plan": plan[np.searchsorted(members[0], deviations.index)]}


def joint_plan(moves: JointMoves) -> np.ndarray:
    """Where members (k,) go who move as one: uphill; from a top, to where a search of all that they could do finds more."""
    row = moves.response()
    gain = float(np.diff(moves.surplus(np.stack([moves.own, row])))[0])
    if gain > TRIFLE * moves.money(row)[1]:
        return row
    place, gain, scale = moves.certificate()
    return place if gain > CERTIFIED * scale else moves.own
