"""Owners who secretly act as one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from agents.behaviours.base import Behaviour, Memory, Seen
from learning.declaration import Words
from learning.errors import InputError
from market.analysis.joint_moves import JointMoves
from market.analysis.unions import LARGEST, divide_surplus
from market.game.deviations import Deviations
from market.game.game import CERTIFIED

TRIFLE = 1e-12  # a part of the money that all members move: the least gain of a move


@dataclass(frozen=True)
class Colluders(Behaviour):
    """Each member does its part of the joint best response; members divide their surplus.

    A secret data union. Owners of one name are one ring.

    Parameters
    ----------
    name : the name of the ring
    split : the division of the joint surplus, "equal", or "by_size", in proportion to records

    Source: rings and cartels act as one seller; Stigler, A theory of oligopoly (1964). Joint
        choices as of unions (`market.analysis.unions`).
    """

    title = "acts as one with others, and divides what they have"
    name: Annotated[str, Words("a text in quotes")] = "ring"
    split: Literal["equal", "by_size"] = "equal"

    def check_group(self, count: int) -> None:
        """Refuse more than can be searched together."""
        if count > LARGEST:
            rule = (
                f"must be at most {LARGEST} owners of one name: the program searches all that they "
                "can do together"
            )
            raise InputError(f"{self.where}.colluders", rule, f"{count} in {self.name}")

    def divide_surplus(self, surplus: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Divide the members' joint surplus (k,)."""
        return divide_surplus(self.split, surplus, sizes, None)

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return seen.memory["plan"]

    def initial_memory(self, deviations: Deviations) -> Memory:
        members = deviations.index
        self.check_group(len(members))
        return self._plan_round(deviations, np.tile(members, (len(members), 1)))

    def update_memory(self, deviations: Deviations, seen: Seen) -> Memory:
        return self._plan_round(deviations, seen.memory["members"])

    def _plan_round(self, deviations: Deviations, members: np.ndarray) -> Memory:
        """Plan the next moves of owners whose ring has ``members``, a row for each owner."""
        plan = joint_plan(JointMoves(deviations.game, members[0], deviations.profile))
        return {"members": members, "plan": plan[np.searchsorted(members[0], deviations.index)]}


def joint_plan(moves: JointMoves) -> np.ndarray:
    """Best joint budgets of members (k,): uphill; from a top, the best of a full search."""
    row = moves.joint_response()
    gain = float(np.diff(moves.joint_surplus(np.stack([moves.own_row, row])))[0])
    if gain > TRIFLE * moves.money_moved(row)[1]:
        return row
    place, gain, scale = moves.certificate()
    return place if gain > CERTIFIED * scale else moves.own_row
