"""L2 noise on mean-gradient answers bounded in 2-norm: pure epsilon-DP, or counted exactly."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from learning.arrays import Array
from learning.declaration import Count, Positive, Probability, parameter
from learning.privacy.composition import (
    LARGEST,
    ROUNDING,
    SHAVE,
    SMALLEST,
    BasicComposition,
    ComposedLoss,
    CountedComposition,
)
from learning.privacy.l2_accounting import Parts, compose_parts, factor_curve, scale_ratios
from learning.privacy.laplace import AccountedLaplace
from learning.privacy.noise import MORE_CHOICES, L2Noise
from learning.privacy.shares import answer_shares
from learning.privacy.tables import check_covered, read_table


@dataclass(frozen=True)
class L2(L2Noise, BasicComposition):
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


@dataclass(frozen=True)
class AccountedL2(L2Noise, CountedComposition):
    """L2 noise on at most ``horizon`` mean-gradient answers, counted exactly.

    (epsilon, delta)-DP over all of them.

    Each answer moves by at most D = 2 G/n in 2-norm when one record is replaced, and gets noise of
    scale b = D/r (`learning.privacy.composition.CountedComposition`,
    `learning.privacy.l2_accounting`). Where shares grow, answer k has the ratio r T s_k, and r is
    their mean.

    The pair at distance D dominates all closer ones, whatever their direction, which the law does
    not depend on. Let the data move an answer by s e, 0 <= s <= D, |e| = 1, and let y be the part
    of z orthogonal to e, whose law the shift leaves unchanged. Given y the density along e is in
    proportion to exp(-sqrt(x^2 + |y|^2)/b), log-concave in x, so the likelihood ratio of x and x -
    s is monotone in x and the best test of one against gamma times the other is a half-line: the
    hockey-stick divergence given y is sup_t of F(t) - gamma F(t - s), up to the side, with F its
    distribution function. That grows with s for every gamma >= 0 and every t; so does its mean over
    y, which is the divergence of the answers. A larger divergence at every gamma is what domination
    means, and dominating pairs compose, also adaptively (Zhu, Dong and Wang, Theorem 10).

    Parameters
    ----------
    delta: the failure probability over all answers, in (0, 1); at or above 1/n it may mean a whole
        record given away.
    horizon: T >= 1, the most answers that may be given.
    width: p, the numbers in one answer.
    overlap: kappa >= 1, the owners one record may sit with; the answers of all of them compose.
    accounting: "pld".
    growth: g of the shares s_k that ratios are in proportion to (`learning.privacy.shares`); 1 of
        even shares.
    pairs: the parts of one answer as (ratio over r, numbers); where no pair of records is worst for
        all parts, every choice that dominates some of them. One part of ``width`` numbers at ratio
        r unless given.

    Source: Joseph, Kulesza and Yu, Approximate Differential Privacy of the l2 Mechanism, who bound
        the two tails of the loss of one answer by spherical caps; the closed density, its
        composition and the proof above are ours.

    >>> mechanism = AccountedL2(1e-6, horizon=1, width=10)
    >>> mechanism.variance([1.0, np.inf, 0.0], [100] * 3, bound=0.5, horizon=1).round(7)
    array([0.000924, 0.      ,      inf])
    """

    delta: Probability = parameter()
    horizon: Count = parameter()
    width: Count = parameter()
    overlap: Count = 1
    accounting: Literal["pld"] = "pld"
    growth: Positive = 1.0
    pairs: tuple[Parts, ...] = ()

    def parts_of_answers(self, answers: int) -> tuple[Parts, ...]:
        """List the parts of one owner's first answers in units of r, by choice of dominating pairs.

        Raises
        ------
        ValueError
            If there is a choice in several answers: the choice could then depend on earlier
            answers.
        """
        pairs = self.pairs or (((1.0, self.width),),)
        if len(pairs) > 1 and answers > 1:
            raise ValueError(f"a choice of pairs is counted in one answer, got {answers} answers")
        each = (self.horizon * answer_shares(self.growth, self.horizon)[:answers]).tolist()
        return tuple(sum((scale_ratios(parts, share) for share in each), ()) for parts in pairs)

    def parts_of_owners(self, ratios: tuple[float, ...]) -> list[Parts]:
        """List the parts of all answers of owners of given ratios, by choice at every owner."""
        answers = self.parts_of_answers(self.horizon)
        each = [[scale_ratios(parts, ratio) for parts in answers] for ratio in sorted(ratios)]
        return [sum(chosen, ()) for chosen in product(*each)]

    @property
    def total_ratio(self) -> float:
        choices = self.parts_of_owners((1.0,) * self.overlap)
        return max(sum(ratio for ratio, _ in parts) for parts in choices)

    def _counted_ratio(self, epsilon: Array) -> tuple[Array, Array]:
        check_covered(epsilon, LARGEST, "under accounting by privacy-loss distributions")
        if self.width == 1 and not self.pairs:  # whose curve has bends
            laplace = AccountedLaplace(self.delta, self.horizon, self.overlap, growth=self.growth)
            return laplace._counted_ratio(epsilon)
        choices = self.parts_of_owners((1.0,) * self.overlap)
        if self.delta <= 10 * ROUNDING * len(choices[0]):
            return epsilon / self.total_ratio, np.ones_like(epsilon)
        curves = [factor_curve(parts, self.delta) for parts in choices]
        found = [read_table(one, epsilon, SMALLEST, LARGEST, SHAVE) for one in curves]
        ratios, elasticities = (np.array(each) for each in zip(*found, strict=True))
        least = ratios.argmin(axis=0)[None]
        elasticity = np.take_along_axis(elasticities, least, axis=0)[0]
        return np.take_along_axis(ratios, least, axis=0)[0], elasticity

    def _budget_of_term(self, term: float) -> float:
        """Budget as counted; inf beyond that."""
        found = super()._budget_of_term(term)
        return found if found <= LARGEST else np.inf

    def losses_of_owners(self, ratios: tuple[float, ...], horizon: int) -> list[ComposedLoss]:
        return [compose_parts(parts) for parts in self.parts_of_owners(ratios)]

    def losses_of_answers(self, ratio: float, answers: int) -> list[ComposedLoss]:
        choices = self.parts_of_answers(answers)
        return [compose_parts(scale_ratios(parts, ratio)) for parts in choices]
