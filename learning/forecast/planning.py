"""Which mechanism, and by which kind of forecast: the way from what a learner knows to its planner."""

from __future__ import annotations

from dataclasses import replace

from learning.forecast.calibrated_planner import calibrated_planner
from learning.forecast.exact_planner import exact_planner
from learning.forecast.inputs import PlanningInputs
from learning.forecast.planner import Planner
from learning.forecast.settings import Settings
from learning.privacy.mechanism import Mechanism, NoiseSettings
from learning.privacy.mechanisms import candidates
from learning.privacy.remaining import Remaining


def make_planner(inputs: PlanningInputs) -> Planner:
    """Protocol and forecast, from public rows where there are any, else from the pooled records.

    Where several mechanisms are open to the learner, the one with the smallest forecast at the reference budgets is
    taken, and announced before any owner chooses.

    Raises
    ------
    InputError
        If a bound that must be public is neither stated nor shown by public rows.
    """
    planners: list[Planner] = []
    for mechanism in open_mechanisms(inputs):
        planners.append(planner_under(inputs, mechanism, planners[0] if planners else None))
    return min(planners, key=lambda planner: planner.forecast.at(inputs.owners.reference))


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


def priced_for(settings: Settings, answers: int, growth: float | None) -> Settings:
    """The settings under noise that is priced for so many answers, and for one growth of their shares."""
    if growth in (1, None):
        return replace(settings, horizon=answers, growth=settings.growth if growth is None else growth)
    return replace(settings, horizon=answers + settings.trains_by.stops_short, growth=growth)


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
    )
    found, reports = candidates(settings.mechanism, announced), inputs.reports
    return found if reports is None else [Remaining(one, reports.query.epsilon) for one in found]
