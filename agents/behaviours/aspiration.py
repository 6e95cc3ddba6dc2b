"""People who are content with what they got used to, and look for something else when they get less."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from agents.behaviours.base import Behaviour, Memory, Seen, own
from market.equilibrium.quantal import evenly
from market.game.deviations import Deviations
from market.game.search import in_blocks

POINTS = 41  # of an interval, by which it is told what is at stake
TRIFLE = 1e-6  # a part of that: nobody starts looking for something else for less


@dataclass(frozen=True)
class Aspiration(Behaviour):
    """Stays while its surplus is no less than it aspires to; otherwise tries any budget of its interval, all alike likely.

    What it aspires to, at first the surplus that it begins with, goes a part of the way to what it has in each round, but
    not below what it would have by selling as little as it may. Now and then it tries another budget although content.

    Parameters
    ----------
    pace : float, the part of the way that what it aspires to goes in a round
    tremble : float, the chance to try another budget although content

    Source: Karandikar, Mookherjee, Ray and Vega-Redondo, Evolving aspirations and cooperation (1998), of two choices, of whom
    the discontent stay with some chance and aspirations tremble, not choices; the idea: Simon, A behavioral model of
    rational choice (1955).
    """

    title = "stays while it has what it aspires to, and else tries something"
    draws = True
    pace: Annotated[float, Gt(0), Le(1)] = 0.1
    tremble: Annotated[float, Ge(0), Lt(1)] = 0.02

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        (trembles, part), here = seen.uniform(2).T, own(deviations)
        low, high = deviations.owners.epsilon_min, deviations.owners.epsilon_max
        least, has = deviations.payoffs(np.column_stack([low, here])).T
        lacks = np.maximum(seen.memory["aspires"], least) - has
        stays = (lacks <= TRIFLE * seen.memory["stake"]) & (trembles >= self.tremble)
        return np.where(stays, here, np.minimum(low + (high - low) * part, high))

    def begin(self, deviations: Deviations) -> Memory:
        payoffs = in_blocks(deviations.payoffs, evenly(deviations.owners, POINTS))
        return {"aspires": surplus(deviations), "stake": np.ptp(payoffs, axis=1)}

    def remember(self, deviations: Deviations, seen: Seen) -> Memory:
        before = seen.memory["aspires"]
        return seen.memory | {"aspires": before + self.pace * (surplus(deviations) - before)}


def surplus(deviations: Deviations) -> np.ndarray:
    """What n owners have where they stand (n,), as they weigh it."""
    return deviations.payoffs(own(deviations)[:, None])[:, 0]
