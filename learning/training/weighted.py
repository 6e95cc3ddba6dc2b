"""Weighted local training: every owner trains alone with noise, and the models are averaged once, at the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learning.arrays import Array
from learning.training.algorithm import Algorithm
from learning.training.bounds import Bound, BoundInputs
from learning.training.descent import Walk, by_round
from learning.training.paths import Watch, unwatched
from learning.training.task import Task, Trajectory
from learning.training.theorems import weighted_bound


class Weighted(Algorithm):
    """Local training, step c at each of T local steps, averaged once.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, Algorithm 1.
    """

    name = "weighted"
    prints_step = True
    published_formula = "weighted"
    step_lengths = np.geomspace(0.02, 2, 12)
    says = "every owner trains alone with noise, and the models are averaged once, at the end (weighted)"
    counts = "local step"
    answer = "model"
    falls_short = ("owners do not hear of each other while they train",)

    def published_bound(self, at: BoundInputs) -> Bound:
        """(1 - L/lambda)^T (f(theta[1]) - f*) + p sigma^2/(2 L), steps 1/lambda. Source: Kang et al., Theorem 2, (11)."""
        return weighted_bound(at)

    def printed_step(self, at: BoundInputs) -> float | None:
        """1/lambda, at every step. Source: Kang et al., Theorems 2 and 3."""
        return 1 / at.smoothness if at.decline == 0 and at.smoothness < np.inf else None

    def run(self, task: Task) -> Trajectory:
        """phi_j <- Pi[phi_j - c (grad g_1 + answer_j(phi_j))], T times from the start; returned is sum_j q_j phi_j[T].

        Owners never hear of each other, so averaging does not bring them to the optimum of all records unless their own
        optima agree. q is the task's: n_j/n is the paper's own choice; equal weights are the plain averaging that it is
        compared with; a single owner that holds the records `together` is the centralised training that it is compared with.
        Each has its own noise formula in `learning.privacy.published_noise`.

        Returns
        -------
        Trajectory: ``path`` is the weighted model of run 0 after each local step (nobody sees it before the last);
        ``mean`` is ``last``.

        Source: Kang et al., Weighted Distributed Differential Privacy ERM, Algorithm 1 (no projection there).
        """
        last, moved = task.start(), 0
        path = np.zeros((len(task.plan.steps) + 1, task.width))
        points = None if task.watch is unwatched else np.zeros((len(task.plan.steps), *last.shape))
        for weight, owner, noise in zip(task.shares, task.owners, task.noises(), strict=True):
            own = unwatched if points is None else _added_to(points, weight)
            alone = Walk(replace(task, watch=own), 1 / len(task.owners))
            for drawn in by_round(task, noise, 1):
                alone.move(task.own_gradient(alone.phi) + owner.answer(alone.phi, drawn))
            last += weight * alone.phi
            path += weight * alone.path
            moved += alone.moved
        for step, point in enumerate(() if points is None else points, start=1):
            task.watch(step, point, point)
        return Trajectory(last, last, path, moved / max(1, len(task.plan.steps) * last.size * len(task.owners)))


def _added_to(points: Array, weight: float) -> Watch:
    """Adds an owner's points, step by step, to the weighted ones (steps, runs, p)."""

    def watch(step: int, phi: Array, mean: Array) -> None:
        points[step - 1] += weight * phi

    return watch
