"""The audit's own accountant: what noise of a known law gives away, from that law alone.

Nothing here asks the mechanism under test: its claim is held against what these formulas say of the noise that was seen and
the sensitivity that is announced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainc, gammaincinv, log_ndtr, ndtr
from scipy.stats import binom

from learning.arrays import Array

UNEVEN_CELLS = 6000  # of the largest of several ratios: the others are no whole number of them
UNLIKELY = 1e-20  # chance of more uses of a record than are counted


@dataclass(frozen=True)
class Answering:
    """How often a record enters what is seen: in each of T answers of kappa owners, or in those that sample it.

    Parameters
    ----------
    rounds: T.
    overlap: kappa, owners alike that one record may sit with.
    chance: the probability that a round uses the record; 1 unless records are sampled.
    factors: of the scale of the noise in each round, (T,); all alike unless given.
    """

    rounds: int
    overlap: int = 1
    chance: float = 1.0
    factors: tuple[float, ...] = ()

    def parts(self, ratio: float) -> dict[float, int]:
        """Sensitivity over scale of each answer of all owners, at one stated for an even share: and how many have it.

        >>> Answering(3, overlap=2).parts(0.5), Answering(3, factors=(2.0, 1.0, 0.5)).parts(0.5)
        ({0.5: 6}, {0.25: 1, 0.5: 1, 1.0: 1})
        """
        if not self.factors:
            return {ratio: self.rounds * self.overlap}
        found = Counter((ratio / np.array(self.factors)).tolist())
        return {part: count * self.overlap for part, count in found.items()}


@dataclass(frozen=True)
class Law:
    """A law of noise that the audit accounts for by itself; |z|^norm/norm is gamma distributed, of shape 1/norm.

    Parameters
    ----------
    norm: 1 for Laplace noise, 2 for Gaussian: the norm that its sensitivity goes by, and the power of its density.
    chance_below: z -> the chance of no more than z, at scale 1.
    epsilon: (sensitivity/scale of one answer, Answering, delta) -> the least epsilon.
    """

    norm: int
    chance_below: Callable[[Array], Array] = field(repr=False)
    epsilon: Callable[[float, Answering, float], float] = field(repr=False)

    def shortfall(self, noise: Array, axis: int | tuple[int, ...] | None = None) -> tuple[Array, Array]:
        """(measured over stated scale, chance of so little), exact, of noise in units of that scale; nan is left out."""
        counts = np.asarray((~np.isnan(noise)).sum(axis=axis), dtype=float)
        total = np.asarray(np.nansum(np.abs(noise) ** self.norm, axis=axis))
        return (total / counts) ** (1 / self.norm), np.asarray(gammainc(counts / self.norm, total / self.norm))

    def single(self, noise: Array) -> Array:
        """Independent numbers of noise (..., p), of the chance `chance_below`: all, where each is drawn by itself."""
        return noise

    def visible(self, numbers: float, error: float, sureness: float = 0.99) -> float:
        """The measured over stated scale, of so many numbers, at which a test at ``error`` sees that noise falls short.

        >>> round(LAWS["laplace"].visible(10_000, 1e-4), 2)
        0.94
        """
        shape = numbers / self.norm
        return float((gammaincinv(shape, error) / gammaincinv(shape, sureness)) ** (1 / self.norm))


def gaussian_delta(epsilon: float, distance: Array) -> Array:
    """The least delta of Gaussian noise at a distance m > 0: Phi(m/2 - e/m) - exp(e) Phi(-m/2 - e/m).

    Source: Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy, Theorem 8.
    """
    above, below = distance / 2 - epsilon / distance, -distance / 2 - epsilon / distance
    return np.asarray(ndtr(above) - np.exp(epsilon + log_ndtr(below)))


def gaussian_epsilon(distance: float, answering: Answering, delta: float) -> float:
    """The epsilon of Gaussian answers: distances add in squares, mixed over how often the record is used.

    Parameters
    ----------
    distance: m = sensitivity/deviation of one answer.
    answering: how often the record is used.
    delta: the failure probability over all answers.

    >>> round(gaussian_epsilon(0.1, Answering(100), 1e-6), 4)
    4.8866
    """
    uses, odds = np.array([answering.rounds * answering.overlap]), np.ones(1)
    if answering.factors:
        uses = np.array([answering.overlap * np.sum(1 / np.square(answering.factors))])
    if answering.chance < 1:
        chance = min(1.0, answering.overlap * answering.chance)
        uses = np.arange(1, binom.isf(UNLIKELY, answering.rounds, chance) + 2)
        odds = binom.pmf(uses, answering.rounds, chance)
    apart = distance * np.sqrt(uses)

    def excess(epsilon: float) -> float:
        return float(odds @ gaussian_delta(epsilon, apart)) - delta

    if distance <= 0 or excess(0.0) <= 0:
        return 0.0
    most = float(apart[-1] ** 2 / 2 + apart[-1] * np.sqrt(2 * np.log(1 / delta)))  # by zCDP
    return float(brentq(excess, 0.0, most, xtol=1e-12, rtol=1e-12))


def laplace_epsilon(ratio: float, answering: Answering, delta: float) -> float:
    """The epsilon of Laplace answers: the ratios sensitivity/scale added up, or at a delta their privacy-loss distribution.

    Source: at a delta, dp-accounting ("connect the dots"), which errs upwards by less than 1e-4 of the epsilon.

    >>> laplace_epsilon(0.5, Answering(2, overlap=3), 0.0)
    3.0
    """
    parts = answering.parts(ratio)
    if delta == 0 or ratio == 0:
        return float(sum(part * count for part, count in parts.items()))
    from dp_accounting.pld import privacy_loss_distribution

    cell = max(parts) / (200 if len(parts) == 1 else UNEVEN_CELLS)
    one = partial(privacy_loss_distribution.from_laplace_mechanism, value_discretization_interval=cell)
    return composed_epsilon(parts, lambda part: one(1 / part), delta)


def composed_epsilon(parts: Mapping[float, int], one: Callable[[float], Any], delta: float) -> float:
    """The epsilon of answers of several ratios, so many of each, by the privacy-loss distribution of ``one`` of a ratio."""
    made = [one(part).self_compose(count) for part, count in parts.items()]
    return float(reduce(lambda first, other: first.compose(other), made).get_epsilon_for_delta(delta))


def _laplace_below(z: Array) -> Array:
    return np.where(z < 0, np.exp(np.minimum(z, 0.0)) / 2, 1 - np.exp(-np.maximum(z, 0.0)) / 2)


# the name of a mechanism -> the law of its noise; noise of other names is attacked, and not accounted for here
LAWS = {"laplace": Law(1, _laplace_below, laplace_epsilon), "gaussian": Law(2, ndtr, gaussian_epsilon)}
