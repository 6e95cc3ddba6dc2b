"""Ways to break the engine of a training for a while: who is picked, and what is charged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np

from learning.training import engine, sgd1
from learning.training.lots import IntArray
from learning.training.task import Task

Inside = Callable[[], AbstractContextManager[Any]]


@contextmanager
def replaced(module: Any, name: str, other: Any) -> Iterator[None]:
    """Put something else in the place of a module's function, and put it back."""
    sound = getattr(module, name)
    setattr(module, name, other)
    try:
        yield
    finally:
        setattr(module, name, sound)


def never_charged(task: Task, answers: Any, ledger: Any) -> None:
    """Charge nobody."""


def with_picks(change: Callable[[IntArray, int], IntArray]) -> Inside:
    """Pick other records: change(picks (rounds, runs), records) in the place of uniform picks."""
    sound = sgd1.draw_picks

    def picks(task: Task) -> Iterator[tuple[IntArray, IntArray]]:
        ends = np.cumsum([owner.records.n_records for owner in task.owners])
        done = 0
        for block, _ in sound(task):
            changed = (
                change(block, int(ends[-1]))
                if change is not in_order
                else in_order(block, int(ends[-1]), done)
            )
            done += len(block)
            yield changed, np.searchsorted(ends, changed, side="right")

    return partial(replaced, sgd1, "draw_picks", picks)


def in_order(picks: IntArray, records: int, done: int = 0) -> IntArray:
    """One record after the other, from a start of each run's own."""
    return (picks[:1] + done + np.arange(len(picks))[:, None]) % records


def always_one(picks: IntArray, records: int) -> IntArray:
    """The same record in every round."""
    return np.full_like(picks, records // 2)


def without_the_last(picks: IntArray, records: int) -> IntArray:
    """None of the last owner's records, as long as that has less than a half."""
    return picks % (records // 2)


uncharged: Inside = partial(replaced, engine, "charge_training", never_charged)
