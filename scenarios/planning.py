"""From a scenario to its data and its planner: what every command begins with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from learning.data.encoded import feature_bound
from learning.errors import InputError
from learning.forecast.choice import make_planner
from learning.forecast.inputs import PlanningInputs, PublicOwners
from learning.forecast.loss_reports import LossReports, fresh_losses, loss_query, read_reports
from learning.forecast.measures import RELATIVE, Measure
from learning.forecast.planner import Planner
from learning.forecast.pooled import PooledSums
from learning.forecast.prediction import expected_isolated, isolated_estimate
from learning.progress import Progress, ignore_progress
from learning.randomness import Streams
from learning.threads import one_blas_thread
from learning.workers import keep_workers
from scenarios.features.gossip import reach_of_owners
from scenarios.schema.fields import OPTIMAL, values_per_owner
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData, market_data

MOST_DRAWN = 1e11  # numbers of noise in all trainings


class Prepared(NamedTuple):
    """The records of a scenario's owners, and the learner's planner."""

    data: MarketData
    planner: Planner


@keep_workers()
@one_blas_thread()
def prepare(
    scenario: Scenario, data: MarketData | None = None, progress: Progress = ignore_progress
) -> Prepared:
    """Read, divide and encode the table of a scenario, and forecast.

    Parameters
    ----------
    scenario : the scenario.
    data : its data where they have been read already.
    progress : called with the name of each stage as it begins, and the share of it that is done.

    Raises
    ------
    InputError
        On the first rule that the file, the division or the protocol breaks.
    """
    if data is None:
        progress("reading the records")
        data = market_data(scenario)
    progress("forecasting")
    planner = make_planner(planning_inputs(scenario, data, progress))
    data.pooled.expect(planner.coordinates, progress)
    return Prepared(data, planner)


def planning_inputs(
    scenario: Scenario, data: MarketData, progress: Progress = ignore_progress
) -> PlanningInputs:
    """Public facts that the learner plans with."""
    scenario = data.in_order(scenario)
    low, high = values_per_owner(scenario.owners.epsilon, len(data.owners), "owners.epsilon").T
    learning = scenario.learning
    clocks = learning.ticks(data.names)
    groups = learning.groups(data.names)
    owners = PublicOwners(
        data.names,
        data.rows,
        low,
        high,
        clocks,
        groups,
        scenario.data.most_rows,
        reach_of_owners(scenario, data.names),
    )
    decided = tuple(one.settings for one in scenario.ways)
    if isinstance(data.pooled, PooledSums):
        decided = tuple(one for one in decided if one.keeps_sums)
    compared = decided
    if len(decided) == 1:
        compared = ()
    return PlanningInputs(
        decided[0],
        owners,
        data.public,
        feature_bound(data.encoder),
        data.encoder.target.bound,
        data.pooled,
        scenario.seed,
        collect_loss_reports(scenario, data),
        progress,
        compared,
        scenario.trusts,
        scenario.owners.spread,
        weigh_rounds(scenario, len(data.owners)),
    )


def weigh_rounds(scenario: Scenario, n_owners: int) -> float:
    """What asking all owners once costs them, in relative fitness as the learner values it.

    It is 0 where the number of rounds is stated, so that nothing hangs on it.
    """
    costs = values_per_owner(scenario.owners.round_cost, n_owners, "owners.round_cost")
    if scenario.learning.horizon != OPTIMAL or not costs.any():
        return 0.0
    return float(costs.sum() / scenario.learner.per_unit)


def collect_loss_reports(scenario: Scenario, data: MarketData) -> LossReports | None:
    """Loss reports that owners release before trading; None where none is asked for."""
    epsilon = scenario.owners.report
    sample = data.public
    if not epsilon or sample is None:
        return None
    streams = Streams(scenario.seed, "reports")
    lost = fresh_losses(sample)
    query = loss_query(sample, lost, data.sizes, epsilon, scenario.learning.overlap)
    losses = np.array(
        [query.report(owner, rng=streams.rng("noise", owner.name)) for owner in data.owners]
    )
    return read_reports(
        query, losses, data.sizes, lost, nameless=sample.owner is None, rng=streams.rng("test")
    )


def isolated_as_known(data: MarketData, planner: Planner) -> np.ndarray:
    """Relative fitness of each owner's own model, as that owner can estimate it, (n_owners,).

    Without public rows to try it on, or without records, an owner takes its records for ones like
    the others':
    C/f* (1/n_l - 1/n), C/f* the dispersion of the forecast and n_l of n records its own.
    """
    if planner.bootstrap is None:
        return np.asarray(planner.forecast.dispersion * (1 / data.sizes - 1 / data.sizes.sum()))
    if not data.has_records:
        return expected_isolated(planner.bootstrap, data.sizes)
    return isolated_estimate(planner.bootstrap, data.own_models, data.sizes)


def choose_measure(scenario: Scenario, planner: Planner) -> Measure:
    """Measure that money is counted of: relative fitness, or the unit of the learner's value."""
    worth = scenario.learner.worth
    if worth is None:
        return RELATIVE
    return planner.measure(worth.decisions)


def check_size(
    scenario: Scenario, n_owners: int, n_parameters: int, horizon: int | None = None
) -> None:
    """Refuse trainings that would take hours, by runs x rounds x owners x parameters.

    Parameters
    ----------
    scenario : the scenario.
    n_owners, n_parameters : how many there are.
    horizon : rounds; unless given, those that the scenario states, or 1 where it states none.

    Raises
    ------
    InputError
    """
    rounds = horizon or scenario.learning.horizon
    if not isinstance(rounds, int):
        rounds = 1
    runs = scenario.validation.runs
    if runs * rounds * n_owners * n_parameters > MOST_DRAWN:
        rule = (
            f"runs, rounds, owners and parameters must multiply to {MOST_DRAWN:g} at most, "
            "which takes about an hour"
        )
        found = f"{runs:,} x {rounds:,} x {n_owners:,} x {n_parameters:,}"
        raise InputError("validation.runs", rule, found, "Lower it, or learning.horizon.")
