"""Noisy statistics that an owner releases once: what they move by, their noise, their pilot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.statistics import SquaredStatistics
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.client import Client
from learning.training.task import Task

KEPT = 2**15  # numbers of the noise of an owner's runs that are kept for other budgets


@dataclass(frozen=True)
class NoisyStatistics:
    """Noisy sums that one owner releases, and the deviations of their noise, a row for each run.

    Parameters
    ----------
    xx : array (runs, p, p), symmetric, sum xx' with noise.
    xu : array (runs, p), sum xu with noise; (runs, k p) of k targets.
    matrix_deviation : array (runs,), of the noise on a diagonal entry of xx; off it is smaller by
        sqrt(2).
    vector_deviation : array (runs,), of the noise on an entry of xu.
    """

    xx: Array = field(repr=False)
    xu: Array = field(repr=False)
    matrix_deviation: Array
    vector_deviation: Array


def release_sensitivity(radius: float, target_bound: float, factor: float) -> float:
    """Sensitivity of (sum xx', c sum xu) in 2-norm (Frobenius for the matrix).

    Delta = (2 + k) B^2/sqrt(2) for k = (c Y/B)^2 <= 2, and 2 c B Y beyond.

    Proof. Let records (x, u) and (z, v) have lengths r, t <= B and x'z = r t a. The squared
    distance is r^4 + t^4 - 2 r^2 t^2 a^2 + c^2 |u x - v z|^2. It is convex in (u, v), hence largest
    at |u| = |v| = Y with u v a <= 0, where the last term is c^2 Y^2 (r^2 + t^2 + 2 r t |a|). With K
    = c^2 Y^2, the best |a| is min(1, K/(2 r t)). Where that is below 1 the value is r^4 + t^4 + K
    (r^2 + t^2) + K^2/2; where it is 1, (r^2 - t^2)^2 + K (r + t)^2, of slope (r + t)(4 r (r - t) +
    2 K) >= 4 r^2 (r + t) in r, as K >= 2 r t. Both grow in r and in t, so r = t = B is worst: 2 B^4
    + 2 K B^2 + K^2/2 = (2 B^2 + K)^2/2, or 4 K B^2. With c = 0 this is sqrt(2) B^2 for the matrix
    alone, and sum xu alone moves by at most 2BY. For p = 1 it is an upper bound.

    Parameters
    ----------
    radius : the bound B on a record's norm, above 0.
    target_bound : the bound Y on a target, above 0.
    factor : the factor c on the target in the release, at least 0.

    Source: ours; the parts alone: Wang, Revisiting DP Linear Regression, Algorithm 2 (another
        adjacency there).

    >>> round(release_sensitivity(1.0, 1.0, 0.0) ** 2, 12)
    2.0
    >>> round(release_sensitivity(1.0, 1.0, 2**0.5) ** 2, 12)
    8.0
    """
    share = (factor * target_bound / radius) ** 2
    if share <= 2:
        return float(radius**2 * ((2 + share) / np.sqrt(2)))
    return float(radius**2 * (2 * np.sqrt(share)))


def balance_factor(coordinates: Coordinates) -> float:
    """Factor c on sum xu that minimises the error of the solution, from public bounds.

    To first order the solution errs by A^-1 (e - E phi*), with noise e on sum xu, of deviation w =
    Delta/(c m), and E on sum xx', of deviation s = Delta/m. E phi has mean square s^2 |phi|^2 (p +
    1)/(2p) in a coordinate, so Delta^2 (1/c^2 + h) is minimised, with h = theta_max^2 (p + 1)/(2p),
    theta_max the public bound on |phi*|. In k = (c Y/B)^2 that is (2 + k)^2 (1/k + h B^2/Y^2),
    smallest at the root of 2 h (B/Y)^2 k^2 + k - 2 = 0. As theta_max falls to 0, k rises to 2: sum
    xu then has the noise it would have alone, and sum xx' is free.
    """
    width = len(coordinates.centre)
    aspect = coordinates.radius / coordinates.target_bound
    tilt = coordinates.theta_max**2 * (width + 1) / (2 * width) * aspect**2
    share = 4 / (1 + np.sqrt(1 + 16 * tilt))
    return float(np.sqrt(share) * coordinates.radius / coordinates.target_bound)


def release_deviations(
    coordinates: Coordinates, scale: ArrayLike, n_records: ArrayLike, widened: float = 1.0
) -> tuple[Array, Array]:
    """Deviations of noise on sum xx' (diagonal) and sum xu that cost as much as one mean gradient.

    The privacy loss depends on the sensitivity in units of the noise's deviation: m = 2 G/(n s) for
    a mean gradient with deviation s. Noise of the same law and deviation Delta/m on (sum xx', c sum
    xu) costs as much, or k Delta/m where k rows of a person are replaced together. The noise on
    scores (`learning.losses.clipping`) is that on a mean gradient, n s/2, widened for the moments
    that are released with them.

    Parameters
    ----------
    coordinates : the public bounds.
    scale : array (...), the deviation s of the noise.
    n_records : the number n of records, or an array (...) of them.
    widened : factor on the noise of scores for the moments: `Mechanism.beside_moments`.

    Returns
    -------
    (matrix, vector) : arrays (...), both 0 where s is 0.

    Raises
    ------
    ValueError
        If noise is asked for and a bound is missing or zero, or the noise is infinite or negative.
    """
    scale = np.asarray(scale, dtype=float)
    n_records = np.asarray(n_records, dtype=float)
    if not np.any(scale):
        return np.zeros_like(scale), np.zeros_like(scale)
    if not np.all(np.isfinite(scale) & (scale >= 0)):
        raise ValueError("a release needs noise that is finite and at least 0")
    scores = coordinates.scores
    if scores is not None:
        vector = n_records * scale / 2 * widened
        bound = scores.joint_bound(coordinates.targets)
        return coordinates.radius**2 / (2 * bound * scores.share) * vector, vector
    bounds = (coordinates.radius, coordinates.target_bound, coordinates.gradient_bound)
    if not all(0 < bound < np.inf for bound in bounds):
        raise ValueError(
            f"a noisy release needs finite positive bounds on records and gradients, got {bounds}"
        )
    radius, target_bound, gradient_bound = bounds
    factor = balance_factor(coordinates)
    moved = coordinates.rows_per_person * release_sensitivity(radius, target_bound, factor)
    matrix = moved * n_records * scale / (2 * gradient_bound)
    return matrix, matrix / factor


def release_statistics(task: Task, owner: Client, runs: Sequence[int]) -> NoisyStatistics:
    """Release one owner's statistics in the given runs.

    The matrix is released in coordinates that keep its Frobenius norm (the diagonal, and sqrt(2)
    times the upper triangle), so the noise on it is symmetric, with entries off the diagonal
    smaller by sqrt(2).

    Raises
    ------
    ValueError
        If the mechanism or the coordinates are not in 2-norm, or the records are not sums.
    """
    records = owner.records
    coordinates = task.coordinates
    if task.mechanism.norm != 2 or coordinates.norm != 2:
        raise ValueError(
            "a one-shot release is defined for noise that goes by 2-norm, "
            "with records clipped in it"
        )
    if not isinstance(records, SquaredStatistics):
        raise ValueError(
            f"{owner.name}: a one-shot release needs sums over the records, SquaredStatistics"
        )
    scale = np.broadcast_to(np.asarray(owner.scale, dtype=float), (task.runs,))[list(runs)]
    scale = scale * np.sqrt(task.mechanism.unit_variance)
    widened = 1.0
    if coordinates.scores is not None:
        widened = task.mechanism.beside_moments(coordinates.scores.share)
    matrix, vector = release_deviations(coordinates, scale, records.n_records, widened)
    xx = np.tile(records.xx, (len(runs), 1, 1))
    xu = np.tile(records.xy, (len(runs), 1))
    if not owner.silent:
        on_vector, on_matrix = draw_release_noise(task, owner, runs)
        added = owner.conduct.noise  # the stated deviations are those of the noise sold
        xx = xx + added * matrix[:, None, None] * on_matrix
        xu = xu + added * vector[:, None] * on_vector
    return NoisyStatistics(xx, xu, matrix, vector)


def release_pilot(task: Task, owner: Client, runs: Sequence[int], share: float) -> NoisyStatistics:
    """Release one owner's statistics first at a share of its budget.

    They are those of `release_statistics` with further noise, and their law is that of the share.
    So they cost the share of the budget, and both releases together what the later one costs alone.

    Parameters
    ----------
    share : part of epsilon, in (0, 1).
    """
    later = release_statistics(task, owner, runs)
    if owner.silent:
        return later
    assert owner.epsilon is not None
    mechanism = task.mechanism
    sizes = owner.records.n_records
    bound = task.coordinates.gradient_bound
    asked = np.array([owner.epsilon, share * owner.epsilon])
    variance = mechanism.variance(asked, sizes, bound, 1)
    factor = float(np.sqrt(variance[1] / variance[0]))
    rngs = task.streams.rngs(owner.name, "pilot", count=max(runs) + 1)
    on_vector, on_matrix = draw_unit_noise(mechanism, task.width, [rngs[i] for i in runs], factor)
    return NoisyStatistics(
        later.xx + later.matrix_deviation[:, None, None] * on_matrix,
        later.xu + later.vector_deviation[:, None] * on_vector,
        factor * later.matrix_deviation,
        factor * later.vector_deviation,
    )


def draw_release_noise(task: Task, owner: Client, runs: Sequence[int]) -> tuple[Array, Array]:
    """Draw unit noise on sum xu, (runs, p), and on sum xx', (runs, p, p) and symmetric.

    Of k targets the former has k p numbers.
    """
    numbers = np.asarray(runs) % task.draws
    distinct, again = np.unique(numbers, return_inverse=True)
    targets = task.coordinates.targets
    named = (task.streams, owner.name, tuple(distinct.tolist()))
    asked = (task.mechanism, task.width, *named, targets)
    few = len(distinct) * task.width**2 <= KEPT
    draw = _kept_unit_noise if few else _kept_unit_noise.__wrapped__
    on_vector, on_matrix = draw(*asked)
    return on_vector[again], on_matrix[again]


@lru_cache(maxsize=1024)
def _kept_unit_noise(
    mechanism: Mechanism,
    width: int,
    streams: Streams,
    name: str,
    numbers: tuple[int, ...],
    targets: int,
) -> tuple[Array, Array]:
    """Draw the unit noise of an owner's runs; a forecast trains with it at many budgets."""
    rngs = streams.rngs(name, "statistics", count=max(numbers, default=0) + 1)
    return draw_unit_noise(mechanism, width, [rngs[i] for i in numbers], targets=targets)


def draw_unit_noise(
    mechanism: Mechanism,
    width: int,
    rngs: Sequence[np.random.Generator],
    factor: float | None = None,
    targets: int = 1,
) -> tuple[Array, Array]:
    """Draw unit noise on sum xu, (k, p), and on sum xx', (k, p, p) symmetric, one from each rng.

    With a factor, draw what makes such noise that many times as wide. The ``width`` numbers of sum
    xu are of all targets; sum xx' has those of one.
    """
    scores, width = width, width // targets
    rows, columns = np.triu_indices(width, 1)
    # for sum xu, and for diagonal and upper triangle of sum xx'
    count = (scores, width + len(rows))
    draw = mechanism.draw_release
    if factor is not None:
        draw = partial(mechanism.draw_further, factor)
    draws = np.stack([draw(count, rng=rng) for rng in rngs])
    diagonal = np.arange(width)
    symmetric = np.zeros((len(rngs), width, width))
    symmetric[:, rows, columns] = draws[:, scores + width :] / np.sqrt(2)
    symmetric[:, columns, rows] = symmetric[:, rows, columns]
    symmetric[:, diagonal, diagonal] = draws[:, scores : scores + width]
    return draws[:, :scores], symmetric
