"""Training with owners drawn at random: the draws of each run, from its own stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.training.task import Task

IntArray = NDArray[np.intp]

NOBODY = -1  # in place of an owner, where a round is lost
NUMBERS_HELD = 4_000_000  # numbers of draws and noise that are drawn ahead


def drawn_ahead(
    task: Task, key: tuple[str, str], draw: Callable[[np.random.Generator, int], Any]
) -> Iterator[Any]:
    """Yield the draws of a few rounds at a time, (rounds of a block, distinct runs).

    Parameters
    ----------
    key: first keys of the streams; the number of the run is added.
    draw: draws a given number of rounds from a run's stream.
    """
    sources = task.streams.rngs(*key, count=task.draws)
    rounds = len(task.plan.steps)
    ahead = max(1, NUMBERS_HELD // (task.runs * (task.width + 1)))
    for first in range(0, rounds, ahead):
        yield np.stack([draw(source, min(ahead, rounds - first)) for source in sources], axis=1)


def by_answer(told: Sequence[Sequence[Array] | Array], width: int) -> Array:
    """Stack each run's answers (p,) to (answers, runs, p), with nan where a run has fewer."""
    laid = np.full((max(map(len, told), default=0), len(told), width), np.nan)
    for run, answers in enumerate(told):
        laid[: len(answers), run] = np.reshape(answers, (-1, width))
    return laid


def most_asked(task: Task, called: Iterable[IntArray]) -> list[int]:
    """Count each owner's queries in the run that asks it most, from blocks (rounds, runs)."""
    counts = np.zeros((len(task.owners), task.draws), dtype=int)
    for block in called:
        counts += np.stack([(block == number).sum(axis=0) for number in range(len(counts))])
    return counts.max(axis=1).tolist()


def with_noise(
    task: Task, lots: Iterable[tuple[IntArray, IntArray]]
) -> Iterator[tuple[IntArray, IntArray, Array]]:
    """Yield each round's draw (runs,), owner asked (runs,), and noise on its answer (runs, p).

    The k-th answer of an owner in a run carries the k-th noise of its stream of that run.

    Parameters
    ----------
    lots: blocks of (draws, owners asked), each (rounds, distinct runs).
    """
    noises = task.noises()
    again = np.arange(task.runs) % task.draws
    for drawn, called in lots:
        noise = np.zeros((len(called), task.runs, task.width))
        for run, owners in enumerate(called.T):
            for rounds in group_equal(owners):
                owner = owners[rounds[0]]
                if owner != NOBODY:
                    noise[rounds, run :: task.draws] = noises[owner].of_run(run, len(rounds))
        yield from zip(drawn[:, again], called[:, again], noise, strict=True)


def group_equal(numbers: IntArray) -> list[IntArray]:
    """Group the places of equal numbers, in order of the numbers.

    >>> [places.tolist() for places in group_equal(np.array([3, 0, 3]))]
    [[1], [0, 2]]
    """
    order = np.argsort(numbers, kind="stable")
    edges = np.flatnonzero(np.diff(numbers[order])) + 1
    return [places for places in np.split(order, edges) if places.size]
