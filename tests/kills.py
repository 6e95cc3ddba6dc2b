"""Programs that are killed -9: at one of the steps in which they change a disk, or after some time. For systems that fork."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterator
from time import monotonic

import numpy as np
import pytest

from learning.privacy.ledger_file import LedgerFile

forks = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs fork and pidfd_open")
STEPS = ((os, "replace"), (os, "fsync"), (os, "mkdir"), (os, "unlink"), (LedgerFile, "charge_all"))


def killed(
    work: Callable[[], object], *, at: int | None = None, after: float | None = None
) -> bool:
    """Run work in a process of its own, killed before its step ``at`` or after seconds; whether it ended by itself."""
    child = os.fork()
    if child == 0:
        try:
            if at is not None:
                _kill_at(at)
            work()
        except BaseException:
            os._exit(7)
        os._exit(0)
    if after is not None:
        handle = os.pidfd_open(child)
        select.select([handle], [], [], after)
        os.close(handle)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFEXITED(status)


def kill_at_random(
    work: Callable[[], object], rng: np.random.Generator, seconds: float
) -> Iterator[None]:
    """Start work again and again, each time killed later, until it ends by itself; yield after each kill.

    The first is killed within a twentieth of ``seconds``, what work takes in a process of its own, so that
    about fifteen are killed on a slow machine and on a fast one.
    """
    latest = seconds / 20
    while not killed(work, after=rng.uniform(0, latest)):
        latest *= 1.2
        yield


def measure_work(work: Callable[[], object]) -> float:
    """Return the seconds that work takes in a process of its own, once all it imports has been imported here."""
    start = monotonic()
    assert killed(work)
    return monotonic() - start


def _kill_at(step: int) -> None:
    """From now on, the process dies right before its n-th step."""
    left = [step]
    for place, name in STEPS:
        setattr(place, name, _dying(getattr(place, name), left))


def _dying(function, left):
    def called(*arguments, **more):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **more)

    return called
