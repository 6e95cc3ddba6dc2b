"""Query protocol: start, scale, clipping bounds and ball, chosen from public rows.

Bounds are announced before any owner chooses its budget, so they are designed once, at reference
budgets; horizon and step size stay free and follow the budgets that the market settles on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from learning.arrays import Array
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.doubts import bootstrap_in_doubt
from learning.forecast.inputs import PlanningInputs, Settings, unbounded_error
from learning.forecast.law import make_plan_set
from learning.forecast.one_step import (
    design_one_step,
    price_first_moments,
    price_moments,
)
from learning.forecast.public_sample import affordable_count, thin_out
from learning.forecast.rehearsal import Rehearsal
from learning.forecast.tail import best_radius, stretch_residuals
from learning.forecast.weighting import Answers
from learning.losses.clipping import RECORD
from learning.losses.coordinates import Coordinates
from learning.losses.first_moments import Moments
from learning.losses.slopes import squared_gradient_bound
from learning.privacy.mechanism import Mechanism
from learning.progress import count_progress
from learning.training.descent import Averaged
from learning.training.law import Problem, largest_excursion
from learning.training.plan import Plan

PUBLIC_QUANTILES = (0.4, 0.6, 0.75, 0.85, 0.93, 0.98, 1.0)  # of norms: candidate clipping bounds
LEAST_QUANTILES = 3  # of a wide model
BALLS = np.geomspace(0.01, 3.0, 18)  # candidate radii, in units of the largest public |target|
NOISE_MARGIN = 4.0  # multiple of the reference noise under which the ball must hold the path
DESIGN_RESAMPLES = 16
LEAST_RESAMPLES = 2  # of a wide model
DESIGN_HORIZONS = (2, 3, 4, 6, 10, 17)

STAND_IN = Averaged.name  # rehearsed for other algorithms that take steps: bounds hardly differ
REHEARSED_RESAMPLES = 6
REHEARSED_HORIZONS = (2, 3, 9, 33)
ROUNDS = 3  # that a radius is chosen for where they are open
GROWTH = 2.0
# bounds on a record over the root mean square length, and whether its gradient is shortened alike
MOMENTS_BOUNDS = ((1.5, True), (2.0, True), (2.5, True), (1.5, False), (2.0, False))
MOMENTS_SHARES = (0.3, 0.8)  # of the noise on the first gradient
BALL = 4.0  # the ball, in units of the distance of the optimum from the furthest start
BALL_AT_ONCE = 1.0  # of AdaSSP, whose noise grows with it and whose solution does not wander
BALL_OF_STEP = 2.0  # of scores, whose noise does not: one start in 25 is further than all 24


def design_protocol(
    inputs: PlanningInputs, mechanism: Mechanism, bootstrap: BootstrapSamples
) -> Coordinates:
    """Choose clipping bounds and ball for the smallest forecast at the reference budgets.

    - By the exact law for squared loss, and by that of the averaged algorithm where another one
      without a law takes steps.
    - By the law of one step for algorithms that release scores (`design_one_step`).
    - By the tail of public gradients where each record's gradient is clipped (`best_radius`); the
      bounds of second moments beside them by rehearsal.
    - Else by rehearsal: of the averaged algorithm for others that take steps, and of the release
      itself for AdaSSP, which clipping biases more than a few steps.
    """
    settings = inputs.settings
    algorithm = settings.trains_by
    loss = inputs.public.loss
    if loss.quadratic and not settings.clips_gradients:
        if algorithm.exact:
            return design_by_law(inputs, bootstrap, mechanism)
        if algorithm.takes_steps:
            return _design_by_stand_in(inputs, bootstrap, mechanism)
    whole = inputs.public_coordinates(mechanism)
    wide = BALL if algorithm.takes_steps else BALL_AT_ONCE
    if algorithm.scores:
        wide = BALL_OF_STEP
    moved = bootstrap_in_doubt(inputs, mechanism, len(bootstrap)) if algorithm.scores else None
    ball = settings.theta_max or _furthest_start(moved or bootstrap, whole) * wide
    if algorithm.scores:
        return design_one_step(inputs, mechanism, bootstrap, moved, whole, ball)
    if algorithm.moments:
        mechanism = price_first_moments(mechanism, MOMENTS_SHARES[0], whole.rows_per_person)
    by_record = whole.clipping == RECORD and settings.clip is None
    if by_record and loss.linear and algorithm.takes_steps:
        radius = best_radius(inputs.public, whole, _last_noise(inputs, mechanism))
        choices = [whole.bounded(radius, np.inf, ball)]
    else:
        bounds = product(*_bounds_to_rehearse(inputs, whole))
        choices = [whole.bounded(radius, target, ball) for radius, target in bounds]
    if algorithm.moments:
        choices = [made for one in choices for made in bound_moments(inputs, one)]
    if len(choices) == 1:
        return choices[0]
    did = count_progress(inputs.progress, "forecasting: choosing bounds", len(choices))
    heights = []
    for choice in choices:
        heights.append(_rehearse_bounds(inputs, mechanism, bootstrap, choice))
        did(1)
    return choices[int(np.argmin(heights))]


def design_by_law(
    inputs: PlanningInputs,
    bootstrap: BootstrapSamples,
    mechanism: Mechanism,
    settings: Settings | None = None,
) -> Coordinates:
    """Choose clipping bounds and ball by the exact law.

    Every candidate counts the bias of its clipping on the public rows. A ball is admitted only if
    the path with its noise, three standard deviations wide at half the reference budgets, stays
    inside it in every bootstrap sample tried: the exact law then holds there. Where no ball is that
    wide, one that holds the path without noise is taken.

    Parameters
    ----------
    inputs : public rows, the owners' sizes and reference budgets, and the public ranges.
    bootstrap : bootstrap samples of the public rows.
    mechanism : mechanism of the answers.
    settings : fixed choices, where they are not the inputs' own.

    Returns
    -------
    Coordinates with finite bounds.
    """
    settings = settings or inputs.settings
    sample = inputs.public
    coordinates = inputs.public_coordinates(mechanism)
    noise = coordinates.rows_per_person**2 * expected_noise(inputs, mechanism)
    radii, targets = candidate_bounds(inputs, coordinates)
    balls = list(BALLS * np.abs(sample.y).max())
    if settings.theta_max is not None:
        balls = [settings.theta_max]
    count = affordable_count(DESIGN_RESAMPLES, LEAST_RESAMPLES, sample.x.shape[1], power=2)
    some = bootstrap.first_samples(count)
    did = count_progress(inputs.progress, "forecasting: choosing bounds", len(radii) * len(targets))
    tried = []
    for limit in radii:
        for target, problem in zip(targets, some.training_problems(limit, targets), strict=True):
            bounds = squared_gradient_bound(limit, target, balls, mechanism.norm)
            if settings.gradient_bound is not None:
                bounds = np.full(len(balls), settings.gradient_bound)
            found = _try_balls(problem, settings, mechanism, noise * bounds**2, balls)
            tried += [(-holds, value, limit, target, ball) for ball, value, holds in found]
            did(1)
    return coordinates.bounded(*min(tried)[2:])


def _design_by_stand_in(
    inputs: PlanningInputs, bootstrap: BootstrapSamples, mechanism: Mechanism
) -> Coordinates:
    """Bounds by the law of another algorithm, which may take rounds that no noise is priced for."""
    settings = replace(
        inputs.settings,
        algorithm=STAND_IN,
        horizon=None if mechanism.single_record else mechanism.horizon,
        step_size=None,
        returned=("last", "averaged"),
    )
    least = max(DESIGN_HORIZONS)
    if mechanism.single_record and mechanism.horizon is not None and mechanism.horizon < least:
        mechanism = mechanism.for_rounds(least)
    return design_by_law(inputs, bootstrap, mechanism, settings)


def _try_balls(
    problem: Problem, settings: Settings, mechanism: Mechanism, noise: Array, balls: Sequence[float]
) -> Iterator[tuple[float, float, int]]:
    """Yield each ball, the forecast at its noise, and 2 if it holds the path with that noise.

    1 if it holds only the path without noise, else 0.
    """
    plans = make_plan_set(problem, settings, mechanism, 1.0, horizons=DESIGN_HORIZONS)
    chosen = np.array([plans.best_plan(one) for one in noise])
    value = plans.bias[chosen] + plans.slope[chosen] * noise
    holds = np.zeros(len(balls), dtype=int)
    for best in np.unique(chosen):  # the path under a plan is followed once
        under = np.flatnonzero(chosen == best)
        plan = plans.plan_at(int(best))
        power = NOISE_MARGIN * float(mechanism.horizon_factor(plan.priced)) * noise[under]
        relative = plan.relative_scales(mechanism)
        path = problem, plan.steps, np.append(power, 0.0), relative
        away = largest_excursion(*path, norm=mechanism.norm).max(axis=-1)
        ball = np.asarray(balls)[under]
        holds[under] = np.where(away[:-1] <= ball, 2, away[-1] <= ball)
    return zip(balls, value.tolist(), holds.tolist(), strict=True)


def expected_noise(inputs: PlanningInputs, mechanism: Mechanism) -> float:
    """Aggregated noise at the reference budgets, for a gradient bound of 1.

    It is that of weights by size, with one exception. Precision weights leave hardly any of the
    noise of owners whose intervals keep their budgets far below others': where the reference
    budgets differ, it is the least under any weights, 1 / sum n^2/term.
    """
    reference = inputs.owners.reference
    sharing = reference > 0
    if not sharing.any():
        return 0.0
    sizes = inputs.owners.sizes[sharing]
    term = mechanism.noise_term(reference[sharing])
    if inputs.trust.secure or inputs.owners.reach is not None:
        weighting = inputs.base_weighting.select_owners(np.flatnonzero(sharing))
        terms = weighting.sum_terms(Answers(term, sizes, sharing[sharing]))
        return float(weighting.aggregated_noise(tuple(terms.sum(axis=0))))
    if inputs.settings.weights == "precision" and np.ptp(reference[sharing]) > 0:
        return float(1 / np.sum(sizes**2 / term))
    return float(np.sum(term)) / float(sizes.sum()) ** 2


def reference_noise(inputs: PlanningInputs, mechanism: Mechanism) -> float:
    """Aggregated noise of weights by size where all owners share at the reference budgets."""
    owners = inputs.owners
    return owners.noise_at(owners.reference, mechanism, inputs.design_weighting)


def candidate_bounds(
    inputs: PlanningInputs, coordinates: Coordinates
) -> tuple[list[float], list[float]]:
    """Candidate bounds on a record and on its target: public quantiles, or stated bounds."""
    radius, target = coordinates.largest(inputs.feature_bound, inputs.target_bound)
    clip = inputs.settings.clip
    if clip is not None and np.isinf(clip):
        return [radius], [target]
    moved, shown = coordinates.records(inputs.public.x, inputs.public.y)
    levels = thin_out(PUBLIC_QUANTILES, LEAST_QUANTILES, moved.shape[1])

    def quantiles_below(values: Array, limit: float) -> list[float]:
        return np.unique(np.minimum(np.quantile(values, levels), limit)).tolist()

    targets = quantiles_below(np.abs(shown), target)
    if clip is not None:
        return [min(clip, radius)], targets
    return quantiles_below(coordinates.lengths(moved), radius), targets


def _bounds_to_rehearse(
    inputs: PlanningInputs, whole: Coordinates
) -> tuple[list[float], list[float]]:
    """Candidate bounds on a record, or on its gradient, and on its target."""
    settings = inputs.settings
    sample = inputs.public
    if sample.loss.quadratic and not settings.clips_gradients:
        return candidate_bounds(inputs, whole)
    clip = settings.clip
    targets = [np.inf if whole.clipping == RECORD else 1.0]
    if clip is not None and np.isfinite(clip):
        return [clip], targets
    if settings.clips_gradients:
        if clip is not None:
            raise unbounded_error(" where gradients are clipped")
        shown = whole.gradient_lengths(*sample.population())
        if whole.clipping == RECORD:
            shown = shown[shown > 0]
    else:
        bound, _ = whole.largest(inputs.feature_bound, inputs.target_bound)
        if clip is not None:
            return [bound], targets
        shown = np.minimum(whole.lengths(sample.x @ whole.transform), bound)
    return sorted({float(v) for v in np.quantile(shown, PUBLIC_QUANTILES[1::2])}), targets


def _rehearse_bounds(
    inputs: PlanningInputs, mechanism: Mechanism, bootstrap: BootstrapSamples, choice: Coordinates
) -> float:
    """Relative fitness of the best plan under some bounds, at the reference budgets."""
    trains_by = inputs.settings.trains_by
    sample = stretch_residuals(bootstrap.sample, choice) if trains_by.moments else bootstrap.sample
    sizes = inputs.owners.sizes.astype(float)
    takes_steps = trains_by.takes_steps and not trains_by.moments
    algorithm = STAND_IN if takes_steps else inputs.settings.algorithm
    mechanism = price_moments(mechanism, choice)
    count = DESIGN_RESAMPLES if trains_by.moments else REHEARSED_RESAMPLES
    starts = bootstrap.first_samples(count).start_coordinates(choice)
    made = sample, starts, sizes, mechanism, algorithm
    rehearsal = Rehearsal.from_sample(*made, seed=inputs.seed)
    level = np.array([reference_noise(inputs, mechanism)])
    most = max(mechanism.horizon or max(REHEARSED_HORIZONS), 2)
    growth = mechanism.growth or trains_by.growth or 1.0
    lowest = []
    for rounds in REHEARSED_HORIZONS if takes_steps else trains_by.trial_horizons:
        if rounds <= most:
            steps = rehearsal.step_sizes(rounds)
            found = rehearsal.rehearse(rounds, steps, level, repeats=2, growth=growth)
            lowest.append(float(found.mean(axis=(3, 4)).min()))
    return min(lowest)


def bound_moments(inputs: PlanningInputs, bounded: Coordinates) -> list[Coordinates]:
    """List bounds to rehearse of the second moments that owners release with a gradient."""
    squares = (inputs.public.x @ bounded.transform) ** 2
    size = float(np.sqrt(squares.sum(axis=1).mean()))
    spread = float(np.sqrt(squares.var(axis=0).mean() / len(squares)))
    return [
        replace(bounded, moments=Moments(reach * size, share, spread, alike))
        for share, (reach, alike) in product(MOMENTS_SHARES, MOMENTS_BOUNDS)
    ]


def _furthest_start(bootstrap: BootstrapSamples, whole: Coordinates) -> float:
    """Distance of the optimum from the furthest start, in phi."""
    starts = bootstrap.models if bootstrap.start != "zero" else np.zeros_like(bootstrap.models)
    phi = np.linalg.solve(whole.transform, (bootstrap.sample.truth - starts).T).T
    return float(np.linalg.norm(phi, ord=np.inf if whole.norm == 1 else 2, axis=1).max())


def _last_noise(inputs: PlanningInputs, mechanism: Mechanism) -> float:
    """Variance per coordinate of the last answers, for a gradient bound of 1, at the reference.

    Rounds are few, and shares grow, where they are open. The last few of many rounds make up the
    model together, which lowers the variance.
    """
    settings = inputs.settings
    rounds = settings.horizon or mechanism.horizon or min(ROUNDS, settings.trains_by.rounds[1])
    growth = 1.0
    if settings.trains_by.shares_may_grow:
        growth = mechanism.growth or settings.growth or GROWTH
    plan = Plan(settings.algorithm, "last", rounds, 1.0, growth=growth)
    even = float(mechanism.horizon_factor(plan.priced)) * reference_noise(inputs, mechanism)
    last = float(plan.relative_scales(mechanism)[-1]) ** 2
    return inputs.owners.rows_per_person**2 * even * last * min(1.0, ROUNDS / rounds)
