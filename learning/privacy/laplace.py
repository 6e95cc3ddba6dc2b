"""Laplace noise on mean-gradient answers: pure epsilon-DP under basic composition, or by privacy-loss distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial, reduce
from typing import Any, ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count, Positive, Probability, parameter
from learning.privacy.beliefs import belief, by_column, surest
from learning.privacy.guarantees import EPSILONS, Guarantee, Measure, profile_around, pure
from learning.privacy.mechanism import FixedHorizon, Mechanism
from learning.privacy.noise_law import where_noisy
from learning.privacy.shares import shares
from learning.privacy.tables import check_covered, read

SMALLEST, LARGEST = 1e-3, 500.0  # budgets the table covers: beyond, exp(-loss) leaves the floating-point range
CELLS, WIDEST = 100, 0.05  # the loss of an answer lies in [-ratio, ratio]: at least so many cells a side, none wider
MORE_CELLS = 1024  # tried beyond that, where ratios differ: as many as make each of them a whole number of cells
STEP = 0.1  # between the first nodes, in log epsilon
CLOSE, ROUNDS = 2e-5, 10  # error in log ratio at which an interval is no longer halved; most halvings
SHAVE = 1e-4  # taken off every ratio, above the error of interpolation, so that the noise errs upwards
ROUNDING = 1e-13  # of delta, for each answer: given away to rounding in the accountant's Fourier transform


class LaplaceNoise(Mechanism):
    """What mechanisms with Laplace noise share, whatever counts its cost."""

    name = "laplace"
    unit_variance: ClassVar[float] = 2.0
    divides = True
    norm: ClassVar[int] = 1
    share_power = 1.0

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return np.multiply(rng.laplace(size=shape), scale)

    def part(self, parts: int, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """The difference of two Gamma(1/parts, scale).

        Source: Kotz, Kozubowski and Podgorski, The Laplace Distribution and Generalizations, Proposition 2.4.1.
        """
        drawn = rng.standard_gamma(1 / parts, size=(*shape, 2))  # in pieces the same as at once
        return np.multiply(drawn[..., 0] - drawn[..., 1], scale)

    def longest(self, width: int, level: float) -> float:
        return float(scipy.special.gammainccinv(width, level))  # a sum of exponential variables

    def length_law(self, width: int) -> tuple[float, float]:
        return float(width), 1.0


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
        return -16 * self.overlap**2 / (epsilon * epsilon * epsilon)

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """T^2."""
        return np.asarray(horizon, dtype=float) ** 2

    def release_budget(self, epsilon: float, horizon: int) -> float:
        """epsilon/(T kappa)."""
        return epsilon / (horizon * self.overlap)


def spent(ratio: float, answers: int, delta: float, growth: float = 1.0, overlap: int = 1) -> float:
    """An epsilon at which so many Laplace answers are (epsilon, delta)-DP, never below the smallest there is.

    The privacy loss of an answer is rounded by "connect the dots", which is pessimistic: the true distribution is
    dominated by the rounded one. That costs at most 3e-5 of epsilon (1 to 100 answers, delta from 1e-9 to 0.1).

    Parameters
    ----------
    ratio: r = sensitivity/scale of each answer, or their mean where they grow.
    answers: how many there are, of each owner.
    delta: the failure probability over all of them.
    growth: each answer's ratio over that of the one before.
    overlap: owners that give as many alike.

    Source: Doroshenko et al., Connect the Dots, Algorithm 1, as in dp-accounting.

    >>> round(spent(0.1, 1, 1e-6), 6), round(spent(0.1, 100, 1e-6), 3)
    (0.099998, 4.693)
    """
    composed = _composed(ratio, answers, growth, overlap)
    return float(composed.get_epsilon_for_delta(delta - ROUNDING * answers * overlap))


def _composed(ratio: float, answers: int, growth: float = 1.0, overlap: int = 1) -> Any:
    """The privacy-loss distribution of so many Laplace answers of each of so many owners alike."""
    if growth != 1:
        return _composed_uneven(tuple((ratio * answers * shares(growth, answers)).tolist()), overlap)
    from dp_accounting.pld import privacy_loss_distribution  # takes seconds to load: only where something is counted

    cell = ratio / max(CELLS, np.ceil(ratio / WIDEST))  # a whole number of cells, so that the top atom is not rounded
    one = privacy_loss_distribution.from_laplace_mechanism(1 / ratio, value_discretization_interval=cell)
    return one.self_compose(answers * overlap)


@lru_cache(maxsize=64)
def _composed_uneven(ratios: tuple[float, ...], times: int = 1) -> Any:
    """The same of answers of any ratios, each given so many times; pessimistic where a ratio is no whole number of cells."""
    from dp_accounting.pld import privacy_loss_distribution

    largest = max(ratios)
    least = max(CELLS, int(np.ceil(largest / WIDEST)))
    tried = np.arange(least, least + MORE_CELLS)
    apart = tried[:, None] * (np.array(ratios) / largest)
    cells = tried[np.abs(apart - np.round(apart)).max(axis=1).round(9).argmin()]
    laplace = partial(privacy_loss_distribution.from_laplace_mechanism, value_discretization_interval=largest / cells)
    made = (laplace(1 / ratio).self_compose(times) for ratio in ratios)
    return reduce(lambda one, other: one.compose(other), made)


@lru_cache(maxsize=256)
def _composed_owners(ratios: tuple[float, ...], answers: int) -> Any:
    """The privacy-loss distribution of so many Laplace answers of each of several owners."""
    if len(set(ratios)) == 1:
        return _composed(ratios[0], answers * len(ratios))
    cells = max(CELLS, np.ceil(max(ratios) / WIDEST))
    cell = max(ratios) / cells  # one for all: smaller ratios are rounded up to a whole number of cells
    rounded = [cell * min(cells, np.ceil(ratio / cell)) for ratio in ratios]
    from dp_accounting.pld import privacy_loss_distribution

    laplace = partial(privacy_loss_distribution.from_laplace_mechanism, value_discretization_interval=cell)
    return reduce(lambda one, other: one.compose(other), (laplace(1 / r).self_compose(answers) for r in rounded))


@lru_cache(maxsize=64)
def laplace_profile(ratio: float, answers: int, growth: float = 1.0) -> Measure:
    """Least ratio, or mean of them, at which so many Laplace answers can be told apart so well."""
    return profile_around(ratio, lambda r: np.asarray(_composed(r, answers, growth).get_delta_for_epsilon(EPSILONS)))


@lru_cache(maxsize=64)
def _table(horizon: int, delta: float, growth: float = 1.0, overlap: int = 1) -> scipy.interpolate.PchipInterpolator:
    """log ratio as a monotone function of log epsilon, from SMALLEST to LARGEST, at nodes that the accountant counts.

    A delta that rounding could hide is worth nothing: the table is then basic composition, ratio = epsilon/answers.
    """
    answers = horizon * overlap

    def lost(log: float) -> float:
        return spent(float(np.exp(log)), horizon, delta, growth, overlap)

    if delta <= 10 * ROUNDING * answers:
        ends = np.log([SMALLEST, LARGEST])
        return scipy.interpolate.PchipInterpolator(ends, ends - np.log(answers))
    # one answer alone spends ratio + 2 log(1 - delta), and basic composition bounds what all of them spend
    least, most = np.log(SMALLEST / answers), np.log(SMALLEST - 2 * np.log1p(-delta))
    start = scipy.optimize.brentq(lambda log: lost(log) - SMALLEST, least - 0.01, most + 0.01, xtol=1e-9)
    logs, steepness = [start], 1.0
    budgets = [np.log(lost(start))]
    while budgets[-1] < np.log(LARGEST):
        # where delta covers most of the loss, epsilon rises much faster than the ratio: steps are even in epsilon
        logs.append(logs[-1] + STEP / max(steepness, 1.0))
        budgets.append(np.log(lost(logs[-1])))
        steepness = (budgets[-1] - budgets[-2]) / (logs[-1] - logs[-2])
    return _refined(np.array(budgets), np.array(logs), lost)


def _refined(budgets: Array, logs: Array, lost: Callable[[float], float]) -> scipy.interpolate.PchipInterpolator:
    """The table with nodes added halfway wherever it misses the accountant there.

    The curve has bends, one for each number of answers out of T with the largest loss that delta just covers.
    """
    table = scipy.interpolate.PchipInterpolator(budgets, logs)
    lefts, rights = logs[:-1], logs[1:]
    for _ in range(ROUNDS):
        middles = (lefts + rights) / 2
        found = np.log([lost(middle) for middle in middles])
        missed = np.abs(table(found) - middles) > CLOSE
        table = scipy.interpolate.PchipInterpolator(
            *np.sort([np.append(table.x, found), np.append(table(table.x), middles)], axis=1)
        )
        lefts = np.concatenate([lefts[missed], middles[missed]])
        rights = np.concatenate([middles[missed], rights[missed]])
        if not missed.any():
            break
    return table


@dataclass(frozen=True)
class AccountedLaplace(LaplaceNoise, FixedHorizon):
    """Laplace noise of one scale on at most ``horizon`` mean-gradient answers: (epsilon, delta)-DP over all of them.

    Each answer moves by at most D = 2 Xi/n in 1-norm when one record is replaced, and gets noise of scale b = D/r on
    each coordinate; r(epsilon, delta) is the largest ratio at which the privacy-loss distribution of T kappa such
    answers keeps to (epsilon, delta). r depends on T in no separable way, so T = ``horizon`` is part of the mechanism:
    variance = Xi^2 term(epsilon)/n^2 with term = 8/r^2 and growth 1. Fewer rounds get the same noise, which protects
    more; more rounds are refused. Where shares grow, answer k has the ratio r T s_k and r is their mean; what follows holds
    of answers of any ratios.

    r comes from a table built once per T, kappa, delta and growth (a second or so). Between its nodes a cubic is within 5e-5
    of the accountant, and 1e-4 is taken off r, so that the noise errs upwards, by less than 3e-4 of the scale. Never more
    noise than basic composition, r = epsilon/(T kappa): the larger r of the two is used. Below the table r falls in
    proportion to epsilon, which is enough noise: with log-concave noise, f = exp(-V), the loss at shift s is
    V(z + s) - V(z), convex in s and 0 at s = 0, so a shift c s, c < 1, loses at most c times as much, and
    (1 - exp(c(epsilon - loss)))_+ is at most (1 - exp(epsilon - loss))_+.

    One coordinate that moves by the whole of D dominates every vector that moves by D in 1-norm, so that one-dimensional
    accounting holds for any number of coordinates. In units of b, the loss of a shift r is r - 2 min(E, r), with E = 0
    or exponential at even odds, and grows with r. Of shifts r1 >= r2 the loss is r1 + r2 - 2(M1 + M2), each M a
    min(E, r) of its own. A loss counts at epsilon >= 0 only where M1 + M2 < (r1 + r2)/2 <= r1; there M1 = E, as it would
    be for the whole shift, and M2 >= 0: the split loses no more. Laplace noise is symmetric, so this holds for
    epsilon < 0 too, and dominating pairs compose (Zhu et al.): merge coordinates two at a time, then answers.

    Parameters
    ----------
    delta: the failure probability over all answers, in (0, 1); at or above 1/n it may mean a whole record given away.
    horizon: T >= 1, the most answers that may be given.
    overlap: kappa >= 1, the owners one record may sit with; the answers of all of them compose.
    accounting: "pld".
    growth: g of the shares s_k that ratios are in proportion to (`learning.privacy.shares`); 1 where all are alike.

    Source: Zhu, Dong and Wang, Optimal Accounting of Differential Privacy via Characteristic Function (dominating pairs
    and their composition); accountant: dp-accounting. The proofs above are ours. T answers count, T - 1 are asked.

    >>> AccountedLaplace(1e-6, horizon=10).variance([1.0, np.inf, 0.0], [100, 100, 100], bound=3.0, horizon=10).round(3)
    array([0.719, 0.   ,   inf])
    """

    accountings = ("pld",)
    compared = True
    announced_horizons = (2, 3, 4, 6, 10, 17)
    largest = LARGEST

    delta: Probability = parameter()
    horizon: Count = parameter()
    overlap: Count = 1
    accounting: Literal["pld"] = "pld"
    growth: Positive = 1.0

    @property
    def answers(self) -> int:
        """T kappa, the answers that one record may influence."""
        return self.horizon * self.overlap

    def ratio(self, epsilon: ArrayLike) -> Array:
        """r = sensitivity/scale that a budget allows each answer, or the mean of theirs where shares grow.

        Raises
        ------
        InputError
            Beyond a budget of 500, which the table does not cover.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        return np.maximum(self._counted(epsilon)[0], epsilon / self.answers)

    def _counted(self, epsilon: Array) -> tuple[Array, Array]:
        """The table's ratio and its elasticity d log ratio/d log epsilon."""
        check_covered(epsilon, LARGEST, "under accounting by privacy-loss distributions")
        table = _table(self.horizon, self.delta, self.growth, self.overlap)
        return read(table, epsilon, np.exp(table.x[0]), LARGEST, SHAVE)

    def _scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        return 2 * bound / sizes / self.ratio(epsilon)

    def _budget(self, term: float) -> float:
        """At most what basic composition counts, T kappa r: so too of less noise than the table covers."""
        return min(super()._budget(term), self.answers * float(np.sqrt(8 / term)))

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """8/r(epsilon)^2."""
        return where_noisy(epsilon, lambda e: 8 / self.ratio(e) ** 2)

    def _slope(self, epsilon: Array) -> Array:
        counted, elasticity = self._counted(epsilon)
        elasticity = np.where(counted > epsilon / self.answers, elasticity, 1.0)
        return -2 * self.noise_term(epsilon) * elasticity / epsilon

    @property
    def but_for(self) -> float:
        """Delta: its profile is known."""
        return self.delta

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        """By the composition of all answers of all owners; never more than T sum r_l, or what the most exposed sells."""

        def lost(budgets: tuple[float, ...]) -> float:
            ratios = tuple(self.ratio(budgets).tolist())
            rounding = ROUNDING * horizon * len(ratios)
            counted = self._of_owners(ratios, horizon).get_epsilon_for_delta(self.delta - rounding)
            return float(min(max(budgets), horizon * sum(ratios), counted))

        return by_column(lost, held)

    def _of_owners(self, ratios: tuple[float, ...], horizon: int) -> Any:
        """The privacy-loss distribution of all answers of owners of these (mean) ratios."""
        if self.growth == 1:
            return _composed_owners(ratios, horizon)
        parts = self.horizon * shares(self.growth, self.horizon)
        return _composed_uneven(tuple(np.outer(sorted(ratios), parts).ravel().tolist()))

    def surest(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """By the profile of all answers of all owners, or by pure DP at T sum r_l."""

        def told(budgets: tuple[float, ...]) -> float:
            ratios = tuple(self.ratio(budgets).tolist())
            rounding = ROUNDING * horizon * len(ratios)
            composed = self._of_owners(ratios, horizon)
            counted = surest(lambda e: composed.get_delta_for_epsilon(e) + rounding, self.but_for)
            return min(counted, float(belief(horizon * sum(ratios), 0.0, self.but_for)))

        return by_column(told, held)

    def guarantee(self, epsilon: float, horizon: int, answers: int, *, size: int = 1) -> Guarantee:
        """Each answer is pure DP at the ratio r; all of them have the profile that the accountant counts."""
        ratio, delta, growth = float(self.ratio(epsilon)), self.delta, self.growth
        measure = laplace_profile(ratio, answers, growth)

        def back(r: float) -> float:
            return spent(r, answers, delta, growth) if r > 0 else 0.0

        return Guarantee(measure, ratio, ratio, back, epsilon, pure, float)
