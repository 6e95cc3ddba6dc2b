"""Rounds of one behaviour in which all owners choose at once, without a model around them: many rounds in little time."""

from __future__ import annotations

import numpy as np

from agents.behaviours import Seen
from agents.traders import Draws
from market.costs.functions import Linear
from market.game.game import Game
from market.game.owners import Owners
from market.policies.proportional import Proportional

CONTEST = Game(
    Owners(("A", "B"), 1, 0.0, 6.0, Linear([1.0, 2.0])), Proportional(12.0, "epsilon"), None, 0.0
)
THREE = Game(
    Owners(("A", "B", "C"), 1, 0.0, 6.0, Linear([1.0, 2.0, 2.5])),
    Proportional(12.0, "epsilon"),
    None,
    0.0,
)


def rounds_of(game, behaviour, rounds, seed=0, start=None):
    """What all owners chose (rounds, n_owners), and what they have in mind after that."""
    owners = game.owners
    draws = Draws(seed)
    now = (
        (owners.epsilon_min + owners.epsilon_max) / 2
        if start is None
        else np.asarray(start, dtype=float)
    )
    memory = behaviour.initial_memory(game.deviations(now))
    path = []
    for number in range(1, rounds + 1):
        seen = Seen(lambda m, at=number: draws.draw_uniform("rounds", at, len(owners), m), memory)
        now = behaviour.choose(game.deviations(now), seen)
        memory = behaviour.update_memory(game.deviations(now), seen)
        path.append(now)
    return np.array(path), memory
