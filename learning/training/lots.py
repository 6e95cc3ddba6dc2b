"""Training in which it is drawn by lot who is asked: each run from its own stream, a few rounds ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.training.task import Task

Whole = NDArray[np.intp]

NOBODY = -1  # who is asked in a round that is lost
NUMBERS_HELD = 4_000_000  # of lots and noise: what is drawn ahead


def drawn_ahead(task: Task, key: tuple[str, str], draw: Callable[[np.random.Generator, int], Any]) -> Iterator[Any]:
    """Lots of a few rounds at a time, (rounds of a block, distinct runs): memory stays bounded.

    Parameters
    ----------
    key: first keys of the streams, to which the number of the run is added.
    draw: makes the lots of so many rounds from a run's stream.
    """
    sources = task.streams.rngs(*key, count=task.draws)
    rounds, ahead = len(task.plan.steps), max(1, NUMBERS_HELD // (task.runs * (task.width + 1)))
    for first in range(0, rounds, ahead):
        yield np.stack([draw(source, min(ahead, rounds - first)) for source in sources], axis=1)


def by_answer(told: Sequence[Sequence[Array] | Array], width: int) -> Array:
    """Numbers (answers, runs, p) of each run's answers, each (p,); nan where a run asked less often."""
    laid = np.full((max(map(len, told), default=0), len(told), width), np.nan)
    for run, answers in enumerate(told):
        laid[: len(answers), run] = np.reshape(answers, (-1, width))
    return laid


def most_asked(task: Task, called: Iterable[Whole]) -> list[int]:
    """How often each owner is asked in the run that asks it most; ``called`` are blocks (rounds, distinct runs)."""
    counts = np.zeros((len(task.owners), task.draws), dtype=int)
    for block in called:
        counts += np.stack([(block == number).sum(axis=0) for number in range(len(counts))])
    return [int(most) for most in counts.max(axis=1)]


def with_noise(task: Task, lots: Iterable[tuple[Whole, Whole]]) -> Iterator[tuple[Whole, Whole, Array]]:
    """Round by round: the lot and the owner asked in each run, (runs,), and the noise on its answer, (runs, p).

    An owner's k-th answer in a run carries the k-th noise of its stream of that run.

    Parameters
    ----------
    lots: blocks of (lots, owners that they ask), each (rounds, distinct runs).
    """
    noises, again = task.noises(), np.arange(task.runs) % task.draws
    for drawn, called in lots:
        noise = np.zeros((len(called), task.runs, task.width))
        for run, owners in enumerate(called.T):
            rounds = np.argsort(owners, kind="stable")[np.count_nonzero(owners == NOBODY) :]  # it stands first
            counts = np.bincount(owners[rounds])
            drawn_by = [noises[owner].of_run(run, counts[owner]) for owner in np.flatnonzero(counts).tolist()]
            if drawn_by:
                noise[rounds, run :: task.draws] = np.concatenate(drawn_by)
        yield from zip(drawn[:, again], called[:, again], noise, strict=True)


def alike(numbers: Whole) -> list[Whole]:
    """Places of each number that there is, in order.

    >>> [places.tolist() for places in alike(np.array([3, 0, 3]))]
    [[1], [0, 2]]
    """
    order = np.argsort(numbers, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1) if len(numbers) else []
