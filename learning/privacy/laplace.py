"""Laplace noise on mean-gradient answers.

Pure epsilon-DP under basic composition, or by privacy-loss distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

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
from learning.privacy.noise import LaplaceNoise
from learning.privacy.shares import answer_shares
from learning.privacy.tables import check_covered, read_table

CELLS = 100  # least number of cells of [0, ratio], none wider than WIDEST
WIDEST = 0.05
MORE_CELLS = 1024  # tried beyond that where ratios differ: each should be a whole number of cells
STEP = 0.1  # between the first nodes, in log epsilon
CLOSE = 2e-5  # error in log ratio at which an interval is no longer halved
HALVINGS = 10


@dataclass(frozen=True)
class Laplace(LaplaceNoise, BasicComposition):
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


def _laplace_loss(ratio: float, cell: float) -> Any:
    """Make the privacy-loss distribution of one answer."""
    from dp_accounting.pld import privacy_loss_distribution  # takes seconds to load

    return privacy_loss_distribution.from_laplace_mechanism(
        1 / ratio, value_discretization_interval=cell
    )


def compose_equal(ratio: float, answers: int) -> ComposedLoss:
    """Compose answers of one ratio, a whole number of cells, which rounds no top atom."""
    cell = ratio / max(CELLS, np.ceil(ratio / WIDEST))
    composed = _laplace_loss(ratio, cell).self_compose(answers)
    return ComposedLoss(composed, answers, ratio * answers)


@lru_cache(maxsize=64)
def compose_uneven(ratios: tuple[float, ...], times: int = 1) -> ComposedLoss:
    """Compose answers of any ratios, each given ``times``.

    Pessimistic where a ratio is no whole number of cells.
    """
    largest = max(ratios)
    least = max(CELLS, int(np.ceil(largest / WIDEST)))
    tried = np.arange(least, least + MORE_CELLS)
    in_cells = tried[:, None] * (np.array(ratios) / largest)
    cells = tried[np.abs(in_cells - np.round(in_cells)).max(axis=1).round(9).argmin()]
    made = (_laplace_loss(ratio, largest / cells).self_compose(times) for ratio in ratios)
    composed = reduce(lambda one, other: one.compose(other), made)
    return ComposedLoss(composed, times * len(ratios), times * sum(ratios))


@lru_cache(maxsize=256)
def compose_owners(ratios: tuple[float, ...], answers: int) -> ComposedLoss:
    """Compose answers of several owners.

    Smaller ratios are rounded up to a whole number of cells.
    """
    if len(set(ratios)) == 1:
        return compose_equal(ratios[0], answers * len(ratios))
    cells = max(CELLS, np.ceil(max(ratios) / WIDEST))
    cell = max(ratios) / cells
    rounded = [cell * min(cells, np.ceil(ratio / cell)) for ratio in ratios]
    made = (_laplace_loss(ratio, cell).self_compose(answers) for ratio in rounded)
    composed = reduce(lambda one, other: one.compose(other), made)
    return ComposedLoss(composed, answers * len(ratios), answers * sum(ratios))


def compose_answers(
    ratio: float, answers: int, growth: float = 1.0, overlap: int = 1
) -> ComposedLoss:
    """Compose the answers of ``overlap`` equal owners, whose mean ratio is ``ratio``."""
    if growth == 1:
        return compose_equal(ratio, answers * overlap)
    ratios = ratio * answers * answer_shares(growth, answers)
    return compose_uneven(tuple(ratios.tolist()), overlap)


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
    return compose_answers(ratio, answers, growth, overlap).epsilon(delta)


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
    """Laplace noise of one scale on at most ``horizon`` mean-gradient answers.

    (epsilon, delta)-DP over all of them.

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
    growth: g of the shares s_k that ratios are in proportion to (`learning.privacy.shares`); 1 of
        even shares.

    Source: Zhu, Dong and Wang, Optimal Accounting of Differential Privacy via Characteristic
        Function (dominating pairs and their composition); accountant: dp-accounting. The proofs
        are ours. T answers count, T - 1 are asked.

    >>> mechanism = AccountedLaplace(1e-6, horizon=10)
    >>> mechanism.variance([1.0, np.inf, 0.0], [100] * 3, bound=3.0, horizon=10).round(3)
    array([0.719, 0.   ,   inf])
    """

    profile_rounding = 0.0

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
        table = _ratio_table(self.horizon, self.delta, self.growth, self.overlap)
        return read_table(table, epsilon, np.exp(table.x[0]), LARGEST, SHAVE)

    def losses_of_owners(self, ratios: tuple[float, ...], horizon: int) -> list[ComposedLoss]:
        if self.growth == 1:
            return [compose_owners(ratios, horizon)]
        parts = self.horizon * answer_shares(self.growth, self.horizon)
        return [compose_uneven(tuple(np.outer(sorted(ratios), parts).ravel().tolist()))]

    def losses_of_answers(self, ratio: float, answers: int) -> list[ComposedLoss]:
        return [compose_answers(ratio, answers, self.growth)]
