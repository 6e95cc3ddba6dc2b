"""Reference gradients of records by their definition, in double precision.

Nothing here calls the clipping under test; only a network's unclipped gradients are taken over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.audit.verdicts import Check, judge_numbers, judge_ratio
from learning.losses.coordinates import Coordinates
from learning.losses.loss import LEAST_CURVATURE, Loss
from learning.losses.margin import KINK_SCALE, SmoothedHinge
from learning.losses.network import hidden_units
from learning.losses.squared import Squared
from learning.losses.statistics import SquaredStatistics
from learning.training.task import Task

RELATIVE = 1e-4  # of a gradient in single precision
ABSOLUTE = 2e-6  # of the numbers that it is computed from
AVERAGED = 4e-6  # of the mean length, of a mean in single precision; sums are exact to EXACT
EXACT = 1e-9
POINTS = 3  # queries at which an owner's mean is compared
BATCH = 5  # canaries that are averaged
SQUARED = Squared()  # which sums of a Newton step are solved under, whatever the loss
NEAR_KINK = 1e-4  # margins that single precision may put on the other side

Records = tuple[Array, Array]


def reference_gradients(
    bounds: Coordinates, x: Array, y: Array, query: Array
) -> tuple[Array, Array]:
    """Compute the gradient of each record at a point, and the error of rounding.

    Parameters
    ----------
    bounds: the public coordinates with all bounds.
    x, y: records (n, q) and (n,).
    query: array (p,), phi.

    Returns
    -------
    (gradients (n, p), rounding (n,))
    """
    if not bounds.loss.linear:
        return _network_gradients(bounds, x, y, query)
    a, target = _record_lines(bounds, x, y)
    loss = SQUARED if bounds.scores is not None else bounds.loss
    if bounds.targets > 1:
        return _shared_gradients(bounds.targets, a, target, query)
    t = a @ query + target
    slopes = loss.derivative(t)
    gradients = slopes[:, None] * a
    lengths = np.linalg.norm(a, axis=1)
    sizes = np.abs(a) @ np.abs(query) + np.abs(target)
    rounding = loss.curvature * lengths * sizes + np.abs(slopes) * lengths
    if loss.kinked:
        rounding = np.where(np.abs(t - 1) < NEAR_KINK * (1 + sizes), lengths / ABSOLUTE, rounding)
    if bounds.clips_gradients:
        held = _clip_vectors(gradients, bounds.radius, bounds.norm)
        kept = np.linalg.norm(held, axis=1) / np.maximum(np.linalg.norm(gradients, axis=1), 1e-300)
        gradients = held
        rounding = np.minimum(rounding * kept, bounds.radius / ABSOLUTE)
    return gradients, RELATIVE * np.linalg.norm(gradients, axis=1) + ABSOLUTE * rounding


def _network_gradients(
    bounds: Coordinates, x: Array, y: Array, query: Array
) -> tuple[Array, Array]:
    loose = Coordinates(**vars(bounds) | {"radius": np.inf}).oracle(x, y, one_by_one=True)
    whole = each_gradient(loose, query, len(y))
    held = _clip_vectors(whole, bounds.radius, bounds.norm)
    lengths = np.linalg.norm(held, axis=1)
    if bounds.loss.labels:
        return held, RELATIVE * lengths
    model = bounds.model(query)
    said = bounds.loss.predicted(x, model)
    outer = model[-hidden_units(len(model), x.shape[1]) - 1 :]
    sizes = np.abs(y) + np.abs(outer).sum()
    cancelled = lengths * sizes / np.maximum(np.abs(said - y), 1e-300)
    return held, RELATIVE * lengths + np.minimum(ABSOLUTE * cancelled, bounds.radius)


def _shared_gradients(targets: int, a: Array, target: Array, query: Array) -> tuple[Array, Array]:
    """Compute what each row (n, k p) adds to the sums of k targets, which share its moments.

    Its own gradient has the part 2 target a at its place, and for every target the same moments: a
    k-th of xx', x its features.
    """
    parts = a.reshape(len(a), targets, -1)
    asked = query.reshape(targets, -1)
    along = np.einsum("nbi,nbj,kj->nki", parts, parts, asked) / targets
    gradients = 2 * (along.reshape(a.shape) + target[:, None] * a)
    return gradients, RELATIVE * np.linalg.norm(gradients, axis=1) + ABSOLUTE * np.abs(a).sum(
        axis=1
    )


def each_gradient(held: Any, query: Array, count: int) -> Array:
    """Gradients of the first records of an oracle at one point (p,), (count, p)."""
    return np.asarray(held.record_gradient(np.tile(query, (count, 1)), np.arange(count)))


def _clip_vectors(vectors: Array, limit: float, norm: int) -> Array:
    lengths = np.linalg.norm(vectors, ord=norm, axis=1)
    return vectors * np.minimum(1.0, limit / np.maximum(lengths, 1e-300))[:, None]


def _record_lines(bounds: Coordinates, x: Array, y: Array) -> Records:
    """Compute (a, b) of t = a'phi + b of each record, clipped where records are."""
    moved = x @ bounds.transform
    said = x @ bounds.centre
    if bounds.scores is not None:
        return _clip_scores(bounds, *_step_records(bounds.loss, moved, said, y))
    lengths = np.linalg.norm(moved, ord=bounds.norm, axis=1)
    short = np.minimum(1.0, bounds.radius / np.maximum(lengths, 1e-300))
    a = moved
    limit = np.inf
    if bounds.moments is not None and bounds.moments.alike:
        kept = np.minimum(1.0, bounds.moments.radius / np.maximum(lengths, 1e-300))
        return moved * kept[:, None], (said - y) * kept
    if not bounds.clips_gradients:
        a = moved * short[:, None]
        limit = bounds.target_bound
    if bounds.loss.labels:
        return y[:, None] * a, y * said
    return a, -np.clip(y - said, -limit, limit)


def _step_records(loss: Loss, moved: Array, said: Array, y: Array) -> Records:
    """Compute x and u of the least-squares problem of a Newton step: 2 xx' is a record's curvature.

    And 2 ux is its negative gradient at the start.
    """
    if not loss.labels:
        return moved, y - said
    smooth = SmoothedHinge(KINK_SCALE) if loss.kinked else loss
    curvature = np.maximum(smooth.second_derivative(y * said), LEAST_CURVATURE)
    x = np.sqrt(curvature / 2)[:, None] * moved
    return x, -loss.derivative(y * said) * y / np.sqrt(2 * curvature)


def _clip_scores(bounds: Coordinates, moved: Array, u: Array) -> Records:
    """Compute the record with clipped second moments and scores."""
    assert bounds.scores is not None
    lengths = np.linalg.norm(moved, axis=1)
    short = np.minimum(1.0, bounds.radius / np.maximum(lengths, 1e-300))
    score = np.linalg.norm(moved, axis=1) * np.abs(u)
    held = np.minimum(1.0, bounds.scores.bound / np.maximum(score, 1e-300))
    if bounds.scores.alike:
        kept = np.sqrt(np.minimum(short**2, held))
        said = np.where(kept > 0, u, 0.0)  # infinite where a record's length is beyond all numbers
        return moved * kept[:, None], -said * kept
    return moved * short[:, None], -np.where(held > 0, u, 0.0) * held / short


def compare_canaries(coordinates: Coordinates, canaries: Records, one_by_one: bool) -> Check:
    """Compare canaries' gradients, alone and averaged, with their definition."""
    x, y = canaries
    ratios = []
    for query in _query_points(coordinates):
        expected, rounding = reference_gradients(coordinates, x, y, query)
        order = np.argsort(np.linalg.norm(expected, axis=1), kind="stable")
        oracle = coordinates.oracle(x, y, one_by_one=one_by_one)
        if hasattr(oracle, "record_gradient"):
            ratios.append(_length_ratios(each_gradient(oracle, query, len(y)) - expected, rounding))
        for first in range(0, len(y), BATCH):
            rows = order[first : first + BATCH]
            some = coordinates.oracle(x[rows], y[rows], one_by_one=one_by_one)
            off = some.gradient(query[None]) - expected[rows].mean(axis=0)
            ratios.append(_length_ratios(off, rounding[rows].mean(keepdims=True)))
    compared = np.concatenate(ratios)
    return judge_ratio("clipping", len(compared), float(compared.max()))


def _length_ratios(off: Array, rounding: Array) -> Array:
    """Compute lengths over rounding errors, (m,); infinite where one is no number."""
    return np.nan_to_num(np.linalg.norm(off, axis=1) / np.maximum(rounding, 1e-300), nan=np.inf)


def compare_records(task: Task, records: Mapping[str, Records]) -> Check | None:
    """Compare owners' records with those given: their number, and mean gradients at a few points.

    The number found is an error over its slack; it is infinite where the number of records differs.

    Parameters
    ----------
    task: the training, each owner answering for itself.
    records: of each owner (x, y), as they were divided and encoded.
    """
    found = {}
    coordinates = task.coordinates
    for owner in task.owners:
        if owner.name not in records:
            continue
        x, y = records[owner.name]
        held = owner.records
        off = [0.0 if held.n_records == len(y) else np.inf]
        precise = isinstance(held, SquaredStatistics)
        for query in _query_points(coordinates):
            expected, _ = reference_gradients(coordinates, x, y, query)
            length = float(np.linalg.norm(expected, axis=1).mean())
            slack = (EXACT if precise else AVERAGED) * length + _kink_slack(
                coordinates, x, y, query
            )
            missed = np.linalg.norm(held.gradient(query[None])[0] - expected.mean(axis=0))
            off.append(float(missed) / max(slack, 1e-300))
        found[owner.name] = float(np.max(off))
    return judge_numbers("records", found, 1.0)


def _kink_slack(bounds: Coordinates, x: Array, y: Array, query: Array) -> float:
    """Bound the change of a mean gradient by records at a kink."""
    if not bounds.loss.kinked or bounds.scores is not None:
        return 0.0
    a, b = _record_lines(bounds, x, y)
    near = np.abs(a @ query + b - 1) < NEAR_KINK
    return float(np.linalg.norm(a[near], axis=1).sum()) / len(y)


def _query_points(coordinates: Coordinates) -> Iterator[Array]:
    """Yield the start and points inside the ball, within 1/radius where there is none."""
    width = len(coordinates.centre)
    yield np.zeros(width)
    reach = min(coordinates.theta_max, 1 / coordinates.radius)
    for direction in np.random.default_rng(width).normal(size=(POINTS - 1, width)):
        yield direction / np.linalg.norm(direction) * reach / 2
