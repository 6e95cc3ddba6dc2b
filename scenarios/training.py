"""Training at the budgets that owners settled on: who answers under which plan, with which noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from learning.forecast.planner import Planner
from learning.privacy.ledger import Ledger
from learning.progress import counting
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS
from learning.training.conduct import Conduct
from learning.training.engine import Trained, charge, train, untrained
from learning.training.paths import Paths, Watch, unwatched
from learning.training.task import Task
from scenarios.planning import check_size
from scenarios.schema.loading import Scenario
from scenarios.tables.dataset import MarketData

WATCHED = 100  # rounds of a path at most, where each takes a pass over the records


def watching(scenario: Scenario, data: MarketData, planner: Planner, epsilon: np.ndarray) -> Paths | None:
    """What keeps the paths of a training at given budgets; None where the scenario asks for none."""
    if not scenario.validation.paths:
        return None
    rounds, learning = len(planner.forecast.plan(epsilon).steps), planner.inputs.settings
    every = learning.loss.quadratic and not learning.clips_gradients
    steps = None if every else frozenset(np.linspace(0, rounds, min(rounds, WATCHED) + 1).round().astype(int).tolist())
    return Paths(planner.coordinates.model, data.fitness, steps)


def train_at(
    scenario: Scenario,
    planner: Planner,
    epsilon: np.ndarray,
    learner: int = 0,
    conducts: Sequence[Conduct] = (),
    *,
    period: int = 1,
    ledger: Ledger | None = None,
    watch: Watch = unwatched,
) -> Trained:
    """Train at given budgets with the plan the learner forecasts to be best; its own model where none is a gain.

    Noise is that of the ``learner`` of that number and of that ``period``, independent of the others'. Owners answer as
    ``conducts`` has it, one for each; honestly unless given. What is answered is entered in a ``ledger``, if one is given,
    before any noise is drawn. ``watch`` is called after each step.
    """
    plan = planner.forecast.plan(epsilon)
    if not plan.asks or not np.any(epsilon > 0):
        return untrained(planner.own_model, plan, runs=scenario.validation.runs)
    did = counting(planner.inputs.progress, "training at the equilibrium", 1)
    task = training_task(scenario, planner, epsilon, learner, conducts, period)
    return train(replace(task, did=did, watch=watch, data="" if ledger is None else data_of(period)), ledger)


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
