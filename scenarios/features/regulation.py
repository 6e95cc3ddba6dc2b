"""Regulation: a cap on budgets, a floor under payments, and a tax on leakage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from learning.declaration import NonNegative, Positive
from learning.forecast.fitness import FitnessForecast
from learning.randomness import Streams
from market.analysis.optimum import social_optimum
from market.analysis.regulation import cap_epsilon, floor_prices, tax_leakage
from market.game.game import Game
from market.policies.posted import Unit
from scenarios.features.base import Feature, Topic
from scenarios.schema.fields import Section

if TYPE_CHECKING:
    from market.analysis.assessment import WelfareGroups
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario

STARTS = 4  # of the search for the market without rules


class Regulation(Section):
    """Rules that owners and learner are under: the most that may be shared, a tax, and a floor
    under all payments."""

    epsilon_cap: Positive | None = None
    """The largest ε that an owner may sell."""
    leakage_tax: NonNegative = 0.0
    """Money that an owner pays the treasury per bit and record leaked."""
    price_floor: NonNegative = 0.0
    """Money that an owner is paid at least, per unit of `price_floor_per`."""
    price_floor_per: Unit = "epsilon"
    """The quantity that the floor counts: ε, records times ε, or records times bits."""


class Rules(Feature):
    """Rules of a regulator, and welfare by group without and with them."""

    key = "regulation"
    title = "[regulation]"
    table = Regulation
    default = Regulation()
    example = ("regulation.epsilon_cap=1.0",)
    result = "regulation"
    sentence = "regulation.txt.j2"
    topic = Topic("rules", 20)

    def is_used(self, scenario: Scenario) -> bool:
        """Test whether the scenario has any rule."""
        rules = scenario.regulation
        return bool(rules.epsilon_cap is not None or rules.leakage_tax or rules.price_floor)

    def change_game(self, scenario: Scenario, game: Game) -> Game:
        """The game under cap, then floor, then tax; a record leaks as the owners' cost says."""
        rules = scenario.regulation
        values = game.owners.cost.values
        if rules.epsilon_cap is not None:
            game = cap_epsilon(game, rules.epsilon_cap)
        if rules.price_floor:
            game = floor_prices(game, rules.price_floor, per=rules.price_floor_per, values=values)
        if rules.leakage_tax:
            game = tax_leakage(game, rules.leakage_tax, values=values)
        return game

    def facts(self, run: Run, loop: Loop) -> dict[str, Any] | None:
        """Rules, and welfare by group without them (``before``) and with them (``after``).

        Both prices of anarchy count from the best welfare without rules. None where the market
        without rules is not known to settle alike.

        Returns
        -------
        regulation : The rules, and the market without (`before`) and with them (`after`); null
            without rules.
        """
        from market.analysis.assessment import welfare_groups

        scenario = run.scenario
        if scenario.learners or scenario.externalities or scenario.time:
            return None
        free = loop.make_game(remove_rules(scenario))
        rng = Streams(scenario.seed, "regulation").rng()
        starts = min(STARTS, scenario.market.starts)
        before = loop.search(scenario, free, rng=rng, starts=starts)
        best = social_optimum(free, start=before.epsilon)
        forecast = run.planner.forecast
        return {
            **scenario.regulation.model_dump(),
            "before": describe_groups(welfare_groups(free, before, best), forecast),
            "after": describe_groups(welfare_groups(run.game, run.equilibrium, best), forecast),
        }


def remove_rules(scenario: Scenario) -> Scenario:
    """The same scenario without rules."""
    return scenario.model_copy(update={"regulation": Regulation()})


def describe_groups(side: WelfareGroups, forecast: FitnessForecast) -> dict[str, Any]:
    """Welfare of owners, learner and treasury at one equilibrium."""
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
