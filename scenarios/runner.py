"""The loop: scenario -> data -> forecast -> game -> equilibrium -> training -> result."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from learning.progress import Progress, ignore_progress
from learning.threads import one_blas_thread
from learning.workers import keep_workers
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.drivers import choose_driver
from scenarios.features.behaviours import play_market
from scenarios.planning import Prepared, check_size, prepare
from scenarios.result import Result
from scenarios.run import Loop, Run
from scenarios.schema.scenario import Scenario
from scenarios.settling.game import market_game
from scenarios.settling.settle import search_equilibrium
from scenarios.summary.announced import make_protocol
from scenarios.summary.content import build_result, describe_run
from scenarios.user_policy import check_permitted, fingerprint


@keep_workers()
@one_blas_thread()
def run(
    scenario: Scenario, *, training: bool = True, progress: Progress = ignore_progress
) -> Result:
    """Run a scenario from its file to its result.

    Parameters
    ----------
    scenario: the scenario.
    training: whether to train at the equilibrium and check the forecast.
    progress: called with the name of each stage as it begins, and the share of it that is done.

    Raises
    ------
    InputError
        On the first rule that the scenario or its data breaks.
    """
    check_permitted(scenario)
    done = carry_out(
        scenario, prepare(scenario, progress=progress), training=training, progress=progress
    )
    return with_protocol(done)


def carry_out(
    scenario: Scenario,
    prepared: Prepared,
    *,
    training: bool = True,
    others: bool = True,
    progress: Progress = ignore_progress,
) -> Run:
    """Settle the market of a scenario whose data and planner are at hand, and train there.

    Without ``others``, no other equilibrium is looked for than the one that owners came to rest in.
    Nothing is trained where only the number of the owners' records is known.
    """
    data = prepared.data
    scenario = data.in_order(scenario)
    training = training and data.has_records
    if training:
        check_size(scenario, len(data.owners), data.n_parameters)
    progress("settling the market")
    drive = choose_driver(scenario)
    return drive(scenario, prepared, training=training, others=others, progress=progress)


def with_protocol(run: Run) -> Result:
    """The result of a run, with what it announces of its training for an exchange."""
    result = result_of(run)
    return replace(result, protocol=make_protocol(run, result.content))


def result_of(run: Run) -> Result:
    """The result of a run."""
    prepared = Prepared(run.data, run.planner)
    loop = Loop(
        lambda scenario: market_game(scenario, *prepared),
        find_equilibrium,
        partial(carry_out, prepared=prepared, training=False, others=False),
        describe_run,
    )
    result = build_result(run, loop)
    result.content["code"] = fingerprint(run.scenario)
    return result


def find_equilibrium(
    scenario: Scenario, game: Game, *, rng: np.random.Generator, starts: int
) -> Equilibrium:
    """Equilibrium of a game whose owners behave as the scenario says."""
    if scenario.behaviours:
        return play_market(scenario, game)
    return search_equilibrium(scenario, game, rng=rng, starts=starts)
