"""The query protocol: start, scale, clipping bounds and ball, chosen from public rows for the smallest forecast.

Bounds are announced before any owner chooses its budget, so they are designed once, at a reference budget that all
owners are taken to give; horizon and step size stay free and follow the budgets that the market settles on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.inputs import PlanningInputs
from learning.forecast.plan_set import plan_lines
from learning.forecast.settings import Settings
from learning.forecast.wide import affordable, thinned
from learning.losses.coordinates import Coordinates
from learning.losses.squared import squared_gradient_bound
from learning.privacy.mechanism import Mechanism
from learning.progress import counting
from learning.training.law import Problem, reach

QUANTILES = (0.4, 0.6, 0.75, 0.85, 0.93, 0.98, 1.0)  # of the public rows' norms: candidate clipping bounds
BALLS = np.geomspace(0.01, 3.0, 18)  # candidate radii of the ball, in units of the largest public |target|
NOISE_MARGIN = 4.0  # the ball must hold the path even under this multiple of the reference noise: half the budgets
DESIGN_RESAMPLES = 16
LEAST_RESAMPLES, LEAST_QUANTILES = 2, 3  # of a wide model
DESIGN_HORIZONS = (2, 3, 4, 6, 10, 17)


def design(
    inputs: PlanningInputs, bootstrap: BootstrapSamples, mechanism: Mechanism, settings: Settings | None = None
) -> Coordinates:
    """Choose clipping bounds and ball from public knowledge: the smallest forecast at the reference budgets.

    Every candidate counts the bias that its clipping causes on the public rows. A ball is admitted only if the path
    with its noise, three standard deviations wide at half the reference budgets, stays inside it in every
    resample tried: the exact law then holds there. Where no ball is that wide, one that holds the path without noise is
    taken.

    Parameters
    ----------
    inputs : what the learner plans with; its public rows, the owners' sizes and reference budgets, the public ranges.
    bootstrap : resamples of the public rows.
    mechanism : how answers are made noisy.
    settings : what is fixed already, where that is not the inputs' own.

    Returns
    -------
    Coordinates with finite bounds.
    """
    settings, sample = settings or inputs.settings, inputs.public
    coordinates = inputs.public_coordinates(mechanism)
    noise = coordinates.rows_per_person**2 * expected_noise(inputs, mechanism)
    radii, targets = candidates(inputs, coordinates)
    balls = [settings.theta_max] if settings.theta_max is not None else list(BALLS * np.abs(sample.y).max())
    some = bootstrap.first(affordable(DESIGN_RESAMPLES, LEAST_RESAMPLES, sample.x.shape[1], power=2))
    did, tried = counting(inputs.progress, "forecasting: choosing bounds", len(radii) * len(targets)), []
    for limit in radii:
        for ceiling, problem in zip(targets, some.problems(limit, targets), strict=True):
            for ball, value, holds in _balls(problem, settings, mechanism, noise, limit, ceiling, balls):
                tried.append((-holds, value, limit, ceiling, ball))
            did(1)
    _, _, limit, ceiling, ball = min(tried)
    return coordinates.bounded(limit, ceiling, ball)


def expected_noise(inputs: PlanningInputs, mechanism: Mechanism) -> float:
    """Aggregated noise at the reference budgets, for a gradient bound of 1, by which bounds are chosen.

    It is that of weights by size. Precision weights leave hardly any of what owners add whose intervals keep their
    budgets far below others': where the reference budgets differ, it is the least that any leave, 1 / sum n^2/term.
    """
    reference, sizes = inputs.owners.reference, inputs.owners.sizes
    sharing = reference > 0
    if not sharing.any():
        return 0.0
    term = mechanism.noise_term(reference[sharing])
    if inputs.trust.secure:
        whole = inputs.weighting.part(np.flatnonzero(sharing))
        return float(whole.noise(tuple(whole.columns(term, sizes[sharing], sharing[sharing]).sum(axis=0))))
    if inputs.settings.weights == "precision" and np.ptp(reference[sharing]) > 0:
        return float(1 / np.sum(sizes[sharing] ** 2 / term))
    return float(np.sum(term)) / float(sizes[sharing].sum()) ** 2


def candidates(inputs: PlanningInputs, coordinates: Coordinates) -> tuple[list[float], list[float]]:
    """Candidate bounds on a record and on its target: quantiles of what the public rows show, or what the scenario fixes."""
    radius, target = coordinates.largest(inputs.feature_bound, inputs.target_bound)
    clip = inputs.settings.clip
    if clip is not None and np.isinf(clip):
        return [radius], [target]
    moved, shown = coordinates.records(inputs.public.x, inputs.public.y)
    targets = _quantiles(np.abs(shown), target, moved.shape[1])
    return [min(clip, radius)] if clip is not None else _quantiles(
        coordinates.lengths(moved), radius, moved.shape[1]
    ), targets


def _quantiles(values: Array, limit: float, width: int) -> list[float]:
    levels = thinned(QUANTILES, LEAST_QUANTILES, width)
    return [float(v) for v in np.unique(np.minimum(np.quantile(values, levels), limit))]


def _balls(
    problem: Problem,
    settings: Settings,
    mechanism: Mechanism,
    noise: float,
    radius: float,
    target: float,
    balls: Sequence[float],
):
    """For each ball: the forecast at the reference noise; 2 if it holds the path with noise, 1 without, else 0."""
    lines = plan_lines(problem, settings, mechanism, 1.0, horizons=DESIGN_HORIZONS)
    proved = squared_gradient_bound(radius, target, balls, mechanism.norm)
    scaled = noise * (proved if settings.gradient_bound is None else np.full(len(balls), settings.gradient_bound)) ** 2
    chosen = np.array([lines.best(one) for one in scaled])
    value, holds = lines.bias[chosen] + lines.slope[chosen] * scaled, np.zeros(len(balls), dtype=int)
    for best in np.unique(chosen):  # the path under a plan is followed once, for all balls under which it is best
        (under,), plan = np.nonzero(chosen == best), lines.plan(int(best))
        power = NOISE_MARGIN * float(mechanism.horizon_factor(plan.priced)) * scaled[under]
        relative = plan.relative_scales(mechanism)
        away = reach(problem, plan.steps, np.append(power, 0.0), relative, norm=mechanism.norm).max(axis=-1)
        ball = np.asarray(balls)[under]
        holds[under] = np.where(away[:-1] <= ball, 2, away[-1] <= ball)
    yield from zip(balls, value.tolist(), holds.tolist(), strict=True)
