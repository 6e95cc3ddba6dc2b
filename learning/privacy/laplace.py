"""Laplace noise on mean-gradient answers: pure epsilon-DP under basic composition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count
from learning.privacy.accounting import LaplaceAccounting, LaplaceFacts
from learning.privacy.mechanism import BasicComposition
from learning.privacy.noise import NoiseLaw


class LaplaceNoise(LaplaceFacts, NoiseLaw):
    """Laplace noise on each number, for answers bounded in 1-norm."""

    length_power = 1
    share_power = 1.0
    divides = True

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return np.multiply(rng.laplace(size=shape), scale)

    def draw_part(
        self, parts: int, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator
    ) -> Array:
        """Draw the difference of two Gamma(1/parts, scale) variables.

        Source: Kotz, Kozubowski and Podgorski, The Laplace Distribution and Generalizations,
            Proposition 2.4.1.
        """
        drawn = rng.standard_gamma(1 / parts, size=(*shape, 2))  # the same in pieces as at once
        return np.multiply(drawn[..., 0] - drawn[..., 1], scale)


@dataclass(frozen=True)
class Laplace(LaplaceNoise, LaplaceAccounting, BasicComposition):
    """Laplace noise on T mean-gradient answers, the budget split evenly over T: pure epsilon-DP.

    Each answer moves by at most 2 Xi/n in 1-norm when one record is replaced, so noise of scale b =
    2 Xi T kappa/(n epsilon) per coordinate spends epsilon/(T kappa) a round, and variance is v = 2
    b^2. The loops of the papers ask T-1 times; the split over T is kept as published and is
    slightly conservative.

    Parameters
    ----------
    overlap: kappa >= 1, the number of owners one record may sit with; each spends epsilon/kappa.

    Source: Wu et al., The Value of Collaboration, Theorem 1 and the remark after Assumption 1.
        E|w|^2 is 2 p b^2: every coordinate is counted here, where the published proofs drop p.

    >>> Laplace().variance([1.0, np.inf, 0.0], [100, 100, 100], bound=3.0, horizon=10)
    array([0.72, 0.  ,  inf])
    """

    in_published_bounds = True

    overlap: Count = 1

    def _term_slope(self, epsilon: Array) -> Array:
        return -16 * self.overlap**2 / (epsilon * epsilon * epsilon)
