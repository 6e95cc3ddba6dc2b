"""Training with owners drawn at random: the draws of each run, from its own stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
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
        counts += count_asked(block, len(counts))
    return counts.max(axis=1).tolist()


def count_asked(called: IntArray, n_owners: int) -> IntArray:
    """Count each owner's queries in each run, (n_owners, runs), from owners asked (rounds, runs).

    >>> count_asked(np.array([[1, 0], [1, NOBODY]]), 2).tolist()
    [[0, 1], [2, 0]]
    """
    runs = called.shape[1]
    places = (called - NOBODY) * runs + np.arange(runs)
    counted = np.bincount(places.ravel(), minlength=(n_owners - NOBODY) * runs)
    return counted.reshape(-1, runs)[-NOBODY:]


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
        noise = np.zeros((len(called) * task.runs, task.width))
        # places of the noise, in the order in which owner by owner and run by run draw it
        rounds = np.arange(0, len(noise), task.runs)[:, None]
        repeats = [np.arange(run, task.runs, task.draws) for run in range(task.draws)]
        places = np.concatenate([(rounds + runs).ravel() for runs in repeats])
        asked = called[:, again].ravel()[places].astype(np.min_scalar_type(-len(noises)))
        order = np.argsort(asked, kind="stable")[np.count_nonzero(asked == NOBODY) :]
        counts = zip(noises, count_asked(called, len(noises)).tolist(), strict=True)
        own = [
            source.of_run(run, count).reshape(-1, task.width)
            for source, row in counts
            for run, count in enumerate(row)
            if count
        ]
        if own:
            noise[places[order]] = np.concatenate(own)
        shaped = noise.reshape(len(called), task.runs, task.width)
        yield from zip(drawn[:, again], called[:, again], shaped, strict=True)


def group_equal(numbers: IntArray) -> list[IntArray]:
    """Group the places of equal numbers, in order of the numbers.

    >>> [places.tolist() for places in group_equal(np.array([3, 0, 3]))]
    [[1], [0, 2]]
    """
    order = np.argsort(numbers, kind="stable")
    edges = np.flatnonzero(np.diff(numbers[order])) + 1
    bounds = [0, *edges.tolist(), len(order)]
    return [order[first:end] for first, end in pairwise(bounds) if first < end]
