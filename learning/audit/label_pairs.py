"""Worst pairs of labelled records: nearly opposite, and both misjudged by the query.

A record of label y is the line t = a'phi + b with gradient loss'(t) a, where a = y W x is shortened
to the radius B and slopes lie in [-1, 0]. The gradients of two records differ by 2 B where their a
are opposite and both slopes are -1. The search reads public bounds alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.records import LinearRecords

FAR = 10.0  # records lie this many times beyond the bounds, so that clipping is audited too
# lengths of two records in units of the radius, where the constants of labels matter: shorter and
# longer than it
SCALES = (
    *product((1.0, 2.0, FAR), repeat=2),
    *((part, part) for part in (0.2, 0.4, 0.6, 0.75, 0.9)),
    *((part, 1.0) for part in (0.1, 0.25, 0.5)),
    *((1.0, part) for part in (0.1, 0.25, 0.5)),
)
LEANS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5)  # common parts of two opposite records
REACH = 10.0  # of queries, in units of 1/radius, where no ball is stated
FIRST_STEP = 0.25  # of the pattern search, in units of radius and ball
SEARCH_STEPS = 40


def opposite_records(coordinates: Coordinates) -> tuple[Array, Array, Array]:
    """Search two raw records of label +1 and a query at which their gradients differ most.

    From the best of `_list_opposites` a pattern search runs along every coordinate of both records
    and of the query. The longest difference in 2-norm wins. That norm prefers few coordinates, the
    easiest to see under Laplace noise; under Gaussian noise it is that of the sensitivity.
    """
    back = np.asarray(np.linalg.inv(coordinates.transform), dtype=float)
    tried = np.array(list(_list_opposites(coordinates, back)))
    differences = _gradient_differences(coordinates, tried, back)
    best = tried[find_clearest(differences)]
    length = float(np.linalg.norm(differences, axis=1).max())
    units = np.array([coordinates.radius, coordinates.radius, query_radius(coordinates)])[:, None]
    # of the first record, the second and the query
    deviations = np.eye(best.size).reshape(3, -1, *best.shape)
    deviations = np.concatenate([*deviations, deviations[0] - deviations[1]])
    deviations = np.concatenate([deviations, -deviations]) * units
    step = FIRST_STEP
    for _ in range(SEARCH_STEPS):
        tried = best + step * deviations
        tried[:, 2] = coordinates.project(tried[:, 2])
        lengths = np.linalg.norm(_gradient_differences(coordinates, tried, back), axis=1)
        if lengths.max() > length * (1 + 1e-6):
            best = tried[int(lengths.argmax())]
            length = float(lengths.max())
        else:
            step /= 2
    return back @ best[0], back @ best[1], best[2]


def _gradient_differences(coordinates: Coordinates, tried: Array, back: Array) -> Array:
    """Compute differences of gradients (m, p) as training sees them, of two W x and a query."""
    lines = tried[:, :2].reshape(-1, tried.shape[-1])
    phi = np.repeat(tried[:, 2], 2, axis=0)
    held = coordinates.oracle(lines @ back.T, np.ones(len(lines)), one_by_one=True)
    assert isinstance(held, LinearRecords)
    gradients = held.record_gradient(phi, np.arange(len(lines)))
    return gradients[::2] - gradients[1::2]


def _list_opposites(coordinates: Coordinates, back: Array) -> Iterator[tuple[Array, Array, Array]]:
    """List (first W x, second W x, query), in several lengths, at queries that misjudge both.

    t = a'phi + x'centre, and x'centre = (W x)'u with u = W^-1 centre: the distance of a raw record
    beyond the radius changes t, and not a.
    """
    start = back @ coordinates.centre
    radius = coordinates.radius
    ways = list(_list_ways(start, coordinates.norm))
    for (one, two, towards, balanced), (longer, other) in product(ways, SCALES):
        first = radius * longer * one
        second = radius * other * two
        difference = radius * min(longer, 1.0) * one - radius * min(other, 1.0) * two
        constants = float((first - second) @ start)
        for way in (towards, np.zeros(len(start))):
            yield (
                first,
                second,
                _misjudging_query(coordinates, difference, way, balanced, constants),
            )
        if coordinates.norm == 1:
            balanced = np.sign(balanced)
        for side in (1.0, -1.0):  # one record wholly misjudged
            yield first, second, query_radius(coordinates) * (side * balanced)


def _list_ways(start: Array, norm: int) -> Iterator[tuple[Array, Array, Array, Array]]:
    """List unit (first, second, direction of misjudging both, direction that separates them).

    The first is (1 - l) e + l w and the second -(1 - l) e + l w, with e a usual direction or the
    coordinate that the start says least about. In 1-norm, records along two coordinates are as
    distant, and listed too.
    """
    width = len(start)
    for e in (*unit_directions(width, norm)[::2], np.eye(width)[int(np.abs(start).argmin())]):
        w = _lean_direction(e, start, norm)
        for lean in LEANS if w.any() else LEANS[:1]:
            ways = [side * (1 - lean) * e + lean * w for side in (1.0, -1.0)]
            first, second = (way / np.linalg.norm(way, norm) for way in ways)
            yield first, second, w, e
    if norm == 1 and width > 1:
        axes = -np.eye(width) * np.where(start < 0, -1.0, 1.0)[:, None]
        shown = np.argsort(-np.abs(start), kind="stable")[:2]
        for i, j in {(0, width - 1), (int(shown[0]), int(shown[1]))}:
            yield axes[i], axes[j], axes[i] + axes[j], np.zeros(width)


def _lean_direction(e: Array, start: Array, norm: int) -> Array:
    """Find the unit direction across e in which the start errs most, or zeros."""
    if norm == 1:
        free = e == 0
        place = int((free * (np.abs(start) + 1e-12)).argmax())
        return -np.eye(len(e))[place] * (np.sign(start[place]) or 1.0) * free[place]
    for guess in (-start, np.eye(len(e))[0], np.eye(len(e))[-1]):
        across = guess - (guess @ e) * e
        if np.linalg.norm(across) > 1e-6 * max(1.0, float(np.linalg.norm(start))):
            return across / np.linalg.norm(across)
    return np.zeros(len(e))


def _misjudging_query(
    coordinates: Coordinates, difference: Array, w: Array, e: Array, constants: float
) -> Array:
    """Find the query furthest against w in the ball, and along e such that both have the same t.

    ``difference`` is the difference of the shortened records, ``constants`` that of their t at the
    start.
    """
    reach = query_radius(coordinates)
    against = -w
    along = e
    if coordinates.norm == 1:
        against = -np.sign(w)
        along = np.sign(e)
    slope = float(difference @ along)
    even = 0.0
    if slope:
        even = -(constants + reach * float(difference @ against)) / slope
    even = float(np.clip(even, -reach, reach))
    if coordinates.norm == 1:
        return np.clip(even * along + reach * against, -reach, reach)
    return even * along + np.sqrt(reach**2 - even**2) * against


def find_clearest(differences: Array, norm: int = 2, digits: int = 5) -> int:
    """Find the longest row of (m, p); of rows equal to ``digits``, that of the largest number."""
    lengths = np.linalg.norm(differences, norm, axis=1).tolist()
    largest = np.abs(differences).max(axis=1).tolist()
    ranks = [(float(f"{one:.{digits}g}"), two) for one, two in zip(lengths, largest, strict=True)]
    return max(range(len(ranks)), key=ranks.__getitem__)


def query_radius(coordinates: Coordinates) -> float:
    """Radius of the ball of queries, or of a usual one."""
    if np.isfinite(coordinates.theta_max):
        return coordinates.theta_max
    return REACH / coordinates.radius


def unit_directions(width: int, norm: int) -> list[Array]:
    """List unit vectors, both ways: along the first, second and last coordinate, two, and all."""
    axes = list(np.eye(width)[sorted({0, min(1, width - 1), width - 1})])
    shapes = [*axes, np.ones(width)]
    if width > 1:
        shapes[-1:-1] = [axes[0] + axes[-1], axes[0] - axes[-1]]
    return [sign * shape / np.linalg.norm(shape, norm) for shape in shapes for sign in (1.0, -1.0)]
