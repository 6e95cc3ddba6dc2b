"""Work shared out among processes, threads or a cluster: executors of `concurrent.futures`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from multiprocessing import (
    active_children,
    forkserver,
    get_all_start_methods,
    get_context,
    parent_process,
)
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, TypeVar

from learning.errors import InputError
from learning.workers import connect
from scenarios.plugins import LOADED, OPTION, load_plugins

Item = TypeVar("Item")
Done = TypeVar("Done")
SERVER = "forkserver"
MOST_AT_ONCE = 100  # items handed to a worker at a time
Submit = Callable[[Sequence[Item]], "Future[list[Done]]"]


def shared_out(
    groups: Iterable[Sequence[Item]], submit: Submit[Item, Done], slots: int
) -> Iterator[list[Done]]:
    """Hand all items to workers, and yield what they make of them as they hand it over.

    Items of one group go to one worker, one after the other, and are parted only where another
    would have nothing to do.

    Parameters
    ----------
    groups : items that are cheaper together.
    submit : hands items to a worker, who does at least the first of them; what comes back is in
        their order.
    slots : workers that are busy at a time.
    """
    waiting = deque(list(group) for group in groups if group)
    running: dict[Future[list[Done]], list[Item]] = {}
    try:
        while waiting or running:
            free = slots - len(running)
            while 0 < len(waiting) < free and max(map(len, waiting)) > 1:
                _halve(waiting)
            for _ in range(min(free, len(waiting))):
                items = waiting.popleft()
                running[submit(items[:MOST_AT_ONCE])] = items
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                items = running.pop(future)
                done = _result(future)
                if len(done) < len(items):
                    waiting.appendleft(items[len(done) :])
                yield done
    finally:
        for future in running:
            future.cancel()


def _halve(waiting: deque[list[Any]]) -> None:
    longest = max(waiting, key=len)
    waiting.remove(longest)
    half = (len(longest) + 1) // 2
    waiting.extend([longest[:half], longest[half:]])


def _result(future: Future[list[Done]]) -> list[Done]:
    try:
        return future.result()
    except BrokenExecutor:
        rule = "must run until their work is done"
        remedy = (
            "What is done is kept: start the same command again, with fewer --workers if "
            "memory is short."
        )
        raise InputError("workers", rule, "one that was ended", remedy) from None


class Here(Executor):
    """An executor without any other process or thread: what is submitted is done at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def begin_loading() -> None:
    """Load what workers of this machine need, while this process reads and lays out their work.

    They are then forked from a server that has nothing else in it, where the system can do that;
    else each loads by itself.
    """
    if SERVER in get_all_start_methods():
        forkserver.set_forkserver_preload(
            ["scenarios.runner", "scenarios.sweeping.facts", "scenarios.sweeping.work"]
        )
        forkserver.ensure_running()


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """Start as many processes, or none but this one; they end with it, however it ends."""
    if workers == 1:
        yield Here()
        return
    before = set(active_children())
    method = SERVER if SERVER in get_all_start_methods() else "spawn"
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context(method), initializer=_begin, initargs=([*LOADED],)
    )
    try:
        yield pool
    except BaseException:
        for child in set(active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(plugins: Sequence[Path]) -> None:
    """Leave Ctrl-C to the process that a worker works for, end when that is killed, and have the
    user's plug-ins.
    """
    load_plugins(plugins)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    above = parent_process()
    assert above is not None

    def end_with_it() -> None:
        wait_for([above.sentinel])
        os._exit(1)

    threading.Thread(target=end_with_it, daemon=True).start()


@contextmanager
def cluster(address: str) -> Iterator[tuple[Executor, int]]:
    """Connect to a Dask cluster that runs already: its executor, and the number of its threads.

    Raises
    ------
    InputError
        If Dask is not installed, no scheduler with workers answers at the address, or plug-ins were
        loaded here.
    """
    if LOADED:
        found = ", ".join(path.name for path in LOADED)
        raise InputError(
            OPTION, "must be left out with --scheduler, because its workers lack it", found
        )
    with connect(address, "--scheduler") as client:
        yield client.get_executor(pure=False), sum(client.nthreads().values())


def count_cpus() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
