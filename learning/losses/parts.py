"""Records of many owners in few batches: a few large products are faster than many small ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array

ROWS = 2**15  # records of a batch
HELD = 2**16  # records of a block, where a result is made of each
NUMBERS = 2**20  # numbers of records that are stacked at once


def in_batches(parts: Sequence[tuple[Array, ...]]) -> Iterator[tuple[Array, ...]]:
    """Yield arrays of parts (n_l, ...), such as x and y, in batches of about `ROWS` rows.

    >>> [x.tolist() for (x,) in in_batches([(np.arange(2),), (np.arange(3),)])]
    [[0, 1, 0, 1, 2]]
    """
    waiting: list[tuple[Array, ...]] = []
    rows = 0
    for part in parts:
        if waiting and rows + len(part[0]) > ROWS:
            yield join_parts(waiting)
            waiting = []
            rows = 0
        waiting.append(part)
        rows += len(part[0])
    if waiting:
        yield join_parts(waiting)


def join_parts(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Concatenate arrays of parts; a single part is returned as it is."""
    return parts[0] if len(parts) == 1 else tuple(map(np.concatenate, zip(*parts, strict=True)))


def row_blocks(count: int, size: int = HELD) -> Iterator[slice]:
    """Yield slices of a number of records, ``size`` at a time, to bound intermediate memory."""
    return (slice(first, first + size) for first in range(0, count, size))


def stack_by_size(
    parts: Sequence[tuple[Array, Array]],
) -> Iterator[tuple[NDArray[np.intp], Array, Array]]:
    """Yield parts of equal size stacked: their numbers (k,), x (k, n, p) and y (k, n).

    >>> parts = [(np.ones((n, 1)), np.full(n, n)) for n in (2, 1, 2)]
    >>> [(which.tolist(), y.tolist()) for which, x, y in stack_by_size(parts)]
    [([1], [[1]]), ([0, 2], [[2, 2], [2, 2]])]
    """
    sizes = np.array([len(y) for _, y in parts])
    for size in np.unique(sizes):
        equal = np.flatnonzero(sizes == size)
        most = max(1, NUMBERS // max(1, parts[equal[0]][0].size))
        for which in np.split(equal, range(most, len(equal), most)):
            x, y = parts[which[0]]
            if len(which) == 1:  # a view, which keeps the order in memory
                yield which, x[None], y[None]
                continue
            x = np.stack([parts[at][0] for at in which])
            y = np.stack([parts[at][1] for at in which])
            yield which, x, y
