"""Possible truths: populations that the public rows may have been drawn from, under one plan.

Each bootstrap sample of the public rows stands for such a population. The plan in use, from its own
start and under its own bounds, has an outcome in each; these outcomes are the predictive
distribution of what training gives on average over its noise. They differ by what few rows leave
open, and by nothing else: f*, the curvature, the distance of the start from the optimum, and how
far clipping moves that.

Source: Rubin, The Bayesian Bootstrap (resampled rows as a posterior).
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples, resampled_moments
from learning.forecast.law import clipped_problems
from learning.forecast.public_sample import PublicSample
from learning.forecast.rehearsal import Rehearsal
from learning.forecast.tail import chance_share, stretch_residuals
from learning.losses.coordinates import Coordinates
from learning.randomness import Streams
from learning.training.law import Problem

# Percentiles of bootstrap samples cover too little where rows are few. By this factor those of the
# law cover enough on one half of the drawn markets; rehearsals add some chance of their own.
FEW_ROWS = 1.15


def shrink_biases(shown: Array, possible: Array) -> Array:
    """Shrink possible biases of clipping by the part of their squares that is chance, (m, p).

    The bias d_0 on n rows errs by a variance V, and that of a bootstrap sample by V once more, so
    mean squares count V twice. With k = 1 - `chance_share` the bias in world b is

        k d_0 + sqrt(k) (d_b - d_0),    of mean square k (k |d_0|^2 + V),

    the posterior mean, and the variance that is left at that k.

    Parameters
    ----------
    shown : array (p,), bias on the public rows, d_0.
    possible : array (m, p), on bootstrap samples of them, d_b.

    >>> shrink_biases(np.full(4, 1.0), np.array([[0.0] * 4, [2.0] * 4])).round(2)[:, 0].tolist()
    [-0.24, 0.92]
    """
    chance = float(possible.var(axis=0).sum())
    if not chance > 0:
        return possible
    kept = 1 - chance_share(float(shown @ shown), chance, len(shown))
    return np.asarray(kept * shown + np.sqrt(kept) * (possible - shown))


def even_out_runs(measured: Array) -> Array:
    """Mean fitness in each world, (m,), without the spread that chance in its few runs adds.

    The mean of each world's runs errs, relative to itself, by a variance that the runs show. This
    is no part of the spread between worlds: logarithms are moved towards their mean until their
    variance is less by as much.

    Parameters
    ----------
    measured : array (m, runs), relative fitness.

    >>> even_out_runs(np.array([[1.0, 1.0], [4.0, 4.0]])).round(3).tolist()
    [1.0, 4.0]
    >>> even_out_runs(np.array([[0.5, 1.5], [2.0, 6.0]])).round(3).tolist()
    [1.102, 3.63]
    """
    means = measured.mean(axis=1)
    runs = measured.shape[1]
    if runs < 2 or not np.all((means > 0) & np.isfinite(means)):
        return np.asarray(means)
    chance = float(np.mean(measured.var(axis=1, ddof=1) / means**2)) / runs
    logs = np.log(means)
    spread = float(logs.var(ddof=1)) if len(means) > 1 else 0.0
    kept = np.sqrt(max(0.0, 1 - chance / spread)) if spread > 0 else 1.0
    centre = logs.mean()
    return np.asarray(np.exp(centre + kept * (logs - centre)))


def reflect_optimum(bootstrap: BootstrapSamples) -> Array:
    """Factor r = f*_b/f* on relative fitness in each possible population, (m,), and on noise.

    Under heavy tails most samples have an f* below the truth, and few one far above it; so have
    most bootstrap samples an f*_b below f*. Hence f*/f*_true is distributed as r, while populations
    that are bootstrap samples have 1/r in its place. An excess by noise, over f*_b, is multiplied
    by r^2. That of the start is in proportion to errors of the rows, and is multiplied by r. Labels
    have no tails: r is 1.

    Source: Davison and Hinkley, Bootstrap Methods and Their Application, 5.2 (the basic bootstrap,
        here of logarithms).
    """
    if bootstrap.sample.loss.labels:
        return np.ones(len(bootstrap))
    return bootstrap.estimated_scales[0] / bootstrap.optimum


def widen_worlds(values: Array) -> Array:
    """Move values (m,), above 0, away from their median, in logarithms, by `FEW_ROWS`.

    >>> widen_worlds(np.array([1.0, 2.0, 4.0])).round(2).tolist()
    [0.9, 2.0, 4.44]
    """
    middle = float(np.median(values))
    return middle * (values / middle) ** FEW_ROWS if middle > 0 else values


def possible_problem(bootstrap: BootstrapSamples, coordinates: Coordinates) -> Problem:
    """Training problem in each possible population, (m) rows, all from the one start in use.

    Parameters
    ----------
    bootstrap : bootstrap samples of the public rows.
    coordinates : start, scale and bounds in use.
    """
    sample = bootstrap.sample
    x, y = sample.population()
    targets = [bootstrap.possible_target(number) for number in range(len(bootstrap))]
    short, target = coordinates.records(x, np.stack([y, *targets]))
    models = bootstrap.possible_models
    truth = models if sample.shrinks else bootstrap.fitted_models
    counts = np.stack([np.ones(len(y)), *bootstrap.counts])  # the rows themselves come first
    problem = next(
        clipped_problems(
            coordinates,
            2 * resampled_moments(short, counts),
            [2 * (counts * target) @ short / len(y)],
            2 * resampled_moments(x, counts),
            np.stack([sample.truth, *truth]),
            sample.regularisation,
            np.append(bootstrap.optimum, bootstrap.estimated_scales[0]),
        )
    )
    biases = np.einsum("wij,wj->wi", problem.basis, problem.offset)
    worlds = Problem(*(getattr(problem, one.name)[1:] for one in fields(Problem)))
    turned = worlds.basis.swapaxes(1, 2)
    offset = np.einsum("wij,wj->wi", turned, shrink_biases(biases[0], biases[1:]))
    further = np.linalg.solve(coordinates.transform, (models - truth).T)
    moved = np.einsum("wij,jw->wi", turned, further)
    start_error = worlds.start_error + worlds.offset - offset - moved
    return replace(worlds, start_error=start_error, offset=offset)


def possible_rehearsals(
    rehearsal: Rehearsal, bootstrap: BootstrapSamples, bounds: Coordinates
) -> list[Rehearsal]:
    """Rehearsal in each possible population, with draws of its own, all from the one start in use.

    Of a bias of clipping, only what the population's best model does not expect is shrunk.

    Parameters
    ----------
    rehearsal : of the training, on the public rows.
    bootstrap : bootstrap samples of the public rows.
    bounds : start, scale and bounds in use.
    """
    sample = bootstrap.sample
    bounds = replace(bounds, loss=sample.loss)
    shown = rehearsal.on_sample(stretch_residuals(sample, bounds), (bounds,))
    streams = Streams(rehearsal.seed, "tails")
    worlds = []
    for number in range(len(bootstrap)):
        drawn = stretch_residuals(bootstrap.possible_sample(number), bounds, streams.rng(number))
        start = _stretch_start(bounds, bootstrap, drawn)
        world = replace(rehearsal.on_sample(drawn, (start,)), seed=rehearsal.seed + number)
        worlds.append(world)
    biases = np.stack([world.clipping_bias(world.starts[0]) for world in worlds])
    expected = np.stack([world.expected_bias(world.starts[0]) for world in worlds])
    by_chance = shown.clipping_bias(bounds) - shown.expected_bias(bounds)
    shrunk = expected + shrink_biases(by_chance, biases - expected)
    return [replace(world, bias=bias) for world, bias in zip(worlds, shrunk, strict=True)]


def _stretch_start(
    bounds: Coordinates, bootstrap: BootstrapSamples, drawn: PublicSample
) -> Coordinates:
    """Move a public start as far from a population's optimum as from that of all records.

    Where models are shrunk, the optimum has been drawn as far off.
    """
    if bootstrap.start != "public" or not bounds.loss.linear or drawn.shrinks:
        return bounds
    away = bounds.centre - drawn.truth
    return replace(bounds, centre=drawn.truth + bootstrap.stretch * away)
