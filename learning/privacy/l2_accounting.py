"""What answers under l2 noise spend together, by their privacy-loss distribution: any ratios, any numbers in an answer.

An answer is z or z + s, z of density proportional to exp(-|z|/b) on p numbers, |s| = D; its ratio is r = D/b. In prolate
coordinates with foci 0 and s, u = (|z| + |z - s|)/D >= 1 and v = (|z| - |z - s|)/D in [-1, 1], the volume element is
(u^2 - v^2) ((u^2 - 1)(1 - v^2))^((p - 3)/2) but for a factor, the density exp(-r (u + v)/2), and the privacy loss
(|z - s| - |z|)/b = -r v. It hangs on v alone, and u integrates to two Bessel functions K: at v = -cos(t), 0 < t < pi, the
loss is r cos(t) and t has the density

    exp(r cos(t)/2) sin(t)^(p - 2) (c + sin(t)^2),    c = (p - 1)/z K_{p/2}(z)/K_{p/2 - 1}(z),    z = r/2,

but for a factor, for p >= 2; for p = 1, Laplace noise, both ends have a chance of their own. By the triangle inequality the
loss lies in [-r, r]; it is the same whichever of the two data sets is the true one, for z -> s - z swaps them.

Source: ours; composition of dominating pairs: Zhu, Dong and Wang, Optimal Accounting of Differential Privacy via
Characteristic Function; rounding: Doroshenko et al., Connect the Dots; convolution: dp-accounting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array

Parts = tuple[tuple[float, int], ...]  # (ratio, numbers in an answer) of every answer

FEWEST, MOST, WIDEST = 100, 400, 0.02  # cells of a loss to its deviation, r/sqrt(p) where r is small; none wider
MANY = 64  # like answers beyond which the ends of their sum, of a chance of 1e-15, count as lost in advance
LAW = np.polynomial.legendre.leggauss(5)  # nodes and weights within a cell
ROUNDING = 1e-13  # of delta, for each answer: given away to rounding in the accountant's Fourier transform
STEP = 0.125  # between budgets that a curve is counted at, in log epsilon
AROUND = np.arange(-2, 4)  # counted budgets that one between the third and the fourth of them is read from
SLACK = 1e-4  # of log ratio, beyond where the ratio of a neighbouring budget says that one must lie
FAR = 60.0  # in log ratio, beyond all that is looked for


def flare(half: float, width: int) -> float:
    """c = (p - 1)/z K_{p/2}(z)/K_{p/2 - 1}(z) at z = r/2, by the recurrence of K, which is stable upwards."""
    even = width % 2 == 0
    order, quotient = 0.0 if even else -0.5, scipy.special.kve(1, half) / scipy.special.kve(0, half) if even else 1.0
    while order < width / 2 - 1:
        order += 1
        quotient = 2 * order / half + 1 / quotient
    return float((width - 1) / half * quotient)


def losses(ratio: float, width: int, edges: Array) -> tuple[Array, Array]:
    """The privacy loss of one answer as points (nodes, cells) and their chances: a quadrature in every cell.

    Parameters
    ----------
    ratio: r > 0.
    width: p.
    edges: array (cells + 1,), rising from at most -r to at least r.
    """
    angles = np.arccos(np.clip(edges / ratio, -1, 1))
    middle, half = (angles[:-1] + angles[1:]) / 2, (angles[:-1] - angles[1:]) / 2
    at, weight = middle + half * LAW[0][:, None], half * LAW[1][:, None]
    loss, sine = ratio * np.cos(at), np.sin(at)
    if width == 1:  # r - 2 min(E, r) with E exponential: at even odds E counts as 0
        chance = weight * sine * ratio * np.exp((loss - ratio) / 2) / 4
        ends = np.zeros((1, len(middle)))
        ends[0, [0, -1]] = np.exp(-ratio) / 2, 0.5
        ends_at = np.where(np.arange(len(middle)) == 0, -ratio, ratio)[None]
        return np.concatenate([loss, ends_at]), np.concatenate([chance, ends])
    log = loss / 2 + (width - 2) * np.log(sine) + np.log(flare(ratio / 2, width) + sine**2)
    chance = weight * np.exp(log - log.max())
    return loss, chance / chance.sum()


def dotted(ratio: float, width: int, cell: float) -> Any:
    """The privacy-loss distribution of one answer, rounded to whole cells by connecting the dots, which is pessimistic.

    The chance of every loss within a cell goes to the cell's two ends, so that its sum stays, and its sum weighted by
    exp(-loss) too. All shares are positive and reckoned without a difference of like numbers.
    """
    from dp_accounting.pld import pld_pmf  # takes seconds to load: only where something is counted

    cells = int(np.ceil(ratio / cell * (1 - 1e-12)))
    edges = cell * np.arange(-cells, cells + 1, dtype=float)
    loss, chance = losses(ratio, width, edges)
    loss = np.clip(loss, edges[:-1], edges[1:])
    upper = chance * np.expm1(edges[:-1] - loss) / np.expm1(-cell)
    ends = np.zeros(len(edges))
    ends[1:] += upper.sum(axis=0)
    ends[:-1] += (chance - upper).sum(axis=0)
    return pld_pmf.DensePLDPmf(cell, -cells, ends, 0.0, True)


@lru_cache(maxsize=32)
def composed(parts: Parts) -> Any:
    """The privacy-loss distribution of answers of any ratios and widths together.

    Connecting the dots adds at most a sixth of a squared cell to the variance of an answer's loss, so that the cell goes by
    the mean variance of all of them; the largest ratio is a whole number of cells, as its loss has the sharpest end.
    """
    counted = Counter(parts)
    spread = np.sqrt(sum(n * ratio**2 / width for (ratio, width), n in counted.items()) / len(parts))
    largest = max(ratio for ratio, _ in parts)
    cell = largest / np.ceil(largest / min(spread / max(FEWEST, MOST / np.sqrt(len(parts))), WIDEST))
    each = (
        dotted(ratio, width, cell).self_compose(n, 1e-15 if n > MANY else 0.0) if n > 1 else dotted(ratio, width, cell)
        for (ratio, width), n in counted.items()
    )
    return reduce(lambda one, other: one.compose(other), each)


def spent(parts: Parts, delta: float) -> float:
    """An epsilon at which answers are (epsilon, delta)-DP together, never below the smallest there is.

    Parameters
    ----------
    parts: (ratio r = sensitivity/scale, width p) of every answer, all in 2-norm.
    delta: the failure probability over all of them; 0 for basic composition, the sum of the ratios.

    >>> round(spent(((1.0912, 10),), 1e-6), 3), spent(((0.5, 3), (0.25, 6)), 0.0)
    (1.0, 0.75)
    """
    added = float(sum(ratio for ratio, _ in parts))
    left = delta - ROUNDING * len(parts)
    if left <= 9 * ROUNDING * len(parts):
        return added
    return min(added, float(composed(parts).get_epsilon_for_delta(left)))


def profile(parts: Parts, epsilon: ArrayLike) -> Array:
    """The least delta of answers together at every epsilon (k,), rising, never below the truth."""
    return np.asarray(composed(parts).get_delta_for_epsilon(np.asarray(epsilon, dtype=float)) + ROUNDING * len(parts))


def scaled(parts: Parts, factor: float) -> Parts:
    """The same answers with all ratios so many times as large."""
    return tuple((ratio * factor, width) for ratio, width in parts)


class Curve:
    """How many times their ratios answers may have and keep to (epsilon, delta): log factor by log epsilon.

    Budgets are counted at whole STEPs of log epsilon as they are asked for, each once, and read in between: a handful of
    budgets asks for a handful of counts, all budgets from 0.001 to 500 for a hundred. A cubic through neighbours with their
    slopes is within 1e-6 of the accountant.

    The factor never falls as epsilon rises, nor does it rise faster than in proportion: with log-concave noise
    f = exp(-V) the loss at shift s is V(z + s) - V(z), convex in s and 0 at s = 0, so shifts c s, c < 1, lose at most c
    times as much, and (1 - exp(c (epsilon - loss)))_+ is at most (1 - exp(epsilon - loss))_+. That brackets each count.

    Parameters
    ----------
    parts: the answers, whose ratios are to be multiplied.
    delta: the failure probability over all of them.
    """

    def __init__(self, parts: Parts, delta: float) -> None:
        self.parts, self.left = parts, delta - ROUNDING * len(parts)
        self.added = float(sum(ratio for ratio, _ in parts))
        self.counted: dict[int, float] = {}

    def __call__(self, logs: ArrayLike, derivative: int = 0) -> Array:
        """Log factor at log epsilon (...), or its slope."""
        logs = np.asarray(logs, dtype=float)
        place = np.floor(logs / STEP)
        part = logs / STEP - place
        if derivative == 0 and not part.any():
            return self._read(place)
        low, *around, high = (self._read(place + k) for k in AROUND)
        before, here, there, after = around
        leaves = (low - 8 * before + 8 * there - after) / 12
        arrives = (before - 8 * here + 8 * after - high) / 12
        if derivative:
            rise = 6 * part * (1 - part) * (there - here)
            slopes = (1 - part) * (1 - 3 * part) * leaves + part * (3 * part - 2) * arrives
            return (rise + slopes) / STEP
        rise = here + part**2 * (3 - 2 * part) * (there - here)
        return rise + part * (1 - part) * ((1 - part) * leaves - part * arrives)

    def _read(self, places: Array) -> Array:
        """What is counted at whole steps (...)."""
        distinct, which = np.unique(places.astype(int), return_inverse=True)
        return np.array([self._count(int(place)) for place in distinct])[which].reshape(places.shape)

    def _count(self, place: int) -> float:
        if place not in self.counted:
            self.counted[place] = self._solved(place)
        return self.counted[place]

    def _solved(self, place: int) -> float:
        epsilon = np.exp(place * STEP)

        def excess(log: float) -> float:
            found = float(composed(scaled(self.parts, float(np.exp(log)))).get_delta_for_epsilon(float(epsilon)))
            return float(np.log(max(found, 1e-300)) - np.log(self.left))

        low, high = self._bracket(place, float(np.log(epsilon / self.added)))
        while excess(high) < 0 and high < FAR:
            low, high = high, high + 1.0
        while excess(low) > 0:
            low, high = low - 1.0, low
        return float(scipy.optimize.brentq(excess, low, high, xtol=1e-9))

    def _bracket(self, place: int, least: float) -> tuple[float, float]:
        """Between basic composition and no more than a neighbour allows."""
        if not self.counted:
            return least - SLACK, least + 1.0
        near = min(self.counted, key=lambda one: abs(one - place))
        ends = sorted([self.counted[near], self.counted[near] + (place - near) * STEP])
        return max(ends[0], least) - SLACK, ends[1] + SLACK


@lru_cache(maxsize=256)
def curve(parts: Parts, delta: float) -> Curve:
    """One curve for the same answers and delta, with all that was counted of it."""
    return Curve(parts, delta)


def common_factor(parts: Sequence[tuple[float, int]], epsilon: float, delta: float) -> float:
    """The largest number that all ratios may be multiplied by so that the answers keep to (epsilon, delta).

    >>> parts = ((1.0, 3), (2.0, 6))
    >>> round(spent(scaled(parts, common_factor(parts, 0.7, 1e-6)), 1e-6), 4), common_factor(parts, 0.75, 0.0)
    (0.7, 0.25)
    """
    told = tuple((float(ratio), int(width)) for ratio, width in parts)
    added = float(epsilon) / sum(ratio for ratio, _ in told)
    if delta <= 10 * ROUNDING * len(told):
        return added
    return max(added, float(np.exp(curve(told, delta)(np.log(epsilon)))))
