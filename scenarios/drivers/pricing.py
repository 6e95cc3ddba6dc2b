"""A market whose learner learns its price: agents play at one price after another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agents.pricing.base import Observation, learn_price
from learning.phrases import read_limit
from learning.progress import Progress, count_progress
from learning.randomness import Streams
from market.analysis.policy_search import Family, explore_policies
from scenarios.drivers.market import run_market
from scenarios.features.behaviours import make_agents
from scenarios.features.pricing import scale_money, table_of
from scenarios.planning import Prepared
from scenarios.run import Priced, Run
from scenarios.schema.kinds import make_declared
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game

POINTS = 9  # prices surveyed for the best one
PRECISION = 5e-3  # of the best one, relative


def run_learned_price(
    scenario: Scenario, prepared: Prepared, *, training: bool, others: bool, progress: Progress
) -> Run:
    """Run at the price that the learner keeps, with the prices it posted.

    Parameters are those of `scenarios.drivers.market.run_market`.
    """
    priced = learn_market_price(scenario, prepared, progress)
    run = run_market(priced.scenario, prepared, training=training, others=others, progress=progress)
    return replace(run, priced=priced)


def learn_market_price(scenario: Scenario, prepared: Prepared, progress: Progress) -> Priced:
    """Let the learner move the money in its policy as [learner.pricing] says."""
    game = market_game(scenario, *prepared)
    pricing = make_declared(table_of(scenario))
    count_post = count_progress(progress, "learning the price", pricing.prices)
    budget = read_limit(scenario.learner.budget)
    posted = 0

    def make_policy(price: float) -> Any:
        return market_game(scale_money(scenario, price), *prepared).policy

    def watch(seen: Observation) -> None:
        nonlocal posted
        posted += 1
        count_post(int(posted <= pricing.prices))

    agents = make_agents(scenario, game, "pricing")
    learned = learn_price(agents, make_policy, pricing, budget=budget, watch=watch)
    family = Family(make_policy, pricing.low, pricing.high)
    survey = explore_policies(
        game,
        family,
        rng=Streams(scenario.seed, "pricing").rng(),
        points=POINTS,
        precision=PRECISION,
        budget=budget,
        starts=1,
        bound=True,
    )
    kept = scale_money(scenario, learned.kept.price)
    return Priced(scenario, kept, learned, survey.best)
