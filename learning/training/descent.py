"""Descent in rounds that every owner answers: what the synchronous and averaged algorithms and SGD2 have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from learning.arrays import Array
from learning.training.algorithm import Algorithm
from learning.training.client import Noise
from learning.training.law import Returned, averaging
from learning.training.task import Task, Trajectory

NUMBERS_HELD = 4_000_000  # of noise, over all owners: what is drawn ahead


class Walk:
    """The points phi of all runs on their way: theta[k+1] = Pi[theta[k] - rho_k gradient], and their running mean.

    Parameters
    ----------
    task: whose steps rho_k are taken, from whose start, in whose ball.
    part: of the training that this walk is.
    """

    def __init__(self, task: Task, part: float = 1.0) -> None:
        self.task, self.phi, self.mean = task, task.start(), task.start()
        self.steps, self.scale = task.plan.steps, 1.0 if task.step_scale is None else task.step_scale
        self.path, self.rounds, self.moved = np.zeros((len(self.steps) + 1, task.width)), 0, 0
        self.share = part / max(1, len(self.steps))

    def move(self, gradient: Array) -> None:
        """The next step, along a gradient (runs, p) of the whole cost."""
        a, b = averaging(self.rounds + 1, self.task.plan.horizon)
        self.mean = a * self.mean + b * self.phi
        free = self.phi - self.steps[self.rounds] * self.scale * gradient
        self.phi = self.task.coordinates.project(free)
        self.moved += int((self.phi != free).sum())
        self.rounds += 1
        self.path[self.rounds] = self.phi[0]
        self.task.did(self.share)
        self.task.watch(self.rounds, self.phi, self.mean)

    def trajectory(self) -> Trajectory:
        """What was walked."""
        return Trajectory(self.phi, self.mean, self.path, self.moved / max(1, len(self.steps) * self.phi.size))


class Descent(Algorithm):
    """Descent in rounds that every owner answers; subclasses say how long the steps are and which point is returned."""

    exact = True
    sums_answers = True
    aggregates = True
    shares_may_grow = True

    def run(self, task: Task) -> Trajectory:
        """theta[k+1] = Pi[theta[k] - rho_k (grad g_1 + sum_l q_l answer_l(theta[k]))], and the running mean beside it.

        In the place of the sum stands what the task's aggregation makes of the answers.

        Source: Wu et al., The Value of Collaboration, Algorithms 1 (no projection there) and 2; the multi-party write-up,
        SGD2 (sums there, means here: the step size takes up the factor n).
        """
        walk, combine = Walk(task), task.aggregation.begin(task)
        for noises in zip(*(by_round(task, noise, len(task.owners)) for noise in task.noises()), strict=True):
            answers = (owner.answer(walk.phi, noise) for owner, noise in zip(task.owners, noises, strict=True))
            walk.move(combine(task.own_gradient(walk.phi), answers))
        return walk.trajectory()

    def trial_points(self, returned: Sequence[Returned], horizon: int) -> list[Returned]:
        """All but the running mean of a single step, which is the start itself: doing nothing at a price."""
        return [point for point in returned if point == "last" or self.queries(horizon) != 1]


def by_round(task: Task, noise: Noise, owners: int) -> Iterator[Array]:
    """The noise of each query, (runs, p), drawn a few rounds ahead: memory stays bounded however many rounds there are."""
    queries, ahead = len(task.plan.steps), max(1, NUMBERS_HELD // (task.runs * task.width * owners))
    for first in range(0, queries, ahead):
        yield from noise.take(min(ahead, queries - first))
