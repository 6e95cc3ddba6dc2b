"""Two records with labels, and a query, whose gradients differ most: nearly opposite, and both misjudged.

A record of label y is the line t = a'phi + b with gradient loss'(t) a, a = y W x shortened to the radius, slopes in
[-1, 0]: two of them differ by 2 B where a is opposite and both slopes are -1. The search is over public bounds alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.linear_records import LinearRecords

FAR = 10.0  # records lie this many times beyond the bounds, so that clipping is audited too
# lengths of two records in units of the radius, where the constants of labels matter: shorter and longer than it
SCALES = (
    *product((1.0, 2.0, FAR), repeat=2),
    *((part, part) for part in (0.2, 0.4, 0.6, 0.75, 0.9)),
    *((part, 1.0) for part in (0.1, 0.25, 0.5)),
    *((1.0, part) for part in (0.1, 0.25, 0.5)),
)
LEANS = (0.0, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5)  # parts that two opposite records have in common, to be misjudged by
REACH = 10.0  # of queries, in units of 1/radius, where no ball is stated
FIRST_STEP, SEARCH_STEPS = 0.25, 40  # of the pattern search, in units of radius and ball


def opposite_records(coordinates: Coordinates) -> tuple[Array, Array, Array]:
    """(first line, second line, query) of two records of label +1, raw x, whose gradients differ most at the query.

    All that `_opposites` names is tried; a pattern search from the best, along every coordinate of both records and of the
    query, then finds what lies between. The longest difference in 2-norm wins, in which few coordinates, the easiest to
    see under Laplace noise, count for more than many of the same sum. Under Gaussian noise that is the norm it goes by.
    """
    back = np.asarray(np.linalg.inv(coordinates.transform), dtype=float)
    tried = np.array(list(_opposites(coordinates, back)))
    differences = _differences(coordinates, tried, back)
    best, length = tried[clearest(differences)], float(np.linalg.norm(differences, axis=1).max())
    units = np.array([coordinates.radius, coordinates.radius, ball(coordinates)])[:, None]
    deviations = np.eye(best.size).reshape(3, -1, *best.shape)  # of the first record, the second and the query
    deviations = np.concatenate([*deviations, deviations[0] - deviations[1]])
    deviations, step = np.concatenate([deviations, -deviations]) * units, FIRST_STEP
    for _ in range(SEARCH_STEPS):
        tried = best + step * deviations
        tried[:, 2] = coordinates.project(tried[:, 2])
        lengths = np.linalg.norm(_differences(coordinates, tried, back), axis=1)
        if lengths.max() > length * (1 + 1e-6):
            best, length = tried[int(lengths.argmax())], float(lengths.max())
        else:
            step /= 2
    return back @ best[0], back @ best[1], best[2]


def _differences(coordinates: Coordinates, tried: Array, back: Array) -> Array:
    """Of the gradients, as training sees them: (m, p) for (m, 3, p), two records W x and the query."""
    lines, phi = tried[:, :2].reshape(-1, tried.shape[-1]), np.repeat(tried[:, 2], 2, axis=0)
    held = coordinates.oracle(lines @ back.T, np.ones(len(lines)), one_by_one=True)
    assert isinstance(held, LinearRecords)
    gradients = held.record_gradient(phi, np.arange(len(lines)))
    return gradients[::2] - gradients[1::2]


def _opposites(coordinates: Coordinates, back: Array) -> Iterator[tuple[Array, Array, Array]]:
    """(first W x, second W x, query): W x along either of two ways, in several lengths, and queries that misjudge both alike.

    t = a'phi + x'centre, and x'centre = (W x)'u with u = W^-1 centre: how far a raw record lies beyond the radius changes
    t, and not a.
    """
    start = back @ coordinates.centre
    for (one, two, towards, balanced), (longer, other) in product(list(_ways(start, coordinates.norm)), SCALES):
        moved = [coordinates.radius * longer * one, coordinates.radius * other * two]
        shortened = [coordinates.radius * min(longer, 1.0) * one, coordinates.radius * min(other, 1.0) * two]
        apart = shortened[0] - shortened[1]
        for way in (towards, np.zeros(len(start))):
            query = _misjudging(coordinates, apart, way, balanced, float((moved[0] - moved[1]) @ start))
            yield moved[0], moved[1], query
        for side in (1.0, -1.0):  # one record wholly misjudged, and the other hardly there
            way = side * balanced if coordinates.norm == 2 else side * np.sign(balanced)
            yield moved[0], moved[1], ball(coordinates) * way


def _ways(start: Array, norm: int) -> Iterator[tuple[Array, Array, Array, Array]]:
    """(first, second, way in which a query misjudges both, way in which it tells them apart), the records' of unit norm.

    (1 - l) e + l w and -(1 - l) e + l w, e a usual direction or the coordinate that the start says least about; and in
    1-norm, in which those are as far apart, along two coordinates.
    """
    width = len(start)
    for e in (*directions(width, norm)[::2], np.eye(width)[int(np.abs(start).argmin())]):
        w = _lean(e, start, norm)
        for lean in LEANS if w.any() else LEANS[:1]:
            ways = [side * (1 - lean) * e + lean * w for side in (1.0, -1.0)]
            yield ways[0] / np.linalg.norm(ways[0], norm), ways[1] / np.linalg.norm(ways[1], norm), w, e
    if norm == 1 and width > 1:
        axes = -np.eye(width) * np.where(start < 0, -1.0, 1.0)[:, None]
        shown = np.argsort(-np.abs(start), kind="stable")[:2]
        for i, j in {(0, width - 1), (int(shown[0]), int(shown[1]))}:
            yield axes[i], axes[j], axes[i] + axes[j], np.zeros(width)


def _lean(e: Array, start: Array, norm: int) -> Array:
    """Unit direction, apart from e, in which the start is most mistaken about records; zeros where there is none."""
    if norm == 1:
        free = e == 0
        place = int((free * (np.abs(start) + 1e-12)).argmax())
        return -np.eye(len(e))[place] * (np.sign(start[place]) or 1.0) * free[place]
    for guess in (-start, np.eye(len(e))[0], np.eye(len(e))[-1]):
        apart = guess - (guess @ e) * e
        if np.linalg.norm(apart) > 1e-6 * max(1.0, float(np.linalg.norm(start))):
            return np.asarray(apart / np.linalg.norm(apart))
    return np.zeros(len(e))


def _misjudging(coordinates: Coordinates, apart: Array, w: Array, e: Array, constants: float) -> Array:
    """The query as far against w as the ball allows, and so far along e that t is alike for both, if the ball allows it.

    ``apart`` is the difference of the shortened records, ``constants`` that of their t at the start.
    """
    reach = ball(coordinates)
    against, along = (-np.sign(w), np.sign(e)) if coordinates.norm == 1 else (-w, e)
    slope = float(apart @ along)
    even = -(constants + reach * float(apart @ against)) / slope if slope else 0.0
    even = float(np.clip(even, -reach, reach))
    if coordinates.norm == 1:
        return np.clip(even * along + reach * against, -reach, reach)
    return even * along + np.sqrt(reach**2 - even**2) * against


def clearest(differences: Array, norm: int = 2, digits: int = 5) -> int:
    """Row of (m, p) that is longest in a norm; among those alike to so many digits the one with the largest coordinate."""
    lengths, largest = np.linalg.norm(differences, norm, axis=1), np.abs(differences).max(axis=1)
    ranks = [(float(f"{one:.{digits}g}"), float(two)) for one, two in zip(lengths, largest, strict=True)]
    return max(range(len(ranks)), key=ranks.__getitem__)


def ball(coordinates: Coordinates) -> float:
    """How far queries go."""
    return coordinates.theta_max if np.isfinite(coordinates.theta_max) else REACH / coordinates.radius


def directions(width: int, norm: int) -> list[Array]:
    """Unit vectors in the given norm, both ways: along the first, second and last coordinate, two of them, and all."""
    axes = list(np.eye(width)[sorted({0, min(1, width - 1), width - 1})])
    mixed = [axes[0] + axes[-1], axes[0] - axes[-1]] if width > 1 else []
    shapes = [*axes, *mixed, np.ones(width)]
    return [sign * shape / np.linalg.norm(shape, norm) for shape in shapes for sign in (1.0, -1.0)]
