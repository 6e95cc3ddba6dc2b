"""Laplace noise on mean-gradient answers under basic composition: pure epsilon-DP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count
from learning.privacy.mechanism import Mechanism, where_noisy


class LaplaceNoise(Mechanism):
    """What mechanisms with Laplace noise share, whatever counts its cost."""

    name = "laplace"
    unit_variance = 2.0
    norm: ClassVar[int] = 1

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return rng.laplace(size=shape) * np.asarray(scale, dtype=float)


@dataclass(frozen=True)
class Laplace(LaplaceNoise):
    """Laplace noise on T mean-gradient answers, the budget split evenly over T (basic composition): pure epsilon-DP.

    Each answer moves by at most 2 Xi/n in 1-norm when one record is replaced, so noise of scale
    b = 2 Xi T kappa/(n epsilon) per coordinate spends epsilon/(T kappa) a round, and variance is v = 2 b^2.
    The loops of the papers ask T-1 times; the split over T is kept as published and is slightly conservative.

    Parameters
    ----------
    overlap: kappa >= 1, the number of owners one record may sit with; each spends epsilon/kappa.

    Source: Wu et al., The Value of Collaboration, Theorem 1 and the remark after Assumption 1. E|w|^2 is 2 p b^2: every
    coordinate is counted here, where the published proofs drop p.

    >>> Laplace().variance([1.0, np.inf, 0.0], [100, 100, 100], bound=3.0, horizon=10)
    array([0.72, 0.  ,  inf])
    """

    compared = True
    in_published_bounds = True

    overlap: Count = 1

    def _scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        return 2 * bound * horizon * self.overlap / sizes / epsilon

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """8 kappa^2/epsilon^2. With weights n_l/n over those who share, S = bound^2 T^2 sum(term)/n^2."""
        return where_noisy(epsilon, lambda e: 8 * self.overlap**2 / e**2)

    def _slope(self, epsilon: Array) -> Array:
        return -2 * self.noise_term(epsilon) / epsilon

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """T^2."""
        return np.asarray(horizon, dtype=float) ** 2

    def release_budget(self, epsilon: float, horizon: int) -> float:
        """epsilon/(T kappa)."""
        return epsilon / (horizon * self.overlap)
