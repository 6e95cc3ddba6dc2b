"""Descent in rounds that every owner answers: what the synchronous and averaged algorithms and SGD2 have in common."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from learning.arrays import Array
from learning.training.algorithm import Algorithm
from learning.training.client import Noise
from learning.training.law import averaging
from learning.training.task import Task, Trajectory

NUMBERS_HELD = 4_000_000  # of noise, over all owners: what is drawn ahead


class Descent(Algorithm):
    """Descent in rounds that every owner answers; subclasses say how long the steps are and which point is returned."""

    sums_answers = True

    def run(self, task: Task) -> Trajectory:
        """theta[k+1] = Pi[theta[k] - rho_k (grad g_1 + sum_l q_l answer_l(theta[k]))], and the running mean beside it.

        Source: Wu et al., The Value of Collaboration, Algorithms 1 (no projection there) and 2; the multi-party write-up,
        SGD2 (sums there, means here: the step size takes up the factor n).
        """
        phi, mean = task.start(), task.start()
        path, moved = [phi[0]], 0
        rounds = zip(*(by_round(noise, len(task.plan.steps), len(task.owners)) for noise in task.noises()), strict=True)
        for k, (step, noises) in enumerate(zip(task.steps, rounds, strict=True), start=1):
            gradient = task.own_gradient(phi)
            for weight, owner, noise in zip(task.shares, task.owners, noises, strict=True):
                gradient += weight * owner.answer(phi, noise)
            a, b = averaging(k, task.plan.horizon)
            mean = a * mean + b * phi
            free = phi - step * gradient
            phi = task.coordinates.project(free)
            moved += int((phi != free).sum())
            path.append(phi[0])
        return Trajectory(phi, mean, np.stack(path), moved / max(1, len(task.plan.steps) * phi.size))


def by_round(noise: Noise, queries: int, owners: int) -> Iterator[Array]:
    """The noise of each query, (runs, p), drawn a few rounds ahead: memory stays bounded however many rounds there are."""
    ahead = max(1, NUMBERS_HELD // (max(1, len(noise.scale)) * noise.width * owners))
    for first in range(0, queries, ahead):
        yield from noise.take(min(ahead, queries - first))
