"""L2 noise on vectors: density falling as exp(-|z|_2/scale), pure epsilon-DP for what is bounded in 2-norm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count, parameter
from learning.privacy.mechanism import Mechanism, where_noisy


class L2Noise(Mechanism):
    """What mechanisms with l2 noise share, whatever counts its cost; noise is drawn by whole vectors of ``width`` numbers."""

    name = "l2"
    norm: ClassVar[int] = 2
    width: int

    @property
    def unit_variance(self) -> float:
        """p + 1: the radius is Gamma(p) distributed, with mean square p (p + 1), and the direction uniform."""
        return self.width + 1.0

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Vectors along the last axis, which must be of length ``width``.

        A Gaussian vector times the length of another with one number more, for that one's squared length W is chi-squared
        with p + 1 degrees of freedom, and the mixture over W of Gaussian densities of variance W has the characteristic
        function (1 + |t|^2)^(-(p + 1)/2), as exp(-|z|) has. So every vector takes 2 p + 1 numbers of the stream, and
        drawing in pieces gives the same noise as drawing at once.

        Raises
        ------
        ValueError
            If vectors of another length are asked for: noise is not drawn number by number.
        """
        if shape[-1:] != (self.width,):
            raise ValueError(f"l2 noise is drawn by whole vectors of {self.width} numbers, got shape {shape}")
        drawn = rng.normal(size=(*shape[:-1], 2 * self.width + 1))
        lengths = np.linalg.norm(drawn[..., self.width :], axis=-1, keepdims=True)
        return np.multiply(drawn[..., : self.width] * lengths, scale)

    def longest(self, width: int, level: float) -> float:
        return float(scipy.special.gammainccinv(width, level))  # the radius is a sum of exponential variables

    def swing(self, level: float) -> float:
        """The root of how far a chi-squared variable with p + 1 degrees of freedom lies above its mean."""
        freedom = (self.width + 1) / 2
        return float(np.sqrt(scipy.special.gammainccinv(freedom, level) / freedom))


@dataclass(frozen=True)
class L2(L2Noise):
    """L2 noise on T mean-gradient answers, the budget split evenly over T (basic composition): pure epsilon-DP.

    Each answer moves by at most D = 2 G/n in 2-norm when one record is replaced, and |z + s|_2 - |z|_2 <= |s|_2, so noise
    of density proportional to exp(-|z|_2/b) with scale b = D T kappa/epsilon spends epsilon/(T kappa) an answer. Its
    variance is (p + 1) b^2 in each of p coordinates. For p = 1 this is Laplace noise.

    Parameters
    ----------
    width: p, the numbers in one answer.
    overlap: kappa >= 1, the owners one record may sit with; each spends epsilon/kappa.

    Source: Hardt and Talwar, On the Geometry of Differential Privacy, section 4, with the Euclidean ball for K; Chaudhuri,
    Monteleoni and Sarwate, Differentially Private Empirical Risk Minimization, section 3.1.

    >>> L2(10).variance([1.0, np.inf, 0.0], [100, 100, 100], bound=3.0, horizon=10)
    array([3.96, 0.  ,  inf])
    """

    compared = True
    share_power = 1.0

    width: Count = parameter()
    overlap: Count = 1

    def _scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        return 2 * bound * horizon * self.overlap / sizes / epsilon

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4 (p + 1) kappa^2/epsilon^2."""
        return where_noisy(epsilon, lambda e: 4 * self.unit_variance * self.overlap**2 / e**2)

    def _slope(self, epsilon: Array) -> Array:
        return -2 * self.noise_term(epsilon) / epsilon

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """T^2."""
        return np.asarray(horizon, dtype=float) ** 2
