"""The game of a scenario: its owners under its policy, the forecast they look at, and its rules."""

from __future__ import annotations

from functools import partial

import numpy as np

from learning.errors import InputError
from learning.forecast.planner import Planner
from learning.forecast.worth import worth_of_all
from learning.privacy.mechanism import Mechanism
from market.columns import column
from market.costs.base import Cost
from market.costs.claimed import OnClaim
from market.game.game import Game
from scenarios.planning import isolated_as_known, measure_of
from scenarios.schema.fields import show
from scenarios.schema.kinds import made
from scenarios.schema.loading import Scenario
from scenarios.settling.owners import market_owners
from scenarios.settling.regulated import regulate
from scenarios.tables.dataset import MarketData
from scenarios.user_policy import check_policy, load_policy


def market_game(scenario: Scenario, data: MarketData, planner: Planner) -> Game:
    """The game of a scenario: its owners, its policy, the forecast they look at, and the rules they are under."""
    scenario, written = data.in_order(scenario), load_policy(scenario)
    measure, counted = measure_of(scenario, planner), partial(counted_cost, scenario, planner)
    owners = market_owners(scenario, data, lambda: measure.own(isolated_as_known(data, planner)), counted)
    worth = partial(worth_of_all, planner.forecast, owners.epsilon_min, owners.epsilon_max)
    game = Game(
        owners,
        written or made(scenario.policy).settled(owners, worth),
        measure.of(planner.forecast),
        scenario.learner.per_unit,
    )
    if written is not None:
        check_policy(written, game)
    return regulate(scenario, game)


def counted_cost(scenario: Scenario, planner: Planner, cost: Cost) -> Cost:
    """A privacy cost at the budgets that owners sell, or at what is claimed of the noise where all of them share.

    Of noise that owners make together, at what is claimed of a budget against whom they fear; that others may ask for more
    noise than it takes is not counted.
    """
    mechanism, horizon, trust = planner.mechanism, scenario.learning.horizon, scenario.trusts
    if trust.secure:
        check_fears(scenario, mechanism, len(planner.inputs.owners))
        feared = feared_budget(scenario, mechanism, len(planner.inputs.owners))
        return OnClaim(cost, lambda epsilon, sizes: feared(epsilon=epsilon))
    if scenario.owners.cost_at == "sold" or not isinstance(horizon, int):  # where claims differ, a horizon is stated
        return cost
    return OnClaim(cost, lambda epsilon, sizes: mechanism.claimed_epsilon(epsilon, column(sizes, epsilon), horizon))


def feared_budget(scenario: Scenario, mechanism: Mechanism, n_owners: int) -> partial:
    """The epsilon that is claimed of a budget sold against whom owners fear, where they make one noise together."""
    return partial(scenario.trusts.feared, mechanism, n_owners, scenario.owners.cost.fears or "learner")


def check_fears(scenario: Scenario, mechanism: Mechanism, n_owners: int) -> None:
    """Refuse costs counted against somebody from whom noise made together hides nothing.

    Raises
    ------
    InputError
    """
    if scenario.trusts.secure and np.isinf(feared_budget(scenario, mechanism, n_owners)(epsilon=np.array([1.0]))).any():
        rule = f'must be "learner" with {mechanism.label} noise made by owners none of whose parts may be known'
        raise InputError("owners.cost.fears", rule, show(scenario.owners.cost.fears), "Or set trust.colluders to 1.")
