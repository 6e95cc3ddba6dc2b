"""A market held once, by one learner at the policy as written."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from learning.privacy.ledger import Ledger
from learning.progress import Progress
from learning.training.paths import ignore_step
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.features.audit import choose_conduct
from scenarios.features.behaviours import assign_behaviours
from scenarios.features.go import settle_by_chance
from scenarios.planning import Prepared
from scenarios.run import Run
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle
from scenarios.summary.verdict import chance_above
from scenarios.training import charge_at, train_at, watching


def run_market(
    scenario: Scenario, prepared: Prepared, *, training: bool, others: bool, progress: Progress
) -> Run:
    """Settle the market of a scenario and train at its equilibrium.

    Parameters
    ----------
    scenario: the scenario, in the order of its data.
    prepared: its data and planner.
    training: whether to train.
    others: whether to look for further equilibria.
    progress: called with the name of each stage, and the share of it that is done.
    """
    game = market_game(scenario, *prepared)
    find = partial(settle, scenario)
    chance = 1.0
    if scenario.learner.go == "always":
        found = find(game, others=others)
    else:
        chance_at = partial(chance_to_buy, scenario, prepared, game)
        found, chance = settle_by_chance(game, find, chance_at, others=others)
    run = train_market(scenario, prepared, game, found, training=training)
    run = replace(run, chance_paid=chance)
    progress("counting up")
    return run


def chance_to_buy(scenario: Scenario, prepared: Prepared, game: Game, at: Equilibrium) -> float:
    """Chance, before any answer, that buying pays at an equilibrium."""
    run = Run(scenario, *prepared, game, at, None)
    return chance_above(run.possible_gains(float(game.payments(at.epsilon).sum())))


def train_market(
    scenario: Scenario,
    prepared: Prepared,
    game: Game,
    found: Equilibrium,
    *,
    training: bool,
    period: int = 1,
    ledger: Ledger | None = None,
) -> Run:
    """Run of a market that has settled; in one of several periods, it is entered in a ledger."""
    planner = prepared.planner
    epsilon = found.epsilon
    groups = assign_behaviours(scenario.behaviours, game.owners.names, scenario.seed)
    answering = choose_conduct(scenario, game, planner, epsilon, groups)
    conducts = answering.conducts if answering else ()
    paths = None
    trained = None
    if training:
        paths = watching(scenario, *prepared, epsilon)
        watch = paths or ignore_step
        trained = train_at(
            scenario, planner, epsilon, 0, conducts, period=period, ledger=ledger, watch=watch
        )
    elif ledger is not None:
        charge_at(scenario, planner, epsilon, period=period, ledger=ledger)
    return Run(scenario, *prepared, game, found, trained, answering=answering, paths=paths)
