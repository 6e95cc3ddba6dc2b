"""Answers in flight: released by owners, and not yet at the learner."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import numpy as np

from learning.arrays import Array
from learning.training.clocks import owners_values
from learning.training.lots import IntArray, drawn_ahead
from learning.training.task import Task

DELAYS = ("clock", "delays")  # first keys of the streams of delays; no owner has two

Sent = tuple[IntArray, IntArray, Array]  # runs, owners, and answers (runs, p)


def with_delays(task: Task, blocks: Iterable[IntArray]) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the delays of answers, in ticks, and their talkers, in blocks (ticks, distinct runs).

    A geometric delay d of mean m has the chance (1/(1+m)) (m/(1+m))^d. Delays are public and drawn
    by run from streams of their own, so that talks and noise stay what they are without them.
    """
    clocks = task.plan.clocks
    means = owners_values("delay", clocks.delay, len(task.owners))
    if clocks.delay_law == "fixed":
        for called in blocks:
            yield means.astype(int)[called], called
        return
    rates = np.log1p(means) - np.log(means, out=np.full(len(means), -np.inf), where=means > 0)
    drawn = drawn_ahead(task, DELAYS, lambda rng, ticks: rng.standard_exponential(ticks))
    for called, waits in zip(blocks, drawn, strict=True):
        yield (waits / rates[called]).astype(int), called


class Flights:
    """Answers on their way, by the tick at which they arrive."""

    def __init__(self) -> None:
        self.due: defaultdict[int, list[Sent]] = defaultdict(list)

    def send(
        self, now: int, delays: IntArray, rows: IntArray, who: IntArray, answers: Array
    ) -> None:
        """Release answers at a tick, each of another run: they arrive later by their delays."""
        for delay in np.unique(delays).tolist():
            here = delays == delay
            self.due[now + delay].append((rows[here], who[here], answers[here]))

    def land(self, now: int) -> Iterator[Sent]:
        """Yield the answers that arrive at a tick, at most one of each run at a time.

        Those of one run come in the order in which they were released.
        """
        if now not in self.due:
            return
        parts = self.due.pop(now)
        rows = np.concatenate([part[0] for part in parts])
        who = np.concatenate([part[1] for part in parts])
        answers = np.concatenate([part[2] for part in parts])
        order = np.argsort(rows, kind="stable")
        first = np.searchsorted(rows[order], rows[order])
        turns = np.empty(len(rows), dtype=int)
        turns[order] = np.arange(len(rows)) - first
        for turn in range(int(turns.max()) + 1):
            here = turns == turn
            yield rows[here], who[here], answers[here]
