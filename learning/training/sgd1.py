"""SGD1: every round uses one record, picked uniformly among all records of all owners."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.losses.together import together
from learning.training.algorithm import Algorithm
from learning.training.bounds import Bound, BoundInputs
from learning.training.descent import Walk
from learning.training.lots import Whole, by_answer, drawn_ahead, most_asked, with_noise
from learning.training.task import Task, Trajectory
from learning.training.theorems import record_steps_bound, step_as_printed

PICKS = ("picks", "records")  # first keys of the streams that records are picked from; no owner has two


class SGD1(Algorithm):
    """Step c/sqrt(k) at each of T rounds, each with one record.

    Source: the multi-party write-up, Algorithm SGD1 and (4).
    """

    name = "sgd1"
    one_by_one = True
    weighs_owners = False
    published_formula = "sgd1"
    asks_at_random = True
    rounds = (1, 1_000_000)
    returned = ("last", "averaged")
    decline = 0.5
    prints_step = True
    step_lengths = np.geomspace(0.003, 1, 10)
    trial_horizons = coarse_horizons = (100, 300, 1000, 3000)  # and more, since each round asks for one record
    says = "each round asks one owner about one record, drawn at random (sgd1)"

    def answers(self, task: Task) -> list[int]:
        """Queries that each owner answers: how often its records are picked in the run that picks them most."""
        _check_noise(task)
        return most_asked(task, (owners for _, owners in _picks(task)))

    def run(self, task: Task) -> Trajectory:
        """theta[t+1] = Pi[theta[t] - rho_t (grad g_1 + grad g_2(theta[t]; d) + z)], d one record picked from all n.

        Picks are uniform over all records, apart in each run; the k-th answer of an owner in a run carries the k-th noise of
        its stream. Uniform picks weigh owners by n_l/n. Where the task's weights q differ from that, an owner's answers are
        scaled by q_l n/n_l, so that they follow sum_l q_l (mean gradient of l) on average.

        Raises
        ------
        ValueError
            If an owner keeps sums over its records and cannot answer for one of them, or noise is added that was scaled to
            mean gradients: use `learning.privacy.subsampled.SubsampledGaussian`, or
            `learning.privacy.published_noise.PublishedNoise("sgd1", ..)`.

        Source: the multi-party write-up, Algorithm SGD1 (n grad + z there; means here, so grad + z/n: the step size takes up
        the factor n). It returns the last point; the running mean beside it is that of Algorithm 2 of The Value of
        Collaboration.
        """
        _check_noise(task)
        records = [owner.records for owner in task.owners]
        if not all(hasattr(one, "record_gradient") for one in records):
            raise ValueError(
                "SGD1 uses one record at a time: records kept as sums cannot answer; keep them as LinearRecords"
            )
        held: Any = together(records)
        factor = _factors(task)
        walk = Walk(task)
        for pick, owner, noise in with_noise(task, _picks(task)):
            answer = task.owners[0].noised(held.record_gradient(walk.phi, pick), noise)
            walk.move(task.own_gradient(walk.phi) + factor[owner, None] * answer)
        return walk.trajectory()

    def noise_told(self, task: Task, asked: Array, moved: Array) -> list[Array]:
        """By the picks of the same streams: what each step holds beside the gradient of the record picked."""
        held: Any = together([owner.records for owner in task.owners])
        factor, told = _factors(task), [[list[Array]() for _ in range(task.runs)] for _ in task.owners]
        lots = (lot for block in _picks(task) for lot in zip(*block, strict=True))
        for step, (pick, called), phi, free in zip(task.plan.steps, lots, asked, moved, strict=True):
            answer = ((phi - free) / step - task.own_gradient(phi)) / factor[called, None]
            noise = answer - held.record_gradient(phi, pick)
            for run, owner in enumerate(called):
                told[owner][run].append(noise[run])
        return [by_answer(runs, task.width) for runs in told]

    def published_bound(self, at: BoundInputs) -> Bound:
        """O(..) in two cases, by how steps fall. Source: the multi-party write-up, Theorem 2."""
        return record_steps_bound(at)

    def printed_step(self, at: BoundInputs) -> float | None:
        """|C|/sqrt(G^2 + p s^2) of steps c/sqrt(t), (4); 1/Delta of steps c/t, Theorem 2; else open."""
        return step_as_printed(at, at.answer_noise)


def _factors(task: Task) -> Array:
    """What an owner's answers are scaled by, so that they weigh as the owner does: 1 where it weighs by its records."""
    return np.asarray(task.shares * task.sizes.sum() / task.sizes)


def _check_noise(task: Task) -> None:
    """Replacing a record moves an answer of one record by 2 G, and an answer of n_l records by 2 G/n_l."""
    if not task.mechanism.single_record and not all(owner.silent for owner in task.owners):
        raise ValueError(f"SGD1 needs noise for one record's gradient; {task.mechanism!r} is scaled to mean gradients")


def _picks(task: Task) -> Iterator[tuple[Whole, Whole]]:
    """Numbers of the records picked among all, and their owners, (rounds of a block, distinct runs)."""
    ends = np.cumsum([owner.records.n_records for owner in task.owners])
    for picks in drawn_ahead(task, PICKS, lambda source, rounds: source.integers(0, ends[-1], size=rounds)):
        yield picks, np.searchsorted(ends, picks, side="right")
