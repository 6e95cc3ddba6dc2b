"""Which mechanism, and by which kind of forecast: the way from a scenario to its outlook."""

from __future__ import annotations

from typing import Any

from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace_pld import AccountedLaplace
from learning.privacy.mechanism import Laplace, Mechanism
from learning.privacy.published_noise import PublishedNoise
from learning.privacy.subsampled import SubsampledGaussian
from learning.training.algorithms import ALGORITHMS
from scenarios.outlook import EXACT, Planner, oracle_exact, public_exact, reference
from scenarios.rehearsed import calibrated_planner
from scenarios.schema.loading import Scenario
from scenarios.tables.dataset import MarketData

ANNOUNCED = (2, 3, 4, 6, 10, 17)  # horizons tried where the noise of a budget depends on the horizon in its own way


def make_planner(scenario: Scenario, data: MarketData) -> Planner:
    """Protocol and forecast of a scenario, from public rows where there are any, else from the pooled records.

    Where several mechanisms are open to the learner, the one with the smallest forecast at the reference budgets is
    taken, and announced before any owner chooses.

    Raises
    ------
    InputError
        If a bound that must be public is neither stated nor shown by public rows.
    """
    views = [outlook_with(scenario, data, mechanism) for mechanism in mechanisms_of(scenario, data)]
    return min(views, key=lambda planner: planner.forecast.at(reference(scenario, data)))


def outlook_with(scenario: Scenario, data: MarketData, mechanism: Mechanism) -> Planner:
    """The outlook under one mechanism; horizons beyond the one that its noise is priced for are not open."""
    if isinstance(mechanism, AccountedLaplace | SubsampledGaussian):
        scenario = with_horizon(scenario, mechanism.horizon)
    if scenario.learning.loss != "squared" or scenario.learning.algorithm not in EXACT:
        return calibrated_planner(scenario, data, mechanism)
    return (public_exact if data.public is not None else oracle_exact)(scenario, data, mechanism)


def mechanisms_of(scenario: Scenario, data: MarketData) -> list[Mechanism]:
    """The mechanisms that a scenario leaves open: one where it names it, several under "best" or Laplace noise with pld."""
    learning = scenario.learning
    overlap = learning.overlap
    if learning.mechanism == "laplace" and learning.accounting == "basic":
        return [Laplace(overlap)]
    assert learning.delta is not None
    if learning.mechanism == "laplace":
        return accounted(scenario)
    if learning.mechanism == "best":
        return [Laplace(overlap), Gaussian(learning.delta, "pld", overlap), *accounted(scenario)]
    sizes = tuple(int(size) for size in data.sizes)
    if learning.accounting == "printed":
        formula: Any = learning.algorithm
        if formula == "weighted" and learning.weights == "equal":
            formula = "plain"
        return [PublishedNoise(formula, learning.delta, sizes)]
    chosen = ALGORITHMS[learning.algorithm]
    if chosen.one_by_one:
        horizons = chosen.trial_horizons() if learning.horizon == "optimal" else (int(learning.horizon),)
        how = str(learning.accounting)
        return [SubsampledGaussian(learning.delta, sum(sizes), horizon, how, overlap) for horizon in horizons]
    return [Gaussian(learning.delta, str(learning.accounting), overlap)]


def accounted(scenario: Scenario) -> list[Mechanism]:
    """Laplace noise under exact accounting, for the horizon stated or for several."""
    learning = scenario.learning
    assert learning.delta is not None
    horizons = ANNOUNCED if learning.horizon == "optimal" else (int(learning.horizon),)
    return [AccountedLaplace(learning.delta, horizon, learning.overlap) for horizon in horizons]


def with_horizon(scenario: Scenario, horizon: int) -> Scenario:
    """The same scenario with a number of rounds stated."""
    learning = scenario.learning.model_copy(update={"horizon": horizon})
    changed = scenario.model_copy(update={"learning": learning})
    changed._folder, changed._allow_code = scenario._folder, scenario._allow_code
    return changed
