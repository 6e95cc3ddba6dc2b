"""Asynchronous training: at each tick of random clocks one owner and the learner gossip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from learning.arrays import Array
from learning.losses.records import GradientOracle
from learning.losses.statistics import SquaredStatistics
from learning.training.algorithms import Algorithm
from learning.training.bounds import asynchronous_bound
from learning.training.client import Client
from learning.training.clocks import (
    Clocks,
    Talks,
    covered_talks,
    relative_steps,
    talk_probabilities,
    tick_times,
)
from learning.training.flights import Flights, with_delays
from learning.training.lots import (
    NOBODY,
    IntArray,
    count_asked,
    drawn_ahead,
    group_equal,
    most_asked,
    with_noise,
)
from learning.training.task import Task, Trajectory

CLOCK = ("clock", "ticks")  # first keys of the streams of ticks; no owner has two
PER_ROW = 100  # time of one more row of stacked products, in that of one number of a Hessian
PER_OWNER = 10_000  # time of one more product of an owner alone, in the same unit
TIMES = ("clock", "times", 0)  # key of the times of the first run, which training does not read


class Asynchronous(Algorithm):
    """Gossip with one owner at each of T ticks of ``plan.clocks``, with step c/T^2.

    Source: Farokhi et al., The Cost of Privacy in Asynchronous DP Machine Learning, Algorithm 1,
        (5) and (7).
    """

    name = "asynchronous"
    participation = "clock"
    needs_strong_convexity = True
    theorem = staticmethod(asynchronous_bound)
    says = (
        "owners answer one at a time, as random clocks tick, and each mixes a copy of the model "
        "with the learner's (asynchronous gossip)"
    )
    counts = "tick"
    horizon_power = 2
    trial_horizons = coarse_horizons = (30, 100, 300)  # ticks, of which an owner answers one in N

    def priced_answers(self, clocks: Clocks, n_owners: int, horizon: int) -> int | None:
        """Count the talks that the clocks hardly ever exceed."""
        return covered_talks(clocks, n_owners, horizon)

    def trial_constants(
        self, horizon: int, curvature: float, weights: Array, *, coarse: bool = False
    ) -> Array:
        """Constants of long steps, since a tick moves the mean copy by a step over N only.

        Steps are stable up to N max(q) c/T^2 = 2.
        """
        n_owners = len(weights)
        longest = min(30.0 * n_owners, 1.9 * horizon / (n_owners * weights.max()))
        return np.geomspace(0.01, max(longest, 1.0), 14) * horizon / curvature

    def count_answers(self, task: Task) -> list[int]:
        """Count each owner's talks in the run in which it talks most."""
        return most_asked(task, draw_ticks(task))

    def reconstruct_talks(self, task: Task) -> Talks:
        """Draw the talks again from the streams of a training."""
        owners = len(task.owners)
        called = np.concatenate(list(draw_ticks(task)))
        times = tick_times(task.plan.clocks, owners, len(called), rng=task.streams.rng(*TIMES))
        return Talks(called[:, 0], times, count_asked(called, owners).T)

    def run(self, task: Task) -> Trajectory:
        """Update both copies when owner i talks; with m = (theta_L + theta_i)/2 and s = c/T^2,

            theta_i = Pi[m - N s a_i (grad g_1(m)/(2N) + q_i answer_i(m))],
            theta_L = Pi[m - s e grad g_1(m)].

        All copies start at the public start. a_i = 1 or, with ``scaled`` clocks, 1/N over the
        probability that a talk is owner i's: rare talkers take longer steps (Remark 4).

        e = 1/2 as proved and (N-1)/N as printed. The proof splits f = g_1 + sum_i q_i f_i into (eta
        g_1 + q_i f_i) for each owner and (1 - eta N) g_1 for the learner. The learner moves by
        alpha_L of its gradient at every tick; each owner moves by alpha_i = N alpha_L at one tick
        in N. With eta = 1/(2N), as in (5), 1 - eta N = 1/2, and the gradients of g_1 add up to one.
        (7) is printed with (N-1)/N, that is eta = 1/N^2: together with (5) the walk then descends
        on (3N-2)/(2N) g_1 + sum_i q_i f_i and ends elsewhere.

        The c of s is the rho/sigma of the paper. The learner's copy is returned, also as ``mean``;
        ``projected`` is the share of coordinates of both copies that the projection moves.

        Clocks are public and drawn by run; an owner's k-th talk in a run carries the k-th noise of
        its stream of that run. An owner answers no more often than its budget covers
        (`Plan.priced`): the tick is lost then. In a broadcast only the first answer is given, and
        the later owners spend nothing. Steps do not shrink within a training, so it ends around the
        optimum, at a distance that falls with s: without noise the owners' pulls still differ, and
        theta_L lies about s grad g_1/2 away from the mean of the copies.

        With delays (ours) an answer is computed at the m of the tick at which its owner talks, and
        both copies move when it arrives, from the m of then. It is charged as the owner releases
        it, against the learner and whoever sees it arrive; those on their way at the end too.

        Raises
        ------
        InputError
            If rates, dropouts or delays do not fit the owners.

        Source: Farokhi et al., The Cost of Privacy in Asynchronous DP Machine Learning, Algorithm
            1, (5)-(7), Appendix B, Remark 4.
        """
        gossip = _Gossip(task)
        ticks = draw_ticks(task)
        late = task.plan.clocks.delayed
        lots = with_delays(task, ticks) if late else ((called, called) for called in ticks)
        for delays, called, noise in with_noise(task, lots):
            gossip.apply_tick(called, noise, delays if late else None)
        learner = gossip.learner
        projected = gossip.moved / max(1, 2 * gossip.heard * task.width)
        return Trajectory(learner, learner, gossip.path, projected)


class _Gossip:
    """The learner's point, and the owners' copies of it, in all runs."""

    def __init__(self, task: Task) -> None:
        clocks = task.plan.clocks
        owners = len(task.owners)
        self.task = task
        self.steps = np.broadcast_to(task.steps, (len(task.steps), task.runs, 1))
        self.shares = task.shares[:, None]
        self.reach = np.full((owners, 1), float(owners))
        if clocks.scaled:
            self.reach = owners * relative_steps(clocks, owners)[:, None]
        self.lead = 0.5 if clocks.reading == "proved" else (owners - 1) / owners
        # owners whose records are one object answer together, in one product
        _, first, self.kind = np.unique(
            [id(owner.records) for owner in task.owners], return_index=True, return_inverse=True
        )
        self.stacked = None
        if all(type(owner) is Client for owner in task.owners):
            self.stacked = _stack_statistics([task.owners[one].records for one in first], task.runs)
        self.learner = task.start()
        self.copies = np.zeros((task.runs * owners, task.width))  # run by run
        self.path = np.zeros((len(task.steps) + 1, task.width))
        self.flights = Flights()
        self.ticks = 0
        self.heard = 0
        self.moved = 0

    def apply_tick(self, called: IntArray, noise: Array, delays: IntArray | None = None) -> None:
        """Let the owners called (runs,) answer, with noise (runs, p), and apply what arrives.

        Answers with a delay (runs,) above 0 arrive at a later tick, before those given there.
        """
        for rows, who, answer in self.flights.land(self.ticks):
            self._apply_answers(rows, who, answer, self._middle(rows, who))
        rows = np.flatnonzero(called != NOBODY)
        who = called[rows]
        middle = self._middle(rows, who)
        answer = self._answers(who, middle, noise.take(rows, 0))
        if delays is not None:
            late = delays[rows] > 0
            self.flights.send(self.ticks, delays[rows[late]], rows[late], who[late], answer[late])
            rows, who, answer, middle = rows[~late], who[~late], answer[~late], middle[~late]
        self._apply_answers(rows, who, answer, middle)
        self.ticks += 1
        self.path[self.ticks] = self.learner[0]
        self.task.did(1 / len(self.steps))
        self.task.watch(self.ticks, self.learner, self.learner)

    def _middle(self, rows: IntArray, who: IntArray) -> Array:
        """Mean of the learner's copy and an owner's, (rows, p), in some runs."""
        places = rows * len(self.task.owners) + who
        return (self.learner.take(rows, 0) + self.copies.take(places, 0)) / 2

    def _apply_answers(self, rows: IntArray, who: IntArray, answer: Array, middle: Array) -> None:
        """Move both copies from their mean (rows, p) by one owner's answer in each run."""
        task = self.task
        own = task.own_gradient(middle)
        steps = self.steps[self.ticks, rows]
        pull = own / (2 * len(task.owners)) + self.shares.take(who, 0) * answer
        talked = middle - steps * self.reach.take(who, 0) * pull
        free = np.concatenate([talked, middle - steps * self.lead * own])
        kept = task.coordinates.project(free)
        self.copies[rows * len(task.owners) + who] = kept[: len(rows)]
        self.learner[rows] = kept[len(rows) :]
        self.moved += int(np.count_nonzero(kept != free))
        self.heard += len(rows)

    def _answers(self, who: IntArray, phi: Array, noise: Array) -> Array:
        """Answers at phi (rows, p) of one owner each, with noise (rows, p)."""
        owners = self.task.owners
        if self.stacked is not None:
            hessians, linears = self.stacked
            asked = self.kind[who]
            gradient = (phi[:, None] @ hessians.take(asked, 0))[:, 0] - linears.take(asked, 0)
            return owners[0].noised(gradient, noise)
        for same in group_equal(self.kind[who]):
            noise[same] = owners[who[same[0]]].answer(phi[same], noise[same])
        return noise


def _stack_statistics(records: Sequence[GradientOracle], runs: int) -> tuple[Array, Array] | None:
    """Hessians (N, p, p) and linear parts (N, p) of N owners, where one product of all is faster.

    None where records are kept otherwise, or rows of wide models outweigh the calls that are saved.
    """
    sums = [one for one in records if type(one) is SquaredStatistics]
    if len(sums) < len(records):
        return None
    if runs * (sums[0].n_parameters ** 2 + PER_ROW) > PER_OWNER * len(sums):
        return None
    return np.stack([one.hessian for one in sums]), np.stack([one.linear for one in sums])


def draw_ticks(task: Task) -> Iterator[IntArray]:
    """Yield blocks of talkers, (ticks, distinct runs), NOBODY at lost ticks.

    Ticks are independent, so the probabilities of a talk describe either way to talk in full.
    """
    edges = np.cumsum(talk_probabilities(task.plan.clocks, len(task.owners)))
    if edges[-1] > 1 - 1e-12:  # nothing is lost: rounding must not lose a tick either
        edges[-1] = 1.0
    counts = np.zeros((len(edges), task.draws), dtype=int)
    for drawn in drawn_ahead(task, CLOCK, lambda rng, ticks: rng.random(ticks)):
        called = np.searchsorted(edges, drawn, side="right")
        talks = np.where(called < len(edges), called, NOBODY)
        if task.plan.priced < len(task.plan.steps):
            _lose_overspent_ticks(talks, counts, task.plan.priced)
        yield talks


def _lose_overspent_ticks(talks: IntArray, counts: IntArray, most: int) -> None:
    """Lose the ticks of owners that have answered ``most`` times; update their counts so far."""
    runs = np.arange(talks.shape[1])
    for called in talks:
        heard = called != NOBODY
        counts[called[heard], runs[heard]] += 1
        called[heard & (counts[called, runs] > most)] = NOBODY
