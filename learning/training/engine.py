"""Batched Monte Carlo training: all replications at once, the records read once a round for all of them.

Every algorithm is a function from a Task to a Trajectory, named in ALGORITHMS; `train` is the one way in. On a quadratic
fitness an owner's answer depends on its records only through their sufficient statistics, so every round costs one
(runs, p) x (p, p) product; other losses cost one product per block of records. Noise is drawn per owner and replication,
by key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from learning.arrays import Array
from learning.privacy.budget import bounds_in_words
from learning.privacy.ledger import Ledger
from learning.threads import one_blas_thread
from learning.training.algorithms import ALGORITHMS
from learning.training.client import Client, make_clients
from learning.training.clocks import Talks
from learning.training.task import Schedule, Task

__all__ = ["Client", "Trained", "make_clients", "train", "untrained"]


@dataclass(frozen=True)
class Trained:
    """What training returned: model parameters of every run, (runs, p), and the path of the first, (rounds + 1, p).

    ``ledger`` holds what the owners' answers spent; ``task`` is what was trained, None where nobody was asked.
    """

    theta: Array = field(repr=False)
    path: Array = field(repr=False)
    plan: Schedule
    projected: float
    ledger: Ledger = field(default_factory=Ledger, repr=False)
    task: Task | None = field(default=None, repr=False)

    @cached_property
    def talks(self) -> Talks | None:
        """Who talked when, drawn again from the clocks; None where nobody goes by clocks."""
        return None if self.task is None else ALGORITHMS[self.plan.algorithm].talks(self.task)


def untrained(theta: Array, plan: Schedule, *, runs: int) -> Trained:
    """No training at all: the same model in every run."""
    return Trained(np.tile(theta, (runs, 1)), theta[None], plan, 0.0)


def charge(task: Task, answers: Sequence[int], ledger: Ledger) -> None:
    """Enter one training in which each owner gives so many answers: for everyone, or for nobody where one overspends.

    Where owners are asked as a group, every member answers.
    """
    bounds = bounds_in_words(task.coordinates)
    asked = [(one, count) for owner, count in zip(task.owners, answers, strict=True) for one in owner.asked]
    stated = [(replace(one.budget(task.mechanism, bounds), data=task.data), count) for one, count in asked]
    budgets = [(ledger.open(budget).budget, count) for budget, count in stated]
    first = None if task.plan.growth == 1 else 1  # where answers differ in price, noise is drawn from the first on
    ledger.charge_all([(budget, count) for budget, count in budgets if count], "training", first=first)


@one_blas_thread()
def train(task: Task, ledger: Ledger | None = None) -> Trained:
    """Train by DP answers with the algorithm of the plan, all replications at once.

    Parameters
    ----------
    task: who answers, with what noise, under which plan. An empty market returns the start.
    ledger: what the owners have answered before, continued; a new one unless given. Answers are charged before their
        noise is drawn, and once: replications simulate the same answers, of which a market would give one draw.

    Returns
    -------
    Trained; ``projected`` is the share of coordinates that the projection moved, over all rounds and runs.

    Raises
    ------
    BudgetExceeded
        If an owner's budget does not cover all rounds; nothing is drawn then, and nobody is charged.
    ValueError
        If no run is asked for, an owner's noise was priced for fewer rounds, or the algorithm knows no such aggregation.

    Source: see each algorithm of ALGORITHMS.
    """
    plan, coordinates, owners = task.plan, task.coordinates, tuple(task.owners)
    if task.runs < 1:
        raise ValueError(f"runs must be at least 1, got {task.runs}")
    for owner in owners:
        if owner.horizon < plan.priced and not owner.silent:
            raise ValueError(
                f"{owner.name} split its budget over {owner.horizon} rounds and answers no training of {plan.priced}"
            )
        if owner.growth != plan.growth and not owner.silent:
            raise ValueError(
                f"{owner.name} shares its budget so that answers grow by {owner.growth:g}, not by {plan.growth:g}"
            )
    ledger = Ledger() if ledger is None else ledger
    if not owners:
        return Trained(np.tile(coordinates.centre, (task.runs, 1)), coordinates.centre[None], plan, 0.0, ledger)
    if task.weights is not None:
        weights = np.asarray(task.weights, dtype=float)
        task = replace(task, weights=weights / weights.sum())
    algorithm, aggregation = ALGORITHMS[plan.algorithm], task.aggregation
    if not (algorithm.aggregates or aggregation.sums):
        raise ValueError(f"{plan.algorithm} makes nothing but a mean of answers, and no {aggregation.name}")
    charge(task, algorithm.answers(task), ledger)
    start = task.start()
    task.watch(0, start, start)
    done = algorithm.run(task)
    chosen = done.last if plan.returned == "last" else done.mean
    return Trained(coordinates.model(chosen), coordinates.model(done.path), plan, done.projected, ledger, task)
