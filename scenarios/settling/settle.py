"""Where the owners of a scenario come to rest: by agents' play, by search, or both."""

from __future__ import annotations

from dataclasses import replace

from learning.randomness import Streams
from market.analysis.assessment import stay_or_leave
from market.analysis.unions import acting
from market.equilibrium.solver import Equilibrium, solve
from market.game.game import Game
from scenarios.schema.loading import Scenario
from scenarios.settling.players import as_paid, as_played, solved, unions_of
from scenarios.settling.playing import limits_of, played

MANY, MOVES = 1000, 1_000_000  # in larger markets than this agents stop after so many moves in all


def settle(scenario: Scenario, game: Game, *, others: bool = True) -> Equilibrium:
    """Where the owners come to rest, moving as the scenario says, and every other equilibrium that many starts lead to.

    Agents play the first start round by round; a direct solver then looks for other equilibria from other starts. Where
    the agents do not come to rest in an equilibrium, one that the solver finds is taken, and the agents' path is kept.
    Without ``others``, where the first start leads to an equilibrium, it is the same one and no other is looked for.
    Where some behave otherwise than rationally, the agents' play is all there is. With unions, these and the other owners
    respond in turn, without agents. Owners who may leave do so where they lose, and
    come back where they gain; those who stay then settle as told.
    """
    if scenario.market.participation == "free":
        bound = scenario.model_copy(update={"market": scenario.market.model_copy(update={"participation": "bound"})})
        return stay_or_leave(game, lambda now: settle(bound, now, others=others))[0]
    if scenario.behaviours:
        return played(scenario, game)
    search, limits, starts = Streams(scenario.seed, "starts").rng(), limits_of(scenario), scenario.market.starts
    if acting(unions_of(scenario, game)):
        return solved(scenario, game, rng=search, starts=starts if others else 1, **limits)
    if scenario.externalities is not None:
        alone = scenario.model_copy(update={"externalities": None})
        return as_paid(game, settle(alone, as_played(scenario, game), others=others))
    if len(game.owners) > scenario.market.agents:
        first = solve(game, rng=search, starts=starts if others else 1, **limits)
        return first if first.converged or others else settle(scenario, game)
    from agents.model import DataMarket  # Mesa and what it loads take half a second

    activation = scenario.market.activation
    rules = limits | {"max_rounds": rounds_for(len(game.owners), scenario.market.max_rounds)}
    moved = DataMarket(game, rng=Streams(scenario.seed, "order").rng(), activation=activation, **rules).run()
    if moved.converged and not others:
        return moved
    found = solve(game, rng=search, start=moved.epsilon, starts=starts, **limits)
    if not moved.converged:
        return replace(found, trajectory=moved.trajectory, agents=moved.agents)
    return replace(moved, reason=found.reason, others=found.others, starts=found.starts)


def rounds_for(n_owners: int, most: int) -> int:
    """Rounds that agents play at most: what the scenario says, and in large markets so many that they take seconds."""
    return most if n_owners <= MANY else min(most, MOVES // n_owners)
