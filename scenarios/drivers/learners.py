"""A market with several learners, among whom owners divide their budgets."""

from __future__ import annotations

from dataclasses import replace

from learning.progress import Progress
from learning.randomness import Streams
from learning.training.paths import ignore_step
from market.competition.market import Competition, Learner
from market.competition.solver import solve_competition
from market.equilibrium.solver import Equilibrium
from scenarios.features.network import find_links
from scenarios.planning import Prepared
from scenarios.run import Contest, Run
from scenarios.schema.market import FIRST
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.training import train_at, watching


def run_learners(
    scenario: Scenario, prepared: Prepared, *, training: bool, others: bool, progress: Progress
) -> Run:
    """Run of the first learner, with the runs of the others and the whole market.

    Parameters are those of `scenarios.drivers.market.run_market`.
    """
    market = make_competition(scenario, prepared)
    found = settle_competition(scenario, market, others=others)
    runs = []
    for number, own in enumerate(list_learners(scenario)):
        epsilon = found.epsilon[:, number]
        payments = found.payments[:, number]
        alone = replace(found, epsilon=epsilon, payments=payments, others=(), trajectory=())
        paths = None
        trained = None
        if training:
            paths = watching(scenario, *prepared, epsilon)
            watch = paths or ignore_step
            trained = train_at(own, prepared.planner, epsilon, learner=number, watch=watch)
        runs.append(Run(own, *prepared, market.games[number], alone, trained, paths=paths))
    progress("counting up")
    return replace(runs[0], contest=Contest(market, found, tuple(runs[1:])))


def make_competition(scenario: Scenario, prepared: Prepared) -> Competition:
    """Owners and learners of a scenario, under its rules."""
    games = [market_game(own, *prepared) for own in list_learners(scenario)]
    names = (FIRST, *(rival.name for rival in scenario.learners or ()))
    learners = [
        Learner(name, game.policy, game.forecast, game.value)
        for name, game in zip(names, games, strict=True)
    ]
    links = find_links(scenario, prepared.data.names)
    return Competition(games[0].owners, tuple(learners), links)


def list_learners(scenario: Scenario) -> list[Scenario]:
    """Scenario of each learner, with its policy, value and budget in the first's place."""
    scenarios = [scenario]
    for rival in scenario.learners or ():
        table = scenario.learner.model_copy(update={"value": rival.value, "budget": rival.budget})
        changes = {"learner": table, "policy": rival.policy or scenario.policy}
        scenarios.append(scenario.model_copy(update=changes))
    return scenarios


def settle_competition(scenario: Scenario, market: Competition, *, others: bool) -> Equilibrium:
    """Equilibrium of owners who divide their budgets among several learners."""
    rules = scenario.market.stopping_rules | {"method": scenario.market.activation}
    starts = scenario.market.starts if others else 1
    rng = Streams(scenario.seed, "starts").rng("contest")
    return solve_competition(market, rng=rng, starts=starts, **rules)
