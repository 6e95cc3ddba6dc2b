"""Starting profiles: spread over the intervals, or where best responses of few seem to meet.

A scan finds the places where those of two or three owners meet, unstable equilibria included.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import scipy

from market.columns import Array, Pair
from market.equilibrium.stopping import relative_moves, upper_ends
from market.game.game import Game

# Where an owner may stay out, starts above 0 are drawn down to this part of its upper end.
LOWEST = 1e-3
# Owners who may stay out, up to which every set of sharers is a start.
FEW = 4
# With more owners a low-discrepancy set is no better than independent draws, and slow.
SOBOL_OWNERS = 1024
# Points of an interval, by the number of owners who share.
POINTS = {2: 96, 3: 28}
# Part of the upper end from which an optional owner that shares is scanned.
LEAST = 1e-4
# Parts that the sides of a cell are cut into at a time, and the number of times.
PARTS = 4
LEVELS = 6
# Cells kept at a time: equilibria may form a continuum.
MOST = 96
# Relative change of a response by another owner's epsilon that counts as a jump.
STEEP = 30.0
# Part of a cell's width that a response may keep to one side: it may cross twice between corners.
TOUCH = 0.3
# Largest distance of a response at a place, as a part of an epsilon.
NEAR = 0.05
# Places closer than this part of every epsilon are one.
SAME = 1e-2


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
    low, high = game.owners.interval
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
    low, high = game.owners.interval
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


def can_scan(game: Game) -> bool:
    """Decide whether `meeting_places` can search for the equilibria of a game."""
    n_owners = len(game.owners)
    free = bool((game.owners.epsilon_max > game.owners.epsilon_min).all())
    quick = game.forecast_view.is_divisible or n_owners == 2
    return n_owners in POINTS and free and quick and game.additive and bool(game.policy.by_sums)


def meeting_places(game: Game) -> list[Array]:
    """Profiles (n_owners,) near which every owner may be at its best response.

    Each set of owners who share is scanned by itself, as if they had to share and the others
    could not: joining and leaving are jumps, which a grid does not resolve. The best responses at
    each place then tell whether an owner would rather join or leave.
    """
    low, high = game.owners.interval
    found: list[Array] = []
    for chosen in product([True, False], repeat=len(low)):
        share = np.array(chosen)
        if (share | (low == 0)).all():
            least = np.where(share, np.maximum(low, LEAST * high), 0.0)
            owners = replace(game.owners, epsilon_min=least, epsilon_max=np.where(share, high, 0.0))
            found += places_among(replace(game, owners=owners), np.flatnonzero(share))
    if not found:
        return []
    places = np.array(found)
    responses = game.best_responses_at(places)
    moves = relative_moves(places, responses, upper_ends(game.owners)).max(axis=1)
    kept: list[Array] = []
    for place in places[moves <= NEAR]:
        apart = [np.abs(place - other) > SAME * np.maximum(place, other) for other in kept]
        if all(one.any() for one in apart):
            kept.append(place)
    return kept


def places_among(game: Game, movers: Array) -> list[Array]:
    """Meeting places (n_owners,) where only ``movers`` (m,) have a choice, all above 0.

    The first of them always responds to the others, so a profile is a point ``e`` of m - 1
    dimensions, and the gap of another owner i is ``b_i(b_1(e), e) - e_i``. Cells of a grid in
    which every gap may be 0 are cut into smaller ones (`crossing_cells`). An equilibrium can be
    missed where a gap changes its sign twice between corners; a place may be none where a
    response jumps, which the certificate decides.
    """
    nothing = np.zeros((1, len(game.owners)))
    if len(movers) < 2:
        for owner in movers:
            nothing[:, owner] = game.owner_responses(owner, nothing)
        return list(nothing)
    axes = [axis_of(game, owner, POINTS[len(movers)]) for owner in movers[1:]]
    cells, places = crossing_cells(game, movers, grid_cells(axes))
    for _ in range(LEVELS):
        if not len(cells):
            return []
        parts = []
        for cell in cells[:MOST]:
            parts.append(grid_cells([np.geomspace(low, high, PARTS + 1) for low, high in cell]))
        cells, places = crossing_cells(game, movers, np.concatenate(parts))
    return list(places)


def axis_of(game: Game, owner: int, points: int) -> Array:
    """Points (m,) of an owner's interval, uniform in log epsilon, and its payment jumps."""
    low = game.owners.epsilon_min[owner]
    high = game.owners.epsilon_max[owner]
    jumps = game.deviations(game.owners.epsilon_max).payment_jumps()[owner]
    return np.unique([low, *np.geomspace(low, high, points)[1:-1], high, *jumps])


def grid_cells(axes: list[Array]) -> Array:
    """Cells (m, d, 2) between neighbouring points of d axes."""
    sides = [np.column_stack([at[:-1], at[1:]]) for at in axes]
    return np.array([np.stack(cell) for cell in product(*sides)])


def crossing_cells(game: Game, movers: Array, cells: Array) -> Pair:
    """Keep the cells (m, d, 2) in which every owner's best response may cross its epsilon.

    At their corners the gap is neither always far above nor always far below 0, and small at one.

    Returns
    -------
    The cells, nearest for their size first, and the corner (n_owners,) of each where responses
    are nearest.
    """
    first, *others = movers
    dimensions = len(others)
    corners = product([0, 1], repeat=dimensions)
    ends = np.stack([cells[:, range(dimensions), list(end)] for end in corners], axis=1)
    points, where = np.unique(ends.reshape(-1, dimensions), axis=0, return_inverse=True)
    where = where.reshape(len(cells), -1)
    profiles = np.zeros((len(points), len(game.owners)))
    profiles[:, others] = points
    profiles[:, first] = game.owner_responses(first, profiles)
    width = (cells[:, :, 1] / cells[:, :, 0] - 1).max(axis=1)
    possible = np.ones(len(cells), dtype=bool)
    furthest = np.zeros(where.shape)
    for owner in others:
        gap = (game.owner_responses(owner, profiles) / profiles[:, owner] - 1)[where]
        possible &= (gap.min(axis=1) <= TOUCH * width) & (gap.max(axis=1) >= -TOUCH * width)
        possible &= np.abs(gap).min(axis=1) <= STEEP * width
        furthest = np.maximum(furthest, np.abs(gap))
    order = np.argsort(furthest.min(axis=1) / width, kind="stable")
    order = order[possible[order]]
    nearest = where[np.arange(len(cells)), furthest.argmin(axis=1)]
    return cells[order], profiles[nearest[order]]
