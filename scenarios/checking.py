"""Everything that a run would refuse, found without forecasting, settling or training anything."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from learning.collected_errors import collect_errors
from learning.forecast.ways import list_open_ways
from market.game.game import Game
from scenarios.drivers.arrivals import arriving
from scenarios.features.gossip import find_gossip
from scenarios.features.network import find_sight
from scenarios.planning import check_size, planning_inputs, prepare
from scenarios.schema.kinds import make_declared
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import check_fears, market_game, market_owners
from scenarios.tables.dataset import MarketData, market_data
from scenarios.user_policy import is_written, load_policy

# A budget that every accounting covers; whether one covers more takes seconds to tell.
COUNTED = 100


def check_scenario(scenario: Scenario) -> MarketData:
    """The data of a scenario, if it can be run.

    Faults that take a forecast to find are left to the run, except those of a user's own policy,
    which is asked for payments here.

    Raises
    ------
    InputErrors
        With every rule found broken.
    """
    found: list[MarketData] = []
    collect_errors(partial(load_policy, scenario), lambda: found.append(market_data(scenario)))
    (data,) = found
    ordered = data.in_order(scenario)
    checks: list[Callable[[], object]] = [
        partial(check_market, ordered, data),
        partial(find_sight, ordered, data.names),
        partial(find_gossip, ordered, data.names),
        partial(check_plan, ordered, data),
        partial(check_size, scenario, len(data.owners), data.n_parameters),
    ]
    if ordered.time:
        checks.append(partial(arriving, ordered, ordered.time, data))
    collect_errors(*checks)
    return data


def check_market(scenario: Scenario, data: MarketData) -> None:
    """Refuse a policy that cannot pay the owners, and owners whom privacy costs too much.

    A user's function is asked for payments, which takes a forecast.
    """
    owners = market_owners(scenario, data)
    if is_written(scenario):
        market_game(scenario, data, prepare(scenario, data).planner)
        return
    game = Game(owners, make_declared(scenario.policy), None, scenario.learner.per_unit)
    game.policy.check_owners(owners)


def check_plan(scenario: Scenario, data: MarketData) -> None:
    """Refuse bounds that nothing public shows, and budgets beyond the accounting."""
    inputs = planning_inputs(scenario, data)
    open_ways = list_open_ways(inputs)
    if len({way.mechanism.name for way in open_ways}) == 1:
        check_fears(scenario, open_ways[0].mechanism, len(data.owners))
    for way in open_ways:
        if inputs.sample is None:
            way.inputs.stated_coordinates(way.mechanism)
        if np.any(inputs.owners.epsilon_max > COUNTED):
            way.mechanism.noise_term(inputs.owners.epsilon_max)
