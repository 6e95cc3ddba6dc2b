"""Query protocol of one release of second moments and scores, by the law of one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.inputs import PlanningInputs, unbounded_error
from learning.forecast.prediction import NOTHING
from learning.forecast.public_sample import PublicSample, affordable_count, thin_out
from learning.losses.coordinates import Coordinates
from learning.losses.moment_bounds import Scores
from learning.losses.statistics import mean_of_blocks, target_blocks
from learning.privacy.mechanism import Mechanism
from learning.privacy.noise import answer_shares
from learning.progress import ReportWork, count_progress
from learning.training.newton import GROWTH

RADII = np.geomspace(1.2, 4.6, 9)  # bounds on a record, over the root mean square length
SCORES = np.geomspace(1.8, 9.0, 11)  # on a score, over that length times residuals' own
SHARES = tuple(np.geomspace(0.08, 0.9, 11))  # of the noise on scores
TYPICAL = 0.3  # share, at which mechanisms are compared by their noise
WIDER = 4.0  # the largest bounds where records may be of other kinds, over those where they are not
LEAST_BOUNDS = 4  # of a wide model
LEAST_SHARES = 6
STEP_RESAMPLES = 24
LEAST_RESAMPLES = 2
KEPT = 2**22  # numbers of the records from all starts that are kept for other bounds

Mean = Callable[..., Any]


def price_moments(mechanism: Mechanism, coordinates: Coordinates) -> Mechanism:
    """Mechanism with the price of second moments, where records give them with scores."""
    if coordinates.moments is not None:
        rows = coordinates.rows_per_person
        return price_first_moments(mechanism, coordinates.moments.share, rows)
    if coordinates.scores is None:
        return mechanism
    return mechanism.with_moments(coordinates.scores.share, coordinates.rows_per_person)


def price_first_moments(mechanism: Mechanism, share: float, rows: int) -> Mechanism:
    """Mechanism with the price of second moments in the first of two answers."""
    return mechanism.with_moments(share, rows, float(answer_shares(GROWTH, 2)[0]))


def design_one_step(
    inputs: PlanningInputs,
    mechanism: Mechanism,
    bootstrap: BootstrapSamples,
    moved: BootstrapSamples | None,
    whole: Coordinates,
    ball: float,
) -> Coordinates:
    """Bounds on moments and scores, and the noise between them, by the law of one step.

    For the kinds that records may be of, ``moved``, where there are several.
    """
    noise = []
    owners = inputs.owners
    weighting = inputs.design_weighting
    for share in noise_shares(len(whole.centre)).tolist():
        priced = mechanism.with_moments(share, whole.rows_per_person)
        level = owners.noise_at(owners.reference, priced, weighting)
        noise.append(level * float(priced.horizon_factor(1)) * priced.beside_moments(share) ** 2)
    work = (2 if moved is None else 1) * len(RADII) * len(SCORES)
    did = count_progress(inputs.progress, "forecasting: choosing bounds", work)
    clip = inputs.settings.clip
    levels = np.array(noise)
    if moved is None:
        return one_step_protocol(bootstrap, whole, ball, clip, levels, did)
    return one_step_protocol(moved, whole, ball, clip, levels, did, WIDER, geometric_mean)


@dataclass(frozen=True)
class StepLaw:
    """Law of one step from several starts, under bounds on records.

    Relative fitness of the step is ``bias + v^2 by_scores + s^2 by_moments`` to first order, with
    deviations v of the noise on mean ux and s of that on mean xx' (on its diagonal; off it smaller
    by sqrt(2)).

    Parameters
    ----------
    bias, by_scores, by_moments : arrays (m,), from each start.
    """

    bias: Array
    by_scores: Array
    by_moments: Array

    def fitness_at(self, scores: Array, moments: Array) -> Array:
        """Relative fitness at some deviations (k,) from each start, (m, k)."""
        by_noise = np.outer(self.by_scores, scores**2) + np.outer(self.by_moments, moments**2)
        return np.asarray(self.bias[:, None] + by_noise)


def step_law(bootstrap: BootstrapSamples, bounds: Coordinates) -> StepLaw:
    """Law of a step under some bounds, from the start of each bootstrap sample.

    With M and g the population's moments and score by shortened records, A the moments of whole
    records and phi* their optimum, phi = M^-1 g misses phi* by a bias, and noise e on g and E on M
    moves it by M^-1 (e - E phi). E has the covariance s^2/2 (|phi|^2 I + phi phi') times phi.

    Parameters
    ----------
    bootstrap : the starts.
    bounds : Coordinates with radius and scores.
    """
    regularisation = bootstrap.sample.regularisation
    found = []
    starts = bootstrap.start_coordinates(bounds)
    for start, records in zip(starts, _records_from_each(bootstrap, starts), strict=True):
        ridge, pull = start.penalty(regularisation)
        assert start.scores is not None
        short, target = start.scores.records(*records, start.radius)
        rows = len(target)
        second = mean_of_blocks(short.T @ short / rows, bounds.targets)
        found.append((second + ridge / 2, target @ short / rows + pull / 2))
    moments, scores = (np.array(each) for each in zip(*found, strict=True))
    curvatures, away = bootstrap.keep("whole", lambda: _whole_records(bootstrap, starts))
    inverse = np.linalg.pinv(moments, hermitian=True)  # of all starts at once, which takes half
    phi = np.einsum("mij,mj->mi", inverse, scores)
    weight = inverse @ curvatures @ inverse
    trace = np.trace(weight, axis1=1, axis2=2)
    by_moments = _forms_of_noise(phi, weight, bounds.targets) / 2
    return StepLaw(
        _forms(phi - away, curvatures) / bootstrap.optimum,
        trace / bootstrap.optimum,
        by_moments / bootstrap.optimum,
    )


def _records_from_each(
    bootstrap: BootstrapSamples, starts: Sequence[Coordinates]
) -> Iterable[tuple[Array, Array, Array]]:
    """Records, targets and lengths from each start, before bounds; kept if they are few."""
    x, y = bootstrap.sample.population()

    def transform_records(start: Coordinates) -> tuple[Array, Array, Array]:
        moved, target = start.loss.working_records(x @ start.transform, start.centre @ x.T, y)
        return moved, target, start.lengths(moved)

    made = map(transform_records, starts)
    if x.size * len(starts) > KEPT:
        return made
    return list(bootstrap.keep(("records", starts[0].norm), lambda: list(made)))


def _whole_records(
    bootstrap: BootstrapSamples, starts: Sequence[Coordinates]
) -> tuple[Array, Array]:
    """Moments A (m, p, p) of whole records from each start, and their optimum phi* (m, p)."""
    sample = bootstrap.sample
    x, y = sample.population()
    curvatures = []
    away = []
    for start in starts:
        whole, _ = start.loss.working_records(x @ start.transform, x @ sample.truth, y)
        ridge = start.penalty(sample.regularisation)[0]
        curvatures.append(whole.T @ whole / len(y) + ridge / 2)
        away.append(np.linalg.solve(start.transform, sample.truth - start.centre))
    return np.array(curvatures), np.array(away)


def _forms(vectors: Array, matrices: Array) -> Array:
    """Quadratic forms v'Av of vectors (m, p) and matrices (m, p, p), (m,)."""
    return np.einsum("mi,mij,mj->m", vectors, matrices, vectors)


def _forms_of_noise(vectors: Array, matrices: Array, targets: int) -> Array:
    """Mean of v'E A E v over noise E of one target's moments that all share, times 2/s^2, (m,)."""
    blocks = target_blocks(matrices, targets)
    each = vectors.reshape(blocks.shape[:-1])
    trace = np.trace(blocks, axis1=-2, axis2=-1)
    lengths = np.sum(each**2, axis=-1)
    return np.asarray(
        (lengths * trace + np.einsum("mki,mkij,mkj->mk", each, blocks, each)).sum(axis=1)
    )


def one_step_protocol(
    bootstrap: BootstrapSamples,
    whole: Coordinates,
    ball: float,
    clip: float | None,
    noise: Array,
    did: ReportWork,
    wider: float = 1.0,
    mean: Mean = np.mean,
) -> Coordinates:
    """Choose the bounds, and the share of the noise, with the smallest forecast by `step_law`.

    Parameters
    ----------
    bootstrap : bootstrap samples of the public rows.
    whole : the coordinates, without bounds.
    ball : radius that the step is kept in.
    clip : the bound on a record's gradient, twice its score, where the scenario states it.
    noise : array (shares,), variance of the owners' noise on a mean gradient for each of
        `noise_shares`, at a bound on gradients of 1.
    did : called with 1 for each bound that was tried.
    wider : factor on the largest bounds that are tried; beyond 1, a record has one weight in
        moments and scores.
    mean : of the starts: `numpy.mean`, or `geometric_mean` where they may be of other kinds.

    Raises
    ------
    InputError
        If the gradients are to be left whole.
    """
    if clip is not None and np.isinf(clip):
        raise unbounded_error(", twice its score, with one release of moments and scores")
    width = len(whole.centre)
    some = bootstrap.first_samples(affordable_count(STEP_RESAMPLES, LEAST_RESAMPLES, width, 2))
    radii, scores = _bounds_to_try(bootstrap.sample, whole, wider)
    if clip is not None:
        scores = [clip / 2]
    share = noise_shares(width)
    tried = []
    # records longer than the learner knows of make steps too long where only moments are bounded
    bounded = (True, False) if wider == 1 else (True,)
    for radius, bound, alike in product(radii, scores, bounded):
        held = Scores(bound, 1.0, alike)
        bounds = replace(whole, radius=radius, theta_max=ball, scores=held)
        # the deviation of mean ux is half that of a mean gradient
        joint = held.joint_bound(whole.targets)
        deviation = whole.rows_per_person * joint * np.sqrt(noise)
        moments = radius**2 / (2 * joint * share) * deviation
        heights = mean(step_law(some, bounds).fitness_at(deviation, moments), axis=0)
        best = int(np.argmin(heights))
        made = replace(bounds, scores=replace(held, share=float(share[best])))
        tried.append((float(heights[best]), made))
        did(1)
    return min(tried, key=lambda one: one[0])[1]


def _bounds_to_try(
    sample: PublicSample, whole: Coordinates, wider: float
) -> tuple[list[float], list[float]]:
    """Bounds on records and on scores, in units of those of the public rows."""
    x, y = sample.population()
    width = len(whole.centre)
    moved, missed = sample.loss.working_records(x @ whole.transform, x @ sample.truth, y)
    lengths = whole.lengths(moved)
    size = float(np.sqrt(np.mean(lengths**2)))
    unit = size * float(np.sqrt(np.mean(missed**2)))
    if sample.loss.labels:  # whose longest records have the smallest scores
        unit = float(np.sqrt(np.mean((lengths * missed) ** 2)))
    found = []
    for measure, tried in ((size, RADII), (unit, SCORES)):
        reach = np.linspace(0, 1, len(tried))
        found.append(
            [measure * float(k) for k in thin_out(tried * wider**reach, LEAST_BOUNDS, width)]
        )
    return found[0], found[1]


def geometric_mean(values: Array, axis: int) -> Array:
    """Geometric mean along an axis; values below `NOTHING` count as that.

    >>> geometric_mean(np.array([[1.0, 4.0], [4.0, 4.0]]), axis=0)
    array([2., 4.])
    """
    return np.asarray(np.exp(np.mean(np.log(np.maximum(values, NOTHING)), axis=axis)))


def noise_shares(width: int) -> Array:
    """Shares of the noise to try for a model of ``width`` parameters."""
    return thin_out(SHARES, LEAST_SHARES, width)
