"""Starting profiles, spread over the owners' intervals."""

from itertools import product

import numpy as np
import scipy

from market.columns import Array, Pair
from market.game.game import Game

# Where an owner may stay out, starts above 0 are drawn down to this part of its upper end.
LOWEST = 1e-3
# Owners who may stay out, up to which every set of sharers is a start.
FEW = 4
# With more owners a low-discrepancy set is no better than independent draws, and slow.
SOBOL_OWNERS = 1024


def log_interval(low: Array, high: Array, lowest: float = LOWEST) -> Pair:
    """Least epsilon above 0 of each owner's logarithmic interval, and the ratio of its ends."""
    lower = np.where(low > 0, low, lowest * high)
    return lower, np.divide(high, lower, out=np.ones_like(high), where=lower > 0)


def start_points(
    game: Game, *, rng: np.random.Generator, starts: int, start: Array | None = None
) -> list[Array]:
    """Starting profiles: the given one, the middle, all lowest, all highest, and a spread.

    The middle and the spread are uniform in log epsilon.
    """
    low = game.owners.epsilon_min
    high = game.owners.epsilon_max
    lower, ratio = log_interval(low, high)
    points = [] if start is None else [np.clip(np.asarray(start, dtype=float), low, high)]
    points += [lower * np.sqrt(ratio), np.array(low), np.array(high)]
    missing = max(0, starts - len(points))
    if missing and len(low) <= SOBOL_OWNERS:
        sobol = scipy.stats.qmc.Sobol(len(low), rng=rng)
        draws = sobol.random_base2(int(np.ceil(np.log2(missing))))[:missing]
    else:
        draws = rng.random((missing, len(low)))
    return [*points, *(lower * ratio**part for part in draws)][:starts]


def entry_points(game: Game) -> list[Array]:
    """Profiles in which some of the optional owners stay out, and the others are in the middle.

    Every such set of sharers where few owners may stay out; otherwise sets that owners join in
    the order of n epsilon^2, largest first.
    """
    low = game.owners.epsilon_min
    high = game.owners.epsilon_max
    lower, ratio = log_interval(low, high)
    free = np.flatnonzero((low == 0) & (high > 0))
    if len(free) <= FEW:
        every = product([True, False], repeat=len(free))
        sets = [one for one in every if any(one) and not all(one)]
    else:
        order = np.argsort(np.argsort(-(game.owners.sizes * high**2)[free], kind="stable"))
        counts = np.unique(np.geomspace(1, len(free) - 1, 2**FEW - 2).astype(int))
        sets = [tuple(order < count) for count in counts]
    points = []
    for one in sets:
        points.append(lower * np.sqrt(ratio))
        points[-1][free[~np.array(one)]] = 0.0
    return points
