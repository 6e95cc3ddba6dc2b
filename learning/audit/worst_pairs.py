"""Worst pairs: two records and a query at which mean gradients of neighbouring data differ most.

Only public bounds are read. Records are raw, many of them far beyond the bounds, so that clipping
is attacked too; the pair found is measured as training sees it, by `Coordinates.oracle`. A search,
not a proof: `Pair.share` is the part of the bound that it attains.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.audit.label_pairs import (
    FAR,
    find_clearest,
    opposite_records,
    query_radius,
    unit_directions,
)
from learning.audit.reference import each_gradient
from learning.audit.score_pairs import search_score_pairs
from learning.losses.coordinates import Coordinates
from learning.losses.moment_bounds import Scores, noise_stretch
from learning.losses.network import Network
from learning.losses.slopes import worst_cosine
from learning.training.noisy_statistics import balance_factor, release_sensitivity

LENGTHS = (1.0, FAR, FAR**2, FAR**3)  # of a network's records
UNITS = 8  # of a network that are singled out: those that weigh most

Record = tuple[Any, Any]  # x (q,) and y; (k, q) and (k,) of k targets


@dataclass(frozen=True)
class Pair:
    """Two records and a query at which mean gradients of neighbouring data differ most.

    Parameters
    ----------
    first: (x (p,), y) of one record, before clipping.
    second: (x (p,), y) of the other.
    query: array (p,), phi inside the ball.
    distance: the norm of the difference of the two gradients, in the norm of the mechanism; at most
        ``bound`` in a sound training.
    bound: the sensitivity, 2 Xi or 2 G of one record, or that of sums released at once.
    """

    first: Record = field(repr=False)
    second: Record = field(repr=False)
    query: Array = field(repr=False)
    distance: float
    bound: float

    @property
    def share(self) -> float:
        """Part of the bound that the pair attains."""
        return self.distance / self.bound if self.bound > 0 else 1.0


def worst_pair(coordinates: Coordinates) -> Pair:
    """Search records and a query that move the gradient most, from the public bounds alone.

    The largest norm of the difference wins; among equals the one on fewest coordinates, the easiest
    to see under the noise. The search depends on the loss:

    * squared: records along one coordinate, two, all, and none, each with the target at either
      bound, all of them FAR beyond the bounds before clipping; in 2-norm also at the angle of the
      proof; queries at the centre and at corners of the ball. The pair attains 2 Xi and 2 G.
    * hinge: opposite records, at queries that leave both within the margin; the pair attains 2 B.
    * logistic: two nearly opposite records that lean the same way, or, in 1-norm, along two
      coordinates, at queries far out along the ball that misjudge both. A record misjudged by t
      counts expit(-t) of B, so the pair nears 2 B only as the ball, or the raw records, grow.
    * any of these with clipped gradients: one far record with either label, or with targets far to
      either side of the prediction. The gradients are opposite and of the full radius c, and attain
      2 c for any ball.
    * network: the same record with either label, or targets far to either side of any prediction,
      of several lengths, and along the directions that hidden units see least, at the public start
      and a shift of its offset. The clipped gradients are opposite. Any vector counts as a record,
      since clipping holds for any.

    Parameters
    ----------
    coordinates: the public coordinates, with all bounds.

    Source: ours; worst cases of `squared_gradient_bound` and of slopes within [-1, 0].
    """
    coordinates = replace(coordinates, rows_per_person=1)
    if isinstance(coordinates.loss, Network):
        return _worst_of_network(coordinates, coordinates.loss.hidden)
    if coordinates.clips_gradients:
        return _worst_of_gradients(coordinates)
    if coordinates.loss.labels:
        return _worst_of_labels(coordinates)
    return _worst_of_squares(coordinates)


def _worst_of_squares(coordinates: Coordinates) -> Pair:
    width = len(coordinates.centre)
    norm = coordinates.norm
    shapes = [*unit_directions(width, norm), np.zeros(width)]
    axis = np.eye(width)[0]
    corners = [axis, -axis, np.ones(width) / np.sqrt(width)]  # of its ball
    if norm == 1:
        corners = [np.ones(width), -np.ones(width)]
    elif width > 1:
        bounds = coordinates.radius, coordinates.target_bound, coordinates.theta_max
        cosine = float(worst_cosine(*bounds))
        across = np.sqrt(1 - cosine**2) * np.eye(width)[-1]
        shapes += [cosine * axis + across, cosine * axis - across]
    records = [_make_record(coordinates, shape, sign) for shape in shapes for sign in (-1.0, 1.0)]
    held = [coordinates.statistics(x[None], np.array([y])) for x, y in records]
    queries = [np.zeros(width), *(coordinates.theta_max * corner for corner in corners)]
    gradients = np.stack([[one.gradient(query) for one in held] for query in queries])
    first, second = np.triu_indices(len(records), 1)
    differences = (gradients[:, first] - gradients[:, second]).reshape(-1, width)
    furthest = find_clearest(differences, norm, digits=9)
    which, place = divmod(furthest, len(first))
    pair = records[first[place]], records[second[place]]
    return _measured_pair(coordinates, *pair, queries[which], differences[furthest])


def _worst_of_labels(coordinates: Coordinates) -> Pair:
    """Search with labels, as training sees them: x of label +1 and -x of label -1 are one line."""
    first, second, query = opposite_records(coordinates)
    records = (first, 1.0), (-second, -1.0)
    held = [coordinates.oracle(x[None], np.array([y])).gradient(query[None])[0] for x, y in records]
    return _measured_pair(coordinates, *records, query, held[0] - held[1])


def _worst_of_gradients(coordinates: Coordinates) -> Pair:
    """Search with clipped gradients of a linear model, at records that the query predicts near 0.

    W x is a multiple of e: a coordinate, where the query undoes what the start predicts of it, or a
    direction across the start.
    """
    width = len(coordinates.centre)
    most = query_radius(coordinates)
    start = np.linalg.solve(coordinates.transform, coordinates.centre)
    tried = []
    for e in unit_directions(width, coordinates.norm)[::2]:
        tried.append((e, -float(np.clip((e @ start) / (e @ e), -most, most)) * e))
    for e in unit_directions(width, 2)[::2]:
        across = e - (e @ start) / max(float(start @ start), 1e-300) * start
        if np.linalg.norm(across) > 1e-9:
            tried.append((across, np.zeros(width)))
    pairs = []
    differences = []
    for e, query in tried:
        x = np.linalg.solve(coordinates.transform, FAR * coordinates.radius * e)
        targets = np.array([1.0, -1.0])
        if not coordinates.loss.labels:
            targets = targets * FAR + float(x @ coordinates.model(query))
        held = coordinates.oracle(np.stack([x, x]), targets, one_by_one=True)
        gradients = each_gradient(held, query, 2)
        pairs.append(((x, float(targets[0])), (x, float(targets[1])), query))
        differences.append(gradients[0] - gradients[1])
    furthest = find_clearest(np.array(differences), coordinates.norm, digits=5)
    return _measured_pair(coordinates, *pairs[furthest], differences[furthest])


def _worst_of_network(coordinates: Coordinates, hidden: int) -> Pair:
    width = (len(coordinates.centre) - 1) // hidden - 1
    seen = np.stack(_barely_seen(coordinates.centre, hidden, width))
    x = np.concatenate([np.zeros((1, width)), *(scale * seen for scale in LENGTHS)])
    far = 1.0
    if not coordinates.loss.labels:
        outermost = np.abs(coordinates.centre[-hidden - 1 :]).sum()
        far = FAR**2 * float(outermost + coordinates.transform[-1, -1])
    held = coordinates.oracle(np.repeat(x, 2, axis=0), np.tile([-far, far], len(x)))
    most = query_radius(coordinates)
    # makes both labels of an unseen record equally likely
    shift = float(np.clip(-coordinates.centre[-1], -most, most))
    queries = np.array([[0.0], [shift]]) * np.eye(len(coordinates.centre))[-1]
    gradients = np.concatenate([each_gradient(held, query, 2 * len(x)) for query in queries])
    differences = gradients[1::2] - gradients[::2]
    furthest = find_clearest(differences)
    which, place = divmod(furthest, len(x))
    records = (x[place], far), (x[place], -far)
    return _measured_pair(coordinates, *records, queries[which], differences[furthest])


def _measured_pair(
    coordinates: Coordinates, first: Record, second: Record, query: Array, difference: Array
) -> Pair:
    """Pair of two records whose gradients differ so at a query."""
    distance = float(np.linalg.norm(difference, coordinates.norm))
    return Pair(first, second, query, distance, 2 * coordinates.gradient_bound)


def _barely_seen(phi: Array, hidden: int, width: int) -> list[Array]:
    """List directions of records of a network: usual ones, and those that units see least.

    Of a long record that one unit does not see and all others are sure of, the gradient is in that
    unit's row alone, along the record: for the directions here, nearly along one coordinate.
    """
    inner = phi[: hidden * width].reshape(hidden, width)
    outer = phi[hidden * width : -1]
    shapes = [*unit_directions(width, 2), np.linalg.svd(inner)[2][-1]]
    for row in inner[np.argsort(-np.abs(outer), kind="stable")[:UNITS]]:
        least = int(np.abs(row).argmin())
        most = int(np.abs(row).argmax())
        if least != most and row[most]:
            shapes.append(np.eye(width)[least] - row[least] / row[most] * np.eye(width)[most])
    return shapes


def worst_sums(coordinates: Coordinates) -> Pair:
    """Search records that move sums released at once furthest, in units of their noise.

    For (sum xx', c sum xu), the records have full length and opposite targets, and lie at the angle
    of the proof: the cosine between them is min(1, k/2), k = (c Y/B)^2
    (`learning.training.noisy_statistics.release_sensitivity`). For second moments and scores, the
    scores are opposite; the records are a long one and a short one, or two long ones at the angle
    of the proof (`learning.losses.moment_bounds.noise_stretch`), whichever move the weighted sums
    further. Of labels they are searched (`learning.audit.score_pairs`). There is no query.
    """
    coordinates = replace(coordinates, rows_per_person=1)
    if coordinates.scores is not None:
        return _worst_scores(coordinates, coordinates.scores)
    width = len(coordinates.centre)
    factor = balance_factor(coordinates)
    share = (factor * coordinates.target_bound / coordinates.radius) ** 2
    first = _make_record(coordinates, np.eye(width)[0], 1.0)
    second = _make_record(coordinates, _turn_direction(width, share / 2), -1.0)
    one, other = (coordinates.statistics(x[None], np.array([y])) for x, y in (first, second))
    score = factor * np.linalg.norm(one.xy - other.xy)
    distance = float(np.hypot(np.linalg.norm(one.xx - other.xx), score))
    bound = release_sensitivity(coordinates.radius, coordinates.target_bound, factor)
    return Pair(first, second, np.zeros(width), distance, bound)


def _turn_direction(width: int, cosine: float) -> Array:
    """Turn the first axis towards the last one to a cosine, at most 1."""
    one = np.eye(width)[0]
    if width == 1:
        return one
    cosine = min(1.0, cosine)
    return cosine * one + np.sqrt(1 - cosine**2) * np.eye(width)[-1]


def _worst_scores(coordinates: Coordinates, scores: Scores) -> Pair:
    targets = coordinates.targets
    width = len(coordinates.centre) // targets
    radius = coordinates.radius
    one = np.eye(width)[0]
    joint = scores.bound * np.sqrt(targets)
    factor = radius**2 / (2 * joint * scores.share)
    angled = _turn_direction(width, 1 / (8 * scores.share**2))

    def record(moved: Array, target: float) -> Record:
        rows = np.kron(np.eye(targets), moved)  # one for each target, all as far off
        x = np.linalg.solve(coordinates.transform, rows.T).T
        y = x @ coordinates.centre + target
        return (x, y) if targets > 1 else (x[0], float(y[0]))

    bound = factor * 2 * joint * noise_stretch(scores.share)
    if coordinates.loss.labels:
        *found, distance = search_score_pairs(coordinates, scores)
        return Pair((found[0], 1.0), (found[1], 1.0), np.zeros(width), distance, bound)
    far = FAR * scores.bound / radius
    first = record(FAR * radius * one, far)
    angled_one = record(FAR * radius * angled, -far)
    tried = []
    for second in (angled_one, record(radius / FAR * one, -(FAR**2) * far)):
        held = [coordinates.statistics(np.atleast_2d(x), np.ravel(y)) for x, y in (first, second)]
        moments = np.linalg.norm(held[0].xx - held[1].xx)
        score = np.linalg.norm(held[0].xy - held[1].xy)
        tried.append((float(np.hypot(factor * score, moments)), second))
    distance, other = max(tried, key=lambda pair: pair[0])
    return Pair(first, other, np.zeros(width), distance, bound)


def _make_record(coordinates: Coordinates, shape: Array, sign: float) -> Record:
    """Make a record that clipping should bring to radius * shape and sign * target_bound."""
    x: Array = np.asarray(
        np.linalg.solve(coordinates.transform, FAR * coordinates.radius * shape), dtype=float
    )
    return x, float(x @ coordinates.centre + sign * FAR * coordinates.target_bound)
