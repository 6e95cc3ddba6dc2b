"""Training at the budgets that owners settled on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from learning.forecast.planner import Planner
from learning.privacy.ledger import Ledger
from learning.progress import count_progress
from learning.randomness import Streams
from learning.training.algorithms import ALGORITHMS
from learning.training.conduct import Conduct
from learning.training.engine import Trained, charge_training, train, untrained_result
from learning.training.paths import Paths, Watch, ignore_step
from learning.training.plan import Plan
from learning.training.task import Task
from scenarios.planning import check_size
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData

WATCHED = 100  # rounds of a path at most, where each takes a pass over the records


def watching(
    scenario: Scenario, data: MarketData, planner: Planner, epsilon: np.ndarray
) -> Paths | None:
    """Make the recorder of a training's paths; None where the scenario asks for none."""
    if not scenario.validation.paths:
        return None
    rounds = len(planner.forecast.plan(epsilon).steps)
    learning = planner.inputs.settings
    steps = None  # every one
    if learning.clips_gradients or not learning.loss.quadratic:
        watched = np.linspace(0, rounds, min(rounds, WATCHED) + 1)
        steps = frozenset(watched.round().astype(int).tolist())
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
    watch: Watch = ignore_step,
) -> Trained:
    """Train at given budgets with the plan that the learner forecasts to be best.

    Where no plan is a gain, nothing is asked, and the result is the learner's own model.

    Parameters
    ----------
    scenario, planner : the scenario, owners in the order of its data, and its planner.
    epsilon : array (n_owners,), the budgets.
    learner : number of the learner; its noise is independent of the others'.
    conducts : how each owner answers; honestly unless given.
    period : number of the period, from 1; its noise is independent of the others'.
    ledger : where the answers are entered before any noise is drawn.
    watch : called after each step.
    """
    plan = planner.forecast.plan(epsilon)
    if not plan.asks or not np.any(epsilon > 0):
        return untrained_result(planner.own_model, plan, runs=scenario.validation.runs)
    did = count_progress(planner.inputs.progress, "training at the equilibrium", 1)
    task = training_task(scenario, planner, epsilon, learner, conducts, period)
    if ledger is not None:
        task = replace(task, data=data_of(period))
    return train(replace(task, did=did, watch=watch), ledger)


def charge_at(
    scenario: Scenario, planner: Planner, epsilon: np.ndarray, *, period: int, ledger: Ledger
) -> None:
    """Enter what a training at given budgets would answer, and train nothing."""
    if planner.asks(epsilon):
        task = replace(
            training_task(scenario, planner, epsilon, period=period), data=data_of(period)
        )
        charge_training(task, ALGORITHMS[task.plan.algorithm].count_answers(task), ledger)


def data_of(period: int) -> str:
    """Name in a ledger of the records that a period asks about."""
    return f"period {period}"


def training_task(
    scenario: Scenario,
    planner: Planner,
    epsilon: np.ndarray,
    learner: int = 0,
    conducts: Sequence[Conduct] = (),
    period: int = 1,
) -> Task:
    """Training at given budgets: clients, plan, noise law and streams."""
    whose = f" of period {period}" * (period > 1)
    if learner:
        whose = f" of learner {learner + 1}"
    owners, weights, plan = planner.clients(epsilon, conducts=conducts)
    check_size(scenario, len(owners), len(planner.own_model), plan.horizon)
    return Task(
        owners,
        planner.coordinates,
        plan,
        planner.mechanism_at(epsilon).training_mechanism,
        runs=scenario.validation.runs,
        streams=Streams(scenario.seed, f"noise{whose}"),
        regularisation=scenario.learning.regularisation,
        weights=weights,
        aggregation=planner.inputs.settings.aggregation,
        stops=_gradients_shrink(planner, plan),
    )


def _gradients_shrink(planner: Planner, plan: Plan) -> bool:
    """Test whether gradients shrink from step to step if the plan suits the owners' records.

    So they do under squared loss with steps of at most 2 over the largest curvature. Other plans
    may let them grow for a while, and go on.
    """
    settings = planner.inputs.settings
    if not settings.loss.quadratic or settings.start == "zero":
        return False
    return bool(np.all(plan.steps * planner.curvatures[1] <= 2))
