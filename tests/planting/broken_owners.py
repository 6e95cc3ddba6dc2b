"""Ways to break a training at its owners: in how each takes noise and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.losses.records import ClippedRecords
from learning.privacy.mechanism import Mechanism
from learning.randomness import Streams
from learning.training.client import Client, Noise
from learning.training.task import Task


class RepeatedNoise(Noise):
    """The first noise of each run, in every round."""

    def take(self, queries: int) -> Array:
        if not hasattr(self, "first"):
            object.__setattr__(self, "first", super().take(1))
        return np.repeat(self.first, queries, axis=0)  # type: ignore[attr-defined]

    def of_run(self, run: int, queries: int) -> Array:
        held = self.__dict__.setdefault("held", {})
        if run not in held:
            held[run] = super().of_run(run, 1)
        return np.repeat(held[run], queries, axis=0)


class Repeating(Client):
    def noise(
        self, mechanism: Mechanism, runs: int, streams: Streams, n_draws: int | None = None
    ) -> Noise:
        return RepeatedNoise(**vars(super().noise(mechanism, runs, streams, n_draws)))


class OneStream(Client):
    def noise(
        self, mechanism: Mechanism, runs: int, streams: Streams, n_draws: int | None = None
    ) -> Noise:
        return replace(self, name="all").inherited(mechanism, runs, streams, n_draws)

    def inherited(self, *arguments: Any) -> Noise:
        return super().noise(*arguments)


class Backwards(Client):
    def relative_scales(self, mechanism: Mechanism) -> Iterator[float] | None:
        turned = super().relative_scales(mechanism)
        return None if turned is None else reversed([*turned])


class Noiseless(Client):
    def noised(self, gradient: Array, noise: Array) -> Array:
        return super().noised(gradient, 0 * noise)


class Unshortened(Client):
    """Its records' gradients are as long as they are."""

    def __init__(self, *, records: Any, **others: Any) -> None:
        if isinstance(
            records, ClippedRecords
        ):  # and not those that an audit watches, which are unshortened already
            records = replace(records, limits=np.full_like(records.limits, np.inf))
        super().__init__(records=records, **others)


def at_owners(kind: type[Client]) -> Callable[[Task], Task]:
    return lambda task: replace(task, owners=tuple(kind(**vars(owner)) for owner in task.owners))


def at_first_owner(kind: type[Client]) -> Callable[[Task], Task]:
    return lambda task: replace(task, owners=(kind(**vars(task.owners[0])), *task.owners[1:]))


class FromBefore(Noise):
    """Noise that is changed by what the same run was given before."""

    def take(self, queries: int) -> Array:
        held = self.__dict__.setdefault("all", [])
        return np.stack([self.changed(held, noise) for noise in super().take(queries)])

    def of_run(self, run: int, queries: int) -> Array:
        held = self.__dict__.setdefault(f"run {run}", [])
        drawn = super().of_run(run, queries)
        return np.stack([self.changed(held, noise) for noise in drawn]) if queries else drawn

    def changed(self, before: list[Array], noise: Array) -> Array:
        """Noise (..., p) of the next answer, and what is kept of it."""
        raise NotImplementedError


class Permuted(FromBefore):
    """Every second noise is the last one's, its coordinates moved on by one."""

    def changed(self, before: list[Array], noise: Array) -> Array:
        again = len(before) % 2 == 1
        before.append(np.roll(before[-1], 1, axis=-1) if again else noise)
        return before[-1]


class Echoing(FromBefore):
    """Noise has the signs that it had in the round before last."""

    def changed(self, before: list[Array], noise: Array) -> Array:
        before.append(np.abs(noise) * np.sign(before[-2]) if len(before) > 1 else noise)
        return before[-1]


def noise_by(kind: type[Noise]) -> type[Client]:
    """An owner that takes its noise so."""

    class Taking(Client):
        def noise(
            self, mechanism: Mechanism, runs: int, streams: Streams, n_draws: int | None = None
        ) -> Noise:
            return kind(**vars(super().noise(mechanism, runs, streams, n_draws)))

    return Taking
