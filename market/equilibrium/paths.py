"""The paths that may lead to an equilibrium (PATHS): play in each activation, and Newton's method on the aggregates.

A path is an endless generator of profiles, one a round; `follow` runs it until it rests or returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

import numpy as np

from market.equilibrium.activation import ACTIVATIONS, play
from market.equilibrium.aggregative import aggregative
from market.equilibrium.stopping import ConvergenceMonitor, Path, PlayRules
from market.game.game import Game

PATHS: dict[str, Callable[..., Iterator[np.ndarray]]] = {
    "aggregative": aggregative,
    **{name: partial(play, activation) for name, activation in ACTIVATIONS.items()},
}


def follow(game: Game, method: str, origin: np.ndarray, *, rng: np.random.Generator, rules: PlayRules) -> Path:
    """Follow the path ``method`` of PATHS from ``origin`` (n_owners,) until it ends."""
    now = np.array(origin, dtype=float)
    patience = ACTIVATIONS[method].patience(len(now)) if method in ACTIVATIONS else 1
    monitor = ConvergenceMonitor.of(game, rules, patience, now, drawn=str(rng.bit_generator.state))
    profiles, end = [now], "limit"
    for fresh in islice(PATHS[method](game, now, rng=rng, damping=rules.damping), rules.max_rounds):
        end = monitor.update(profiles[-1], fresh, drawn=str(rng.bit_generator.state))
        profiles.append(fresh)
        if end:
            break
    return Path(profiles[-1], monitor.rounds, end, tuple(profiles))
