"""Laws of noise: what a mechanism draws, and how long and how wide such noise is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Declaration
from learning.errors import InputError
from learning.losses.scores import distance_frontier, noise_stretch

TAIL = 100  # draws beyond an empirical quantile
CHOICES = 4  # dominating pairs of moments and scores where each needs a table of its own
MORE_CHOICES = 64  # the same where budgets add


class NoiseLaw(Declaration, ABC):
    """Law of a mechanism's noise: ``norm`` and ``draw`` must be given.

    Attributes
    ----------
    name: the name in scenario files and results; that of the class unless given.
    title: the name in reports; "<Name> noise" unless given.
    norm: 1 or 2, the norm in which a record's gradient must be bounded.
    unit_variance: the variance of ``draw`` at scale 1.
    length_power: k such that (length/scale)^k/k is gamma distributed of shape p/k, the length of p
        numbers in ``norm``; None of other laws.
    share_power: the power of an answer's share of the budget that the scale of its noise falls
        with, 1 where budgets add and 1/2 where squared distances do; None where all answers must
        get the same noise.
    divides: whether several owners can make the noise together, each by `draw_part`.
    parts: the number of independent draws that make up the noise.
    whole: whether the noise is always one draw.
    accounting: how the cost of all answers is counted.
    pairs: (ratio, numbers) of each part of an answer, where parts have noise of their own
        (`learning.privacy.l2.AccountedL2`).
    """

    where: ClassVar[str] = "learning"
    name: ClassVar[str] = ""
    title: ClassVar[str] = ""
    length_power: ClassVar[int | None] = None
    share_power: ClassVar[float | None] = None
    divides: ClassVar[bool] = False
    whole: ClassVar[bool] = True
    parts: int = 1
    accounting: str = "basic"
    pairs: tuple[tuple[tuple[float, int], ...], ...] = ()

    @property
    @abstractmethod
    def norm(self) -> int: ...

    @property
    def unit_variance(self) -> float:
        return 1.0

    @abstractmethod
    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Draw noise of a scale; zeros at scale 0."""

    def draw_part(
        self, parts: int, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator
    ) -> Array:
        """Draw one of several independent parts that add up to noise of a scale.

        Raises
        ------
        InputError
            If the noise cannot be divided.
        """
        rule = f'must be "local" with {self.label} noise, which owners cannot divide among them'
        raise InputError("trust.aggregation", rule, "secure")

    def draw_release(self, widths: Sequence[int], *, rng: np.random.Generator) -> Array:
        """Draw noise of variance 1 for one release of several parts, ``widths`` numbers each."""
        return self.draw(1.0, (sum(widths),), rng=rng) / np.sqrt(self.unit_variance)

    def beside_moments(self, share: float) -> float:
        """Factor of the noise on scores when second moments are released with them."""
        raise TypeError(f"{self.title} is not drawn for second moments and scores together")

    def scale_of_variance(self, variance: ArrayLike) -> Array:
        """Scale of noise of a given variance."""
        return np.sqrt(np.asarray(variance, dtype=float) / self.unit_variance)

    def length_law(self, width: int) -> tuple[float, float]:
        """Shape a and power k such that (length/scale)^k/k of p numbers is a Gamma(a) variable.

        Such variables of independent answers add up to one whose shape is the sum.

        Raises
        ------
        InputError
            If the length has no such law.
        """
        if self.length_power is None:
            rule = f"must have lengths of a known law, which {self.label} noise has not"
            raise InputError("learning.mechanism", rule)
        return width / self.length_power, float(self.length_power)

    def length_quantile(self, width: int, level: float) -> float:
        """Length of ``width`` numbers of scale 1 that is exceeded with probability ``level``."""
        if self.length_power is None:
            return self.empirical_length_quantile(width, level)
        shape, power = self.length_law(width)
        return float((power * scipy.special.gammainccinv(shape, level)) ** (1 / power))

    def empirical_length_quantile(self, width: int, level: float) -> float:
        """The same quantile estimated from draws."""
        drawn = self.draw(1.0, (int(TAIL / level), width), rng=np.random.default_rng(width))
        return float(np.quantile(np.linalg.norm(drawn, ord=self.norm, axis=1), 1 - level))

    def deviation_quantile(self, level: float) -> float:
        """Standard deviation of one draw over the usual one, exceeded with probability ``level``.

        1 where numbers are independent; above 1 where one draw makes all of them large or small.
        """
        return 1.0

    @property
    def label(self) -> str:
        """Name, with the accounting unless that is basic composition."""
        return self.name if self.accounting == "basic" else f"{self.name} ({self.accounting})"


def where_noisy(epsilon: ArrayLike, law: Callable[[Array], Array]) -> Array:
    """Evaluate law(epsilon) at finite positive budgets; 0 elsewhere, where no noise is added.

    >>> where_noisy([0.0, 2.0, np.inf], lambda epsilon: 8 / epsilon**2).tolist()
    [0.0, 2.0, 0.0]
    """
    epsilon = np.asarray(epsilon, dtype=float)
    if epsilon.size and epsilon.min() > 0 and epsilon.max() < np.inf:
        return np.asarray(law(epsilon), dtype=float)
    noisy = (epsilon > 0) & np.isfinite(epsilon)
    return np.where(noisy, law(np.where(noisy, epsilon, 1.0)), 0.0)


class LaplaceNoise(NoiseLaw):
    """Laplace noise on each number, for answers bounded in 1-norm."""

    name = "laplace"
    title = "Laplace noise"
    norm: ClassVar[int] = 1
    unit_variance: ClassVar[float] = 2.0
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


class GaussianNoise(NoiseLaw):
    """Gaussian noise on each number, for answers bounded in 2-norm."""

    name = "gaussian"
    title = "Gaussian noise"
    norm: ClassVar[int] = 2
    length_power = 2
    profile_known: ClassVar[bool] = True

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return np.multiply(rng.normal(size=shape), scale)

    def draw_part(
        self, parts: int, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator
    ) -> Array:
        """Draw Gaussian noise of a ``parts``-th of the variance."""
        if not self.divides:
            return super().draw_part(parts, scale, shape, rng=rng)
        return self.draw(np.divide(scale, np.sqrt(parts)), shape, rng=rng)

    def beside_moments(self, share: float) -> float:
        return noise_stretch(share)


class L2Noise(NoiseLaw):
    """Noise on vectors whose density falls as exp(-|z|_2/scale), for answers bounded in 2-norm."""

    name = "l2"
    title = "L2 noise"
    norm: ClassVar[int] = 2
    length_power = 1
    share_power = 1.0
    divides = True
    choices: ClassVar[int] = CHOICES
    width: int
    overlap: int

    @property
    def unit_variance(self) -> float:
        """p + 1, of a Gamma(p) radius with mean square p (p + 1) and a uniform direction."""
        return self.width + 1.0

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
        """Draw a Gaussian vector times sqrt(W), W ~ Gamma((p + 1)/(2 parts), 2).

        Such vectors add up.

        All numbers are made of gamma variables, vector by vector, so that drawing in pieces gives
        the same noise as drawing at once: twice a Gamma(1/2) is the square of a Gaussian number,
        and
        a Gamma(1) decides its sign.
        """
        freedom = np.concatenate(
            [[(self.width + 1) / (2 * parts)], np.full(self.width, 0.5), np.ones(self.width)]
        )
        drawn = rng.standard_gamma(freedom, size=(*shape[:-1], len(freedom)))
        length, square, sign = np.split(drawn, [1, self.width + 1], axis=-1)
        signs = np.where(sign < np.log(2), -1.0, 1.0)
        return np.multiply(2 * np.sqrt(length * square) * signs, scale)

    def draw_release(self, widths: Sequence[int], *, rng: np.random.Generator) -> Array:
        """Draw noise of variance 1, part by part where each part is priced by itself."""
        if not self.pairs:
            return super().draw_release(widths, rng=rng)
        drawn = [self.draw(1 / np.sqrt(width + 1), (width,), rng=rng) for width in widths]
        return np.concatenate(drawn)

    def with_moments(self, share: float, rows: int = 1) -> Any:
        """Price the mechanism for scores and second moments, each with l2 noise of its own.

        Second moments have W = p (p + 1)/2 numbers. With noise whose deviation is R^2/(2 h t) of
        that on a score, t the share, their ratio R^2/b is t sqrt((W + 1)/(p + 1)) of the score's,
        2 h/b. Where several rows of a person are replaced, some may move the scores furthest and
        others the moments, so that only the worst for each is safe.
        """
        moments = self.width * (self.width + 1) // 2
        factor = share * np.sqrt((moments + 1) / (self.width + 1))
        distances = np.array([[1.0, np.sqrt(2)]])
        if self.overlap == rows == 1:
            distances = distance_frontier(self.choices)
        pairs = tuple(((float(s), self.width), (float(m * factor), moments)) for s, m in distances)
        return replace(self, pairs=pairs)  # type: ignore[type-var]

    def beside_moments(self, share: float) -> float:
        """1: the price counts the moments."""
        return 1.0

    def deviation_quantile(self, level: float) -> float:
        """Root of a chi-squared quantile over its mean, p + 1 degrees of freedom."""
        freedom = (self.width + 1) / 2
        return float(np.sqrt(scipy.special.gammainccinv(freedom, level) / freedom))
