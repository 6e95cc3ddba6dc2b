"""Which mechanism, and by which kind of forecast: the way from what a learner knows to its planner."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from learning.forecast.calibrated_planner import calibrated_planner
from learning.forecast.exact_planner import exact_planner
from learning.forecast.inputs import PlanningInputs
from learning.forecast.planner import Planner
from learning.forecast.settings import Settings
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace_pld import AccountedLaplace
from learning.privacy.mechanism import Laplace, Mechanism
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.subsampled import SubsampledGaussian

ANNOUNCED = (2, 3, 4, 6, 10, 17)  # horizons tried where the noise of a budget depends on the horizon in its own way


def make_planner(inputs: PlanningInputs) -> Planner:
    """Protocol and forecast, from public rows where there are any, else from the pooled records.

    Where several mechanisms are open to the learner, the one with the smallest forecast at the reference budgets is
    taken, and announced before any owner chooses.

    Raises
    ------
    InputError
        If a bound that must be public is neither stated nor shown by public rows.
    """
    planners = [planner_under(inputs, mechanism) for mechanism in open_mechanisms(inputs)]
    return min(planners, key=lambda planner: planner.forecast.at(inputs.owners.reference))


def planner_under(inputs: PlanningInputs, mechanism: Mechanism) -> Planner:
    """The planner under one mechanism; horizons beyond the one that its noise is priced for are not open."""
    if isinstance(mechanism, AccountedLaplace | SubsampledGaussian):
        inputs = replace(inputs, settings=replace(inputs.settings, horizon=mechanism.horizon))
    exact = inputs.settings.loss == "squared" and inputs.settings.trains_by.exact
    return (exact_planner if exact else calibrated_planner)(inputs, mechanism)


def open_mechanisms(inputs: PlanningInputs) -> list[Mechanism]:
    """The mechanisms left open: one where it is named, several under "best" or Laplace noise with pld."""
    settings = inputs.settings
    delta, overlap, how = settings.delta, settings.overlap, str(settings.accounting)
    if settings.mechanism == "laplace" and how == "basic":
        return [Laplace(overlap)]
    assert delta is not None
    if settings.mechanism == "laplace":
        return accounted(settings)
    if settings.mechanism == "best":
        return [Laplace(overlap), Gaussian(delta, "pld", overlap), *accounted(settings)]
    sizes = tuple(int(size) for size in inputs.owners.sizes)
    if how == "printed":
        formula: Any = settings.algorithm
        if formula == "weighted" and settings.weights == "equal":
            formula = "plain"
        return [PublishedNoise(formula, delta, sizes)]
    if settings.trains_by.one_by_one:
        horizons = settings.trains_by.trial_horizons() if settings.horizon is None else (settings.horizon,)
        return [SubsampledGaussian(delta, sum(sizes), horizon, how, overlap) for horizon in horizons]
    return [Gaussian(delta, how, overlap)]


def accounted(settings: Settings) -> list[Mechanism]:
    """Laplace noise under exact accounting, for the horizon stated or for several."""
    assert settings.delta is not None
    horizons = ANNOUNCED if settings.horizon is None else (settings.horizon,)
    return [AccountedLaplace(settings.delta, horizon, settings.overlap) for horizon in horizons]
