"""How owners may come to rest: the orders of play, and Newton's method on the sums (PATHS).

A path is an endless generator of profiles, one a round; `follow` walks it until it rests or returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from market.equilibrium.activation import part_way, poisson, rings, sequential, shuffled, simultaneous
from market.equilibrium.aggregative import aggregative
from market.equilibrium.stopping import RETURN, Path, StoppingRule, moved, patience, upper_ends
from market.game.game import Game

__all__ = ["PATHS", "RETURN", "Path", "StoppingRule", "follow", "moved", "part_way", "patience", "rings", "upper_ends"]


def follow(
    game: Game,
    name: str,
    origin: np.ndarray,
    *,
    rng: np.random.Generator,
    tol: float,
    max_rounds: int,
    damping: float,
    on_round: Callable[[int, np.ndarray], None],
) -> Path:
    """Trajectory the path ``name`` of PATHS from ``origin`` (n_owners,); the rest as in `market.equilibrium.solver.solve`."""
    now = np.array(origin, dtype=float)
    watch = StoppingRule(tol, max_rounds, patience(name, len(now)), upper_ends(game), now, str(rng.bit_generator.state))
    on_round(0, now)
    for fresh in islice(PATHS[name](game, now, rng=rng, damping=damping), max_rounds):
        end = watch.see(now, fresh, str(rng.bit_generator.state))
        now = fresh
        on_round(watch.rounds, now)
        if end:
            return Path(now, watch.rounds, end)
    return Path(now, watch.rounds, "limit")


PATHS: dict[str, Callable[..., Iterator[np.ndarray]]] = {
    "aggregative": aggregative,
    "sequential": sequential,
    "simultaneous": simultaneous,
    "random": shuffled,
    "poisson": poisson,
}
