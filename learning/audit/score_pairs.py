"""Worst pairs of labelled records for a release of second moments and scores, by a search.

What a record (x, y) gives to a Newton step depends on its t = y centre'x: curvature and slope fall
with it, each in its own way. Under squared loss any target goes with any record, and the worst pair
is that of the proof; of labels a search over lengths and t comes near it. Only public bounds are
read, and records count as `Coordinates.records` makes them.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.moment_bounds import Scores

ACROSS = (0.0, *np.geomspace(0.3, 1e3, 15))  # of a record, in radii, across the start
TOLD = np.linspace(-16.0, 16.0, 65)  # t of a record at the start


def search_score_pairs(coordinates: Coordinates, scores: Scores) -> tuple[Array, Array, float]:
    """Search two records that move (c sum ux, sum xx') furthest, c = R^2/(2 h t), t the share.

    The first lies along one direction across the start, the second opposite to it or at the angle
    of the proof (`learning.losses.moment_bounds.noise_stretch`).

    Returns
    -------
    (first (p,), second (p,), distance) : raw records of label +1, and how far apart they are.
    """
    back = np.linalg.inv(coordinates.transform)
    start = back @ coordinates.centre
    along, other = _directions_across(start)
    cosine = min(1.0, 1 / (8 * scores.share**2))
    angled = cosine * along + np.sqrt(1 - cosine**2) * other
    factor = coordinates.radius**2 / (2 * scores.bound * scores.share)
    firsts = _raw_records(coordinates, [along], start) @ back.T
    seconds = _raw_records(coordinates, [-along, -angled], start) @ back.T
    (z, score), (w, others) = (_moved_records(coordinates, x, factor) for x in (firsts, seconds))
    moments = _squares(z)[:, None] ** 2 + _squares(w) ** 2 - 2 * (z @ w.T) ** 2
    apart = _squares(score)[:, None] + _squares(others) - 2 * score @ others.T
    distance = np.sqrt(np.maximum(moments + apart, 0.0))
    i, j = np.unravel_index(int(distance.argmax()), distance.shape)
    return firsts[i], seconds[j], float(distance[i, j])


def _squares(rows: Array) -> Array:
    return np.asarray(np.sum(rows**2, axis=1))


def _moved_records(coordinates: Coordinates, x: Array, factor: float) -> tuple[Array, Array]:
    """Records (m, p) of label +1 as they enter moments, and their scores times a factor."""
    moved, target = coordinates.records(x, np.ones(len(x)))
    return moved, factor * target[:, None] * moved


def _directions_across(start: Array) -> tuple[Array, Array]:
    """Two orthogonal unit directions across the start, or as nearly so as there are."""
    width = len(start)
    axes = np.column_stack([start, np.eye(width)])[:, : width + 1]
    if not start.any():
        axes = np.eye(width)
    basis, _ = np.linalg.qr(axes)
    first = min(1, width - 1) if start.any() else 0
    return basis[:, first], basis[:, min(first + 1, width - 1)]


def _raw_records(coordinates: Coordinates, directions: list[Array], start: Array) -> Array:
    """W x of records along some directions, so long, of which the start tells t, (m, p)."""
    square = float(start @ start)
    told = start / square if square else np.zeros(len(start))
    return np.array(
        [
            coordinates.radius * across * (direction - (direction @ start) * told) + t * told
            for direction, across, t in product(directions, ACROSS, TOLD)
        ]
    )
