"""The learner's estimate, after the answers, of how much better the trained model is than its own.

Released sums show it without asking anyone again: the noise on them is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from learning.arrays import Array
from learning.forecast.public_sample import PublicSample
from learning.training.adassp import NUMBERS_HELD
from learning.training.noisy_solving import invert_held, solve_newton_step
from learning.training.noisy_statistics import NoisyStatistics, release_pilot, release_statistics
from learning.training.sums import ReleasedSums
from learning.training.task import Task

Pool = tuple[Array, Array, Array, Array]  # as `pool_release` returns
STRETCHED = np.geomspace(1.0, 4.0, 9)  # lengths of owners' features over the public rows'


@dataclass(frozen=True)
class GainSeen:
    """Estimated fall of the training cost from the learner's own model to the trained one, by run.

    Parameters
    ----------
    cost : array (runs,), the estimate, in units of the training cost; below 0 where the trained
        model seems worse.
    std_error : array (runs,), by the noise on the sums.
    noise : array (runs,), what that noise adds to the cost of the trained model on average.
    """

    cost: Array
    std_error: Array
    noise: Array


def see_gain(task: Task, theta: Array, sample: PublicSample) -> GainSeen:
    """Estimate, from released sums, how much lower the cost of trained models is than the public's.

    On the owners' records the cost falls from the public model, phi = 0, to phi by G(phi) = 2
    phi'g - phi'A phi, with g and A the mean score and moments. Those released have noise e and E,
    and the model is fitted to it: phi is about phi* + B (e - E phi*), B = A^-1. So

        G = 2 phi'g^ - phi'A^ phi - 2 tr(B C),    C = v^2 I + s^2/2 (|phi*|^2 I + phi* phi*'),

    is unbiased to second order, with g^ and A^ as released, v and s the deviations of e and of E
    (diagonal), and phi* in C as long as phi less what noise adds to it. Its error is -2 phi*'e +
    phi*'E phi* - 2 (e'B e - tr(B C)), of variance

        4 v^2 |phi*|^2 + s^2 |phi*|^4 + 8 tr(B C B C).

    Records that are shortened count less in the sums. The estimate is of whole records, by what
    shortening takes from each owner's phi'g and phi'A phi (`restore_length`).

    Parameters
    ----------
    task : the training, by one release of moments and scores.
    theta : array (runs, p), the trained models.
    sample : the learner's own rows.

    Raises
    ------
    ValueError
        If the training asks for no moments and scores.

    Source: ours; the bias is that of fitting and judging by the same noise (Mallows' C_p).
    """
    if task.coordinates.scores is None:
        raise ValueError(f"{task.plan.algorithm} asks owners for no moments and scores")
    phi = to_coordinates(task, theta)

    def see(runs: Sequence[int]) -> GainSeen:
        released = [release_statistics(task, owner, runs) for owner in task.owners]
        return _see_some(task, phi[list(runs)], sample, released)

    return _see_in_blocks(task, see)


def to_coordinates(task: Task, theta: Array) -> Array:
    """Models phi (runs, p) in the coordinates of a training."""
    centred = (theta - task.coordinates.centre).T
    return np.asarray(np.linalg.solve(task.coordinates.transform, centred).T, dtype=float)


def see_gain_ahead(task: Task, sample: PublicSample, share: float) -> GainSeen:
    """Estimate, from pilot sums, how much lower the cost of models of the later sums will be.

    The gain of the pilot's own model is estimated as `see_gain` has it. The later model gains more
    by what less noise takes from its cost: all but about share^2 of what the pilot's noise adds.

    Parameters
    ----------
    task : the training, by one release of moments and scores.
    sample : the learner's own rows.
    share : part of each budget that the pilot spends (`release_pilot`).
    """

    def see(runs: Sequence[int]) -> GainSeen:
        released = [release_pilot(task, owner, runs, share) for owner in task.owners]
        matrix, vector, on_matrix, _ = pool_release(task, released)
        step = task.coordinates.project(solve_newton_step(matrix, vector, on_matrix))
        return _see_some(task, step, sample, released)

    seen = _see_in_blocks(task, see)
    return replace(seen, cost=seen.cost + (1 - share**2) * seen.noise)


def _see_in_blocks(task: Task, see: Callable[[Sequence[int]], GainSeen]) -> GainSeen:
    """Estimates of all runs, made of as many at once as memory allows."""
    block = max(1, NUMBERS_HELD // task.width**2)
    parts = [see(range(task.runs)[first : first + block]) for first in range(0, task.runs, block)]
    fields = ("cost", "std_error", "noise")
    return GainSeen(*(np.concatenate([getattr(one, name) for one in parts]) for name in fields))


def _see_some(
    task: Task, phi: Array, sample: PublicSample, released: Sequence[NoisyStatistics]
) -> GainSeen:
    """Estimates of some runs, from the sums of each owner."""
    counted = restore_length(task, phi, sample, released)
    return _see_in_pool(
        phi,
        pool_release(task, released),
        pool_release(task, released, counted),
        pool_release(task, released, np.sqrt(counted)),
        counted.max(axis=(0, 1)),
    )


def see_gain_of_sums(sums: ReleasedSums) -> GainSeen:
    """Estimate how much lower the cost of the model of released sums is than the public model's.

    Of `see_gain`, without what the public rows tell of shortened records: anybody who has the sums
    can compute it. It is too small where records are shortened.
    """
    matrix, vector, on_matrix = sums.pool()
    on_vector = np.linalg.norm(sums.vector_deviation) / sums.sizes.sum()
    pool = matrix[None], vector[None], np.array([on_matrix]), np.array([on_vector])
    return _see_in_pool(sums.step()[None], pool, pool, pool, np.ones(1))


def _see_in_pool(phi: Array, sums: Pool, counted: Pool, middle: Pool, most: Array) -> GainSeen:
    """Estimate by pooled sums: as released, restored in length, and restored by half of that."""
    inverse = invert_held(sums[0], sums[2])
    whole, score, *largest = counted
    on_matrix, on_vector = sums[2:]
    seen = 2 * np.sum(phi * score, axis=1) - np.einsum("rp,rpq,rq->r", phi, whole, phi)
    length = np.sum(phi**2, axis=1)
    noise = noise_covariance(phi, on_matrix, on_vector)
    by_noise = np.einsum("rpq,rqs,rsp->r", inverse, noise, inverse)
    held = np.maximum(length - by_noise, 0.0)  # |phi*|^2
    shorter = np.sqrt(np.divide(held, length, out=np.zeros_like(held), where=length > 0))
    point = shorter[:, None] * phi
    bias = 2 * np.einsum("rpq,rqp->r", inverse, noise_covariance(point, *middle[2:]))
    moved = inverse @ noise_covariance(point, on_matrix, on_vector)
    twice = 8 * np.einsum("rpq,rqp->r", moved, moved) * most**2
    variance = 4 * largest[1] ** 2 * held + largest[0] ** 2 * held**2 + twice
    return GainSeen(seen - bias, np.sqrt(variance), bias / 2)


def noise_covariance(phi: Array, on_matrix: Array, on_vector: Array) -> Array:
    """C of e - E phi by run, (runs, p, p), at points phi (runs, p)."""
    unit = np.eye(phi.shape[1])
    tilt = np.sum(phi**2, axis=1)[:, None, None] * unit + phi[:, :, None] * phi[:, None, :]
    return on_vector[:, None, None] ** 2 * unit + on_matrix[:, None, None] ** 2 / 2 * tilt


def pool_release(
    task: Task, released: Sequence[NoisyStatistics], counted: Array | float = 1.0
) -> Pool:
    """Mean moments (runs, p, p) and score (runs, p) as released, with the deviations of the noise.

    With the penalty of the learner's own regularisation. The deviations (runs,) are of the noise on
    a diagonal entry of the moments, and on an entry of the score.

    Parameters
    ----------
    task : the training.
    released : sums of each owner in the runs, N.
    counted : array (2, N, runs), factors on its score and on its moments; 1 unless given.
    """
    runs = len(released[0].xu)
    penalty, pull = task.coordinates.penalty(task.regularisation)
    matrix = np.tile(penalty / 2, (runs, 1, 1))
    vector = np.tile(pull / 2, (runs, 1))
    variances = np.zeros((2, runs))
    factors = np.broadcast_to(counted, (2, len(released), runs))
    for number, (weight, owner) in enumerate(zip(task.shares, task.owners, strict=True)):
        sums = released[number]
        by_score, by_moments = weight / owner.records.n_records * factors[:, number]
        matrix += by_moments[:, None, None] * sums.xx
        vector += by_score[:, None] * sums.xu
        variances[0] += (by_moments * sums.matrix_deviation) ** 2
        variances[1] += (by_score * sums.vector_deviation) ** 2
    on_matrix, on_vector = np.sqrt(variances)
    return matrix, vector, on_matrix, on_vector


def restore_length(
    task: Task, phi: Array, sample: PublicSample, released: Sequence[NoisyStatistics]
) -> Array:
    """Factors (2, N, runs) on phi'g and phi'A phi of owners that make up for shortened records.

    They are those of the public rows, were their best model the trained one and their features so
    many times as long (`STRETCHED`) that their shortened second moments have the owner's trace.

    Parameters
    ----------
    task : the training.
    phi : array (runs, p), trained models.
    sample : the learner's own rows.
    released : sums of each owner in the runs, N.
    """
    coordinates = task.coordinates
    scores = coordinates.scores
    assert scores is not None
    x, y = sample.population()
    moved = x @ coordinates.transform
    left = y - x @ sample.model
    each = [owner.records.n_records for owner in task.owners]
    traces = [np.trace(one.xx, axis1=1, axis2=2) / n for one, n in zip(released, each, strict=True)]
    found = np.empty((2, len(released), len(phi)))
    whole = np.multiply.outer(STRETCHED, moved)
    lengths = np.multiply.outer(STRETCHED, coordinates.lengths(moved))
    for run, point in enumerate(phi):
        along = whole @ point
        short, target = scores.records(whole, left + along, lengths, coordinates.radius)
        kept = short @ point
        parts = np.array(
            [[along * (left + along), along * along], [kept * target, kept * kept]]
        ).mean(axis=-1)
        factors = np.divide(parts[0], parts[1], out=np.ones_like(parts[0]), where=parts[1] > 0)
        shown = np.maximum.accumulate(np.sum(short**2, axis=-1).mean(axis=-1))
        for owner, trace in enumerate(traces):
            found[:, owner, run] = [np.interp(trace[run], shown, one) for one in factors]
    return found
