"""The audit's own account of l2 noise: its radius, one coordinate of it, and what answers give away, by radius and angle."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.special import betainc, erfc, gammainc
from scipy.stats import chi2, gamma

from learning.arrays import Array
from learning.audit.accountant import LAWS, Answering, Law, composed_epsilon, laplace_epsilon
from learning.losses.coordinates import Coordinates

CELLS = 100  # of a loss to its deviation
NODES = 200  # of an integral over the radius
RARE = 1e-15  # chance of a radius beyond all that is looked at
ANGLES = 4  # between two records, tried
TABLED = 2000  # lengths of a coordinate whose chance is looked up


@dataclass(frozen=True)
class L2Law(Law):
    """Noise of density falling as exp(-|z|_2): a radius of Gamma(p) and a uniform direction.

    Parameters
    ----------
    width: p.
    """

    width: int = field(default=1, kw_only=True)

    def shortfall(self, noise: Array, axis: int | tuple[int, ...] | None = None) -> tuple[Array, Array]:
        """By the radius of every answer, all of them or those of a round; of a coordinate by how rare such ones are."""
        if axis == (0, 1):
            return super().shortfall(_rarity(self.width, np.abs(noise)), axis)
        return super().shortfall(np.repeat(self.single(noise)[..., None] / self.width, self.width, axis=-1), axis)

    def single(self, noise: Array) -> Array:
        return np.asarray(np.linalg.norm(noise, axis=-1))


def _rarity(width: int, size: Array) -> Array:
    """-log P[one coordinate at scale 1 is larger than so much], exponentially distributed where noise is as stated."""
    at, rarity = _tabled(width)
    return np.asarray(np.interp(size, at, rarity))


@lru_cache(maxsize=8)
def _tabled(width: int) -> tuple[Array, Array]:
    """Lengths and their `_rarity`: a coordinate is Gaussian given a variance that is chi-squared with p + 1 degrees."""
    roots, weights = np.polynomial.legendre.leggauss(NODES)
    low, high = chi2.ppf(RARE, width + 1), chi2.isf(1e-30, width + 1)
    variance = low + (high - low) * (roots + 1) / 2
    odds = weights * chi2.pdf(variance, width + 1)
    at = np.linspace(0.0, 12.0 * np.sqrt(width + 1) + 20.0, TABLED)
    beyond = erfc(at[:, None] / np.sqrt(2 * variance)) @ odds / odds.sum()
    return at, -np.log(np.maximum(beyond, 1e-300))


def chances(ratio: float, width: int, least: Array) -> tuple[Array, Array]:
    """(P[loss > l], P[loss < -l]) of one answer, arrays (k,), for l in [-r, r], by its radius R and its angle to the shift.

    |z - s| - |z| > l where R is below (r - l)/2, or the angle's cosine c below (r^2 - l^2 - 2 R l)/(2 R r); (1 + c)/2 has a
    beta distribution.
    """
    roots, weights = np.polynomial.legendre.leggauss(NODES)
    root = np.sqrt(gamma.isf(RARE, width)) * (roots + 1) / 2
    lengths = weights * root * np.sqrt(gamma.isf(RARE, width))
    half = (width - 1) / 2

    def beyond(loss: Array, least_radius: Array) -> tuple[Array, Array]:
        radius = least_radius[:, None] + root**2
        cosine = (ratio**2 - loss[:, None] ** 2 - 2 * radius * loss[:, None]) / (2 * radius * ratio)
        return gamma.pdf(radius, width) * lengths, np.clip(cosine, -1, 1)

    odds, cosine = beyond(least, (ratio - least) / 2)
    above = gammainc(width, (ratio - least) / 2) + (odds * betainc(half, half, (1 + cosine) / 2)).sum(axis=1)
    odds, cosine = beyond(-least, (ratio + least) / 2)
    return np.minimum(above, 1.0), (odds * betainc(half, half, (1 - cosine) / 2)).sum(axis=1)


def _answer(ratio: float, width: int, cell: float) -> Any:
    """The privacy-loss distribution of one answer, in whole cells."""
    from dp_accounting.pld import pld_pmf

    numbers = np.arange(-np.ceil(ratio / cell), np.ceil(ratio / cell) + 1)
    epsilon = numbers * cell
    above, below = chances(ratio, width, np.clip(epsilon, -ratio, ratio))
    delta = np.where(epsilon >= ratio, 0.0, np.maximum(above - np.exp(epsilon) * below, 0.0))
    delta = np.where(epsilon <= -ratio, -np.expm1(epsilon), delta)
    rounded = np.minimum.accumulate(np.minimum(delta, 1.0))
    return pld_pmf.create_pmf_pessimistic_connect_dots(cell, numbers.astype(int), rounded).to_dense_pmf()


def l2_epsilon(width: int, ratio: float, answering: Answering, delta: float) -> float:
    """The epsilon of answers under l2 noise: the ratios sensitivity/scale added up, or at a delta their losses' law.

    Parameters
    ----------
    width: p, the numbers in an answer.
    ratio: sensitivity/scale of one answer.
    answering: how often the record is used.
    delta: the failure probability over all answers.

    >>> round(l2_epsilon(10, 1.0912, Answering(1), 1e-6), 3), l2_epsilon(10, 0.5, Answering(2, overlap=3), 0.0)
    (1.0, 3.0)
    """
    if delta == 0 or ratio == 0 or width == 1:
        return laplace_epsilon(ratio, answering, delta)
    parts = answering.parts(ratio)
    cell = max(parts) / np.ceil(np.sqrt(width) * CELLS)
    return composed_epsilon(parts, lambda part: _answer(part, width, cell), delta)


def scores_epsilon(
    coordinates: Coordinates, widths: tuple[int, ...], scale: float, answering: Answering, delta: float
) -> float:
    """The epsilon of second moments and scores, l2 noise on each, at the angle of two records that gives most away.

    Long records of cosine a with scores of full length against each other lie sqrt(2 (1 + a)) h and sqrt(2 (1 - a^2)) R^2
    apart, a long record and a short one 2 h and R^2.

    Parameters
    ----------
    coordinates: with R, h and the share of the noise.
    widths: the numbers of moments and score.
    scale: of the noise on the moments.
    answering: how often the record is used.
    delta: the failure probability over all answers.
    """
    assert coordinates.scores is not None
    beside, width = widths
    moments = coordinates.radius**2 / scale
    score = moments / (coordinates.scores.share * np.sqrt((beside + 1) / (width + 1)))
    cosine = np.linspace(0.0, np.sqrt(0.5), ANGLES)
    pairs = [(1.0, 1.0), *zip(np.sqrt((1 + cosine) / 2), np.sqrt(2 * (1 - cosine**2)), strict=True)]
    found = []
    for along, across in pairs:
        ratios = along * score, across * moments
        added = float(sum(ratios)) * answering.rounds * answering.overlap
        if delta > 0:
            cell = max(ratios) / np.ceil(np.sqrt(width) * CELLS)
            parts = [_answer(float(r), p, cell) for r, p in zip(ratios, (width, beside), strict=True)]
            once = parts[0].compose(parts[1])
            counted = once.self_compose(answering.rounds * answering.overlap).get_epsilon_for_delta(delta)
            added = min(added, float(counted))
        found.append(added)
    return max(found)


def law_of(name: str, width: int) -> Law | None:
    """The law of noise of a mechanism's name on answers of so many numbers; None of one that is not accounted for here."""
    if name != "l2":
        return LAWS.get(name)
    return L2Law(1, partial(gammainc, width), partial(l2_epsilon, width), width=width)
