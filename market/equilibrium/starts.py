"""Profiles to start from, spread over the owners' intervals."""

from __future__ import annotations

from itertools import product

import numpy as np
import scipy

from market.game.game import Game

LOWEST = 1e-3  # where an owner may stay out, profiles above 0 are drawn down to this part of its upper end
FEW = 4  # owners who may stay out, up to which every set of sharers is a start
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
        spread = scipy.stats.qmc.Sobol(len(low), rng=rng).random_base2(int(np.ceil(np.log2(missing))))[:missing]
    else:
        spread = rng.random((missing, len(low)))
    return [*points, *(lower * ratio**part for part in spread)][:starts]


def entry_points(game: Game) -> list[np.ndarray]:
    """Profiles in which some of those who may stay out do, and the others stand in the middle.

    Every such set of sharers where few may stay out; else those who join in the order of n epsilon^2, largest first.
    """
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    lower, ratio = log_interval(low, high)
    free = np.flatnonzero((low == 0) & (high > 0))
    if len(free) <= FEW:
        sets = [one for one in product([True, False], repeat=len(free)) if any(one) and not all(one)]
    else:
        order = np.argsort(np.argsort(-(game.owners.sizes * high**2)[free], kind="stable"))
        counts = np.unique(np.geomspace(1, len(free) - 1, 2**FEW - 2).astype(int))
        sets = [tuple(order < count) for count in counts]
    points = []
    for one in sets:
        points.append(lower * np.sqrt(ratio))
        points[-1][free[~np.array(one)]] = 0.0
    return points


def log_interval(low: np.ndarray, high: np.ndarray, lowest: float = LOWEST) -> tuple[np.ndarray, np.ndarray]:
    """The interval of each owner on a logarithmic scale: its least epsilon above 0, and its upper end over that."""
    lower = np.where(low > 0, low, lowest * high)
    return lower, np.divide(high, lower, out=np.ones_like(high), where=lower > 0)
