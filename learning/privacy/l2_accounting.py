"""Privacy-loss distributions of answers under l2 noise, of any ratios and any numbers in an answer.

An answer is z or z + s, z of density proportional to exp(-|z|/b) on p numbers, |s| = D; its ratio
is r = D/b. In prolate coordinates with foci 0 and s, u = (|z| + |z - s|)/D >= 1 and v = (|z| - |z -
s|)/D in [-1, 1], the volume element is (u^2 - v^2) ((u^2 - 1)(1 - v^2))^((p - 3)/2) up to a factor,
the density exp(-r (u + v)/2), and the privacy loss (|z - s| - |z|)/b = -r v. It depends on v alone,
and u integrates to two Bessel functions K: at v = -cos(t), 0 < t < pi, the loss is r cos(t) and t
has the density

    exp(r cos(t)/2) sin(t)^(p - 2) (c + sin(t)^2),
    c = (p - 1)/z K_{p/2}(z)/K_{p/2 - 1}(z),  z = r/2,

up to a factor, for p >= 2; for p = 1, Laplace noise, both ends have a probability of their own. By
the triangle inequality the loss lies in [-r, r]; it has the same law under either data set, for z
-> s - z swaps them.

Source: ours; composition of dominating pairs: Zhu, Dong and Wang, Optimal Accounting of
    Differential Privacy via Characteristic Function; rounding: Doroshenko et al., Connect the Dots;
    convolution: dp-accounting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.privacy.accounting import Parts
from learning.privacy.claims import bound_belief, bound_profile_belief

# of delta, for each answer: given away to rounding in the accountant's Fourier transform
ROUNDING = 1e-13
FEWEST = 100  # cells per standard deviation of a loss, r/sqrt(p) where r is small; none wider
MOST = 400
WIDEST = 0.02
MANY = 64  # equal answers beyond which the ends of a sum of more than LONG cells count as lost,
LONG = 100_000  # of probability 1e-15
LAW = np.polynomial.legendre.leggauss(5)  # nodes and weights within a cell
STEP = 0.125  # between budgets that a curve is counted at, in log epsilon
REACH = 6000  # steps counted on each side of epsilon 1, beyond the floating-point range
AROUND = np.arange(-2, 4)  # counted budgets around one between the third and the fourth of them
SLACK = 1e-4  # of log ratio, around the bracket by a neighbouring budget
FAR = 60.0  # largest log ratio looked for


@dataclass(frozen=True)
class ComposedLoss:
    """Privacy-loss distribution of several answers, with its rounding given away.

    Parameters
    ----------
    distribution: of dp-accounting.
    answers: the number of answers composed.
    total_ratio: the sum of their ratios, the epsilon of basic composition.
    """

    distribution: Any
    answers: int
    total_ratio: float

    def epsilon(self, delta: float) -> float:
        """Compute an epsilon at delta: never below the smallest, nor above basic composition."""
        left = delta - ROUNDING * self.answers
        if left <= 9 * ROUNDING * self.answers:
            return self.total_ratio
        return min(self.total_ratio, float(self.distribution.get_epsilon_for_delta(left)))

    def profile(self, epsilon: ArrayLike) -> Array:
        """Compute the least delta at every epsilon (k,), rising, never below the truth."""
        delta = self.distribution.get_delta_for_epsilon(np.asarray(epsilon, dtype=float))
        return np.asarray(delta + ROUNDING * self.answers)

    def belief_bound(self, chance: float) -> float:
        """Bound beliefs except with probability ``chance``, by the profile or by pure DP."""
        pure = float(bound_belief(self.total_ratio, 0.0, chance))
        return min(bound_profile_belief(self.profile, chance), pure)


def _bessel_term(half: float, width: int) -> float:
    """Compute c = (p - 1)/z K_{p/2}(z)/K_{p/2 - 1}(z) at z = r/2, by the upward recurrence of K."""
    order = -0.5
    quotient = 1.0
    if width % 2 == 0:
        order = 0.0
        quotient = scipy.special.kve(1, half) / scipy.special.kve(0, half)
    while order < width / 2 - 1:
        order += 1
        quotient = 2 * order / half + 1 / quotient
    return float((width - 1) / half * quotient)


def _loss_quadrature(ratio: float, width: int, edges: Array) -> tuple[Array, Array]:
    """Compute the privacy loss of one answer as points (nodes, cells) and their probabilities.

    Parameters
    ----------
    ratio: r > 0.
    width: p.
    edges: array (cells + 1,), rising from at most -r to at least r.
    """
    angles = np.arccos(np.clip(edges / ratio, -1, 1))
    middle = (angles[:-1] + angles[1:]) / 2
    half = (angles[:-1] - angles[1:]) / 2
    nodes = middle + half * LAW[0][:, None]
    weight = half * LAW[1][:, None]
    loss = ratio * np.cos(nodes)
    sine = np.sin(nodes)
    if width == 1:  # r - 2 min(E, r) with E exponential: at even odds E counts as 0
        chance = weight * sine * ratio * np.exp((loss - ratio) / 2) / 4
        ends = np.zeros((1, len(middle)))
        ends[0, [0, -1]] = np.exp(-ratio) / 2, 0.5
        ends_at = np.where(np.arange(len(middle)) == 0, -ratio, ratio)[None]
        return np.concatenate([loss, ends_at]), np.concatenate([chance, ends])
    log = loss / 2 + (width - 2) * np.log(sine) + np.log(_bessel_term(ratio / 2, width) + sine**2)
    chance = weight * np.exp(log - log.max())
    return loss, chance / chance.sum()


def _round_loss(ratio: float, width: int, cell: float) -> Any:
    """Round the privacy-loss distribution of one answer to whole cells by connecting the dots.

    The probability of every loss within a cell goes to the cell's two ends, such that its sum
    stays, and its sum weighted by exp(-loss) too. All shares are positive and computed without
    cancellation.
    """
    from dp_accounting.pld import pld_pmf  # takes seconds to load

    cells = int(np.ceil(ratio / cell * (1 - 1e-12)))
    edges = cell * np.arange(-cells, cells + 1, dtype=float)
    loss, chance = _loss_quadrature(ratio, width, edges)
    loss = np.clip(loss, edges[:-1], edges[1:])
    upper = chance * np.expm1(edges[:-1] - loss) / np.expm1(-cell)
    ends = np.zeros(len(edges))
    ends[1:] += upper.sum(axis=0)
    ends[:-1] += (chance - upper).sum(axis=0)
    return pld_pmf.DensePLDPmf(cell, -cells, ends, 0.0, True)


def compose_parts(parts: Parts) -> ComposedLoss:
    """Compose answers of any ratios and widths."""
    return compose_counts(tuple(Counter(parts).items()))


@lru_cache(maxsize=64)
def compose_counts(counts: tuple[tuple[tuple[float, int], int], ...]) -> ComposedLoss:
    """Compose answers of any ratios and widths, each with how many of them there are.

    Connecting the dots adds at most a sixth of a squared cell to the variance of an answer's loss,
    so that the cell is in proportion to the root of the mean variance; the largest ratio is a whole
    number of cells, as its loss has the sharpest end.
    """
    answers = sum(n for _, n in counts)
    variance = sum(n * ratio**2 / width for (ratio, width), n in counts) / answers
    widest = min(np.sqrt(variance) / max(FEWEST, MOST / np.sqrt(answers)), WIDEST)
    largest = max(ratio for (ratio, _), _ in counts)
    cell = largest / np.ceil(largest / widest)
    made = []
    for (ratio, width), n in counts:
        one = _round_loss(ratio, width, cell)
        lost = 1e-15 if n > MANY and n * one.size > LONG else 0.0
        made.append(one if n == 1 else one.self_compose(n, lost))
    composed = reduce(lambda one, other: one.compose(other), made)
    return ComposedLoss(composed, answers, float(sum(n * ratio for (ratio, _), n in counts)))


def spent_epsilon(parts: Parts, delta: float) -> float:
    """Compute an epsilon at which answers are (epsilon, delta)-DP, never below the smallest.

    Parameters
    ----------
    parts: (ratio r = sensitivity/scale, width p) of every answer, all in 2-norm.
    delta: the failure probability over all of them; 0 for basic composition, the sum of the ratios.

    >>> round(spent_epsilon(((1.0912, 10),), 1e-6), 3), spent_epsilon(((0.5, 3), (0.25, 6)), 0.0)
    (1.0, 0.75)
    """
    if delta <= 10 * ROUNDING * len(parts):
        return float(sum(ratio for ratio, _ in parts))
    return compose_parts(parts).epsilon(delta)


def scale_ratios(parts: Parts, factor: float) -> Parts:
    """Multiply the ratios of answers."""
    return tuple((ratio * factor, width) for ratio, width in parts)


class FactorCurve:
    """Log of the factor on the ratios of answers that keeps to (epsilon, delta), by log epsilon.

    Budgets are counted at whole STEPs of log epsilon as they are asked for, each once, and read in
    between: a handful of budgets asks for a handful of counts, all budgets from 0.001 to 500 for a
    hundred. A cubic through neighbours with their slopes is within 1e-6 of the accountant.

    The factor never falls as epsilon rises, nor does it rise faster than in proportion
    (`learning.privacy.composition.CountedComposition`). That brackets each count.

    Parameters
    ----------
    parts: the answers.
    delta: the failure probability over all of them.
    """

    def __init__(self, parts: Parts, delta: float) -> None:
        self.parts = parts
        self.left = delta - ROUNDING * len(parts)
        self.total_ratio = float(sum(ratio for ratio, _ in parts))
        self.counted: dict[int, float] = {}
        self.table = np.full(2 * REACH + 1, np.nan)  # of the same, by place

    def __call__(self, logs: ArrayLike, derivative: int = 0) -> Array:
        """Interpolate log factor at log epsilon (...), or its slope."""
        logs = np.asarray(logs, dtype=float)
        place = np.floor(logs / STEP)
        part = logs / STEP - place
        if derivative == 0 and not part.any():
            return self._read_steps(place)
        low, before, here, there, after, high = self._read_steps(np.add.outer(AROUND, place))
        leaves = (low - 8 * before + 8 * there - after) / 12
        arrives = (before - 8 * here + 8 * after - high) / 12
        if derivative:
            rise = 6 * part * (1 - part) * (there - here)
            slopes = (1 - part) * (1 - 3 * part) * leaves + part * (3 * part - 2) * arrives
            return (rise + slopes) / STEP
        rise = here + part**2 * (3 - 2 * part) * (there - here)
        return rise + part * (1 - part) * ((1 - part) * leaves - part * arrives)

    def _read_steps(self, places: Array) -> Array:
        """Read the counts at whole steps (...)."""
        at = places.astype(int)
        found = self.table[at + REACH]
        missing = np.isnan(found)
        if not missing.any():
            return found
        for place in np.unique(at[missing]).tolist():
            self.counted[place] = self.table[place + REACH] = self._count_step(place)
        return self.table[at + REACH]

    def _count_step(self, place: int) -> float:
        epsilon = float(np.exp(place * STEP))

        def excess_log(log: float) -> float:
            composed = compose_parts(scale_ratios(self.parts, float(np.exp(log))))
            found = float(composed.distribution.get_delta_for_epsilon(epsilon))
            return float(np.log(max(found, 1e-300)) - np.log(self.left))

        low, high = self._bracket_step(place, float(np.log(epsilon / self.total_ratio)))
        while excess_log(high) < 0 and high < FAR:
            low = high
            high = high + 1.0
        while excess_log(low) > 0:
            high = low
            low = low - 1.0
        return float(scipy.optimize.brentq(excess_log, low, high, xtol=1e-9))

    def _bracket_step(self, place: int, least: float) -> tuple[float, float]:
        """Bracket a count between basic composition and the growth from a neighbour."""
        if not self.counted:
            return least - SLACK, least + 1.0
        near = min(self.counted, key=lambda one: abs(one - place))
        ends = sorted([self.counted[near], self.counted[near] + (place - near) * STEP])
        return max(ends[0], least) - SLACK, ends[1] + SLACK


@lru_cache(maxsize=256)
def factor_curve(parts: Parts, delta: float) -> FactorCurve:
    """Look up the curve of answers and delta, with all counts made before."""
    return FactorCurve(parts, delta)


def common_factor(parts: Sequence[tuple[float, int]], epsilon: float, delta: float) -> float:
    """Compute the largest factor on all ratios at which the answers keep to (epsilon, delta).

    >>> parts = ((1.0, 3), (2.0, 6))
    >>> factor = common_factor(parts, 0.7, 1e-6)
    >>> round(spent_epsilon(scale_ratios(parts, factor), 1e-6), 4), common_factor(parts, 0.75, 0.0)
    (0.7, 0.25)
    """
    answers = tuple((float(ratio), int(width)) for ratio, width in parts)
    basic = float(epsilon) / sum(ratio for ratio, _ in answers)
    if delta <= 10 * ROUNDING * len(answers):
        return basic
    return max(basic, float(np.exp(factor_curve(answers, delta)(np.log(epsilon)))))
