"""From a scenario to its data and its planner: what every command begins with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from learning.forecast.inputs import PlanningInputs, PooledRecords, PublicOwners
from learning.forecast.planner import Planner
from learning.forecast.planning import make_planner
from learning.forecast.settings import Settings
from learning.threads import one_blas_thread
from learning.training.algorithms import ALGORITHMS
from scenarios.schema.loading import Scenario
from scenarios.schema.scenario import per_owner
from scenarios.tables.dataset import MarketData, market_data

Progress = Callable[[str], None]


class Prepared(NamedTuple):
    """The records of a scenario's owners, and the learner's planner."""

    data: MarketData
    planner: Planner


@one_blas_thread()
def prepare(scenario: Scenario, data: MarketData | None = None, progress: Progress = lambda stage: None) -> Prepared:
    """Read, divide and encode the table of a scenario, and forecast.

    Parameters
    ----------
    scenario : the scenario.
    data : its data where they have been read already.
    progress : called with the name of each stage as it begins.

    Raises
    ------
    InputError
        On the first rule that the file, the division or the protocol breaks.
    """
    if data is None:
        progress("reading the records")
        data = market_data(scenario)
    progress("forecasting")
    return Prepared(data, make_planner(planning_inputs(scenario, data)))


def planning_inputs(scenario: Scenario, data: MarketData) -> PlanningInputs:
    """What the learner plans with."""
    low, high = np.array(per_owner(scenario.owners.epsilon, len(data.owners), "owners.epsilon"), dtype=float).T
    learning = scenario.learning
    owners = PublicOwners(data.names, data.sizes, low, high, learning.ticks(data.names), learning.groups(data.names))
    return PlanningInputs(
        settings_of(scenario),
        owners,
        data.public,
        data.encoder.feature_bound,
        data.encoder.target.bound,
        PooledRecords(data.owners, data.fitness),
        scenario.seed,
    )


def settings_of(scenario: Scenario) -> Settings:
    """The learning section as the planner takes it; "optimal" becomes None."""
    learning = scenario.learning
    free: dict[str, Any] = {
        name: None if (value := getattr(learning, name)) == "optimal" else value
        for name in ("theta_max", "horizon", "step_size", "clip")
    }
    if free["clip"] == "none":
        free["clip"] = np.inf
    open_points = ALGORITHMS[learning.algorithm].returned  # as its paper returns it
    return Settings(
        learning.algorithm,
        str(learning.start),
        bool(learning.precondition),
        returned=open_points if learning.returned == "optimal" else (learning.returned,),
        loss=learning.objective,
        **{
            name: getattr(learning, name)
            for name in ("regularisation", "weights", "mechanism", "accounting", "delta", "overlap")
        },
        **free,
    )
