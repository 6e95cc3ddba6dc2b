"""Two or three owners: places where all best responses may meet, the unstable ones that no play leads to among them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from market.equilibrium.stopping import moved, upper_ends
from market.game.game import Game

POINTS = {2: 96, 3: 28}  # of an interval, by the number of owners who share
LEAST = 1e-4  # who shares but need not is looked at from this part of its upper end on
PARTS = 4  # into which the sides of a cell are cut at a time
LEVELS = 6  # times that cells are cut: down to a few parts in 10^5 of an epsilon
MOST = 96  # cells that are kept at a time: where equilibria form a continuum there is no end of them
STEEP = 30.0  # relative change of a response by that of another owner's epsilon beyond which it is taken to jump
TOUCH = 0.3  # part of a cell's width by which a response may keep to one side: it may cross twice between corners
NEAR = 0.05  # at a place no response is further away than this part of an epsilon
SAME = 1e-2  # places closer than this part of every epsilon are one


def scannable(game: Game) -> bool:
    """Decide whether `meeting_places` can look for the equilibria of a game."""
    free = (game.owners.epsilon_max > game.owners.epsilon_min).all()
    quick = game.view.divides or len(game.owners) == 2
    return bool(len(game.owners) in POINTS and free and quick and game.additive and game.policy.by_sums)


def meeting_places(game: Game) -> list[np.ndarray]:
    """Profiles (n_owners,) near which every owner may stand at its best response to the others.

    Each set of owners who share is looked at by itself, as if they had to share and the others could not: to join or to
    leave is a jump, between which a grid shows nothing. Whether anybody would rather join or leave is asked in the end.
    """
    low, high = game.owners.epsilon_min, game.owners.epsilon_max
    found: list[np.ndarray] = []
    for chosen in product([True, False], repeat=len(low)):
        share = np.array(chosen)
        if (share | (low == 0)).all():
            least = np.where(share, np.maximum(low, LEAST * high), 0.0)
            owners = replace(game.owners, epsilon_min=least, epsilon_max=np.where(share, high, 0.0))
            found += places_among(replace(game, owners=owners), np.flatnonzero(share))
    kept: list[np.ndarray] = []
    for place in found:
        near = moved(place, game.best_responses(place), upper_ends(game.owners)).max() <= NEAR
        if near and all((np.abs(place - other) > SAME * np.maximum(place, other)).any() for other in kept):
            kept.append(place)
    return kept


def places_among(game: Game, movers: np.ndarray) -> list[np.ndarray]:
    """Find such profiles (n_owners,) of a game in which only ``movers`` (m,) have a choice, all of them above 0.

    The first of them always responds to the others, so a profile is a point ``e`` of m - 1 dimensions, and each other owner i
    is off by ``b_i(b_1(e), e) - e_i``. Cells of a grid at whose corners no such difference keeps well above or below 0 are
    cut into smaller ones, again and again. An equilibrium can be missed where a difference changes its sign twice between
    corners; a place may be none where a response jumps, which is for the certificate to say.
    """
    nothing = np.zeros((1, len(game.owners)))
    if len(movers) < 2:
        for owner in movers:
            nothing[:, owner] = responses(game, owner, nothing)
        return list(nothing)
    axes = [axis_of(game, owner, POINTS[len(movers)]) for owner in movers[1:]]
    cells, places = crossed(game, movers, boxes(axes))
    for _ in range(LEVELS):
        if not len(cells):
            return []
        parts = [boxes([np.geomspace(low, high, PARTS + 1) for low, high in cell]) for cell in cells[:MOST]]
        cells, places = crossed(game, movers, np.concatenate(parts))
    return list(places)


def axis_of(game: Game, owner: int, points: int) -> np.ndarray:
    """Points (m,) of an owner's interval, even in log epsilon, and the places where payments may jump among them."""
    low, high = game.owners.epsilon_min[owner], game.owners.epsilon_max[owner]
    jumps = game.deviations(game.owners.epsilon_max).breakpoints()[owner]
    return np.unique([low, *np.geomspace(low, high, points)[1:-1], high, *jumps])


def boxes(axes: list[np.ndarray]) -> np.ndarray:
    """The cells (m, d, 2) between neighbouring points of d axes."""
    return np.array([np.stack(sides) for sides in product(*(np.column_stack([at[:-1], at[1:]]) for at in axes))])


def crossed(game: Game, movers: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep the cells (m, d, 2) in which each owner's best response may come to where it stands.

    At their corners it lies neither always far above nor always far below that, and at one of them it is near.

    Returns
    -------
    The cells, those first that are nearest for their size, and of each the corner (n_owners,) where responses are nearest.
    """
    first, *others = movers
    dimensions = len(others)
    ends = np.stack([cells[:, range(dimensions), list(end)] for end in product([0, 1], repeat=dimensions)], axis=1)
    points, where = np.unique(ends.reshape(-1, dimensions), axis=0, return_inverse=True)
    where = where.reshape(len(cells), -1)
    profiles = np.zeros((len(points), len(game.owners)))
    profiles[:, others] = points
    profiles[:, first] = responses(game, first, profiles)
    width = (cells[:, :, 1] / cells[:, :, 0] - 1).max(axis=1)
    possible = np.ones(len(cells), dtype=bool)
    furthest = np.zeros(where.shape)
    for owner in others:
        off = (responses(game, owner, profiles) / profiles[:, owner] - 1)[where]
        part = np.abs(off)
        possible &= (off.min(axis=1) <= TOUCH * width) & (off.max(axis=1) >= -TOUCH * width)
        possible &= part.min(axis=1) <= STEEP * width
        furthest = np.maximum(furthest, part)
    order = np.argsort(furthest.min(axis=1) / width, kind="stable")
    order = order[possible[order]]
    nearest = where[np.arange(len(cells)), furthest.argmin(axis=1)]
    return cells[order], profiles[nearest[order]]


def responses(game: Game, owner: int, profiles: np.ndarray) -> np.ndarray:
    """Best responses (m,) of one owner to many profiles (m, n_owners) at once."""
    if not game.view.divides:
        return np.array([game.best_responses(profile, np.array([owner]))[0] for profile in profiles])
    whole = game.deviations_against(profiles[0], np.empty((len(game.owners), 1, 0)))
    others = np.delete(whole.terms(profiles.T), owner, axis=0).sum(axis=0)
    rows = whole.take(np.full(len(profiles), owner))
    return replace(rows, others=others[:, None, :]).best_responses()
