"""Records of many owners in few pieces: thousands of small matrix products take longer than a few large ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array

ROWS = 2**15  # records that pieces are put together to
HELD = 2**16  # records that are looked at at once where something is made of each
NUMBERS = 2**20  # numbers of records that are stacked at once


def in_batches(parts: Sequence[tuple[Array, ...]]) -> Iterator[tuple[Array, ...]]:
    """Arrays of parts (n_l, ...), such as x and y, put together in order to about `ROWS` rows; a larger part stays as it is.

    >>> [x.tolist() for (x,) in in_batches([(np.arange(2),), (np.arange(3),)])]
    [[0, 1, 0, 1, 2]]
    """
    waiting: list[tuple[Array, ...]] = []
    rows = 0
    for part in parts:
        if waiting and rows + len(part[0]) > ROWS:
            yield joined(waiting)
            waiting, rows = [], 0
        waiting.append(part)
        rows += len(part[0])
    if waiting:
        yield joined(waiting)


def joined(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Arrays of parts as one; those of a single part as they are."""
    return parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))


def blocks(count: int) -> Iterator[slice]:
    """So many records, `HELD` at a time: what is made of them on the way never takes the room of all."""
    return (slice(i, i + HELD) for i in range(0, count, HELD))


def of_one_size(parts: Sequence[tuple[Array, Array]]) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
    """Records x (n_l, p) and y (n_l,) of parts that have as many, stacked: which parts (k,), x (k, n, p) and y (k, n).

    >>> parts = [(np.ones((n, 1)), np.full(n, n)) for n in (2, 1, 2)]
    >>> [(which.tolist(), y.tolist()) for which, x, y in of_one_size(parts)]
    [([1], [[1]]), ([0, 2], [[2, 2], [2, 2]])]
    """
    sizes = np.array([len(y) for _, y in parts])
    for size in np.unique(sizes):
        alike = np.flatnonzero(sizes == size)
        most = max(1, NUMBERS // max(1, parts[alike[0]][0].size))
        for which in np.split(alike, range(most, len(alike), most)):
            first = parts[which[0]]
            x, y = (first[i][None] if len(which) == 1 else np.stack([parts[at][i] for at in which]) for i in (0, 1))
            yield which, x, y
