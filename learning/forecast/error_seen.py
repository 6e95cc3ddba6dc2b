"""The learner's estimate, after the answers, of the error of a model solved from released sums.

The noise on the sums is known, and so is what it adds to the model's error. What clipping adds is
estimated on public rows whose features are as long as the owners' sums show theirs to be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from learning.arrays import Array
from learning.forecast.gain_seen import (
    STRETCHED,
    noise_covariance,
    pool_release,
    restore_length,
    to_coordinates,
)
from learning.forecast.public_sample import PublicSample
from learning.training.noisy_solving import invert_held
from learning.training.noisy_statistics import NoisyStatistics, release_statistics
from learning.training.task import Task

DRAWS = 2000
LEVEL = 0.95
UNLIKE = 0.3  # deviation of the log of f* where public rows may be of another kind than records


def see_error(
    task: Task,
    theta: Array,
    sample: PublicSample,
    runs: Sequence[int],
    *,
    clipped: Array,
    rng: Generator,
) -> Array:
    """Compute the 95 % interval of the relative fitness of each trained model, (runs, 2).

    In units of the cost, and with B = A^-1 of the released mean moments, the model phi of sums lies

        xi = B (e - E phi) + d + t d_s

    from the best one on the owners' records. The first part, by noise, is normal with the
    covariance B C B (`see_gain`). Clipping moves the model by d if records are as the public rows
    are, which the forecast knows, and by d_s more if they are as long as the trace of an owner's
    moments shows: on public rows that are stretched so far, d_s is the mean of each row's part, and
    normal about it with the variance by chance of the rows. A part t of it between none and all
    counts, uniform, since more than lengths may differ. The relative fitness is xi'A xi/f*. The
    public rows show f* with the relative variance of their squared residuals, and less well where
    they may be of another kind.

    Parameters
    ----------
    task : the training, by one release of moments and scores under squared loss.
    theta : array (runs, p), trained models.
    sample : the learner's own rows.
    runs : the numbers of the runs.
    clipped : array (m,), what clipping adds to the relative fitness in each possible world, were
        all records of one kind.
    rng : of the draws.

    Source: ours.
    """
    phi = to_coordinates(task, theta)
    released = [release_statistics(task, owner, runs) for owner in task.owners]
    counted = np.sqrt(restore_length(task, phi, sample, released))
    matrix, _, on_matrix, on_vector = pool_release(task, released)
    longer = pool_release(task, released, counted)[2:]
    inverses = invert_held(matrix, on_matrix)
    covariances = noise_covariance(phi, *longer)
    optimum = draw_optimum(sample, rng)
    cost = np.maximum(clipped, 0.0) * float(sample.fitness.value(sample.truth))
    ends = np.empty((len(runs), 2))
    for run, point in enumerate(phi):
        root = symmetric_root(inverses[run])
        by_noise = draw_normal(root @ covariances[run] @ root, rng)
        moved = draw_stretched(task, point, sample, released, run, rng)
        known = draw_directions(len(point), rng) * np.sqrt(rng.choice(cost, (DRAWS, 1)))
        error = np.sum((by_noise + known + moved) ** 2, axis=1) / optimum
        ends[run] = np.quantile(error, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return ends


def draw_optimum(sample: PublicSample, rng: Generator) -> Array:
    """Draw the smallest cost f* on the owners' records, (DRAWS,), as the public rows show it."""
    x, y = sample.population()
    squares = (y - x @ sample.truth) ** 2
    deviation = squares.std() / squares.mean() / np.sqrt(len(y))
    if not sample.drawn:
        deviation = np.hypot(deviation, UNLIKE)
    return np.asarray(squares.mean() * np.exp(deviation * rng.standard_normal(DRAWS)))


def draw_stretched(
    task: Task,
    point: Array,
    sample: PublicSample,
    released: Sequence[NoisyStatistics],
    run: int,
    rng: Generator,
) -> Array:
    """Draw A^1/2 t d_s, (DRAWS, p), at a model phi (p,) of one run."""
    traces = [
        np.trace(one.xx[run]) / owner.records.n_records
        for owner, one in zip(task.owners, released, strict=True)
    ]
    shown = trace_by_stretch(task, point, sample)
    stretch = np.interp(traces, shown, STRETCHED)
    rows = clipped_moves(task, point, sample, stretch)
    rows = rows - clipped_moves(task, point, sample, np.ones(len(stretch)))
    covariance = np.atleast_2d(np.cov(rows, rowvar=False)) / len(rows)
    further = rows.mean(axis=0) + draw_normal(covariance, rng)
    return np.asarray(rng.random((DRAWS, 1)) * further)


def trace_by_stretch(task: Task, point: Array, sample: PublicSample) -> Array:
    """Trace of the shortened second moments of public rows at each of `STRETCHED`, rising."""
    shown = [np.mean(np.sum(shorten(task, point, sample, k)[1] ** 2, axis=1)) for k in STRETCHED]
    return np.maximum.accumulate(shown)


def shorten(
    task: Task, point: Array, sample: PublicSample, longer: float
) -> tuple[Array, Array, Array]:
    """Public rows, ``longer`` times as long: whole (n, p), shortened, and their targets (n,)."""
    coordinates = task.coordinates
    scores = coordinates.scores
    assert scores is not None
    x, y = sample.population()
    whole = longer * (x @ coordinates.transform)
    target = y - x @ sample.truth + whole @ point
    return whole, *scores.records(whole, target, coordinates.lengths(whole), coordinates.radius)


def clipped_moves(task: Task, point: Array, sample: PublicSample, stretch: Array) -> Array:
    """A^1/2 d, row by row (n, p): each public row's part of it, stretched as each owner's are."""
    x, y = sample.population()
    left = y - x @ sample.truth
    moments = np.zeros((2, len(point), len(point)))
    missed = np.zeros_like(x)
    for share, longer in zip(task.shares, stretch, strict=True):
        whole, kept, target = shorten(task, point, sample, longer)
        moments += share / len(y) * np.stack([whole.T @ whole, kept.T @ kept])
        missed += share * (kept * (target - kept @ point)[:, None] - whole * left[:, None])
    short = np.linalg.pinv(moments[1], hermitian=True)
    return np.asarray(missed @ short @ symmetric_root(moments[0]))


def draw_directions(width: int, rng: Generator) -> Array:
    """Draw directions, (DRAWS, p), each of length 1."""
    drawn = rng.standard_normal((DRAWS, width))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def draw_normal(covariance: Array, rng: Generator) -> Array:
    """Draw normal vectors of mean 0, (DRAWS, p)."""
    return rng.standard_normal((DRAWS, len(covariance))) @ symmetric_root(covariance)


def symmetric_root(matrix: Array) -> Array:
    """Symmetric square root of a matrix (p, p) without negative eigenvalues."""
    values, basis = np.linalg.eigh(matrix)
    return np.asarray((basis * np.sqrt(np.maximum(values, 0.0))) @ basis.T)
