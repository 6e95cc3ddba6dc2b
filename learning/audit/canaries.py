"""Canaries: records inside and far beyond the bounds, along every coordinate, whose gradients clipping must keep close."""

from __future__ import annotations

import numpy as np

from learning.arrays import Array
from learning.audit.label_pairs import ball
from learning.audit.worst_pairs import Pair, worst_pair
from learning.losses.coordinates import Coordinates
from learning.losses.network import Network

QUERIES = 12  # at which canaries are compared
INSIDE = (1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)  # lengths of canaries, over the bound
OUTSIDE = (1.01, 1.05, 1.1, 1.2, 1.35, 1.5, 2.0, 3.0, 10.0, 100.0, *(10.0**power for power in range(3, 9)))
LENGTHS = (*INSIDE, *OUTSIDE)
OTHERS = 4  # directions beside the coordinates
MOST = 6000  # canaries
COPIES = 4  # of either record of the worst pair, among which one more is one of them


def canaries(
    coordinates: Coordinates, lengths: tuple[float, ...] = LENGTHS, others: int = OTHERS
) -> tuple[Array, Array]:
    """Records (m, q) and targets (m,) of many lengths, inside and outside the bounds, in fours to a direction and length.

    Both ways along every coordinate and a few other directions, with either target. Of several coordinates each has a part
    of all lengths where there would be too many records. Lengths are counted in the radius, of a network in 1.

    Parameters
    ----------
    coordinates: the public coordinates, with all bounds.
    lengths: of the records, and of targets, over their bounds.
    others: how many directions beside the coordinates.
    """
    loss, width = coordinates.loss, len(coordinates.centre)
    if isinstance(loss, Network):
        width = (width - 1) // loss.hidden - 1
        back = np.eye(width)
    else:
        back = coordinates.radius * np.asarray(np.linalg.inv(coordinates.transform), dtype=float)
    drawn = np.random.default_rng(width).normal(size=(others, width))
    order = coordinates.norm
    shapes = np.concatenate([np.eye(width), drawn / np.linalg.norm(drawn, ord=order, axis=1)[:, None]])
    apart = -(-4 * len(shapes) * len(lengths) // MOST)
    kept = (np.arange(len(shapes))[:, None] + np.arange(len(lengths))) % apart == 0
    which, length = np.nonzero(kept)
    factors = np.repeat(np.array(lengths)[length], 4)
    x = np.repeat(shapes[which] @ back, 4, axis=0) * (factors * np.tile([1.0, -1.0, 1.0, -1.0], len(which)))[:, None]
    sides = np.tile([1.0, -1.0, -1.0, 1.0], len(which))
    if loss.labels:
        return x, sides
    if coordinates.clips_gradients:
        return x, x @ coordinates.centre + 0.5 * sides  # at the start such a gradient is as long as its record
    return x, x @ coordinates.centre + sides * factors * coordinates.target_bound


def furthest_canaries(coordinates: Coordinates, queries: Array, rows: int = 1) -> tuple[float, int]:
    """(how far two canaries' gradients lie apart, over what noise is scaled to; how many pairs and queries were compared).

    Four to a coordinate are compared with each other and with the worst pair; at queries asked in training, at the worst
    query, and at the corners of the ball. Where gradients are clipped, so is what one among many moves their sum by.

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
    x, y = canaries(coordinates)
    x, y = np.concatenate([x, [pair.first[0], pair.second[0]]]), np.append(y, [pair.first[1], pair.second[1]])
    held = coordinates.oracle(x, y, one_by_one=True)
    corner = ball(coordinates) * np.ones(len(coordinates.centre))
    corners = np.vstack([coordinates.project(np.stack([corner, -corner])), pair.query])
    asked = queries[np.unique(np.linspace(0, len(queries) - 1, QUERIES).astype(int))] if len(queries) else queries
    furthest, compared = pair.distance, 1
    if coordinates.clips_gradients:
        furthest, compared = max(furthest, _replaced(coordinates, pair)), 2
    for query in np.concatenate([corners, asked.reshape(-1, len(corner))]):
        gradients = held.record_gradient(np.tile(query, (len(x), 1)), np.arange(len(x)))  # type: ignore[attr-defined]
        for distances in _distances(gradients, coordinates.norm):
            furthest, compared = max(furthest, float(distances.max())), compared + len(distances)
    return rows * furthest / bound, compared


def _replaced(coordinates: Coordinates, pair: Pair) -> float:
    """How far the sum over records, as many of the worst pair's first as of its second, moves when one more is either."""
    means, count = [], 2 * COPIES + 1
    for last in (pair.first, pair.second):
        x, y = zip(*[pair.first, pair.second] * COPIES, last, strict=True)
        means.append(coordinates.oracle(np.array(x), np.array(y)).gradient(pair.query[None])[0])
    return count * float(np.linalg.norm(means[0] - means[1], coordinates.norm))


def _distances(gradients: Array, norm: int) -> list[Array]:
    """Within each four, and of all from either of the last two."""
    fours, width = gradients[:-2], gradients.shape[1]
    fours = fours.reshape(-1, 4, width)
    within = [fours[:, i] - fours[:, j] for i in range(4) for j in range(i)]
    beside = [gradients[:-2] - last for last in gradients[-2:]]
    return [np.linalg.norm(apart, norm, axis=1) for apart in (*within, *beside)]
