"""Tasks shared out among Dask workers: results in the order of the tasks, whoever did them.

A task is done by one worker as a whole, and its result is handed over in its turn. So sums over
results do not depend on the number of workers, nor on which of them died.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from threading import RLock
from typing import Any, TypeVar

from learning.errors import InputError
from learning.extras import check_extra

Task = TypeVar("Task")
Done = TypeVar("Done")
Workers = int | str | None  # how many to start here; the address of a scheduler; none

KEY = "data.workers"
START = "Start one with dask scheduler, dask worker."
AHEAD = 2  # tasks of each thread that wait, or are done before their turn: they bound memory
PATIENCE = 10.0  # seconds for a scheduler to answer, and for a worker to come back

_clients: dict[int | str, Any] = {}  # those in use
_open = 0  # number of `keep_workers` that are open
_held = ExitStack()  # the clients, until the last of these ends
_turn = RLock()


@contextmanager
def keep_workers() -> Iterator[None]:
    """Keep workers that are started within for all work within; nested ones end with the first."""
    global _open
    with _turn:
        _open += 1
    try:
        yield
    finally:
        with _turn:
            _open -= 1
            if not _open:
                _clients.clear()
                _held.close()


def share_out(
    workers: Workers, work: Callable[[Task], Done], tasks: Iterable[Task]
) -> Iterator[Done]:
    """Yield the result of each task in their order; without workers, as `map` does.

    A task whose worker dies is done again by another one, up to three times.

    Parameters
    ----------
    workers : how many Dask workers to start on this machine, each a process of one thread; or the
        address of a scheduler that runs; or None.
    work : a function that depends on its task alone; both are sent to a worker.
    tasks : what to do; drawn a few at a time.

    Raises
    ------
    InputError
        If Dask is not installed, workers cannot be reached or die again and again, or a task raises
        it.

    >>> list(share_out(None, sum, [[1, 2], [3]]))
    [3, 3]
    """
    if workers is None:
        yield from map(work, tasks)
        return
    with keep_workers():
        client = find_client(workers)
        most = AHEAD * sum(client.nthreads().values())
        waiting: deque[Any] = deque()
        try:
            for task in tasks:
                waiting.append(client.submit(work, task, pure=False))
                if len(waiting) >= most:
                    yield _result(client, waiting.popleft())
            while waiting:
                yield _result(client, waiting.popleft())
        finally:
            for future in waiting:
                future.release()  # what no one will ask for is not done


def connect(address: str, key: str) -> Any:
    """Connect to a Dask scheduler that runs and has workers.

    Parameters
    ----------
    address : its address.
    key : the key or option that names it, for errors.

    Raises
    ------
    InputError
        If Dask is not installed, or no scheduler with workers answers at the address.
    """
    rule = "must be the address of a running Dask scheduler"
    check_extra(key, "cluster", "distributed")
    from distributed import Client
    from distributed.comm import get_address_host_port

    try:
        get_address_host_port(address, strict=True)  # which a client would fail to close upon
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(key, rule, f"{address}: {error}", START) from None
    if not client.nthreads():
        client.close()
        raise InputError(key, "must have workers", f"none at {address}", START)
    return client


def find_client(workers: int | str) -> Any:
    """Find the client of workers that are kept, or connect to them; within `keep_workers`."""
    with _turn:
        if workers not in _clients:
            if isinstance(workers, str):
                _clients[workers] = _held.enter_context(connect(workers, KEY))
            else:
                _clients[workers] = _start(workers)
        return _clients[workers]


def _start(count: int) -> Any:
    """Start so many workers on this machine, each a process of one thread."""
    from multiprocessing import parent_process

    check_extra(KEY, "cluster", "distributed")
    if parent_process() is not None:
        rule = "may be a number in a program's first process only"
        remedy = 'A script needs if __name__ == "__main__"; '
        remedy += "others take the address of a Dask scheduler."
        raise InputError(KEY, rule, f"{count} in a process of another one", remedy)
    import dask

    # What is logged of workers' ends would stand beside the one line of an error.
    dask.config.set({"logging.distributed": "critical"})
    from distributed import Client, LocalCluster, Security

    # Dask has workers give back all memory at once, and so fetch it anew: three times the work.
    keeping = {
        "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
        "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "critical",
        # Dask looks at what workers do a hundred times a second, which nobody asks for here.
        "distributed.nanny.pre-spawn-environ.DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    }
    security = None
    if find_spec("cryptography"):  # without a key any user of this machine may reach the port
        security = Security.temporary()
    try:
        with dask.config.set(keeping), _holding_interrupts():
            cluster = LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                dashboard_address="127.0.0.1:0",  # a port that is free
                security=security,
                silence_logs=logging.CRITICAL,
            )
    except (OSError, RuntimeError) as error:
        found = " ".join(str(error).split()).rstrip(".")
        remedy = 'A script needs if __name__ == "__main__" before what starts them.'
        raise InputError(KEY, "must be as many as can be started here", found, remedy) from None
    _held.callback(_close, cluster)
    return _held.enter_context(Client(cluster, set_as_default=False))


def _close(cluster: Any) -> None:
    """Close workers that were started here.

    A worker that died and is about to be started again cannot be joined. Dask raises an
    AssertionError then, which must not replace the error that ended the work.
    """
    with suppress(AssertionError):
        cluster.close()


@contextmanager
def _holding_interrupts() -> Iterator[None]:
    """Leave Ctrl-C to this process alone: threads that begin here, and their children, get none."""
    from multiprocessing import resource_tracker

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # when it starts, it lets them through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _result(client: Any, future: Any) -> Any:
    """Wait for a result as long as there are workers."""
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    # A wait that ends early must not end the transfer: a client whose transfer is cancelled as it
    # begins never hands over another one (distributed 2026.8, `Client._gather`).
    fetching = asyncio.run_coroutine_threadsafe(_fetch(future), client.loop.asyncio_loop)
    try:
        while True:
            try:
                return fetching.result(timeout=PATIENCE)
            except TimeoutError:
                if fetching.done():  # by now, or the task ran into a timeout itself
                    return fetching.result()
                if not client.nthreads():
                    raise CommClosedError("no worker is left") from None
    except ModuleNotFoundError as error:
        remedy = "Install it there."
        raise InputError(KEY, "must have the same version of dpmarket", error, remedy) from None
    except (KilledWorker, CancelledError, CommClosedError):
        rule = "must run until their work is done"
        remedy = "Give them more memory, or start fewer."
        raise InputError(KEY, rule, "workers that were ended", remedy) from None


async def _fetch(future: Any) -> Any:
    """Fetch a result, on the client's own loop."""
    return await future
