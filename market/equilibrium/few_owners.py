"""Two or three owners: places where all best responses may meet, the unstable ones that no play leads to among them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from market.equilibrium.starts import log_interval
from market.equilibrium.stopping import moved, upper_ends
from market.game.game import Game

POINTS = {2: 96, 3: 28}  # of an interval, even in log epsilon, by the number of owners; and its lower end
PARTS = 4  # into which the sides of a cell are cut at a time
LEVELS = 6  # times that cells are cut: down to a few parts in 10^5 of an epsilon
MOST = 48  # cells that are kept at a time: where equilibria form a continuum there is no end of them
STEEP = 30.0  # relative change of a response by that of another owner's epsilon beyond which it is taken to jump
NEAR = 0.05  # at a place no response is further away than this part of an epsilon
SAME = 1e-2  # places closer than this part of every epsilon are one


def scannable(game: Game) -> bool:
    """Decide whether `meeting_places` can look for the equilibria of a game."""
    free = (game.owners.epsilon_max > game.owners.epsilon_min).all()
    return bool(len(game.owners) in POINTS and free and game.additive and game.policy.by_sums)


def meeting_places(game: Game) -> list[np.ndarray]:
    """Profiles (n_owners,) near which every owner may stand at its best response to the others.

    The first owner always responds to the others, so a profile is a point ``e`` of one or two dimensions, and each other
    owner i is off by ``b_i(b_1(e), e) - e_i``. Cells of a grid at whose corners no such difference keeps one sign above or
    below 0 are cut into smaller ones, again and again. An equilibrium is missed where a difference changes its sign twice
    along a side of a cell; a place may be none where a response jumps, which is for the certificate to say.
    """
    axes = [axis_of(game, owner) for owner in range(1, len(game.owners))]
    sides = product(*(np.column_stack([axis[:-1], axis[1:]]) for axis in axes))
    cells, places = crossed(game, np.array([np.stack(pair) for pair in sides]))
    for _ in range(LEVELS):
        if not len(cells):
            return []
        cells, places = crossed(game, np.concatenate([cut(cell) for cell in cells[:MOST]]))
    kept: list[np.ndarray] = []
    for place in places:
        if moved(place, game.best_responses(place), upper_ends(game.owners)).max() > NEAR:
            continue
        if all((np.abs(place - other) > SAME * np.maximum(place, other)).any() for other in kept):
            kept.append(place)
    return kept


def axis_of(game: Game, owner: int) -> np.ndarray:
    """Points (m,) of an owner's interval, its ends and the places where payments may jump among them."""
    lower, ratio = log_interval(game.owners.epsilon_min, game.owners.epsilon_max)
    even = lower[owner] * ratio[owner] ** np.linspace(0, 1, POINTS[len(game.owners)])
    jumps = game.deviations(game.owners.epsilon_max).breakpoints()[owner]
    return np.unique([game.owners.epsilon_min[owner], *even[:-1], game.owners.epsilon_max[owner], *jumps])


def cut(cell: np.ndarray) -> np.ndarray:
    """The parts (m, d, 2) of a cell (d, 2), even in log epsilon where it does not begin at 0."""
    sides = [
        np.linspace(low, high, PARTS + 1) if low == 0 else np.geomspace(low, high, PARTS + 1) for low, high in cell
    ]
    return np.array([np.stack(part) for part in product(*(np.column_stack([at[:-1], at[1:]]) for at in sides))])


def crossed(game: Game, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep the cells (m, d, 2) in which each owner's best response may come to where it stands.

    At their corners it lies neither always above nor always below that, and at one of them it is near.

    Returns
    -------
    The cells, those first that are nearest for their size, and of each the corner (n_owners,) where responses are nearest.
    """
    dimensions = cells.shape[1]
    ends = np.stack([cells[:, range(dimensions), list(end)] for end in product([0, 1], repeat=dimensions)], axis=1)
    points, where = np.unique(ends.reshape(-1, dimensions), axis=0, return_inverse=True)
    where = where.reshape(len(cells), -1)
    profiles = np.column_stack([np.zeros(len(points)), points])
    profiles[:, 0] = responses(game, 0, profiles)
    least = log_interval(game.owners.epsilon_min, game.owners.epsilon_max)[0][1:]
    width = (np.ptp(cells, axis=2) / np.maximum(cells[:, :, 0], least)).max(axis=1)
    possible = np.ones(len(cells), dtype=bool)
    furthest = np.zeros(where.shape)
    for owner in range(1, dimensions + 1):
        off = (responses(game, owner, profiles) - profiles[:, owner])[where]
        part = np.abs(off) / cells[:, owner - 1, 1:]
        possible &= (off.min(axis=1) <= 0) & (off.max(axis=1) >= 0) & (part.min(axis=1) <= STEEP * width)
        furthest = np.maximum(furthest, part)
    nearest = where[np.arange(len(cells)), furthest.argmin(axis=1)]
    order = np.argsort(furthest.min(axis=1) / width, kind="stable")
    order = order[possible[order]]
    return cells[order], profiles[nearest[order]]


def responses(game: Game, owner: int, profiles: np.ndarray) -> np.ndarray:
    """Best responses (m,) of one owner to many profiles (m, n_owners) at once."""
    whole = game.deviations_against(profiles[0], np.empty((len(game.owners), 1, 0)))
    others = np.delete(whole.terms(profiles.T), owner, axis=0).sum(axis=0)
    rows = whole.take(np.full(len(profiles), owner))
    return replace(rows, others=others[:, None, :]).best_responses()
