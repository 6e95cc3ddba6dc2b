"""Batched Monte Carlo training: all replications at once, one reading of the records a round.

`train` is the one entry point. On a quadratic fitness an owner's answer depends on its records only
through their sufficient statistics, so every round costs one (runs, p) x (p, p) product; other
losses cost one product per block of records. Noise is drawn per owner and replication, by key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.arrays import Array
from learning.privacy.ledger import Ledger, describe_bounds
from learning.threads import one_blas_thread
from learning.training.algorithms import ALGORITHMS
from learning.training.clocks import Talks
from learning.training.plan import Plan
from learning.training.task import Task


@dataclass(frozen=True)
class Trained:
    """Result of a training.

    Parameters
    ----------
    theta: array (runs, p), model parameters of every run.
    path: array (rounds + 1, p), the models of the first run.
    plan: the plan of the training.
    projected: share of coordinates that the projection moved, over all rounds and runs.
    ledger: spending of the owners' answers.
    task: the training; None if no owner was asked.
    stopped: share of the runs that went back to the start, since answers grew.
    """

    theta: Array = field(repr=False)
    path: Array = field(repr=False)
    plan: Plan
    projected: float
    ledger: Ledger = field(default_factory=Ledger, repr=False)
    task: Task | None = field(default=None, repr=False)
    stopped: float = 0.0

    @cached_property
    def talks(self) -> Talks | None:
        """Talks of the owners, drawn again from their clocks; None without clocks."""
        if self.task is None:
            return None
        return ALGORITHMS[self.plan.algorithm].reconstruct_talks(self.task)


def untrained_result(theta: Array, plan: Plan, *, runs: int) -> Trained:
    """Make the result without a training: the same model in every run."""
    return Trained(np.tile(theta, (runs, 1)), theta[None], plan, 0.0)


def charge_training(task: Task, answers: Sequence[int], ledger: Ledger) -> None:
    """Charge each owner for its number of answers; charge no owner where one overspends.

    Every member of a group answers when the group is asked.
    """
    coordinates = task.coordinates
    bounds = describe_bounds(coordinates)
    if coordinates.moments is not None:
        bounds += f", {coordinates.moments!r}"
    if coordinates.given_bound is not None:
        bounds += f", noise for gradients of {coordinates.given_bound!r}"
    charged = []
    for owner, count in zip(task.owners, answers, strict=True):
        for one in owner.asked:
            records = one.records.n_records // task.coordinates.targets
            stated = replace(one.budget(task.mechanism, bounds), data=task.data, n_records=records)
            budget = ledger.open(stated).budget
            if count:
                charged.append((budget, count))
    # where answers differ in price, noise is drawn from the first on
    ledger.charge_all(charged, "training", first=None if task.plan.growth == 1 else 1)


@one_blas_thread()
def train(task: Task, ledger: Ledger | None = None) -> Trained:
    """Train by DP answers with the algorithm of the plan, all replications at once.

    Parameters
    ----------
    task: the training; without owners it returns the start.
    ledger: the owners' earlier answers, continued; a new one unless given. Answers are charged
        before their noise is drawn, and once: replications simulate the same answers, of which a
        market would give one draw.

    Raises
    ------
    BudgetExceeded
        If an owner's budget does not cover all rounds; nothing is drawn or charged then.
    ValueError
        If there are no runs, an owner's noise was priced for fewer rounds or another growth of its
        shares, or the algorithm does not support the aggregation.
    """
    plan = task.plan
    coordinates = task.coordinates
    algorithm = ALGORITHMS[plan.algorithm]
    _check_task(task)
    ledger = Ledger() if ledger is None else ledger
    if not task.owners:
        return replace(untrained_result(coordinates.centre, plan, runs=task.runs), ledger=ledger)
    if task.weights is not None:
        weights = np.asarray(task.weights, dtype=float)
        task = replace(task, weights=weights / weights.sum())
    aggregation = task.aggregation
    if not (algorithm.aggregates or aggregation.sums):
        raise ValueError(
            f"{plan.algorithm} makes nothing but a mean of answers, and no {aggregation.name}"
        )
    charge_training(task, algorithm.count_answers(task), ledger)
    start = task.start()
    task.watch(0, start, start)
    done = algorithm.run(task)
    theta = coordinates.model(done.point(plan.returned))
    path = coordinates.model(done.path)
    return Trained(theta, path, plan, done.projected, ledger, task, done.stopped)


def _check_task(task: Task) -> None:
    """Refuse a training without runs, or one that the owners' budgets were not split for."""
    plan = task.plan
    if task.runs < 1:
        raise ValueError(f"runs must be at least 1, got {task.runs}")
    for owner in (one for one in task.owners if not one.silent):
        if owner.horizon < plan.priced:
            raise ValueError(
                f"{owner.name} split its budget over {owner.horizon} rounds and answers no "
                f"training of {plan.priced}"
            )
        if owner.growth != plan.growth:
            raise ValueError(
                f"{owner.name} shares its budget so that answers grow by {owner.growth:g}, not by "
                f"{plan.growth:g}"
            )
