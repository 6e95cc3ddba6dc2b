"""L2 noise on mean-gradient answers bounded in 2-norm: pure epsilon-DP."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count, parameter
from learning.privacy.accounting import MORE_CHOICES, L2Accounting, L2Facts, Parts
from learning.privacy.mechanism import BasicComposition
from learning.privacy.noise import NoiseLaw


class L2Noise(L2Facts, NoiseLaw):
    """Noise on vectors whose density falls as exp(-|z|_2/scale), for answers bounded in 2-norm."""

    length_power = 1
    share_power = 1.0
    divides = True
    widens = True
    apart = True

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Draw vectors along the last axis.

        A Gaussian vector of p numbers times the length of another of p + 1 numbers. The squared
        length W is chi-squared with p + 1 degrees of freedom, and the mixture over W of Gaussian
        densities of variance W has the characteristic function (1 + |t|^2)^(-(p + 1)/2) of
        exp(-|z|). Each vector takes 2 p + 1 numbers of the stream, so that drawing in pieces gives
        the same noise as drawing at once.
        """
        width = shape[-1]
        drawn = rng.normal(size=(*shape[:-1], 2 * width + 1))
        lengths = np.linalg.norm(drawn[..., width:], axis=-1, keepdims=True)
        return np.multiply(drawn[..., :width] * lengths, scale)

    def draw_part(
        self, parts: int, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator
    ) -> Array:
        """Draw a Gaussian vector of p numbers times sqrt(W), W ~ Gamma((p + 1)/(2 parts), 2).

        ``parts`` such vectors add up to the noise. All numbers are made of gamma variables, vector
        by vector, so that drawing in pieces gives the same noise as drawing at once: twice a
        Gamma(1/2) is the square of a Gaussian number, and a Gamma(1) decides its sign.
        """
        width = shape[-1]
        freedom = np.concatenate([[(width + 1) / (2 * parts)], np.full(width, 0.5), np.ones(width)])
        drawn = rng.standard_gamma(freedom, size=(*shape[:-1], len(freedom)))
        length, square, sign = np.split(drawn, [1, width + 1], axis=-1)
        signs = np.where(sign < np.log(2), -1.0, 1.0)
        return np.multiply(2 * np.sqrt(length * square) * signs, scale)

    def draw_further(
        self, factor: float, widths: Sequence[int], *, rng: np.random.Generator
    ) -> Array:
        """Draw Gaussian vectors of random length, part by part.

        The noise has the squared length W = 2 G, with G gamma of shape k = (p + 1)/2. A gamma
        variable of shape k + N, N negative binomial of k and 1/c^2, is c^2 times one of shape k, so
        a vector of variance 2 G', G' gamma of shape N, makes the noise c times as wide.
        """
        if not self.pairs:
            drawn = _draw_missing(factor, sum(widths), rng)
            return np.asarray(drawn / np.sqrt(self.unit_variance))
        return np.concatenate(
            [_draw_missing(factor, width, rng) / np.sqrt(width + 1) for width in widths]
        )

    def draw_release(self, widths: Sequence[int], *, rng: np.random.Generator) -> Array:
        """Draw noise of variance 1, part by part where each part is priced by itself."""
        if not self.pairs:
            return super().draw_release(widths, rng=rng)
        drawn = [self.draw(1 / np.sqrt(width + 1), (width,), rng=rng) for width in widths]
        return np.concatenate(drawn)

    def draw_release_part(
        self, parts: int, widths: Sequence[int], *, rng: np.random.Generator
    ) -> Array:
        """Draw a part of noise of variance 1, part by part where each is priced by itself."""
        if not self.pairs:
            return super().draw_release_part(parts, widths, rng=rng)
        drawn = [
            self.draw_part(parts, np.sqrt(parts / (width + 1)), (width,), rng=rng)
            for width in widths
        ]
        return np.concatenate(drawn)

    def beside_moments(self, share: float) -> float:
        """1: the price counts the moments."""
        return 1.0

    def deviation_quantile(self, level: float) -> float:
        """Root of a chi-squared quantile over its mean, p + 1 degrees of freedom."""
        freedom = (self.width + 1) / 2
        return float(np.sqrt(scipy.special.gammainccinv(freedom, level) / freedom))


def _draw_missing(factor: float, width: int, rng: np.random.Generator) -> Array:
    """Draw what makes l2 noise of scale 1 on so many numbers ``factor`` times as wide."""
    count = rng.negative_binomial((width + 1) / 2, factor**-2)
    length = np.sqrt(2 * rng.standard_gamma(count))
    return np.asarray(length * rng.normal(size=width))


@dataclass(frozen=True)
class L2(L2Noise, L2Accounting, BasicComposition):
    """L2 noise on T mean-gradient answers, the budget split evenly over T: pure epsilon-DP.

    Each answer moves by at most D = 2 G/n in 2-norm when one record is replaced, and |z + s|_2 -
    |z|_2 <= |s|_2, so noise of density proportional to exp(-|z|_2/b) with scale b = D T
    kappa/epsilon spends epsilon/(T kappa) an answer. Its variance is (p + 1) b^2 in each of p
    coordinates. For p = 1 this is Laplace noise.

    Parameters
    ----------
    width: p, the numbers in one answer.
    overlap: kappa >= 1, the owners one record may sit with; each spends epsilon/kappa.
    pairs: the parts of one answer, as under `AccountedL2`; their ratios add up.

    Source: Hardt and Talwar, On the Geometry of Differential Privacy, section 4, with the Euclidean
        ball for K; Chaudhuri, Monteleoni and Sarwate, Differentially Private Empirical Risk
        Minimization, section 3.1.

    >>> L2(10).variance([1.0, np.inf, 0.0], [100, 100, 100], bound=3.0, horizon=10)
    array([3.96, 0.  ,  inf])
    """

    choices = MORE_CHOICES

    width: Count = parameter()
    overlap: Count = 1
    pairs: tuple[Parts, ...] = ()
