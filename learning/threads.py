"""Sums that come out the same on any number of threads: BLAS works on one, and our own threads take whole blocks.

A linear-algebra library splits a sum over its threads, and each number of threads rounds it differently. Here every
block of records is summed on one thread, whichever that is, and the blocks' sums are added in the blocks' order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import TypeVar

import numpy as np  # noqa: F401  (NumPy and SciPy each load a library of their own, found only once loaded)
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")
Sum = TypeVar("Sum")

_pools: list[ThreadPoolExecutor | None] = []  # of the outermost `one_blas_thread` that is open, if one is


@cache
def _blas() -> ThreadpoolController:
    """The linear-algebra libraries that NumPy and SciPy have loaded; looking for them takes a millisecond or two."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[ThreadPoolExecutor | None]:
    """Keep BLAS on one thread, for a ``with`` block or as a decorator; what it would have used works on blocks.

    The setting is the process's: it holds for whatever else runs at the time, and ends with the outermost block.

    Yields
    ------
    ThreadPoolExecutor of as many threads as BLAS had (``OPENBLAS_NUM_THREADS`` and its kin set that); None if that is one.
    """
    if _pools:
        yield _pools[0]
        return
    blas = _blas()
    threads = max((library["num_threads"] for library in blas.info()), default=1)
    with blas.limit(limits=1), ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        _pools.append(pool)
        try:
            yield pool
        finally:
            _pools.clear()


def over_blocks(work: Callable[[Block], Sum], blocks: Iterable[Block]) -> Iterator[Sum]:
    """What ``work`` makes of each block, in the blocks' order, on as many threads as BLAS had.

    >>> list(over_blocks(sum, [[1, 2], [3], []]))
    [3, 3, 0]
    """
    waiting = list(blocks)
    if len(waiting) < 2:
        yield from map(work, waiting)
        return
    with one_blas_thread() as pool:
        yield from map(work, waiting) if pool is None else pool.map(work, waiting)
