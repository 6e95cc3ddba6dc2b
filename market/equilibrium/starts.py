"""Profiles to start from, spread over the owners' intervals."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from market.game.game import Game

LOWEST = 1e-3  # where an owner may stay out, profiles above 0 are drawn down to this part of its upper end
SOBOL_OWNERS = 1024  # beyond, a low-discrepancy set is no better than independent draws, and slow


def start_points(
    game: Game, *, rng: np.random.Generator, starts: int, start: np.ndarray | None = None
) -> list[np.ndarray]:
    """Profiles to start from: the given one, the middle, all at their least, all at their most, a spread.

    The middle and the spread are even in log epsilon.
    """
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    lower, ratio = log_interval(low, high)
    middle = lower * np.sqrt(ratio)
    first = [] if start is None else [np.clip(np.asarray(start, dtype=float), low, high)]
    points = [*first, middle, np.array(low), np.array(high)]
    missing = max(0, starts - len(points))
    if missing and len(low) <= SOBOL_OWNERS:
        spread = qmc.Sobol(len(low), rng=rng).random_base2(int(np.ceil(np.log2(missing))))[:missing]
    else:
        spread = rng.random((missing, len(low)))
    return [*points, *(lower * ratio**part for part in spread)][:starts]


def log_interval(low: np.ndarray, high: np.ndarray, lowest: float = LOWEST) -> tuple[np.ndarray, np.ndarray]:
    """The interval of each owner on a logarithmic scale: its least epsilon above 0, and its upper end over that."""
    lower = np.where(low > 0, low, lowest * high)
    return lower, np.divide(high, lower, out=np.ones_like(high), where=lower > 0)
