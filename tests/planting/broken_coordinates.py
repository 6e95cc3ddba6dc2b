"""Ways to break a training in its coordinates: in clipping, and in the ball."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.losses.coordinates import Coordinates
from learning.losses.records import ClippedRecords, GradientOracle
from learning.training.task import Task


class Unclipped(Coordinates):
    @property
    def loose(self) -> Coordinates:
        scores = self.scores and replace(self.scores, bound=np.inf)
        whole = vars(self) | {"radius": np.inf, "target_bound": np.inf, "scores": scores}
        return Coordinates(**whole)

    def records(self, x: Array, y: Array) -> tuple[Array, Array]:
        return self.loose.records(x, y)

    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        return self.loose.oracle(x, y, one_by_one=one_by_one)


class UnclippedScores(Coordinates):
    """Second moments are held to their bound, scores are not."""

    def records(self, x: Array, y: Array) -> tuple[Array, Array]:
        return self.loose.records(x, y)

    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        return self.loose.oracle(x, y, one_by_one=one_by_one)

    @property
    def loose(self) -> Coordinates:
        whole = vars(self) | {"scores": self.scores and replace(self.scores, bound=np.inf)}
        return Coordinates(**whole)


class UnclippedMoments(UnclippedScores):
    """Scores are held to their bound, second moments are not."""

    @property
    def loose(self) -> Coordinates:
        return Coordinates(**vars(self) | {"radius": np.inf})


class OtherNorm(Coordinates):
    """Records, or gradients, shortened until each coordinate is within the bound, by itself."""

    def lengths(self, moved: Array) -> Array:
        return np.asarray(np.abs(moved).max(axis=1))

    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        held = super().oracle(x, y, one_by_one=one_by_one)
        if isinstance(held, ClippedRecords):
            return ClippedRecords.within(self.radius, held.loss, held.lines, np.inf)
        return held


class TwiceTheRadius(Coordinates):
    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        return Coordinates(**vars(self) | {"radius": 2 * self.radius}).oracle(
            x, y, one_by_one=one_by_one
        )


class ClippedMean(Coordinates):
    """Gradients averaged first, and their mean shortened."""

    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        whole = Coordinates(**vars(self) | {"radius": np.inf}).oracle(x, y, one_by_one=one_by_one)
        return Shortened(whole, self)


@dataclass(frozen=True)
class Shortened:
    """Records whose mean gradient is shortened to the radius, whatever each is."""

    records: Any
    bounds: Coordinates

    @property
    def n_records(self) -> int:
        return int(self.records.n_records)

    @property
    def n_parameters(self) -> int:
        return int(self.records.n_parameters)

    def gradient(self, phi: Array) -> Array:
        return self.bounds.within(self.records.gradient(phi), self.bounds.radius)

    def record_gradient(self, phi: Array, rows: Any) -> Array:
        return self.bounds.within(self.records.record_gradient(phi, rows), self.bounds.radius)


class Odd(Coordinates):
    """What is longer than its limit, by some factor, is shortened or left as `keeps` has it."""

    @staticmethod
    def keeps(factor: Array) -> Array:
        """What is kept of lengths that are so many times their limit."""
        raise NotImplementedError

    def within(self, points: Array, limit: float) -> Array:
        return points * self.keeps(self.lengths(points) / limit)[..., None]

    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        held = super().oracle(x, y, one_by_one=one_by_one)
        if not isinstance(held, ClippedRecords):
            return held
        return OddlyClipped(held.loss, held.lines, held.limits, self.keeps)


@dataclass(frozen=True)
class OddlyClipped(ClippedRecords):
    """Records whose gradients are shortened in another way."""

    keeps: Callable[[Array], Array]

    def negative_slopes(self, points: Any, rows: slice) -> Any:
        whole = np.asarray(self.loss.negative_slopes(points @ self.lines[rows].T))
        return whole * self.keeps(np.abs(whole) / self.limits[rows])

    def slopes(self, t: Array, rows: Any) -> Array:
        whole = np.asarray(self.loss.derivative(t))
        return whole * self.keeps(np.abs(whole) / self.limits[rows])


class OftenClipped(Odd):
    """Lengths just above the limit are left as they are."""

    @staticmethod
    def keeps(factor: Array) -> Array:
        return np.where(factor > 1.5, 1 / np.maximum(factor, 1.5), 1.0)


class HardlyTooLong(Odd):
    """Lengths of more than a thousand times the limit are taken for something else."""

    @staticmethod
    def keeps(factor: Array) -> Array:
        return np.where((factor > 1) & (factor < 1000), 1 / np.maximum(factor, 1.0), 1.0)


class ShortLost(Odd):
    """What is short counts as nothing."""

    @staticmethod
    def keeps(factor: Array) -> Array:
        return np.where(factor < 0.02, 0.0, 1 / np.maximum(factor, 1.0))


class FirstTwice(Coordinates):
    """An owner's first record is counted twice."""

    def oracle(self, x: Array, y: Array, *, one_by_one: bool = False) -> GradientOracle:
        more = np.concatenate([x, x[:1]]), np.concatenate([y, y[:1]])
        return super().oracle(*more, one_by_one=one_by_one)


class UnclippedTargets(Coordinates):
    def records(self, x: Array, y: Array) -> tuple[Array, Array]:
        return self.clip_features(x), y - x @ self.centre


class Unprojected(Coordinates):
    def project(self, phi: Array) -> Array:
        return phi


def in_coordinates(kind: type[Coordinates]) -> Callable[[Task], Task]:
    return lambda task: replace(task, coordinates=kind(**vars(task.coordinates)))
