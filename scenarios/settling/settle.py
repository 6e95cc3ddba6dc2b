"""Equilibrium of a scenario's game: by agents' play, by search, or both."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from learning.randomness import Streams
from market.equilibrium.solver import Equilibrium, solve
from market.game.game import Game
from scenarios.features import Feature, features_in_use
from scenarios.features.base import SolveGame
from scenarios.schema.scenario import Scenario

MANY = 1000  # owners beyond which the number of rounds is cut
MOVES = 1_000_000  # of agents over all rounds, in markets of more owners


def settle(scenario: Scenario, game: Game, *, others: bool = True) -> Equilibrium:
    """Equilibrium that owners reach, with every other equilibrium that many starts lead to.

    Agents play the first start round by round; a direct solver then looks for other equilibria from
    other starts. Where the agents do not come to rest in an equilibrium, one that the solver finds
    is taken, and the agents' path is kept. In a market of more owners than ``market.agents`` the
    solver alone settles. Without ``others``, where the first start leads to an equilibrium, no
    other is looked for. Features may settle the game otherwise: owners who may leave, unions,
    behaviours, externalities.
    """
    return settle_features(
        scenario,
        game,
        lambda now: settle_rational(scenario, now, others=others),
        rng=Streams(scenario.seed, "starts").rng(),
        starts=count_starts(scenario, others),
        **scenario.market.stopping_rules,
    )


def count_starts(scenario: Scenario, others: bool) -> int:
    """Number of starts of a search: one where no other equilibrium is looked for."""
    return max(scenario.market.starts * others, 1)


def search_equilibrium(
    scenario: Scenario, game: Game, *, rng: np.random.Generator, **search: Any
) -> Equilibrium:
    """Equilibrium of rational owners by search alone; ``search`` is that of `solve`."""
    rational = scenario.model_copy(update={"behaviours": None})
    return settle_features(
        rational, game, lambda now: solve(now, rng=rng, **search), rng=rng, **search
    )


def settle_features(
    scenario: Scenario, game: Game, solve_game: SolveGame, **search: Any
) -> Equilibrium:
    """Equilibrium as the features in use settle it, each around the solver of the next."""
    for feature in reversed(features_in_use(scenario)):
        solve_game = partial(settle_around, feature, scenario, solve_game, search)
    return solve_game(game)


def settle_around(
    feature: Feature, scenario: Scenario, solve_game: SolveGame, search: dict[str, Any], game: Game
) -> Equilibrium:
    """Equilibrium as one feature settles it."""
    return feature.settle(scenario, game, solve_game, **search)


def settle_rational(scenario: Scenario, game: Game, *, others: bool) -> Equilibrium:
    """Equilibrium of rational owners who choose for themselves, by agents and then by search."""
    search = Streams(scenario.seed, "starts").rng()
    rules = scenario.market.stopping_rules
    starts = scenario.market.starts
    if len(game.owners) > scenario.market.agents:
        found = solve(game, rng=search, starts=count_starts(scenario, others), **rules)
        if found.converged or others:
            return found
        return settle_rational(scenario, game, others=True)
    from agents.model import DataMarket  # Mesa and what it loads take half a second

    rounds = rounds_for(len(game.owners), scenario.market.max_rounds)
    order = Streams(scenario.seed, "order").rng()
    limits = rules | {"max_rounds": rounds}
    moved = DataMarket(game, rng=order, activation=scenario.market.activation, **limits).run()
    if moved.converged and not others:
        return moved
    found = solve(game, rng=search, start=moved.epsilon, starts=starts, **rules)
    if not moved.converged:
        return replace(found, trajectory=moved.trajectory, agents=moved.agents)
    return replace(moved, reason=found.reason, others=found.others, starts=found.starts)


def rounds_for(n_owners: int, most: int) -> int:
    """Largest number of rounds that agents play: ``most``, or fewer in markets beyond `MANY`."""
    if n_owners <= MANY:
        return most
    return min(most, MOVES // n_owners)
