"""A mechanism around another one, whose noise it is: what it claims is for those to say that are built on this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.privacy.mechanism import Mechanism

SAME = (
    *("name", "title", "delta", "overlap", "accounting", "horizon", "growth", "single_record", "share_power"),
    "largest",
    "pairs",
)


@dataclass(frozen=True)
class Wrapped(Mechanism):
    """Another mechanism's noise, at the budgets that it is sold for.

    Parameters
    ----------
    mechanism : the other mechanism.
    """

    mechanism: Any

    def check(self) -> None:
        for name in SAME:
            object.__setattr__(self, name, getattr(self.mechanism, name))

    @property
    def norm(self) -> int:
        return int(self.mechanism.norm)

    @property
    def unit_variance(self) -> float:
        return float(self.mechanism.unit_variance)

    @property
    def but_for(self) -> float:
        return float(self.mechanism.but_for)

    def noise_term(self, epsilon: ArrayLike) -> Array:
        return np.asarray(self.mechanism.noise_term(epsilon))

    def noise_term_slope(self, epsilon: ArrayLike) -> Array:
        return np.asarray(self.mechanism.noise_term_slope(epsilon))

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        return np.asarray(self.mechanism.horizon_factor(horizon))

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return np.asarray(self.mechanism.draw(scale, shape, rng=rng))

    def with_moments(self, share: float, rows: int = 1) -> Self:
        return replace(self, mechanism=self.mechanism.with_moments(share, rows))

    def beside_moments(self, share: float) -> float:
        return float(self.mechanism.beside_moments(share))

    def draw_release(self, widths: Sequence[int], *, rng: np.random.Generator) -> Array:
        return np.asarray(self.mechanism.draw_release(widths, rng=rng))

    def longest(self, width: int, level: float) -> float:
        return float(self.mechanism.longest(width, level))

    def length_law(self, width: int) -> tuple[float, float]:
        return self.mechanism.length_law(width)

    def swing(self, level: float) -> float:
        return float(self.mechanism.swing(level))

    def noise_denominator(self, sizes: ArrayLike) -> Array:
        return np.asarray(self.mechanism.noise_denominator(sizes))

    def scale(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        return np.asarray(self.mechanism.scale(epsilon, sizes, bound, horizon))

    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        return np.asarray(self.mechanism.epsilon(variance, sizes, bound, horizon))

    def for_rounds(self, horizon: int) -> Self:
        return replace(self, mechanism=self.mechanism.for_rounds(horizon))

    def among(self, sizes: ArrayLike) -> Self:
        return replace(self, mechanism=self.mechanism.among(sizes))

    def averaging(self, alike: bool) -> Self:
        return replace(self, mechanism=self.mechanism.averaging(alike))

    def noise_among(self, total: ArrayLike) -> Array:
        return np.asarray(self.mechanism.noise_among(total))
