"""L2 noise on vectors: density falling as exp(-|z|_2/scale), for what is bounded in 2-norm; pure DP, or accounted exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from typing import ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count, Positive, Probability, parameter
from learning.losses.scores import frontier
from learning.privacy.beliefs import belief, by_column, surest
from learning.privacy.guarantees import EPSILONS, Guarantee, Measure, profile_around, pure
from learning.privacy.l2_accounting import ROUNDING, Parts, curve, profile, scaled, spent
from learning.privacy.laplace import AccountedLaplace
from learning.privacy.mechanism import FixedHorizon, Mechanism
from learning.privacy.noise_law import where_noisy
from learning.privacy.shares import shares
from learning.privacy.tables import check_covered, read

SMALLEST, LARGEST = 1e-3, 500.0  # budgets that are counted; smaller ones are served in proportion
CHOICES = 4  # of dominating pairs of second moments and scores where each has a curve of its own to count
MORE_CHOICES = 64  # the same where budgets add, and a pair costs next to nothing
SHAVE = 1e-4  # taken off every ratio, above the error of interpolation, so that the noise errs upwards


class L2Noise(Mechanism):
    """What mechanisms with l2 noise share, whatever counts its cost; noise is drawn by whole vectors."""

    name = "l2"
    norm: ClassVar[int] = 2
    divides = True
    choices: ClassVar[int] = CHOICES
    width: int
    pairs: tuple[Parts, ...]

    @property
    def unit_variance(self) -> float:
        """p + 1: the radius is Gamma(p) distributed, with mean square p (p + 1), and the direction uniform."""
        return self.width + 1.0

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Vectors along the last axis, as long as that is.

        A Gaussian vector times the length of another with one number more, for that one's squared length W is chi-squared
        with p + 1 degrees of freedom, and the mixture over W of Gaussian densities of variance W has the characteristic
        function (1 + |t|^2)^(-(p + 1)/2), as exp(-|z|) has. So every vector takes 2 p + 1 numbers of the stream, and
        drawing in pieces gives the same noise as drawing at once.
        """
        width = shape[-1]
        drawn = rng.normal(size=(*shape[:-1], 2 * width + 1))
        lengths = np.linalg.norm(drawn[..., width:], axis=-1, keepdims=True)
        return np.multiply(drawn[..., :width] * lengths, scale)

    def part(self, parts: int, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """A Gaussian vector times the root of W ~ Gamma((p + 1)/(2 parts), 2): such W add up, and so do the vectors.

        All its numbers are made of gamma variables, those of a vector one after the other, so that drawing in pieces gives
        the same as drawing at once: twice a Gamma(1/2) is the square of a Gaussian number, and a Gamma(1) tells its sign.
        """
        freedom = np.concatenate([[(self.width + 1) / (2 * parts)], np.full(self.width, 0.5), np.ones(self.width)])
        drawn = rng.standard_gamma(freedom, size=(*shape[:-1], len(freedom)))
        length, square, sign = np.split(drawn, [1, self.width + 1], axis=-1)
        return np.multiply(2 * np.sqrt(length * square) * np.where(sign < np.log(2), -1.0, 1.0), scale)

    def with_moments(self, share: float, rows: int = 1) -> Mechanism:
        """Priced for scores with second moments beside them, each part of a release with l2 noise of its own.

        Second moments have W = p (p + 1)/2 numbers. With noise whose deviation is R^2/(2 h t) of that on a score, t the
        share, their ratio R^2/b is t sqrt((W + 1)/(p + 1)) of the score's, 2 h/b. Where several rows of a person give
        way, some may move the scores furthest and others the moments, so that no choice does but the worst for each.
        """
        beside = self.width * (self.width + 1) // 2
        factor = share * np.sqrt((beside + 1) / (self.width + 1))
        apart = frontier(self.choices) if self.overlap == rows == 1 else np.array([[1.0, np.sqrt(2)]])
        pairs = tuple(((float(s), self.width), (float(m * factor), beside)) for s, m in apart)
        return replace(self, pairs=pairs)  # type: ignore[type-var]

    def beside_moments(self, share: float) -> float:
        """1: the price counts the moments."""
        return 1.0

    def draw_release(self, widths: Sequence[int], *, rng: np.random.Generator) -> Array:
        """Noise of variance 1, part by part where each is priced by itself."""
        if not self.pairs:
            return super().draw_release(widths, rng=rng)
        return np.concatenate([self.draw(1 / np.sqrt(width + 1), (width,), rng=rng) for width in widths])

    def longest(self, width: int, level: float) -> float:
        return float(scipy.special.gammainccinv(width, level))  # the radius is a sum of exponential variables

    def length_law(self, width: int) -> tuple[float, float]:
        return float(width), 1.0

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
    pairs: what one answer is made of, as under `AccountedL2`; ratios of the parts add up.

    Source: Hardt and Talwar, On the Geometry of Differential Privacy, section 4, with the Euclidean ball for K; Chaudhuri,
    Monteleoni and Sarwate, Differentially Private Empirical Risk Minimization, section 3.1.

    >>> L2(10).variance([1.0, np.inf, 0.0], [100, 100, 100], bound=3.0, horizon=10)
    array([3.96, 0.  ,  inf])
    """

    compared = True
    choices = MORE_CHOICES
    share_power = 1.0

    width: Count = parameter()
    overlap: Count = 1
    pairs: tuple[Parts, ...] = ()

    @property
    def added(self) -> float:
        """What all owners' parts of one answer add up to, in units of the ratio of the answer: kappa of a single part."""
        return self.overlap * max((sum(ratio for ratio, _ in parts) for parts in self.pairs), default=1)

    def _scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        return 2 * bound * horizon * self.added / sizes / epsilon

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4 (p + 1) kappa^2/epsilon^2 of answers of one part."""
        return where_noisy(epsilon, lambda e: 4 * self.unit_variance * self.added**2 / e**2)

    def _slope(self, epsilon: Array) -> Array:
        return -2 * self.noise_term(epsilon) / epsilon

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """T^2."""
        return np.asarray(horizon, dtype=float) ** 2

    def release_budget(self, epsilon: float, horizon: int) -> float | None:
        """epsilon/(T kappa), of answers that are one vector; none of others."""
        return None if self.pairs else epsilon / (horizon * self.overlap)


@lru_cache(maxsize=64)
def l2_profile(ratio: float, pairs: tuple[Parts, ...]) -> Measure:
    """Least ratio at which answers, whose ratios are so many times it, can be told apart so well."""
    return profile_around(ratio, lambda r: np.max([profile(scaled(parts, r), EPSILONS) for parts in pairs], axis=0))


@dataclass(frozen=True)
class AccountedL2(L2Noise, FixedHorizon):
    """L2 noise on at most ``horizon`` mean-gradient answers, counted exactly: (epsilon, delta)-DP over all of them.

    Each answer moves by at most D = 2 G/n in 2-norm when one record is replaced, and gets noise of scale b = D/r;
    r(epsilon, delta) is the largest ratio at which the privacy-loss distribution of T kappa such answers keeps to
    (epsilon, delta) (`learning.privacy.l2_accounting`), less 1e-4, above the error of interpolation. Variance is
    G^2 term(epsilon)/n^2 with term = 4 (p + 1)/r^2; T is part of the mechanism, as under `AccountedLaplace`. Never more noise
    than basic composition, r = epsilon/(T kappa): the larger r of the two is used. Budgets below 0.001 get noise in
    proportion, which is enough (`Curve`). Where shares grow, answer k has the ratio r T s_k, and r is their mean.

    The pair at distance D dominates all that lie closer, whatever their direction, which the law does not know. Let the
    data move an answer by s e, 0 <= s <= D, |e| = 1, and let y be the part of z orthogonal to e, whose law the shift leaves
    alone. Given y the density along e is in proportion to exp(-sqrt(x^2 + |y|^2)/b), log-concave in x, so the likelihood
    ratio of x and x - s is monotone in x and the best test of one against gamma times the other is a half-line: the
    hockey-stick divergence given y is sup_t of F(t) - gamma F(t - s), up to the side, with F its distribution function. That
    grows with s for every gamma >= 0 and every t; so does its mean over y, which is the divergence of the answers. A larger
    divergence at every gamma is what domination means, and dominating pairs compose, even where what is asked next hangs
    on the answers before (Zhu, Dong and Wang, Theorem 10).

    Parameters
    ----------
    delta: the failure probability over all answers, in (0, 1); at or above 1/n it may mean a whole record given away.
    horizon: T >= 1, the most answers that may be given.
    width: p, the numbers in one answer.
    overlap: kappa >= 1, the owners one record may sit with; the answers of all of them compose.
    accounting: "pld".
    growth: g of the shares s_k that ratios are in proportion to (`learning.privacy.shares`); 1 where all are alike.
    pairs: what one answer is made of, as (ratio over r, numbers) part by part; where no pair of records is worst for all
        parts, every choice that dominates some of them. The whole answer of ``width`` numbers at ratio r unless given.

    Source: Joseph, Kulesza and Yu, Approximate Differential Privacy of the l2 Mechanism, who bound the two tails of the loss
    of one answer by spherical caps; the closed density, its composition and the proof above are ours.

    >>> AccountedL2(1e-6, horizon=1, width=10).variance([1.0, np.inf, 0.0], [100] * 3, bound=0.5, horizon=1).round(7)
    array([0.000924, 0.      ,      inf])
    """

    accountings = ("pld",)
    compared = True
    share_power = 1.0
    announced_horizons = (2, 3, 4, 6, 10, 17)
    largest = LARGEST

    delta: Probability = parameter()
    horizon: Count = parameter()
    width: Count = parameter()
    overlap: Count = 1
    accounting: Literal["pld"] = "pld"
    growth: Positive = 1.0
    pairs: tuple[Parts, ...] = ()

    def answered(self, answers: int) -> tuple[Parts, ...]:
        """The first so many answers of one owner in units of r, one for each choice of dominating pairs.

        Raises
        ------
        ValueError
            If there is a choice in several answers: who asks could then choose by what was answered before.
        """
        pairs = self.pairs or (((1.0, self.width),),)
        if len(pairs) > 1 and answers > 1:
            raise ValueError(f"a choice of pairs is counted in one answer, got {answers} answers")
        each = (self.horizon * shares(self.growth, self.horizon)[:answers]).tolist()
        return tuple(sum((scaled(parts, share) for share in each), ()) for parts in pairs)

    def together(self, ratios: tuple[float, ...]) -> list[Parts]:
        """All answers of owners of these ratios, one for each choice of dominating pairs at every owner."""
        each = [[scaled(parts, ratio) for parts in self.answered(self.horizon)] for ratio in sorted(ratios)]
        return [sum(chosen, ()) for chosen in product(*each)]

    @property
    def added(self) -> float:
        """What basic composition adds up, in units of r."""
        return max(sum(ratio for ratio, _ in parts) for parts in self.together((1.0,) * self.overlap))

    def ratio(self, epsilon: ArrayLike) -> Array:
        """r = sensitivity/scale that a budget allows each answer.

        Raises
        ------
        InputError
            Beyond a budget of 500, which is not counted.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        return np.maximum(self._counted(epsilon)[0], epsilon / self.added)

    def _counted(self, epsilon: Array) -> tuple[Array, Array]:
        """The largest ratio by privacy-loss distributions, and its elasticity d log ratio/d log epsilon."""
        check_covered(epsilon, LARGEST, "under accounting by privacy-loss distributions")
        if self.width == 1 and not self.pairs:  # whose curve has bends
            return AccountedLaplace(self.delta, self.horizon, self.overlap, growth=self.growth)._counted(epsilon)
        parts = self.together((1.0,) * self.overlap)
        if self.delta <= 10 * ROUNDING * len(parts[0]):
            return epsilon / self.added, np.ones_like(epsilon)
        found = np.array([read(curve(one, self.delta), epsilon, SMALLEST, LARGEST, SHAVE) for one in parts])
        least = found[:, 0].argmin(axis=0)[None]
        ratio, elasticity = (np.take_along_axis(found[:, i], least, axis=0)[0] for i in range(2))
        return ratio, elasticity

    def _scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        return 2 * bound / sizes / self.ratio(epsilon)

    def _budget(self, term: float) -> float:
        """At most what basic composition counts: so too of less noise than is counted; inf beyond what is counted."""
        found = min(super()._budget(term), self.added * float(np.sqrt(4 * self.unit_variance / term)))
        return found if found <= LARGEST else np.inf

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4 (p + 1)/r(epsilon)^2."""
        return where_noisy(epsilon, lambda e: 4 * self.unit_variance / self.ratio(e) ** 2)

    def _slope(self, epsilon: Array) -> Array:
        counted, elasticity = self._counted(epsilon)
        elasticity = np.where(counted > epsilon / self.added, elasticity, 1.0)
        return -2 * self.noise_term(epsilon) * elasticity / epsilon

    @property
    def but_for(self) -> float:
        """Delta: its profile is known."""
        return self.delta

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        """By the composition of all answers of all owners; never more than T sum r_l, or what the most exposed sells."""

        def lost(budgets: tuple[float, ...]) -> float:
            counted = [spent(parts, self.delta) for parts in self.together(tuple(self.ratio(budgets).tolist()))]
            return min(max(budgets), max(counted))

        return by_column(lost, held)

    def surest(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """By the profile of all answers of all owners, or by pure DP at the sum of their ratios."""

        def told(budgets: tuple[float, ...]) -> float:
            choices = self.together(tuple(self.ratio(budgets).tolist()))
            added = max(sum(ratio for ratio, _ in parts) for parts in choices)
            counted = max(surest(partial(profile, parts), self.but_for) for parts in choices)
            return min(counted, float(belief(added, 0.0, self.but_for)))

        return by_column(told, held)

    def guarantee(self, epsilon: float, horizon: int, answers: int, *, size: int = 1) -> Guarantee:
        """An even answer is pure DP at the ratio r; all of them have the profile that the accountant counts."""
        pairs = self.answered(answers)
        ratio = float(self.ratio(epsilon))

        def back(r: float) -> float:
            return max(spent(scaled(parts, r), self.delta) for parts in pairs) if r > 0 else 0.0

        single = ratio * max(sum(part for part, _ in parts) for parts in self.pairs) if self.pairs else ratio
        return Guarantee(l2_profile(ratio, pairs), ratio, single, back, epsilon, pure, float)
