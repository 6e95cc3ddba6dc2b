"""A market whose learner bargains with each owner over a contract."""

from __future__ import annotations

from dataclasses import replace

from learning.progress import Progress
from learning.randomness import Streams
from market.equilibrium.solver import certify
from scenarios.drivers.market import train_market
from scenarios.features.bargaining import set_contracts
from scenarios.features.pricing import table_of
from scenarios.planning import Prepared
from scenarios.run import Bargained, Run
from scenarios.schema.kinds import make_declared
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.settling.settle import count_starts


def run_bargaining(
    scenario: Scenario, prepared: Prepared, *, training: bool, others: bool, progress: Progress
) -> Run:
    """Run at the contracts that the learner and the owners agree on.

    Under its contract no owner gains by another ε than it agreed to, which is certified as every
    equilibrium is. Parameters are those of `scenarios.drivers.market.run_market`.
    """
    rule = make_declared(table_of(scenario))
    game = market_game(set_contracts(scenario, 0.0), *prepared)
    rng = Streams(scenario.seed, "bargaining").rng()
    found = rule.divide_surplus(game, rng=rng, starts=count_starts(scenario, others))
    agreed = set_contracts(scenario, found.fees)
    game = market_game(agreed, *prepared)
    before = found.equilibrium
    path = tuple((k, at, *game.payments_and_payoffs(at)) for k, at, *_ in before.trajectory)
    reached = certify(game, before.epsilon)
    reached = replace(reached, starts=before.starts, trajectory=path, iterations=before.iterations)
    run = train_market(agreed, prepared, game, reached, training=training)
    progress("counting up")
    return replace(run, bargained=Bargained(scenario, found))
