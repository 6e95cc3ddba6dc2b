"""How far the work is: told to whoever listens, at the cost of an empty call where nobody does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Did = Callable[[float], None]  # called with a piece of work when it is done


class Progress(Protocol):
    """Whoever listens: called with a stage, and the share of it that is done, as the stage begins and as it goes on."""

    def __call__(self, stage: str, share: float = 0.0, /) -> None: ...


def silent(stage: str, share: float = 0.0, /) -> None:
    """Nobody listens."""


def unnoticed(work: float) -> None:
    """Nobody counts."""


def counting(progress: Progress, stage: str, work: float, done: float = 0.0) -> Did:
    """Begins a stage, and tells what share of its work is done after each piece.

    Parameters
    ----------
    progress : who is told.
    stage : its name.
    work : all of it, in any unit.
    done : what was done of it before.

    >>> did = counting(print, "packing", 4)
    packing 0.0
    >>> did(1), did(2)
    packing 0.25
    packing 0.75
    (None, None)
    """
    progress(stage, done / work if done else 0.0)

    def did(piece: float) -> None:
        nonlocal done
        done += piece
        progress(stage, min(1.0, done / work))

    return did
