"""Progress of long work, reported to a listener at the cost of an empty call without one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

ReportWork = Callable[[float], None]  # called with a piece of work when it is done


class Progress(Protocol):
    """A listener, called with a stage and its finished share, at its start and as it goes on."""

    def __call__(self, stage: str, share: float = 0.0, /) -> None: ...


def ignore_progress(stage: str, share: float = 0.0, /) -> None:
    """Ignore the progress of a stage."""


def ignore_work(work: float) -> None:
    """Ignore a piece of work."""


def count_progress(progress: Progress, stage: str, work: float, done: float = 0.0) -> ReportWork:
    """Begin a stage; the result reports the share of its work after each piece.

    Parameters
    ----------
    progress : the listener.
    stage : its name.
    work : all of it, in any unit.
    done : finished part of it.

    >>> did = count_progress(print, "packing", 4)
    packing 0.0
    >>> did(1), did(2)
    packing 0.25
    packing 0.75
    (None, None)
    """
    progress(stage, done / work if done else 0.0)

    def report_piece(piece: float) -> None:
        nonlocal done
        done += piece
        progress(stage, min(1.0, done / work))

    return report_piece
