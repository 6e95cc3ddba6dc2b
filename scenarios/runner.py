"""The loop: scenario -> data -> forecast -> game -> equilibrium -> training -> did the forecast hold? -> result."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from learning.privacy.ledger import Ledger
from learning.progress import Progress, silent
from learning.threads import one_blas_thread
from learning.training.paths import unwatched
from market.equilibrium.solver import Equilibrium
from market.game.game import Game
from scenarios.over_time import Steps, over_time
from scenarios.planning import Prepared, check_size, prepare
from scenarios.result import Result, plain
from scenarios.run import Contest, Run
from scenarios.schema.loading import Scenario
from scenarios.settling.answering import answering
from scenarios.settling.contest import competition, learners_of, settle_contest
from scenarios.settling.game import market_game
from scenarios.settling.playing import played
from scenarios.settling.priced import learn
from scenarios.settling.regulated import is_ruled, regulation_part, without_rules
from scenarios.settling.settle import settle
from scenarios.summary.announced import announced
from scenarios.summary.content import build_result
from scenarios.summary.network import network_part, without_network
from scenarios.training import charge_at, train_at, watching
from scenarios.user_policy import check_permitted, fingerprint


@one_blas_thread()
def run(scenario: Scenario, *, training: bool = True, progress: Progress = silent) -> Result:
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
    done = carry_out(scenario, prepare(scenario, progress=progress), training=training, progress=progress)
    return announcing(done)


def carry_out(
    scenario: Scenario,
    prepared: Prepared,
    *,
    training: bool = True,
    others: bool = True,
    progress: Progress = silent,
) -> Run:
    """Settle the market of a scenario whose records were read and planned with, and train at the equilibrium.

    Without ``others``, no other equilibrium is looked for than the one that owners came to rest in.
    """
    data, planner = prepared
    scenario = data.in_order(scenario)
    if training:
        check_size(scenario, len(data.owners), data.encoder.n_parameters)
    progress("settling the market")
    if scenario.time is not None:
        return repeated(scenario, prepared, training=training, others=others, progress=progress)
    if scenario.learners:
        return contest(scenario, prepared, training=training, others=others, progress=progress)
    priced = None
    if scenario.learner.pricing is not None:
        priced = learn(scenario, lambda one: market_game(one, data, planner), progress)
        scenario = priced.scenario
    game = market_game(scenario, data, planner)
    run = held(scenario, prepared, game, settle(scenario, game, others=others), training=training)
    progress("counting up")
    return replace(run, priced=priced)


def held(
    scenario: Scenario,
    prepared: Prepared,
    game: Game,
    found: Equilibrium,
    *,
    training: bool,
    period: int = 1,
    ledger: Ledger | None = None,
) -> Run:
    """A market that has settled, with what is trained there; in one of several periods, entered in a ledger."""
    answers = answering(scenario, game, prepared.planner, found.epsilon)
    conducts, trained = answers.conducts if answers else (), None
    paths = watching(scenario, *prepared, found.epsilon) if training else None
    if training:
        at, watch = found.epsilon, paths or unwatched
        trained = train_at(scenario, prepared.planner, at, 0, conducts, period=period, ledger=ledger, watch=watch)
    elif ledger is not None:
        charge_at(scenario, prepared.planner, found.epsilon, period=period, ledger=ledger)
    return Run(scenario, *prepared, game, found, trained, answering=answers, paths=paths)


def contest(scenario: Scenario, prepared: Prepared, *, training: bool, others: bool, progress: Progress) -> Run:
    """The same with several learners: how the first of them fares, with the others and the whole market beside it."""
    market, kinds = competition(scenario, *prepared), learners_of(scenario)
    found = settle_contest(scenario, market, others=others)
    runs = []
    for j, own in enumerate(kinds):
        sold = found.epsilon[:, j]
        alone = replace(found, epsilon=sold, payments=found.payments[:, j], others=(), trajectory=())
        paths = watching(scenario, *prepared, sold) if training else None
        trained = train_at(own, prepared.planner, sold, learner=j, watch=paths or unwatched) if training else None
        runs.append(Run(own, *prepared, market.games[j], alone, trained, paths=paths))
    progress("counting up")
    return replace(runs[0], contest=Contest(market, found, tuple(runs[1:])))


def repeated(scenario: Scenario, prepared: Prepared, *, training: bool, others: bool, progress: Progress) -> Run:
    """The same over several periods: the last in which anybody was asked anything, with all of them beside it."""

    def settles(game: Game, period: int) -> Equilibrium:
        """Where a period settles; people who draw do so anew."""
        keys = [f"period {period}"] if period > 1 else []
        return played(scenario, game, *keys) if scenario.behaviours else settle(scenario, game, others=others)

    steps = Steps(lambda now: market_game(scenario, *now), settles, partial(held, scenario, training=training))
    run = over_time(scenario, prepared, steps, progress)
    progress("counting up")
    return run


def announcing(run: Run) -> Result:
    """The result of a run, with what it announces of its training for an exchange."""
    result = result_of(run)
    return replace(result, protocol=announced(run, result.content))


def result_of(run: Run) -> Result:
    """The result of a run, with what the scenario's rules do."""
    scenario, result, rules = run.scenario, build_result(run), None
    if is_ruled(scenario) and not (scenario.learners or scenario.externalities or scenario.time):
        free = market_game(without_rules(scenario), run.data, run.planner)
        rules = plain(regulation_part(scenario, (free, run.game), run.equilibrium, run.planner.forecast))
    result.content["regulation"] = rules
    if scenario.network is not None:
        whole = carry_out(without_network(scenario), Prepared(run.data, run.planner), training=False, others=False)
        result.content["network"] = plain(network_part(run, whole))
    result.content["code"] = fingerprint(scenario)
    return result
