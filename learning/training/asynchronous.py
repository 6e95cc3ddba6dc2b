"""Asynchronous training: at each tick of random clocks one owner talks, and the learner gossips with its copy.

Owners whose records are one object answer together, in one product.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from learning.arrays import Array
from learning.training.algorithm import Algorithm
from learning.training.bounds import Bound, BoundInputs
from learning.training.clocks import Clocks, Talks, chances, most_talks, relative_steps, tick_times
from learning.training.lots import NOBODY, Whole, alike, drawn_ahead, most_asked, with_noise
from learning.training.task import Task, Trajectory
from learning.training.theorems import asynchronous_bound

CLOCK = ("clock", "ticks")  # first keys of the streams that the clocks are drawn from; no owner has two
TIMES = ("clock", "times", 0)  # key of the times of the first run's ticks, which training does not depend on


class Asynchronous(Algorithm):
    """Gossip with one owner at each of T ticks, step c/T^2; ``plan.clocks`` says who talks when.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP Machine Learning, Algorithm 1, (5) and (7).
    """

    name = "asynchronous"
    clocked = True
    needs_strong_convexity = True
    asks_at_random = True
    says = (
        "owners answer one at a time, as random clocks tick, and each mixes a copy of the model with the learner's "
        "(asynchronous gossip)"
    )
    counts = "tick"
    horizon_power = 2
    trial_horizons = coarse_horizons = (30, 100, 300)  # ticks, of which an owner answers one in N

    def published_bound(self, at: BoundInputs) -> Bound:
        """c_1 sqrt(A) + c_2 A on the distance. Source: Farokhi et al., Theorem 2 and Appendix B."""
        return asynchronous_bound(at)

    def priced(self, clocks: Clocks, n_owners: int, horizon: int) -> int | None:
        """The talks that the clocks will hardly ever exceed."""
        return most_talks(clocks, n_owners, horizon)

    def trial_constants(self, horizon: int, curvature: float, weights: Array, *, coarse: bool = False) -> Array:
        """Long steps: a tick moves the copies' mean by 1/N of one, stable up to N max(q) c/T^2 = 2."""
        n_owners = len(weights)
        longest = min(30.0 * n_owners, 1.9 * horizon / (n_owners * weights.max()))
        return np.geomspace(0.01, max(longest, 1.0), 14) * horizon / curvature

    def answers(self, task: Task) -> list[int]:
        """Queries that each owner answers: how often it talks in the run in which it talks most."""
        return most_asked(task, _ticks(task))

    def talks(self, task: Task) -> Talks:
        """Who talks when, of the streams that training draws it from."""
        owners, called = len(task.owners), np.concatenate(list(_ticks(task)))
        counts = np.stack([(called == number).sum(axis=0) for number in range(owners)], axis=1)
        times = tick_times(task.plan.clocks, owners, len(called), rng=task.streams.rng(*TIMES))
        return Talks(called[:, 0], times, counts)

    def run(self, task: Task) -> Trajectory:
        """At each tick owner i talks: with m = (theta_L + theta_i)/2 and s = c/T^2,

            theta_i = Pi[m - N s a_i (grad g_1(m)/(2N) + q_i answer_i(m))],    theta_L = Pi[m - s e grad g_1(m)].

        All copies start at the public start. a_i = 1, or, where the clocks are ``scaled``, 1/N over the chance that it is i
        who talks, given that somebody does: an owner that talks less often takes longer steps (Remark 4).

        e = 1/2 as proved and (N-1)/N as printed. The proof splits f = g_1 + sum_i q_i f_i into (eta g_1 + q_i f_i) for each
        owner and (1 - eta N) g_1 for the learner, who moves by alpha_L of its gradient at every tick, while each owner moves
        by alpha_i = N alpha_L at one tick in N. It takes eta = 1/(2N), as (5) does; then 1 - eta N = 1/2, and the gradients
        of g_1 add up to one. (7) is printed with (N-1)/N, that is eta = 1/N^2: together with (5) the walk then descends on
        (3N-2)/(2N) g_1 + sum_i q_i f_i, and so ends elsewhere.

        The c of s is the rho/sigma of the paper. What is returned is the learner's copy, which is its own ``mean`` too;
        ``projected`` is the share of coordinates of both copies that move. Rates or dropouts that do not fit the owners
        are refused with an InputError.

        Clocks are public and drawn by run; an owner's k-th talk in a run carries the k-th noise of its stream of that run.
        Nobody answers more often than its budget covers (`Plan.priced`): the tick is lost then.
        In a broadcast only the first answer is ever given: who would come later is told to stop, and spends nothing.
        Steps do not shrink within a training, so it ends around the optimum, at a distance that falls with s: without noise
        the owners' pulls still differ, and theta_L lies about s grad g_1/2 off the mean of the copies.

        Source: Farokhi et al., The Cost of Privacy in Asynchronous DP Machine Learning, Algorithm 1, (5)-(7), Appendix B,
        Remark 4.
        """
        owners, clocks, runs = len(task.owners), task.plan.clocks, task.runs
        reach = owners * (relative_steps(clocks, owners) if clocks.scaled else np.ones(owners))
        lead = 0.5 if clocks.reading == "proved" else (owners - 1) / owners
        step_scale = np.ones((runs, 1)) if task.step_scale is None else np.broadcast_to(task.step_scale, (runs, 1))
        _, kind = np.unique([id(owner.records) for owner in task.owners], return_inverse=True)
        learner, copies = task.start(), np.zeros((runs, owners, task.width))
        path = np.zeros((len(task.plan.steps) + 1, task.width))
        moved = heard = 0
        talks = with_noise(task, ((called, called) for called in _ticks(task)))
        for k, (step, (called, _, noise)) in enumerate(zip(task.plan.steps, talks, strict=True), start=1):
            rows = np.flatnonzero(called != NOBODY)
            who = called[rows]
            middle = (learner[rows] + copies[rows, who]) / 2
            own = task.own_gradient(middle)
            answer = noise[rows]
            for same in alike(kind[who]):
                answer[same] = task.owners[who[same[0]]].answer(middle[same], answer[same])
            steps = step * step_scale[rows]
            pull = own / (2 * owners) + task.shares[who, None] * answer
            talked = middle - steps * reach[who, None] * pull
            led = middle - steps * lead * own
            copies[rows, who] = task.coordinates.project(talked)
            learner[rows] = task.coordinates.project(led)
            moved += int((copies[rows, who] != talked).sum() + (learner[rows] != led).sum())
            heard += len(rows)
            path[k] = learner[0]
            task.did(1 / len(task.plan.steps))
            task.watch(k, learner, learner)
        return Trajectory(learner, learner, path, moved / max(1, 2 * heard * task.width))


def _ticks(task: Task) -> Iterator[Whole]:
    """Who talks, (ticks of a block, distinct runs), NOBODY where the tick is lost; each run from its own stream.

    Which of two ways to talk it is does not matter here: ticks are independent, and their chances say it all.
    """
    edges = np.cumsum(chances(task.plan.clocks, len(task.owners)))
    if edges[-1] > 1 - 1e-12:  # nothing is lost: rounding must not lose a tick either
        edges[-1] = 1.0
    counts = np.zeros((len(edges), task.draws), dtype=int)
    for drawn in drawn_ahead(task, CLOCK, lambda source, ticks: source.random(ticks)):
        called = np.searchsorted(edges, drawn, side="right")
        talks = np.where(called < len(edges), called, NOBODY)
        if task.plan.priced < len(task.plan.steps):
            _fall_silent(talks, counts, task.plan.priced)
        yield talks


def _fall_silent(talks: Whole, counts: Whole, most: int) -> None:
    """Lose the ticks of owners that have answered as often as their budgets cover; counts so far are kept up."""
    runs = np.arange(talks.shape[1])
    for called in talks:
        heard = called != NOBODY
        counts[called[heard], runs[heard]] += 1
        called[heard & (counts[called, runs] > most)] = NOBODY
