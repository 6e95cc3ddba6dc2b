"""The market of several learners: how owners divide their budgets among them."""

from __future__ import annotations

from learning.forecast.planner import Planner
from learning.randomness import Streams
from market.competition.market import Competition, Learner
from market.competition.solver import solve_competition
from market.equilibrium.solver import Equilibrium
from scenarios.schema.loading import Scenario
from scenarios.schema.market import FIRST
from scenarios.settling.game import market_game
from scenarios.settling.network import trading
from scenarios.settling.playing import limits_of
from scenarios.tables.dataset import MarketData


def competition(scenario: Scenario, data: MarketData, planner: Planner) -> Competition:
    """The market of a scenario with several learners, under its rules."""
    games = [market_game(own, data, planner) for own in learners_of(scenario)]
    names = (FIRST, *(rival.name for rival in scenario.learners or ()))
    learners = [Learner(name, game.policy, game.forecast, game.value) for name, game in zip(names, games, strict=True)]
    return Competition(games[0].owners, tuple(learners), trading(scenario, data.names))


def learners_of(scenario: Scenario) -> list[Scenario]:
    """The scenario as each of its learners has it: with its own policy, value and budget in the first one's place."""
    own = [scenario]
    for rival in scenario.learners or ():
        table = scenario.learner.model_copy(update={"value": rival.value, "budget": rival.budget})
        own.append(scenario.model_copy(update={"learner": table, "policy": rival.policy or scenario.policy}))
    return own


def settle_contest(scenario: Scenario, market: Competition, *, others: bool) -> Equilibrium:
    """Where owners come to rest who divide their budgets among several learners."""
    limits = limits_of(scenario) | {"method": scenario.market.activation}
    starts = scenario.market.starts if others else 1
    return solve_competition(market, rng=Streams(scenario.seed, "starts").rng("contest"), starts=starts, **limits)
