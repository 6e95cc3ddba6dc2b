"""Weighted local training: every owner trains alone with noise; models are averaged at the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from learning.training.algorithms import Algorithm
from learning.training.bounds import BoundInputs, weighted_bound
from learning.training.descent import Walk, iterate_noise
from learning.training.paths import ignore_step
from learning.training.task import Task, Trajectory


class Weighted(Algorithm):
    """Local training, step c at each of T local steps, averaged once.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, Algorithm 1.
    """

    name = "weighted"
    participation = "local"
    published_formulas = True
    step_lengths = np.geomspace(0.02, 2, 12)
    theorem = staticmethod(weighted_bound)
    says = (
        "every owner trains alone with noise, and the models are averaged once, at the end "
        "(weighted)"
    )
    counts = "local step"
    answer = "model"
    falls_short = ("owners do not hear of each other while they train",)

    def printed_step(self, at: BoundInputs) -> float | None:
        """1/lambda, at every step. Source: Kang et al., Theorems 2 and 3."""
        if at.decline == 0 and at.smoothness < np.inf:
            return 1 / at.smoothness
        return None

    def run(self, task: Task) -> Trajectory:
        """Take T steps phi_j <- Pi[phi_j - c (grad g_1 + answer_j(phi_j))]; sum_j q_j phi_j[T].

        Owners never exchange models, so the mean is not the optimum of all records unless their
        own optima agree. q is the task's: n_j/n is the paper's own choice. Equal weights are the
        plain averaging, and a single owner with all records the centralised training, that the
        paper compares with; each has its own noise formula in `learning.privacy.published_noise`.

        Returns
        -------
        Trajectory: ``path`` is the weighted model of run 0 after each local step, which is public
            only after the last; ``mean`` is ``last``.

        Source: Kang et al., Weighted Distributed Differential Privacy ERM, Algorithm 1 (no
            projection there).
        """
        last = task.start()
        moved = 0
        steps = len(task.plan.steps)
        path = np.zeros((steps + 1, task.width))
        watched = task.watch is not ignore_step
        points = np.zeros((steps * watched, *last.shape))
        for weight, owner, noise in zip(task.shares, task.owners, task.noises(), strict=True):
            alone = Walk(replace(task, watch=ignore_step), 1 / len(task.owners))
            for step, drawn in enumerate(iterate_noise(task, noise, 1)):
                alone.move(task.own_gradient(alone.phi) + owner.answer(alone.phi, drawn))
                if watched:
                    points[step] += weight * alone.phi
            last += weight * alone.phi
            path += weight * alone.path
            moved += alone.moved
        for step, point in enumerate(points, start=1):
            task.watch(step, point, point)
        return Trajectory(last, last, path, moved / max(1, steps * last.size * len(task.owners)))
