"""The protocol where no law is known: clipping bounds and ball chosen by rehearsal on the public rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.forecast import protocol
from learning.forecast.bootstrap import BootstrapSamples
from learning.forecast.inputs import PlanningInputs, PublicOwners
from learning.forecast.one_step_protocol import RADII, SCORES, one_step_protocol, shares
from learning.forecast.planner import SMALLEST
from learning.forecast.protocol import QUANTILES, candidates, design
from learning.forecast.rehearsal import Rehearsal, rehearse
from learning.forecast.tail import radius_for
from learning.forecast.weighting import SIZE, Weighting
from learning.losses.coordinates import RECORD, Coordinates
from learning.privacy.mechanism import Mechanism
from learning.progress import counting
from learning.training.averaged import Averaged
from learning.training.plan import Plan

STAND_IN = Averaged.name  # rehearsed in place of other algorithms that take steps: bounds depend on it but little
DESIGN_RESAMPLES = 6
DESIGN_HORIZONS = (2, 3, 9, 33)
ROUNDS, GROWTH = 3, 2.0  # that a radius is chosen for where they are open
BALL = 4.0  # the ball, in units of how far the optimum lies from the start in the furthest resample
BALL_AT_ONCE = 1.0  # of AdaSSP, whose solution does not wander on its way


def calibrated_protocol(inputs: PlanningInputs, mechanism: Mechanism, bootstrap: BootstrapSamples) -> Coordinates:
    """Clipping bounds and ball from public knowledge, for the smallest forecast at the reference budgets.

    By the exact law for squared loss (the averaged algorithm standing for others that take steps); where each record's
    gradient is clipped by the tail that public gradients have (`tail.radius_for`); else by rehearsal: of the averaged
    algorithm for labels, of the release itself for AdaSSP, which clipping biases more than it does a few steps.
    """
    settings, sample = inputs.settings, inputs.public
    lawful = sample.loss.quadratic and not settings.clips_gradients
    if lawful and settings.trains_by.exact:
        return design(inputs, bootstrap, mechanism)
    if lawful and settings.trains_by.takes_steps:
        priced = None if mechanism.single_record else mechanism.horizon
        like = replace(settings, algorithm=STAND_IN, horizon=priced, step_size=None, returned=("last", "averaged"))
        least = max(protocol.DESIGN_HORIZONS)  # rounds that the stand-in tries, where a mechanism is priced for fewer
        short = mechanism.single_record and mechanism.horizon is not None and mechanism.horizon < least
        return design(inputs, bootstrap, mechanism.for_rounds(least) if short else mechanism, like)
    whole = inputs.public_coordinates(mechanism)
    ball = settings.theta_max or _furthest(bootstrap, whole) * (
        BALL if settings.trains_by.takes_steps else BALL_AT_ONCE
    )
    if settings.trains_by.scores:
        return _one_step(inputs, mechanism, bootstrap, whole, ball)
    if whole.clipping == RECORD and settings.clip is None and sample.loss.linear and settings.trains_by.takes_steps:
        return whole.bounded(radius_for(sample, whole, _last_noise(inputs, mechanism)), np.inf, ball)
    radii, targets = _bounds(inputs, whole)
    choices = [whole.bounded(radius, target, ball) for radius, target in product(radii, targets)]
    if len(choices) == 1:
        return choices[0]
    did = counting(inputs.progress, "forecasting: choosing bounds", len(choices))

    def height(choice: Coordinates) -> float:
        found = _rehearsed(inputs, mechanism, bootstrap, choice)
        did(1)
        return found

    return min(choices, key=height)


def _one_step(
    inputs: PlanningInputs, mechanism: Mechanism, bootstrap: BootstrapSamples, whole: Coordinates, ball: float
) -> Coordinates:
    """Bounds by the law of a step, at the noise of the reference budgets."""
    noise = []
    for share in shares(len(whole.centre)).tolist():
        priced = mechanism.with_moments(share, whole.rows_per_person)
        level = noise_at(inputs.owners, priced, SIZE, inputs.owners.reference)
        noise.append(level * float(priced.horizon_factor(1)) * priced.beside_moments(share) ** 2)
    did = counting(inputs.progress, "forecasting: choosing bounds", 2 * len(RADII) * len(SCORES))
    return one_step_protocol(bootstrap, whole, ball, inputs.settings.clip, np.array(noise), did)


def _rehearsed(inputs: PlanningInputs, mechanism: Mechanism, bootstrap: BootstrapSamples, choice: Coordinates) -> float:
    """Relative fitness of the best plan under some bounds, at the reference budgets."""
    sample, sizes = bootstrap.sample, inputs.owners.sizes.astype(float)
    steps, weighting = inputs.settings.trains_by.takes_steps, inputs.weighting if inputs.trust.secure else SIZE
    stage = Rehearsal(
        *sample.population(),
        sample.fitness,
        bootstrap.first(DESIGN_RESAMPLES).under(choice),
        sizes,
        sizes / sizes.sum(),
        mechanism,
        STAND_IN if steps else inputs.settings.algorithm,
        seed=inputs.seed,
    )
    level = np.array([noise_at(inputs.owners, mechanism, weighting, inputs.owners.reference)])
    most, growth = mechanism.horizon or max(DESIGN_HORIZONS), mechanism.growth or 1.0
    return min(
        float(rehearse(stage, rounds, stage.constants(rounds), level, repeats=2, growth=growth).mean(axis=(3, 4)).min())
        for rounds in ((2, *(r for r in DESIGN_HORIZONS if 2 < r <= most)) if steps else (1,))
    )


def beside_moments(mechanism: Mechanism, coordinates: Coordinates) -> Mechanism:
    """The mechanism as it is priced under a protocol: for second moments beside scores where records give both."""
    if coordinates.scores is None:
        return mechanism
    return mechanism.with_moments(coordinates.scores.share, coordinates.rows_per_person)


def _last_noise(inputs: PlanningInputs, mechanism: Mechanism) -> float:
    """Variance per coordinate of the last answer for a gradient bound of 1, at the reference budgets.

    With few rounds, and shares that grow, where they are open; of many rounds the last few make up the model together.
    """
    settings, owners = inputs.settings, inputs.owners
    rounds = settings.horizon or mechanism.horizon or ROUNDS
    growth = mechanism.growth or settings.growth or GROWTH
    plan = Plan(settings.algorithm, "last", rounds, 1.0, growth=growth if settings.trains_by.shares_may_grow else 1.0)
    weighting = inputs.weighting if inputs.trust.secure else SIZE
    even = float(mechanism.horizon_factor(plan.priced)) * noise_at(owners, mechanism, weighting, owners.reference)
    last = float(plan.relative_scales(mechanism)[-1]) ** 2
    return owners.rows_per_person**2 * even * last * min(1.0, ROUNDS / rounds)


def noise_at(owners: PublicOwners, mechanism: Mechanism, weighting: Weighting, epsilon: Array) -> float:
    """Aggregated noise where all share who may, at given budgets (n_owners,); 0 counts as almost nothing."""
    budgets, sizes = np.where(epsilon > 0, epsilon, SMALLEST), owners.sizes.astype(float)
    term = mechanism.noise_term(budgets) * (sizes / mechanism.noise_denominator(sizes)) ** 2
    able = (owners.epsilon_max > 0) | (owners.epsilon_max.max() == 0)
    return float(weighting.noise(weighting.columns(term, sizes, budgets > 0)[able].sum(axis=0)))


def _furthest(bootstrap: BootstrapSamples, whole: Coordinates) -> float:
    """How far the optimum lies from the start in the furthest resample, in phi."""
    starts = bootstrap.models if bootstrap.start == "public" else np.zeros_like(bootstrap.models)
    phi = np.linalg.solve(whole.transform, (bootstrap.sample.truth - starts).T).T
    return float(np.linalg.norm(phi, ord=np.inf if whole.norm == 1 else 2, axis=1).max())


def _bounds(inputs: PlanningInputs, whole: Coordinates) -> tuple[list[float], list[float]]:
    """Candidate bounds on a record, or on its gradient, and on its target: what the public rows show."""
    settings, sample = inputs.settings, inputs.public
    if sample.loss.quadratic and not settings.clips_gradients:
        return candidates(inputs, whole)
    if settings.clip is not None and np.isfinite(settings.clip):
        return [settings.clip], [np.inf if whole.clipping == RECORD else 1.0]
    if settings.clips_gradients:
        if settings.clip is not None:
            rule = "must bound a record's gradient where gradients are clipped"
            raise InputError("learning.clip", rule, "none", 'Leave it at "optimal".')
        shown = whole.gradient_lengths(*sample.population())
        if whole.clipping == RECORD:
            return sorted({float(v) for v in np.quantile(shown[shown > 0], QUANTILES[1::2])}), [np.inf]
    else:
        shown = whole.lengths(sample.x @ whole.transform)
        bound, _ = whole.largest(inputs.feature_bound, inputs.target_bound)
        if settings.clip is not None:
            return [bound], [1.0]
        shown = np.minimum(shown, bound)
    return sorted({float(v) for v in np.quantile(shown, QUANTILES[1::2])}), [1.0]
