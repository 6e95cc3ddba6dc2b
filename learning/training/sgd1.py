"""SGD1: every round uses one record, picked uniformly among all records of all owners."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.losses.records import pool_records
from learning.training.algorithms import Algorithm
from learning.training.bounds import BoundInputs, record_steps_bound, step_as_printed
from learning.training.descent import Walk
from learning.training.lots import IntArray, by_answer, drawn_ahead, most_asked, with_noise
from learning.training.task import Task, Trajectory

PICKS = ("picks", "records")  # first keys of the streams of picks; no owner has two


class SGD1(Algorithm):
    """Step c/sqrt(k) at each of T rounds, each with one record.

    Source: the multi-party write-up, Algorithm SGD1 and (4).
    """

    name = "sgd1"
    participation = "record"
    published_formulas = True
    rounds = (1, 1_000_000)
    returned = ("last", "averaged")
    decline = 0.5
    step_lengths = np.geomspace(0.003, 1, 10)
    trial_horizons = coarse_horizons = (100, 300, 1000, 3000)
    theorem = staticmethod(record_steps_bound)
    says = "each round asks one owner about one record, drawn at random (sgd1)"

    def count_answers(self, task: Task) -> list[int]:
        """Count each owner's picks in the run that picks its records most."""
        _check_noise(task)
        return most_asked(task, (owners for _, owners in draw_picks(task)))

    def run(self, task: Task) -> Trajectory:
        """Iterate theta[t+1] = Pi[theta[t] - rho_t (grad g_1 + grad g_2(theta[t]; d) + z)].

        The record d is picked uniformly among all n, independently in each run; the k-th answer of
        an owner in a run carries the k-th noise of its stream. Uniform picks weigh owners by n_l/n.
        Where the task's weights q differ, an owner's answers are scaled by q_l n/n_l, so that they
        follow sum_l q_l (mean gradient of l) on average.

        Raises
        ------
        ValueError
            If an owner keeps sums over its records and cannot answer for one of them, or noise is
            scaled to mean gradients: use `learning.privacy.subsampled.SubsampledGaussian`, or
            `learning.privacy.published_noise.PublishedNoise("sgd1", ..)`.

        Source: the multi-party write-up, Algorithm SGD1 (n grad + z there; means here, so grad +
            z/n: the step size takes the factor n). It returns the last point; the running mean is
            that of Algorithm 2 of The Value of Collaboration.
        """
        _check_noise(task)
        records = [owner.records for owner in task.owners]
        if not all(hasattr(one, "record_gradient") for one in records):
            raise ValueError(
                "SGD1 uses one record at a time: records kept as sums cannot answer; "
                "keep them as LinearRecords"
            )
        held: Any = pool_records(records)
        factor = _answer_factors(task)
        walk = Walk(task)
        for pick, owner, noise in with_noise(task, draw_picks(task)):
            answer = task.owners[0].noised(held.record_gradient(walk.phi, pick), noise)
            walk.move(task.own_gradient(walk.phi) + factor[owner, None] * answer)
        return walk.trajectory()

    def noise_told(self, task: Task, asked: Array, moved: Array) -> list[Array]:
        """Subtract the gradients of the picked records, drawn again, from the steps."""
        held: Any = pool_records([owner.records for owner in task.owners])
        factor = _answer_factors(task)
        told = [[list[Array]() for _ in range(task.runs)] for _ in task.owners]
        lots = (lot for block in draw_picks(task) for lot in zip(*block, strict=True))
        rounds = zip(task.plan.steps, lots, asked, moved, strict=True)
        for step, (pick, called), phi, free in rounds:
            answer = ((phi - free) / step - task.own_gradient(phi)) / factor[called, None]
            noise = answer - held.record_gradient(phi, pick)
            for run, owner in enumerate(called):
                told[owner][run].append(noise[run])
        return [by_answer(runs, task.width) for runs in told]

    def printed_step(self, at: BoundInputs) -> float | None:
        """|C|/sqrt(G^2 + p s^2) of steps c/sqrt(t), (4); 1/Delta of c/t, Theorem 2; else open."""
        return step_as_printed(at, at.answer_noise)


def _answer_factors(task: Task) -> Array:
    """Factor on each owner's answers that gives it its weight: 1 if it is weighted by records."""
    return task.shares * task.sizes.sum() / task.sizes


def _check_noise(task: Task) -> None:
    """Refuse noise for means: a record moves its own gradient by 2 G, a mean of n by 2 G/n."""
    if not task.mechanism.single_record and not all(owner.silent for owner in task.owners):
        raise ValueError(
            f"SGD1 needs noise for one record's gradient; {task.mechanism!r} is scaled to mean "
            "gradients"
        )


def draw_picks(task: Task) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield blocks of the records picked among all, and their owners, each (rounds, runs)."""
    ends = np.cumsum([owner.records.n_records for owner in task.owners])
    for picks in drawn_ahead(task, PICKS, lambda rng, rounds: rng.integers(0, ends[-1], rounds)):
        yield picks, np.searchsorted(ends, picks, side="right")
