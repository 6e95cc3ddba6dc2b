"""Two owners: where the curves of their best responses cross, the unstable crossings that no play leads to included."""

from __future__ import annotations

import numpy as np

from market.equilibrium.starts import log_interval
from market.game.game import Game

POINTS = 96  # of the first owner's interval, even in log epsilon, and its lower end
HALVINGS = 30


def crossings(game: Game) -> list[np.ndarray]:
    """Profiles (2,) at which the first owner's best response to the second's best response jumps over where it stands.

    Every equilibrium is one of them, unless two lie between neighbours of the grid; where a response jumps there may be
    none, which is for the certificate to say.
    """

    def reply(owner: int, to: float) -> float:
        return float(game.best_responses(np.full(2, to), np.array([owner]))[0])

    def ahead(place: float) -> float:
        return reply(0, reply(1, place)) - place

    lower, ratio = log_interval(game.owners.epsilon_min, game.owners.epsilon_max)
    grid = np.unique([game.owners.epsilon_min[0], *(lower[0] * ratio[0] ** np.linspace(0, 1, POINTS))])
    gaps = [ahead(place) for place in grid]
    found = []
    for left, right, before, after in zip(grid, grid[1:], gaps, gaps[1:], strict=False):
        if before * after > 0:
            continue
        for _ in range(HALVINGS):
            middle = 0.5 * (left + right)
            left, right = (middle, right) if ahead(middle) * before > 0 else (left, middle)
        found.append(np.array([left, reply(1, left)]))
    return found
