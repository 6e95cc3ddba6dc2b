"""Which algorithm, clipping and mechanism, and by which kind of forecast: from what a learner knows to its planner."""

from __future__ import annotations

from dataclasses import replace

from learning.errors import InputError
from learning.forecast.calibrated_planner import calibrated_planner
from learning.forecast.choices import Look, Way, choices, in_order, looks, priced_for
from learning.forecast.exact_planner import exact_planner
from learning.forecast.inputs import PlanningInputs
from learning.forecast.planner import Planner
from learning.privacy.mechanism import Mechanism
from learning.privacy.mechanisms import BEST, candidates
from learning.privacy.noise_settings import NoiseSettings
from learning.privacy.remaining import Remaining
from learning.progress import counting


def make_planner(inputs: PlanningInputs) -> Planner:
    """Protocol and forecast, from public rows where there are any, else from the pooled records.

    Where several ways to train are open to the learner, the one with the smallest forecast at the reference budgets is taken,
    and announced before any owner chooses: the smallest quick forecast where there are public rows, and where no more is open
    than for how many rounds noise is priced, or nothing is public, the smallest full one.

    Raises
    ------
    InputError
        If a bound that must be public is neither stated nor shown by public rows, or no way to train goes together.
    """
    open_ways, compared = ways(inputs), len(inputs.among) > 1 or inputs.settings.mechanism == BEST
    if compared and inputs.sample is not None:
        found = looks(open_ways, counting(inputs.progress, "forecasting: comparing ways to train", 1))
        first = found[0].way.decided
        return replace(planner_under(first.inputs, first.mechanism), choices=choices(found))
    planners: list[Planner] = []
    for way in (one.decided for one in open_ways):
        planners.append(planner_under(way.inputs, way.mechanism, planners[0] if planners else None))
    at = inputs.owners.reference
    best = min(planners, key=lambda planner: planner.forecast.at(at))
    if not compared:
        return best
    plans = [planner.forecast.plan(at) for planner in planners]
    full = [
        Look(way, planner.forecast.at(at), plan.horizon, plan.growth)
        for way, planner, plan in zip(open_ways, planners, plans, strict=True)
    ]
    return replace(best, choices=choices(in_order(full)))


def planner_under(inputs: PlanningInputs, mechanism: Mechanism, like: Planner | None = None) -> Planner:
    """The planner under one mechanism; horizons beyond the one that its noise is priced for are not open.

    By the exact law where there is one, the ball that training is kept in leaves it alone and answers are summed up; else by
    rehearsal, which counts what a projection does, what becomes of answers, and what clipping gradients does.

    Parameters
    ----------
    inputs : what the learner plans with.
    mechanism : how answers are made noisy.
    like : a planner with the same rows, records and seed; its resamples will do where both go by the exact law.
    """
    if mechanism.horizon is not None:
        inputs = replace(inputs, settings=priced_for(inputs.settings, mechanism.horizon, mechanism.growth))
    if inputs.settings.keeps_sums and inputs.settings.trains_by.exact:
        drawn = like.bootstrap if like is not None and like.forecast.kind == "exact" else None
        planner = exact_planner(inputs, mechanism, drawn)
        if not inputs.settings.aggregation.sums or planner.ball_binds():
            return calibrated_planner(inputs, mechanism, planner.forecast.plan_set)
        return planner
    return calibrated_planner(inputs, mechanism)


def ways(inputs: PlanningInputs) -> list[Way]:
    """Every way to train that is open to the learner; what does not go together is left out where something does.

    Raises
    ------
    InputError
        The first refusal, where nothing goes together.
    """
    found: list[Way] = []
    refused: list[InputError] = []
    for settings in inputs.among or (inputs.settings,):
        decided = replace(inputs, settings=settings, among=())
        try:
            found += [Way(decided, mechanism) for mechanism in open_mechanisms(decided)]
        except InputError as error:
            refused.append(error)
    if not found:
        raise refused[0]
    return found


def open_mechanisms(inputs: PlanningInputs) -> list[Mechanism]:
    """The mechanisms left open: one where it is named, several under "best" or where noise is priced for a horizon.

    Each is under what loss reports leave of a budget, where they were asked for.
    """
    settings, algorithm = inputs.settings, inputs.settings.trains_by
    announced = NoiseSettings(
        sizes=tuple(int(size) for size in inputs.owners.sizes),
        delta=settings.delta,
        accounting=settings.accounting,
        overlap=settings.overlap,
        formula=algorithm.published_formula,
        weights=settings.weights,
        single_record=algorithm.one_by_one,
        horizon=settings.horizon,
        horizons=algorithm.trial_horizons,
        width=algorithm.answer_width(inputs.n_parameters),
        growth=settings.growth,
        unasked=int(algorithm.stops_short),
    )
    found, reports = candidates(settings.mechanism, announced), inputs.reports
    found = [one for one in found if algorithm.noise_norm in (None, one.norm)]
    if inputs.trust.secure:  # under "best", those that owners can make together
        able = [one for one in found if one.divides]
        found = [inputs.trust.checked(one, len(inputs.owners)) for one in able or found]
    return found if reports is None else [Remaining(one, reports.query.epsilon) for one in found]
