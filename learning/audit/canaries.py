"""Canaries: records inside and far beyond the bounds, whose gradients clipping must keep close."""

from __future__ import annotations

import numpy as np

from learning.arrays import Array
from learning.audit.label_pairs import query_radius
from learning.audit.reference import each_gradient
from learning.audit.worst_pairs import Pair, worst_pair
from learning.losses.coordinates import Coordinates
from learning.losses.network import Network

QUERIES = 12  # at which canaries are compared
# lengths of canaries, over the bound
INSIDE = "1e-6 1e-4 1e-3 0.01 0.05 0.1 0.25 0.5 0.75 0.9 0.99"
OUTSIDE = "1.01 1.05 1.1 1.2 1.35 1.5 2 3 10 100 1e3 1e4 1e5 1e6 1e7 1e8"
LENGTHS = tuple(float(length) for length in f"{INSIDE} {OUTSIDE}".split())
OTHERS = 4  # directions other than the coordinates
MOST = 6000  # canaries
COPIES = 4  # of either record of the worst pair, in a table with one more of either


def make_canaries(
    coordinates: Coordinates, lengths: tuple[float, ...] = LENGTHS, others: int = OTHERS
) -> tuple[Array, Array]:
    """Make records (m, q) and targets (m,) in and out of bounds, four to a direction and length.

    They lie both ways along every coordinate and a few other directions, with either target. Where
    that would be too many records, each direction has a part of the lengths only. Lengths are
    counted in units of the radius, and for a network in units of 1.

    Parameters
    ----------
    coordinates: the public coordinates, with all bounds.
    lengths: of the records, and of targets, over their bounds.
    others: the number of directions other than the coordinates.
    """
    loss = coordinates.loss
    width = len(coordinates.centre)
    unit = 1.0  # of targets
    if isinstance(loss, Network):
        width = (width - 1) // loss.hidden - 1
        unit = float(coordinates.transform[-1, -1])
        back: Array = np.eye(width)
    else:
        back = np.asarray(coordinates.radius * np.linalg.inv(coordinates.transform))
    drawn = np.random.default_rng(width).normal(size=(others, width))
    others_along = drawn / np.linalg.norm(drawn, ord=coordinates.norm, axis=1)[:, None]
    shapes = np.concatenate([np.eye(width), others_along])
    every = -(-4 * len(shapes) * len(lengths) // MOST)
    kept = (np.arange(len(shapes))[:, None] + np.arange(len(lengths))) % every == 0
    which, length = np.nonzero(kept)
    factors = np.repeat(np.array(lengths)[length], 4)
    signed = factors * np.tile([1.0, -1.0, 1.0, -1.0], len(which))
    x = np.repeat(shapes[which] @ back, 4, axis=0) * signed[:, None]
    sides = np.tile([1.0, -1.0, -1.0, 1.0], len(which))
    if loss.labels:
        return x, sides
    if coordinates.clips_gradients:  # at the start such a gradient is as long as its record
        return x, loss.predicted(x, coordinates.centre) + 0.5 * unit * sides
    return x, x @ coordinates.centre + sides * factors * coordinates.target_bound


def compare_canary_pairs(
    coordinates: Coordinates, queries: Array, rows: int = 1
) -> tuple[float, int]:
    """Compute the largest distance of two canaries' gradients over the sensitivity; count pairs.

    The four of each direction and length are compared with each other and with the worst pair: at
    queries asked in training, at the worst query, and at the corners of the ball. Where gradients
    are clipped, the move of a sum of many by the replacement of one is compared too.

    Parameters
    ----------
    coordinates: the public coordinates, with all bounds.
    queries: array (m, p), asked in training.
    rows: k, the rows of one person, all of which are replaced, as the scenario states them.
    """
    bound = 2 * coordinates.gradient_bound
    if not 0 < bound < np.inf:
        return 1.0, 0
    pair = worst_pair(coordinates)
    x, y = make_canaries(coordinates)
    x = np.concatenate([x, [pair.first[0], pair.second[0]]])
    y = np.append(y, [pair.first[1], pair.second[1]])
    held = coordinates.oracle(x, y, one_by_one=True)
    corner = query_radius(coordinates) * np.ones(len(coordinates.centre))
    corners = coordinates.project(np.stack([corner, -corner]))
    asked = queries
    if len(queries):
        asked = queries[np.unique(np.linspace(0, len(queries) - 1, QUERIES).astype(int))]
    distances = [pair.distance]
    if coordinates.clips_gradients:
        distances.append(_replacement_distance(coordinates, pair))
    for query in np.vstack([corners, pair.query, asked.reshape(-1, len(corner))]):
        gradients = each_gradient(held, query, len(y))
        fours = gradients[:-2].reshape(-1, 4, len(corner))
        moves = [fours[:, i] - fours[:, j] for i in range(4) for j in range(i)]
        moves += [gradients[:-2] - last for last in gradients[-2:]]
        distances += np.linalg.norm(np.concatenate(moves), coordinates.norm, axis=1).tolist()
    return rows * float(np.max(distances)) / bound, len(distances)


def _replacement_distance(coordinates: Coordinates, pair: Pair) -> float:
    """Distance of the sums over copies of the worst pair, with one more of either record."""
    means = []
    count = 2 * COPIES + 1
    for last in (pair.first, pair.second):
        x, y = zip(*[pair.first, pair.second] * COPIES, last, strict=True)
        means.append(coordinates.oracle(np.array(x), np.array(y)).gradient(pair.query[None])[0])
    return count * float(np.linalg.norm(means[0] - means[1], coordinates.norm))
