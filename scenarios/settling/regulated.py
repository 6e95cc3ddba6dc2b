"""The rules of a scenario's [regulation] table, and what they do to whom."""

from __future__ import annotations

from typing import Any

from learning.forecast.fitness import FitnessForecast
from learning.randomness import Streams
from market.analysis.assessment import Groups, groups
from market.analysis.optimum import social_optimum
from market.analysis.regulation import cap_epsilon, floor_prices, tax_leakage
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.schema.market import Regulation
from scenarios.schema.scenario import Scenario
from scenarios.settling.players import solved
from scenarios.settling.playing import played

STARTS = 4


def is_ruled(scenario: Scenario) -> bool:
    """Whether the scenario has any rule at all."""
    rules = scenario.regulation
    return bool(rules.epsilon_cap is not None or rules.leakage_tax or rules.price_floor)


def without_rules(scenario: Scenario) -> Scenario:
    """The same scenario with no rules."""
    return scenario.model_copy(update={"regulation": Regulation()})


def regulate(scenario: Scenario, game: Game) -> Game:
    """The game under the scenario's rules: cap, then floor, then tax; a record leaks as the owners' cost has it."""
    rules, values = scenario.regulation, game.owners.cost.values
    if rules.epsilon_cap is not None:
        game = cap_epsilon(game, rules.epsilon_cap)
    if rules.price_floor:
        game = floor_prices(game, rules.price_floor, per=rules.price_floor_per, values=values)
    if rules.leakage_tax:
        game = tax_leakage(game, rules.leakage_tax, values=values)
    return game


def regulation_part(
    scenario: Scenario, games: tuple[Game, Game], found: Equilibrium, forecast: FitnessForecast
) -> dict[str, Any]:
    """The rules, and welfare by group without them (``before``) and with them (``after``).

    Parameters
    ----------
    games : the game without and with rules
    found : the equilibrium with them
    forecast : of the model's relative fitness

    Both prices of anarchy count from the best welfare that could be had without rules.
    """
    rng, (free, game) = Streams(scenario.seed, "regulation").rng(), games
    starts = min(STARTS, scenario.market.starts)
    before = played(scenario, free) if scenario.behaviours else solved(scenario, free, rng=rng, starts=starts)
    best = social_optimum(free, start=before.epsilon)
    return {
        **scenario.regulation.model_dump(),
        "before": _row(groups(free, before, best), forecast),
        "after": _row(groups(game, found, best), forecast),
    }


def _row(side: Groups, forecast: FitnessForecast) -> dict[str, Any]:
    return {
        "epsilon": side.equilibrium.epsilon,
        "converged": side.equilibrium.converged,
        "relative_fitness": forecast.at(side.equilibrium.epsilon),
        "spending": side.spending,
        "owners": float(side.owners.sum()),
        "learner": side.learner,
        "treasury": side.treasury,
        "total": side.total,
        "gini": side.gini,
        "price_of_anarchy": side.price_of_anarchy,
        "price_of_anarchy_at_most": side.anarchy_at_most,
    }
