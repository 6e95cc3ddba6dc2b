"""People who stay where they are unless something makes them move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Lt

from agents.behaviours.base import Behaviour, Seen, own, weighed
from learning.declaration import NonNegative
from market.game.deviations import Deviations


@dataclass(frozen=True)
class Inertial(Behaviour):
    """Stays where it is with some chance, and where moving would bring too little; otherwise its best response.

    Parameters
    ----------
    stays : float, the chance that it does not look at the market in a round
    effort : float, money that a move must bring at least, what it costs to look into the matter; nobody is paid it

    Source: Samuelson and Zeckhauser, Status quo bias in decision making (1988); staying by chance as in adaptive play with
    inertia, Young, The evolution of conventions (1993).
    """

    title = "stays where it is by chance, or where moving brings too little"
    draws = True
    stays: Annotated[float, Ge(0), Lt(1)] = 0.5
    effort: NonNegative = 0.0

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        here, best = own(deviations), deviations.best_responses()
        have, could = weighed(deviations, np.column_stack([here, best])).T
        moves = (seen.uniform()[:, 0] >= self.stays) & (could - have > self.effort)
        return np.where(moves, best, here)
