"""Mechanisms of one ratio sensitivity/scale, counted by privacy-loss distributions."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count, Positive, Probability, parameter
from learning.privacy.accounting import Parts
from learning.privacy.l2 import L2Noise
from learning.privacy.l2_accounting import (
    ROUNDING,
    ComposedLoss,
    FactorCurve,
    compose_counts,
    compose_parts,
    factor_curve,
    scale_ratios,
)
from learning.privacy.laplace import LaplaceNoise
from learning.privacy.mechanism import FixedHorizon, evaluate_columns
from learning.privacy.noise import check_covered, read_distance, read_table, where_noisy
from learning.privacy.shares import answer_shares

SMALLEST = 1e-3  # budgets that are counted; smaller ones are served in proportion
LARGEST = 500.0  # beyond it exp(-loss) leaves the floating-point range
SHAVE = 1e-4  # taken off every ratio, above the error of interpolation, so that noise errs upwards
STEP = 0.1  # between the first nodes, in log epsilon
CLOSE = 2e-5  # error in log ratio at which an interval is no longer halved
HALVINGS = 10


class CountedComposition(FixedHorizon):
    """Mechanism of one ratio r on at most ``horizon`` answers: (epsilon, delta)-DP over all.

    r(epsilon, delta) is the largest ratio at which the privacy-loss distribution of all answers
    keeps to (epsilon, delta), less 1e-4, above the error of interpolation. It depends on T in no
    separable way, so T is part of the mechanism: variance = bound^2 term(epsilon)/n^2 with term = 4
    v/r^2. Never more noise than basic composition: the larger r of the two is used. Below 0.001 r
    falls in proportion to epsilon, which is enough noise: with log-concave noise, f = exp(-V), the
    loss at shift s is V(z + s) - V(z), convex in s and 0 at s = 0, so a shift c s, c < 1, loses at
    most c times as much, and (1 - exp(c(epsilon - loss)))_+ is at most (1 - exp(epsilon - loss))_+.
    """

    accountings = ("pld",)
    compared = True
    profile_known = True
    announced_horizons = (2, 3, 4, 6, 10, 17)
    largest = LARGEST

    @property
    @abstractmethod
    def total_ratio(self) -> float:
        """Sum of the ratios of all answers of all owners, in units of r."""

    @abstractmethod
    def _counted_ratio(self, epsilon: Array) -> tuple[Array, Array]:
        """Find the largest ratio by privacy-loss distributions, and d log ratio/d log epsilon."""

    @abstractmethod
    def losses_of_owners(self, ratios: tuple[float, ...], horizon: int) -> list[ComposedLoss]:
        """Compose all answers of owners of these ratios, for each choice of dominating pairs."""

    @abstractmethod
    def losses_of_answers(self, ratio: float, answers: int) -> list[ComposedLoss]:
        """Compose the first answers of one owner, for each choice of dominating pairs."""

    def ratio(self, epsilon: ArrayLike) -> Array:
        """Ratio r = sensitivity/scale of each answer at a budget, or their mean where shares grow.

        Raises
        ------
        InputError
            Beyond a budget of 500, which is not counted.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        return np.maximum(self._count_ratio(epsilon), epsilon / self.total_ratio)

    def _count_ratio(self, epsilon: Array) -> Array:
        """Find the largest ratio alone."""
        return self._counted_ratio(epsilon)[0]

    def _noise_scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        return 2 * bound / sizes / self.ratio(epsilon)

    def _budget_of_term(self, term: float) -> float:
        """Budget at most that of basic composition: so too of less noise than is counted."""
        basic = self.total_ratio * float(np.sqrt(4 * self.unit_variance / term))
        return min(super()._budget_of_term(term), basic)

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4 v/r(epsilon)^2, v the unit variance."""
        return where_noisy(epsilon, lambda e: 4 * self.unit_variance / self.ratio(e) ** 2)

    def _term_slope(self, epsilon: Array) -> Array:
        counted, elasticity = self._counted_ratio(epsilon)
        elasticity = np.where(counted > epsilon / self.total_ratio, elasticity, 1.0)
        return -2 * self.noise_term(epsilon) * elasticity / epsilon

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        """Epsilon of all owners' answers: at most basic composition, and the largest budget."""

        def compose_budgets(budgets: tuple[float, ...]) -> float:
            losses = self._losses_of_budgets(budgets, horizon)
            return min(max(budgets), max(loss.epsilon(self.delta) for loss in losses))

        return evaluate_columns(compose_budgets, held)

    def belief_bound(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """Bound by the profile of all answers of all owners, or by pure DP at their total ratio."""

        def bound_budgets(budgets: tuple[float, ...]) -> float:
            losses = self._losses_of_budgets(budgets, horizon)
            return max(loss.belief_bound(self.but_for) for loss in losses)

        return evaluate_columns(bound_budgets, held)

    def _losses_of_budgets(self, budgets: tuple[float, ...], horizon: int) -> list[ComposedLoss]:
        return self.losses_of_owners(tuple(self.ratio(budgets).tolist()), horizon)


def compose_laplace(ratios: Sequence[float], answers: int, growth: float = 1.0) -> ComposedLoss:
    """Compose the answers of owners of given mean ratios: Laplace noise is l2 noise on one number.

    One coordinate dominates them all (`AccountedLaplace`).
    """
    shares = [1.0]
    if growth != 1:
        shares = (answers * answer_shares(growth, answers)).tolist()
    counts: Counter[tuple[float, int]] = Counter()
    for ratio in ratios:
        for share in shares:
            counts[ratio * share, 1] += answers // len(shares)
    return compose_counts(tuple(sorted(counts.items())))


def spent_epsilon(
    ratio: float, answers: int, delta: float, growth: float = 1.0, overlap: int = 1
) -> float:
    """Compute an epsilon at which Laplace answers are (epsilon, delta)-DP, rounded upwards.

    The privacy loss of an answer is rounded by "connect the dots", which is pessimistic: the true
    distribution is dominated by the rounded one. That costs at most 3e-5 of epsilon (1 to 100
    answers, delta from 1e-9 to 0.1).

    Parameters
    ----------
    ratio: r = sensitivity/scale of each answer, or their mean where they grow.
    answers: the number of answers of each owner.
    delta: the failure probability over all of them.
    growth: each answer's ratio over that of the one before.
    overlap: the number of equal owners.

    Source: Doroshenko et al., Connect the Dots, Algorithm 1, as in dp-accounting.

    >>> round(spent_epsilon(0.1, 1, 1e-6), 6), round(spent_epsilon(0.1, 100, 1e-6), 3)
    (0.099998, 4.693)
    """
    return compose_laplace([ratio] * overlap, answers, growth).epsilon(delta)


@lru_cache(maxsize=64)
def _ratio_table(
    horizon: int, delta: float, growth: float = 1.0, overlap: int = 1
) -> scipy.interpolate.PchipInterpolator:
    """Tabulate log ratio as a monotone function of log epsilon, from SMALLEST to LARGEST.

    A delta within rounding is worth nothing: the table is then basic composition, ratio =
    epsilon/answers.
    """
    answers = horizon * overlap

    def spent_at(log: float) -> float:
        return spent_epsilon(float(np.exp(log)), horizon, delta, growth, overlap)

    if delta <= 10 * ROUNDING * answers:
        ends = np.log([SMALLEST, LARGEST])
        return scipy.interpolate.PchipInterpolator(ends, ends - np.log(answers))
    # one answer alone spends ratio + 2 log(1 - delta), and basic composition bounds all of them
    least = np.log(SMALLEST / answers)
    most = np.log(SMALLEST - 2 * np.log1p(-delta))
    start = scipy.optimize.brentq(
        lambda log: spent_at(log) - SMALLEST, least - 0.01, most + 0.01, xtol=1e-9
    )
    logs = [start]
    budgets = [np.log(spent_at(start))]
    steepness = 1.0
    while budgets[-1] < np.log(LARGEST):
        # where delta covers most of the loss, epsilon rises much faster than the ratio
        logs.append(logs[-1] + STEP / max(steepness, 1.0))
        budgets.append(np.log(spent_at(logs[-1])))
        steepness = (budgets[-1] - budgets[-2]) / (logs[-1] - logs[-2])
    return _refine_table(np.array(budgets), np.array(logs), spent_at)


def _refine_table(
    budgets: Array, logs: Array, spent_at: Callable[[float], float]
) -> scipy.interpolate.PchipInterpolator:
    """Add nodes halfway wherever the table misses the accountant there.

    The curve has bends, one for each number of answers out of T with the largest loss that delta
    just covers.
    """
    table = scipy.interpolate.PchipInterpolator(budgets, logs)
    lefts = logs[:-1]
    rights = logs[1:]
    for _ in range(HALVINGS):
        middles = (lefts + rights) / 2
        found = np.log([spent_at(middle) for middle in middles])
        missed = np.abs(table(found) - middles) > CLOSE
        nodes = [np.append(table.x, found), np.append(table(table.x), middles)]
        table = scipy.interpolate.PchipInterpolator(*np.sort(nodes, axis=1))
        lefts = np.concatenate([lefts[missed], middles[missed]])
        rights = np.concatenate([middles[missed], rights[missed]])
        if not missed.any():
            break
    return table


@dataclass(frozen=True)
class AccountedLaplace(LaplaceNoise, CountedComposition):
    """Laplace noise on at most ``horizon`` mean-gradient answers: (epsilon, delta)-DP over all.

    Each answer moves by at most D = 2 Xi/n in 1-norm when one record is replaced, and gets noise of
    scale b = D/r on each coordinate (`learning.privacy.composition.CountedComposition`). Where
    shares grow, answer k has the ratio r T s_k and r is their mean; what follows holds of answers
    of any ratios. r comes from a table built once per T, kappa, delta and growth (a second or so).
    Between its nodes a cubic is within 5e-5 of the accountant.

    One coordinate that moves by the whole of D dominates every vector that moves by D in 1-norm, so
    that one-dimensional accounting holds for any number of coordinates. In units of b, the loss of
    a shift r is r - 2 min(E, r), with E = 0 or exponential at even odds, and grows with r. Of
    shifts r1 >= r2 the loss is r1 + r2 - 2(M1 + M2), each M a min(E, r) of its own. A loss counts
    at epsilon >= 0 only where M1 + M2 < (r1 + r2)/2 <= r1; there M1 = E, as it would be for the
    whole shift, and M2 >= 0: the split loses no more. Laplace noise is symmetric, so this holds for
    epsilon < 0 too, and dominating pairs compose (Zhu et al.): merge coordinates two at a time,
    then answers.

    Parameters
    ----------
    delta: the failure probability over all answers, in (0, 1); at or above 1/n it may mean a whole
        record given away.
    horizon: T >= 1, the most answers that may be given.
    overlap: kappa >= 1, the owners one record may sit with; the answers of all of them compose.
    accounting: "pld".
    growth: g of the shares s_k that ratios are in proportion to (`learning.privacy.noise`); 1 of
        even shares.

    Source: Zhu, Dong and Wang, Optimal Accounting of Differential Privacy via Characteristic
        Function (dominating pairs and their composition); accountant: dp-accounting. The proofs
        are ours. T answers count, T - 1 are asked.

    >>> mechanism = AccountedLaplace(1e-6, horizon=10)
    >>> mechanism.variance([1.0, np.inf, 0.0], [100] * 3, bound=3.0, horizon=10).round(3)
    array([0.719, 0.   ,   inf])
    """

    delta: Probability = parameter()
    horizon: Count = parameter()
    overlap: Count = 1
    accounting: Literal["pld"] = "pld"
    growth: Positive = 1.0

    @property
    def total_ratio(self) -> float:
        """T kappa, the answers that one record may influence."""
        return self.horizon * self.overlap

    def _counted_ratio(self, epsilon: ArrayLike) -> tuple[Array, Array]:
        epsilon = np.asarray(epsilon, dtype=float)
        check_covered(epsilon, LARGEST, "under accounting by privacy-loss distributions")
        answers, owners = self.horizon, self.overlap
        if self.growth == 1:  # all answers are alike, whoever gives them: one table for them
            answers, owners = answers * owners, 1
        table = _ratio_table(answers, self.delta, self.growth, owners)
        return read_table(table, epsilon, np.exp(table.x[0]), LARGEST, SHAVE)

    def losses_of_owners(self, ratios: tuple[float, ...], horizon: int) -> list[ComposedLoss]:
        answers = horizon if self.growth == 1 else self.horizon
        return [compose_laplace(ratios, answers, self.growth)]

    def losses_of_answers(self, ratio: float, answers: int) -> list[ComposedLoss]:
        return [compose_laplace([ratio], answers, self.growth)]


@dataclass(frozen=True)
class AccountedL2(L2Noise, CountedComposition):
    """L2 noise on at most ``horizon`` mean-gradient answers: (epsilon, delta)-DP over all.

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
    growth: g of the shares s_k that ratios are in proportion to (`learning.privacy.noise`); 1 of
        even shares.
    pairs: the parts of one answer as (ratio over r, numbers); where no pair of records is worst for
        all parts, every choice that dominates some of them. The first part is in every answer, in
        its share; the others are in the first answer alone, at ratios in units of T r. One part of
        ``width`` numbers at ratio r unless given.

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
        return tuple(
            sum((scale_ratios(parts[:1], share) for share in each), ())
            + scale_ratios(parts[1:], self.horizon)
            for parts in pairs
        )

    def parts_of_owners(self, ratios: tuple[float, ...]) -> list[Parts]:
        """List the parts of all answers of owners of given ratios, by choice at every owner."""
        answers = self.parts_of_answers(self.horizon)
        each = [[scale_ratios(parts, ratio) for parts in answers] for ratio in sorted(ratios)]
        return [sum(chosen, ()) for chosen in product(*each)]

    @cached_property
    def total_ratio(self) -> float:
        choices = self.parts_of_owners((1.0,) * self.overlap)
        return max(sum(ratio for ratio, _ in parts) for parts in choices)

    def _counted_ratio(self, epsilon: Array) -> tuple[Array, Array]:
        check_covered(epsilon, LARGEST, "under accounting by privacy-loss distributions")
        if self.width == 1 and not self.pairs:  # whose curve has bends
            laplace = AccountedLaplace(self.delta, self.horizon, self.overlap, growth=self.growth)
            return laplace._counted_ratio(epsilon)
        curves = self._curves
        if not curves:
            return epsilon / self.total_ratio, np.ones_like(epsilon)
        found = [read_table(one, epsilon, SMALLEST, LARGEST, SHAVE) for one in curves]
        ratios, elasticities = (np.array(each) for each in zip(*found, strict=True))
        least = ratios.argmin(axis=0)[None]
        elasticity = np.take_along_axis(elasticities, least, axis=0)[0]
        return np.take_along_axis(ratios, least, axis=0)[0], elasticity

    def _count_ratio(self, epsilon: Array) -> Array:
        """Read the curves without their slopes, which take five times as many counts."""
        curves = self._curves
        if not curves or epsilon.max() > LARGEST or (self.width == 1 and not self.pairs):
            return super()._count_ratio(epsilon)
        ratios = [read_distance(one, epsilon, SMALLEST, LARGEST, SHAVE) for one in curves]
        return np.asarray(np.min(ratios, axis=0))

    @cached_property
    def _curves(self) -> list[FactorCurve]:
        """Curves of the factor for each choice of pairs; none where delta is lost in rounding."""
        choices = self.parts_of_owners((1.0,) * self.overlap)
        if self.delta <= 10 * ROUNDING * len(choices[0]):
            return []
        return [factor_curve(parts, self.delta) for parts in choices]

    def _budget_of_term(self, term: float) -> float:
        """Budget as counted; inf beyond that."""
        found = super()._budget_of_term(term)
        return found if found <= LARGEST else np.inf

    def losses_of_owners(self, ratios: tuple[float, ...], horizon: int) -> list[ComposedLoss]:
        return [compose_parts(parts) for parts in self.parts_of_owners(ratios)]

    def losses_of_answers(self, ratio: float, answers: int) -> list[ComposedLoss]:
        choices = self.parts_of_answers(answers)
        return [compose_parts(scale_ratios(parts, ratio)) for parts in choices]
