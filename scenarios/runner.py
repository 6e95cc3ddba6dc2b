"""The loop: scenario -> data -> forecast -> game -> equilibrium -> training -> did the forecast hold? -> result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from learning.forecast.planner import Planner
from learning.privacy.ledger import Ledger
from learning.progress import Progress, counting, silent
from learning.randomness import Streams
from learning.threads import one_blas_thread
from learning.training.algorithms import ALGORITHMS
from learning.training.conduct import Conduct
from learning.training.engine import Trained, charge, train, untrained
from learning.training.task import Task
from market.analysis.assessment import stay_or_leave
from market.analysis.unions import acting
from market.columns import column
from market.competition.market import Competition, Learner
from market.competition.solver import solve_competition
from market.costs.base import Cost
from market.costs.claimed import OnClaim
from market.equilibrium.solver import Equilibrium, solve
from market.game.game import Game
from scenarios.answering import answering
from scenarios.market import market_owners
from scenarios.network import trading
from scenarios.network_part import network_part, without_network
from scenarios.over_time import Steps, over_time
from scenarios.planning import Prepared, check_size, isolated_as_known, measure_of, prepare
from scenarios.players import as_paid, as_played, solved, unions_of
from scenarios.playing import limits_of, played
from scenarios.priced import learn
from scenarios.regulated import is_ruled, regulate, regulation_part, without_rules
from scenarios.result import Result, plain
from scenarios.run import Contest, Run
from scenarios.schema.kinds import made
from scenarios.schema.loading import Scenario
from scenarios.schema.market import FIRST
from scenarios.summary import build_result
from scenarios.tables.dataset import MarketData
from scenarios.user_policy import check_permitted, check_policy, fingerprint, load_policy

MANY, MOVES = 1000, 1_000_000  # in larger markets than this agents stop after so many moves in all


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
    return result_of(carry_out(scenario, prepare(scenario, progress=progress), training=training, progress=progress))


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
    if training:
        trained = train_at(scenario, prepared.planner, found.epsilon, 0, conducts, period=period, ledger=ledger)
    elif ledger is not None:
        charge_at(scenario, prepared.planner, found.epsilon, period=period, ledger=ledger)
    return Run(scenario, *prepared, game, found, trained, answering=answers)


def contest(scenario: Scenario, prepared: Prepared, *, training: bool, others: bool, progress: Progress) -> Run:
    """The same with several learners: how the first of them fares, with the others and the whole market beside it."""
    market, kinds = competition(scenario, *prepared), learners_of(scenario)
    found = settle_contest(scenario, market, others=others)
    runs = []
    for j, own in enumerate(kinds):
        sold = found.epsilon[:, j]
        alone = replace(found, epsilon=sold, payments=found.payments[:, j], others=(), trajectory=())
        trained = train_at(own, prepared.planner, sold, learner=j) if training else None
        runs.append(Run(own, *prepared, market.games[j], alone, trained))
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


def competition(scenario: Scenario, data: MarketData, planner: Planner) -> Competition:
    """The market of a scenario with several learners, under its rules."""
    games = [market_game(own, data, planner) for own in learners_of(scenario)]
    names = (FIRST, *(rival.name for rival in scenario.learners or ()))
    learners = [Learner(name, game.policy, game.forecast, game.value) for name, game in zip(names, games, strict=True)]
    return Competition(games[0].owners, tuple(learners), trading(scenario, data.names))


def learners_of(scenario: Scenario) -> list[Scenario]:
    """The scenario as each of its learners has it: with its own policy, value and budget in the first one's place."""
    own = [scenario]
    for rival in scenario.learners or ():
        table = scenario.learner.model_copy(update={"value": rival.value, "budget": rival.budget})
        own.append(scenario.model_copy(update={"learner": table, "policy": rival.policy or scenario.policy}))
    return own


def settle_contest(scenario: Scenario, market: Competition, *, others: bool) -> Equilibrium:
    """Where owners come to rest who divide their budgets among several learners."""
    limits = limits_of(scenario) | {"method": scenario.market.activation}
    starts = scenario.market.starts if others else 1
    return solve_competition(market, rng=Streams(scenario.seed, "starts").rng("contest"), starts=starts, **limits)


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


def market_game(scenario: Scenario, data: MarketData, planner: Planner) -> Game:
    """The game of a scenario: its owners, its policy, the forecast they look at, and the rules they are under."""
    scenario, written = data.in_order(scenario), load_policy(scenario)
    measure, counted = measure_of(scenario, planner), partial(counted_cost, scenario, planner)
    owners = market_owners(scenario, data, lambda: measure.own(isolated_as_known(data, planner)), counted)
    game = Game(owners, written or made(scenario.policy), measure.of(planner.forecast), scenario.learner.per_unit)
    if written is not None:
        check_policy(written, game)
    return regulate(scenario, game)


def counted_cost(scenario: Scenario, planner: Planner, cost: Cost) -> Cost:
    """A privacy cost at the budgets that owners sell, or at what is claimed of the noise where all of them share."""
    mechanism, horizon = planner.mechanism, scenario.learning.horizon
    if scenario.owners.cost_at == "sold" or not isinstance(horizon, int):  # where claims differ, a horizon is stated
        return cost
    return OnClaim(cost, lambda epsilon, sizes: mechanism.claimed_epsilon(epsilon, column(sizes, epsilon), horizon))


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


def train_at(
    scenario: Scenario,
    planner: Planner,
    epsilon: np.ndarray,
    learner: int = 0,
    conducts: Sequence[Conduct] = (),
    *,
    period: int = 1,
    ledger: Ledger | None = None,
) -> Trained:
    """Train at given budgets with the plan the learner forecasts to be best; its own model where none is a gain.

    Noise is that of the ``learner`` of that number and of that ``period``, independent of the others'. Owners answer as
    ``conducts`` has it, one for each; honestly unless given. What is answered is entered in a ``ledger``, if one is given,
    before any noise is drawn.
    """
    plan = planner.forecast.plan(epsilon)
    if not plan.asks or not np.any(epsilon > 0):
        return untrained(planner.own_model, plan, runs=scenario.validation.runs)
    did = counting(planner.inputs.progress, "training at the equilibrium", 1)
    task = training_task(scenario, planner, epsilon, learner, conducts, period)
    return train(replace(task, did=did, data="" if ledger is None else data_of(period)), ledger)


def charge_at(scenario: Scenario, planner: Planner, epsilon: np.ndarray, *, period: int, ledger: Ledger) -> None:
    """Enter what a training at given budgets would answer, and train nothing."""
    if planner.asks(epsilon):
        task = replace(training_task(scenario, planner, epsilon, period=period), data=data_of(period))
        charge(task, ALGORITHMS[task.plan.algorithm].answers(task), ledger)


def data_of(period: int) -> str:
    """What a ledger calls the records that a period asks about."""
    return f"period {period}"


def training_task(
    scenario: Scenario,
    planner: Planner,
    epsilon: np.ndarray,
    learner: int = 0,
    conducts: Sequence[Conduct] = (),
    period: int = 1,
) -> Task:
    """The training at given budgets: who answers under which plan, with which noise from which streams."""
    whose = f" of learner {learner + 1}" if learner else f" of period {period}" if period > 1 else ""
    owners, weights, plan = planner.clients(epsilon, conducts=conducts)
    check_size(scenario, len(owners), len(planner.own_model), plan.horizon)
    return Task(
        owners,
        planner.coordinates,
        plan,
        planner.mechanism_at(epsilon).law,
        runs=scenario.validation.runs,
        streams=Streams(scenario.seed, f"noise{whose}"),
        regularisation=scenario.learning.regularisation,
        weights=weights,
        aggregation=planner.inputs.settings.aggregation,
    )
