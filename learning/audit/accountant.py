"""The audit's own accountant: the cost of noise of a known law, from that law alone.

Nothing here calls the mechanism under test: its claim is compared with these formulas, applied to
the noise that was seen and the sensitivity that is announced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial, reduce
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, erfc, gammainc, gammaincinv, log_ndtr, ndtr, roots_genlaguerre
from scipy.stats import binom, chi2, gamma

from learning.arrays import Array
from learning.losses.coordinates import Coordinates

UNEVEN_CELLS = 6000  # of the largest of several ratios: the others are no whole number of them
UNLIKELY = 1e-20  # probability of more uses of a record than are counted
CELLS = 100  # per standard deviation of a loss
NODES = 200  # of an integral over the radius
RARE = 1e-15  # probability of a radius beyond the integral
ANGLES = 4  # between two records, tried
FINE = 1001  # the same where a try costs nothing
TABLED = 2000  # lengths of a coordinate in a table of probabilities

Axis = int | tuple[int, ...] | None


@dataclass(frozen=True)
class Answering:
    """Answers that depend on a record: all T of kappa owners, or those of them that sample it.

    Parameters
    ----------
    rounds: T.
    overlap: kappa, equal owners that one record may sit with.
    chance: the probability that a round uses the record; 1 unless records are sampled.
    factors: factor on the scale of the noise in each round, (T,); 1 unless given.
    """

    rounds: int
    overlap: int = 1
    chance: float = 1.0
    factors: tuple[float, ...] = ()

    def count_ratios(self, ratio: float) -> dict[float, int]:
        """Count the answers of all owners by sensitivity/scale, at one stated for an even share.

        >>> Answering(3, overlap=2).count_ratios(0.5)
        {0.5: 6}
        >>> Answering(3, factors=(2.0, 1.0, 0.5)).count_ratios(0.5)
        {0.25: 1, 0.5: 1, 1.0: 1}
        """
        if not self.factors:
            return {ratio: self.rounds * self.overlap}
        found = Counter((ratio / np.array(self.factors)).tolist())
        return {part: count * self.overlap for part, count in found.items()}

    def compose_losses(
        self, ratio: float, make_loss: Callable[[float], Any], delta: float
    ) -> float:
        """Compute the epsilon of all answers by privacy-loss distributions of one of each ratio."""
        counts = self.count_ratios(ratio)
        made = [make_loss(part).self_compose(count) for part, count in counts.items()]
        composed = reduce(lambda first, other: first.compose(other), made)
        return float(composed.get_epsilon_for_delta(delta))


@dataclass(frozen=True)
class NoiseLaw:
    """Law of noise that the audit accounts for.

    |z|^norm/norm is gamma distributed, of shape 1/norm.

    Parameters
    ----------
    norm: 1 for Laplace noise, 2 for Gaussian: the norm of its sensitivity, and the power of its
        density.
    chance_below: z -> the probability of at most z, at scale 1.
    epsilon: (sensitivity/scale of one answer, Answering, delta) -> the least epsilon.
    """

    norm: int
    chance_below: Callable[[Array], Array] = field(repr=False)
    epsilon: Callable[[float, Answering, float], float] = field(repr=False)

    def measure_shortfall(self, noise: Array, axis: Axis = None) -> tuple[Array, Array]:
        """Compute the measured over stated scale, and the exact probability of one as small.

        ``noise`` is in units of its stated scale; nan is left out.
        """
        counts = np.asarray((~np.isnan(noise)).sum(axis=axis), dtype=float)
        total = np.nansum(np.abs(noise) ** self.norm, axis=axis)
        chance = gammainc(counts / self.norm, total / self.norm)
        return (total / counts) ** (1 / self.norm), np.asarray(chance)

    def independent_numbers(self, noise: Array) -> Array:
        """Independent numbers of noise (..., p) with the law `chance_below`."""
        return noise

    def detectable_scale(self, numbers: float, error: float, sureness: float = 0.99) -> float:
        """Compute the measured over stated scale of ``numbers`` that a test at ``error`` detects.

        >>> round(LAWS["laplace"].detectable_scale(10_000, 1e-4), 2)
        0.94
        """
        shape = numbers / self.norm
        return float((gammaincinv(shape, error) / gammaincinv(shape, sureness)) ** (1 / self.norm))


def gaussian_delta(epsilon: float, distance: Array) -> Array:
    """Compute the least delta of Gaussian noise at a distance m > 0.

    Phi(m/2 - e/m) - exp(e) Phi(-m/2 - e/m).

    Source: Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy, Theorem 8.
    """
    above = distance / 2 - epsilon / distance
    below = -distance / 2 - epsilon / distance
    return ndtr(above) - np.exp(epsilon + log_ndtr(below))


def gaussian_epsilon(distance: float, answering: Answering, delta: float) -> float:
    """Compute the epsilon of Gaussian answers; squared distances add up over uses of the record.

    Where records are sampled, delta is the mean over the number of uses.

    Parameters
    ----------
    distance: m = sensitivity/deviation of one answer.
    answering: the answers that use the record.
    delta: the failure probability over all answers.

    >>> round(gaussian_epsilon(0.1, Answering(100), 1e-6), 4)
    4.8866
    """
    uses = np.array([answering.rounds * answering.overlap])
    odds = np.ones(1)
    if answering.factors:
        uses = np.array([answering.overlap * np.sum(1 / np.square(answering.factors))])
    if answering.chance < 1:
        chance = min(1.0, answering.overlap * answering.chance)
        uses = np.arange(1, binom.isf(UNLIKELY, answering.rounds, chance) + 2)
        odds = binom.pmf(uses, answering.rounds, chance)
    distances = distance * np.sqrt(uses)

    def excess_delta(epsilon: float) -> float:
        return float(odds @ gaussian_delta(epsilon, distances)) - delta

    if distance <= 0 or excess_delta(0.0) <= 0:
        return 0.0
    furthest = distances[-1]
    most = float(furthest**2 / 2 + furthest * np.sqrt(2 * np.log(1 / delta)))  # by zCDP
    return float(brentq(excess_delta, 0.0, most, xtol=1e-12, rtol=1e-12))


def laplace_epsilon(ratio: float, answering: Answering, delta: float) -> float:
    """Compute the epsilon of Laplace answers: the sum of ratios, or at a delta by their losses.

    Source: at a delta, dp-accounting ("connect the dots"), which errs upwards by less than 1e-4 of
        the epsilon.

    >>> laplace_epsilon(0.5, Answering(2, overlap=3), 0.0)
    3.0
    """
    counts = answering.count_ratios(ratio)
    if delta == 0 or ratio == 0:
        return float(sum(part * count for part, count in counts.items()))
    from dp_accounting.pld import privacy_loss_distribution as pld

    cell = max(counts) / (200 if len(counts) == 1 else UNEVEN_CELLS)
    make_loss = partial(pld.from_laplace_mechanism, value_discretization_interval=cell)
    return answering.compose_losses(ratio, lambda part: make_loss(1 / part), delta)


def _laplace_below(z: Array) -> Array:
    return np.where(z < 0, np.exp(np.minimum(z, 0.0)) / 2, 1 - np.exp(-np.maximum(z, 0.0)) / 2)


# name of a mechanism -> law of its noise; noise of other names is attacked only
LAWS = {
    "laplace": NoiseLaw(1, _laplace_below, laplace_epsilon),
    "gaussian": NoiseLaw(2, ndtr, gaussian_epsilon),
}


@dataclass(frozen=True)
class L2Law(NoiseLaw):
    """Noise of density falling as exp(-|z|_2): a radius of Gamma(p) and a uniform direction.

    Parameters
    ----------
    width: p.
    """

    width: int = field(default=1, kw_only=True)

    def measure_shortfall(self, noise: Array, axis: Axis = None) -> tuple[Array, Array]:
        """Measure answers by their radius, and a single coordinate by its rarity."""
        if axis == (0, 1):
            return super().measure_shortfall(coordinate_rarity(self.width, np.abs(noise)), axis)
        lengths = self.independent_numbers(noise)[..., None] / self.width
        return super().measure_shortfall(np.repeat(lengths, self.width, axis=-1), axis)

    def independent_numbers(self, noise: Array) -> Array:
        return np.linalg.norm(noise, axis=-1)


def coordinate_rarity(width: int, size: Array) -> Array:
    """Compute -log P[one coordinate at scale 1 is larger], exponential for sound noise."""
    lengths, rarity = _rarity_table(width)
    return np.interp(size, lengths, rarity)


@lru_cache(maxsize=8)
def _rarity_table(width: int) -> tuple[Array, Array]:
    """Tabulate rarity: given a chi-squared variance of p + 1 degrees, a coordinate is Gaussian."""
    roots, weights = np.polynomial.legendre.leggauss(NODES)
    low = chi2.ppf(RARE, width + 1)
    high = chi2.isf(1e-30, width + 1)
    variance = low + (high - low) * (roots + 1) / 2
    odds = weights * chi2.pdf(variance, width + 1)
    lengths = np.linspace(0.0, 12.0 * np.sqrt(width + 1) + 20.0, TABLED)
    beyond = erfc(lengths[:, None] / np.sqrt(2 * variance)) @ odds / odds.sum()
    return lengths, -np.log(np.maximum(beyond, 1e-300))


def loss_chances(ratio: float, width: int, least: Array) -> tuple[Array, Array]:
    """Compute (P[loss > l], P[loss < -l]) of one answer for l in [-r, r], by radius and angle.

    |z - s| - |z| > l where the radius R is below (r - l)/2, or the cosine c of the angle to the
    shift below (r^2 - l^2 - 2 R l)/(2 R r); (1 + c)/2 has a beta distribution.
    """
    roots, weights = np.polynomial.legendre.leggauss(NODES)
    furthest = np.sqrt(gamma.isf(RARE, width))
    root = furthest * (roots + 1) / 2
    lengths = weights * root * furthest
    half = (width - 1) / 2

    def integrate_angles(loss: Array, least_radius: Array, side: float) -> Array:
        radius = least_radius[:, None] + root**2
        cosine = (ratio**2 - loss[:, None] ** 2 - 2 * radius * loss[:, None]) / (2 * radius * ratio)
        chance = betainc(half, half, (1 + side * np.clip(cosine, -1, 1)) / 2)
        return (gamma.pdf(radius, width) * lengths * chance).sum(axis=1)

    above = gammainc(width, (ratio - least) / 2) + integrate_angles(least, (ratio - least) / 2, 1)
    return np.minimum(above, 1.0), integrate_angles(-least, (ratio + least) / 2, -1)


def _l2_loss(ratio: float, width: int, cell: float) -> Any:
    """Make the privacy-loss distribution of one answer under l2 noise, in whole cells."""
    from dp_accounting.pld import pld_pmf

    numbers = np.arange(-np.ceil(ratio / cell), np.ceil(ratio / cell) + 1)
    epsilon = numbers * cell
    above, below = loss_chances(ratio, width, np.clip(epsilon, -ratio, ratio))
    delta = np.where(epsilon >= ratio, 0.0, np.maximum(above - np.exp(epsilon) * below, 0.0))
    delta = np.where(epsilon <= -ratio, -np.expm1(epsilon), delta)
    rounded = np.minimum.accumulate(np.minimum(delta, 1.0))
    connect = pld_pmf.create_pmf_pessimistic_connect_dots
    return connect(cell, numbers.astype(int), rounded).to_dense_pmf()


def l2_epsilon(width: int, ratio: float, answering: Answering, delta: float) -> float:
    """Compute the epsilon of answers under l2 noise: the sum of ratios, or at a delta by losses.

    Parameters
    ----------
    width: p, the numbers in an answer.
    ratio: sensitivity/scale of one answer.
    answering: the answers that use the record.
    delta: the failure probability over all answers.

    >>> round(l2_epsilon(10, 1.0912, Answering(1), 1e-6), 3)
    1.0
    >>> l2_epsilon(10, 0.5, Answering(2, overlap=3), 0.0)
    3.0
    """
    if delta == 0 or ratio == 0 or width == 1:
        return laplace_epsilon(ratio, answering, delta)
    cell = max(answering.count_ratios(ratio)) / np.ceil(np.sqrt(width) * CELLS)
    return answering.compose_losses(ratio, lambda part: _l2_loss(part, width, cell), delta)


def laplace_numbers(noise: Array, freedom: int) -> Array:
    """Turn the difference of two Wishart matrices of scale 1, (runs, p, p), into Laplace numbers.

    In any orthonormal basis the diagonal holds p independent differences of two chi-squared
    variables of ``freedom`` degrees; their probabilities become those of Laplace noise of scale 1.
    Every second run is looked at in a basis in which all entries of the matrix count.
    """
    width = noise.shape[1]
    basis, _ = np.linalg.qr(np.random.default_rng(width).standard_normal((width, width)))
    turned = noise.copy()
    turned[1::2] = basis.T @ noise[1::2] @ basis
    numbers = np.diagonal(turned, axis1=1, axis2=2)
    lengths, rarity = _difference_table(freedom)
    return np.asarray(np.sign(numbers) * np.interp(np.abs(numbers), lengths, rarity))


@lru_cache(maxsize=8)
def _difference_table(freedom: int) -> tuple[Array, Array]:
    """Tabulate -log P[|c - d| > z] of two chi-squared variables: E P[c > z + d], doubled."""
    roots, weights = roots_genlaguerre(NODES, freedom / 2 - 1)
    lengths = np.linspace(0.0, 60.0 + 12.0 * np.sqrt(freedom), TABLED)
    beyond = 2 * chi2.sf(lengths[:, None] + 2 * roots, freedom) @ weights / weights.sum()
    return lengths, -np.log(np.maximum(beyond / beyond[0], 1e-300))


def wishart_freedom(width: int, parts: int) -> int:
    """Degrees of freedom of Wishart noise in equal parts of whole columns, p + 1 at least.

    >>> wishart_freedom(10, 1), wishart_freedom(10, 3)
    (11, 12)
    """
    return parts * -(-(width + 1) // parts)


def traces_epsilon(coordinates: Coordinates, scale: float, freedom: int, answers: int) -> float:
    """Compute the epsilon of scores with l2 noise and moments with Wishart noise, at all angles.

    Two long records at an angle g with scores of full length lie 2 h cos(g/2) apart in scores, and
    2 R^2 sin(g) in the trace norm of moments; a long record and a short one R^2.

    Parameters
    ----------
    coordinates: with R, h and the share of the noise.
    scale: of the Wishart noise on the moments.
    freedom: its degrees of freedom.
    answers: the answers that use the record.
    """
    assert coordinates.scores is not None
    moments = coordinates.radius**2 / scale
    over = 2 * np.sqrt(freedom / (len(coordinates.centre) + 1))  # deviations at equal scales
    score = moments / (over * coordinates.scores.share)
    angle = np.linspace(0.0, np.pi / 2, FINE)
    spent = score * np.cos(angle / 2) + moments * np.maximum(0.5, np.sin(angle))
    return float(spent.max()) * answers


def scores_epsilon(
    coordinates: Coordinates,
    widths: tuple[int, ...],
    scale: float,
    answering: Answering,
    delta: float,
) -> float:
    """Compute the epsilon of second moments and scores, l2 noise on each, at the worst angle.

    Two long records of cosine a with opposite scores of full length lie sqrt(2 (1 + a)) h apart in
    scores and sqrt(2 (1 - a^2)) R^2 in moments; a long record and a short one lie 2 h and R^2
    apart.

    Parameters
    ----------
    coordinates: with R, h and the share of the noise.
    widths: the numbers of moments and score.
    scale: of the noise on the moments.
    answering: the answers that use the record.
    delta: the failure probability over all answers.
    """
    assert coordinates.scores is not None
    many, width = widths
    moments = coordinates.radius**2 / scale
    score = moments / (coordinates.scores.share * np.sqrt((many + 1) / (width + 1)))
    cosine = np.linspace(0.0, np.sqrt(0.5), ANGLES)
    pairs = [(1.0, 1.0), *zip(np.sqrt((1 + cosine) / 2), np.sqrt(2 * (1 - cosine**2)), strict=True)]
    answers = answering.rounds * answering.overlap
    return max(
        _spent_on_pair(float(along * score), float(across * moments), widths, answers, delta)
        for along, across in pairs
    )


@lru_cache(maxsize=1024)
def _spent_on_pair(
    first: float, second: float, widths: tuple[int, ...], answers: int, delta: float
) -> float:
    """Compute the epsilon of answers that move scores and moments by so many noise scales."""
    many, width = widths
    spent = (first + second) * answers
    if delta <= 0:
        return spent
    cell = max(first, second) / np.ceil(np.sqrt(width) * CELLS)
    once = _l2_loss(first, width, cell).compose(_l2_loss(second, many, cell))
    return min(spent, float(once.self_compose(answers).get_epsilon_for_delta(delta)))


def moments_epsilon(
    coordinates: Coordinates,
    gradients: Sequence[float],
    scale: float,
    delta: float,
    *,
    traces: bool,
    overlap: int,
) -> float:
    """Compute the epsilon of answers under l2 noise and of the second moments beside the first.

    One record moves the sum of moments by sqrt(2) R^2 in 2-norm, and by 2 R^2 in trace norm, which
    costs R^2 over the scale of Wishart noise. The worst records for each answer are another's.

    Parameters
    ----------
    coordinates: with R.
    gradients: sensitivity/scale of each gradient.
    scale: of the noise on the sum of moments.
    delta: the failure probability over all answers.
    traces: whether the noise on moments is Wishart noise, and not l2 noise.
    overlap: kappa equal owners.
    """
    assert coordinates.moments is not None
    width = len(coordinates.centre)
    moved = coordinates.moments.radius**2 / scale
    if not traces:
        moved *= np.sqrt(2)
    spent = overlap * float(sum(gradients) + moved)
    if delta == 0:
        return spent
    cell = max(gradients) / np.ceil(np.sqrt(width) * CELLS)
    parts = [(ratio, width) for ratio in gradients] + [(moved, width * (width + 1) // 2)]
    losses = [_l2_loss(*part, cell).self_compose(overlap) for part in parts]
    composed = reduce(lambda first, other: first.compose(other), losses)
    return min(spent, float(composed.get_epsilon_for_delta(delta)))


def law_of(name: str, width: int) -> NoiseLaw | None:
    """Look up the law of a mechanism's noise on answers of ``width`` numbers; None if unknown."""
    if name not in ("l2", "wishart"):
        return LAWS.get(name)
    return L2Law(1, partial(gammainc, width), partial(l2_epsilon, width), width=width)
