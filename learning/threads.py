"""Sums that do not depend on the number of threads: single-threaded BLAS, and threads of blocks.

A linear-algebra library splits a sum over its threads, and each number of threads rounds it
differently. Here every block of records is summed on one thread, and the blocks' sums are added in
the blocks' order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock
from typing import TypeVar

import numpy as np  # noqa: F401  (NumPy and SciPy each load a library of their own)
import scipy.linalg  # noqa: F401
from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")
Sum = TypeVar("Sum")

_pools: list[ThreadPoolExecutor | None] = []  # one for all, for each `one_blas_thread` that is open
_held = ExitStack()  # the setting and the pool, until the last one ends
_turn = Lock()


@cache
def _blas_libraries() -> ThreadpoolController:
    """The linear-algebra libraries of NumPy and SciPy; the search takes a millisecond or two."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_blas_thread() -> Iterator[ThreadPoolExecutor | None]:
    """Keep BLAS on one thread, for a ``with`` block or as a decorator; other threads take blocks.

    The setting is that of the process: it holds for all other work too, and ends with the last of
    the blocks that are open in any thread.

    Yields
    ------
    ThreadPoolExecutor of as many threads as BLAS had (``OPENBLAS_NUM_THREADS`` and its kin set
    that); None for one.
    """
    with _turn:
        pool = _pools[0] if _pools else _limit_blas()
        _pools.append(pool)
    try:
        yield pool
    finally:
        with _turn:
            _pools.pop()
            if not _pools:
                _held.close()


def _limit_blas() -> ThreadPoolExecutor | None:
    """Limit BLAS to one thread, and make a pool of as many threads as it had; None for one."""
    blas = _blas_libraries()
    threads = max((library["num_threads"] for library in blas.info()), default=1)
    _held.enter_context(blas.limit(limits=1))
    return _held.enter_context(ThreadPoolExecutor(threads)) if threads > 1 else None


def over_blocks(work: Callable[[Block], Sum], blocks: Iterable[Block]) -> Iterator[Sum]:
    """Yield the result of ``work`` for each block, in order, on as many threads as BLAS had.

    >>> list(over_blocks(sum, [[1, 2], [3], []]))
    [3, 3, 0]
    """
    waiting = list(blocks)
    if len(waiting) < 2:
        yield from map(work, waiting)
        return
    with one_blas_thread() as pool:
        yield from map(work, waiting) if pool is None else pool.map(work, waiting)
