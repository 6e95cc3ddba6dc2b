"""Weighted local training: every owner trains alone with noise, and the models are averaged once, at the end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learning.arrays import Array
from learning.losses.linear_records import LinearRecords
from learning.losses.oracle import GradientOracle
from learning.losses.squared import SquaredStatistics
from learning.training.algorithm import Algorithm
from learning.training.client import Client, Noise
from learning.training.descent import by_round
from learning.training.task import Task, Trajectory


class Weighted(Algorithm):
    """Local training, step c at each of T local steps, averaged once.

    Source: Kang et al., Weighted Distributed Differential Privacy ERM, Algorithm 1.
    """

    name = "weighted"
    published_formula = "weighted"
    step_lengths = np.geomspace(0.02, 2, 12)
    says = "every owner trains alone with noise, and the models are averaged once, at the end (weighted)"
    counts = "local step"
    answer = "model"
    falls_short = ("owners do not hear of each other while they train",)

    def run(self, task: Task) -> Trajectory:
        """phi_j <- Pi[phi_j - c (grad g_1 + answer_j(phi_j))], T times from the start; returned is sum_j q_j phi_j[T].

        Owners never hear of each other, so averaging does not bring them to the optimum of all records unless their own
        optima agree. q is the task's: n_j/n is the paper's own choice; equal weights are the plain averaging that it is
        compared with; a single owner that holds the `pooled` records is the centralised training that it is compared with.
        Each has its own noise formula in `learning.privacy.published_noise`.

        Returns
        -------
        Trajectory: ``path`` is the weighted model of run 0 after each local step (nobody sees it before the last);
        ``mean`` is ``last``.

        Source: Kang et al., Weighted Distributed Differential Privacy ERM, Algorithm 1 (no projection there).
        """
        last = np.zeros((task.runs, task.width))
        path, moved = np.zeros((len(task.plan.steps) + 1, task.width)), 0
        for weight, owner, noise in zip(task.shares, task.owners, task.noises(), strict=True):
            alone, steps, projected = _alone(task, owner, noise)
            last += weight * alone
            path += weight * steps
            moved += projected
        return Trajectory(last, last, path, moved / max(1, len(task.plan.steps) * last.size * len(task.owners)))


def _alone(task: Task, owner: Client, noise: Noise) -> tuple[Array, Array, int]:
    """One owner's model in every run, its path in run 0, and the number of coordinates that were projected."""
    phi = task.start()
    path, moved = [phi[0]], 0
    for step, drawn in zip(task.steps, by_round(noise, len(task.plan.steps), 1), strict=True):
        free = phi - step * (task.own_gradient(phi) + owner.answer(phi, drawn))
        phi = task.coordinates.project(free)
        moved += int((phi != free).sum())
        path.append(phi[0])
    return phi, np.stack(path), moved


def pooled(records: Sequence[GradientOracle]) -> GradientOracle:
    """All owners' records as one party's: the centralised training that weighted training is compared with.

    Parameters
    ----------
    records : of each owner, at least one; all sums of squared loss, or all lines of one loss.

    Returns
    -------
    Records of the same kind, to be given to `make_clients` as a single owner's.

    Raises
    ------
    ValueError
        If there are none, or they are of different kinds.

    Source: Kang et al., Experiments: the centralised method.

    >>> from learning.losses.squared import squared_statistics
    >>> pooled([squared_statistics(np.eye(2), np.ones(2)), squared_statistics(np.ones((3, 2)), np.ones(3))]).n_records
    5
    """
    sums = [one for one in records if isinstance(one, SquaredStatistics)]
    if records and len(sums) == len(records):
        return sum(sums[1:], start=sums[0])
    lines = [one for one in records if isinstance(one, LinearRecords)]
    if records and len(lines) == len(records) and all(one.loss is lines[0].loss for one in lines):
        return LinearRecords(lines[0].loss, np.concatenate([one.lines for one in lines]))
    raise ValueError("records can be pooled where all are sums of squared loss, or all are lines of one loss")
