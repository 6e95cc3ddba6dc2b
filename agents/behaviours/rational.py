"""The behaviour of textbooks: the best response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.behaviours.base import Behaviour, Seen
from market.game.deviations import Deviations


@dataclass(frozen=True)
class Rational(Behaviour):
    """The best response to the others as they are; draws nothing, and keeps nothing in mind."""

    title = "chooses its best response"
    rational = True

    def choose(self, deviations: Deviations, seen: Seen) -> np.ndarray:
        return deviations.best_responses()
