"""Subsampling, one record a round: what samples that are known, or hidden, give away, and noise for known ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count, Probability, parameter
from learning.errors import InputError
from learning.privacy.beliefs import by_column, surest
from learning.privacy.claims import Claim
from learning.privacy.gaussian import GaussianNoise, gaussian_delta, zcdp_distance, zcdp_growth
from learning.privacy.guarantees import EPSILONS, Guarantee, Measure, gaussian, profile_around
from learning.privacy.mechanism import FixedHorizon
from learning.privacy.noise_law import where_noisy
from learning.privacy.noise_settings import NoiseSettings
from learning.privacy.tables import check_covered, distance_table, read

LEFT_OUT = 1e-25  # bound on the chance of more uses than are summed over; it counts towards delta in full
ORDERS = 100  # Renyi orders tried; each gives a valid epsilon, the least is kept
FURTHEST = 200.0  # largest order times distance
CROWDS, DISTANCES = 64, (-30.0, 10.0)  # numbers of records at which a budget of 1 is priced; logs of distances tried
SMALLEST, LARGEST = 1e-3, 1e2  # budgets that SubsampledGaussian tabulates
NODES, BISECTIONS, SHAVE = 160, 48, 1e-5  # of its table; the shave is above the error between nodes


def subsampled_delta(epsilon: ArrayLike, distance: ArrayLike, rounds: int, chance: float) -> Array:
    """Smallest delta where everyone sees which record each round uses: sum_k P(K = k) delta_Gauss(epsilon, m sqrt(k)).

    K ~ Binomial(T, chance) counts the uses of the record that is replaced. Sampling reads no records, so the samples are
    part of what is seen; given them, K answers are one Gaussian mechanism of distance m sqrt(K). Nothing is lost in the sum.

    Parameters
    ----------
    epsilon: array, >= 0.
    distance: array, m = 2 G/s of one use.
    rounds: T.
    chance: the probability that a round uses the record: 1/n under uniform sampling, 1 where every round uses it.

    Source: ours; `gaussian_delta`.

    >>> round(float(subsampled_delta(1.0, 1.0, 1, 0.25)) / float(gaussian_delta(1.0, 1.0)), 9)
    0.25
    """
    mean, log = rounds * chance, -np.log(LEFT_OUT)
    # Bernstein: further out with LEFT_OUT at most
    reach = log / 3 + np.sqrt(log**2 / 9 + 2 * log * mean * (1 - chance))
    uses = np.arange(max(0, np.floor(mean - reach)), min(rounds, np.ceil(mean + reach)) + 1)
    odds = scipy.stats.binom.pmf(uses, rounds, chance)
    # fewer uses lose no more than the least that are summed over
    odds[0] = scipy.stats.binom.cdf(uses[0], rounds, chance)
    apart = np.asarray(distance, float)[..., None] * np.sqrt(uses)
    lost = np.where(apart > 0, gaussian_delta(np.asarray(epsilon)[..., None], np.where(apart > 0, apart, 1.0)), 0.0)
    return np.asarray(lost @ odds + (LEFT_OUT if uses[-1] < rounds else 0.0))


def subsampled_epsilon(distance: float, rounds: int, chance: float, delta: float) -> float:
    """The epsilon that T rounds give at delta against who knows the samples; exact. With chance 1, T Gaussian answers.

    Parameters
    ----------
    distance, rounds, chance: as in `subsampled_delta`; distance 0 is infinite noise.
    delta: the failure probability over all rounds, in (0, 1).

    >>> round(subsampled_epsilon(0.1, 100, 1.0, 1e-6), 4)  # one Gaussian of distance 1
    4.8866
    """
    if not distance < np.inf:
        return np.inf

    def excess(epsilon: float) -> float:
        return float(subsampled_delta(epsilon, distance, rounds, chance)) - delta

    if distance == 0 or excess(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess(high) > 0:
        high *= 2
    root = scipy.optimize.brentq(excess, 0.0, high, xtol=1e-12)
    return float(root * (1 + 1e-9) + 1e-11)


@lru_cache(maxsize=256)
def surest_subsampled(distance: float, rounds: int, chance: float, but_for: float) -> float:
    """How sure who knows the samples can become of a record, but for so small a chance, by `subsampled_delta`."""
    return surest(lambda e: subsampled_delta(e, distance, rounds, chance), but_for)


def sampled_epsilon(distance: float, rounds: int, records: int, delta: float, share: float = 1.0) -> float:
    """An epsilon that T rounds give at delta against who sees the answers and does not know the samples.

    A round uses one of N records, unseen. Replacing one moves the output by no more than the profile
    delta(e) = delta_e(A, B), A = (1 - 1/N) B + P/N, P = N(m, 1), B = N(0, 1), e >= 0, in either direction. A Renyi moment
    is an integral over that profile, which comes to

        E[(D/D')^a] - 1 <= E_B[(L^a - 1)(1 - L^(1 - a)); L > 1],   L = A/B,

    and moments multiply over rounds. Never more than to who knows the samples.

    Parameters
    ----------
    distance: m = 2 G/s of one use, 0 for infinite noise.
    rounds: T.
    records: N, among which the sample is hidden.
    delta: the failure probability over all rounds, in (0, 1).
    share: the probability that a round uses any of the N, where everyone sees whether it does.

    Returns
    -------
    An upper bound, not the smallest epsilon: a tenth to a quarter above what one bad data set attains.

    Source: profile: Zhu, Dong and Wang, Optimal Accounting of Differential Privacy via Characteristic Function, Theorem 11
    (one pair for e >= 0; taking it for e < 0 too and composing it would be wrong, hence moments); moments from profiles:
    Sason and Verdu, f-Divergence Inequalities, (204); epsilon from moments: Canonne, Kamath and Steinke, Prop. 12.
    """
    known = subsampled_epsilon(distance, rounds, share / records, delta)
    if known == 0:
        return 0.0
    orders = 1 + np.geomspace(1e-2, min(1e6, max(1.0, FURTHEST / distance)), ORDERS)
    moments = np.array([np.logaddexp(0, np.log(share) + log_moment(a, distance, 1 / records)) for a in orders])
    spent = rounds * moments / (orders - 1) + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)
    return float(min(max(0.0, spent.min()), known))


def log_moment(order: float, distance: float, chance: float) -> float:
    """log E_B[(L^a - 1)(1 - L^(1 - a)); L > 1], L = 1 - g + g exp(m z - m^2/2), z ~ N(0, 1): see `sampled_epsilon`.

    By Gauss-Legendre quadrature in z, in logarithms: neither differences nor large orders lose digits.
    """
    edges = np.arange(distance / 2, order * distance + 14.0, 1.0)
    points, weights = np.polynomial.legendre.leggauss(16)
    z = (edges[:-1, None] + (points + 1) / 2).ravel()
    loss = distance * z - distance**2 / 2
    small = np.log1p(chance * np.expm1(np.minimum(loss, 50.0)))
    gain = np.where(loss < 50, small, loss + np.log(chance))
    first = order * gain + np.log(-np.expm1(-order * gain))
    second = np.log(-np.expm1((1 - order) * gain))
    density = -(z**2) / 2 - np.log(2 * np.pi) / 2
    return float(scipy.special.logsumexp(first + second + density, b=np.tile(weights / 2, len(edges) - 1)))


@lru_cache(maxsize=16)
def _table(delta: float, rounds: int, chance: float) -> scipy.interpolate.PchipInterpolator:
    """log distance of one use as a function of log epsilon at this delta."""
    nodes = np.geomspace(SMALLEST, LARGEST, NODES)
    return distance_table(nodes, delta, lambda e, m: subsampled_delta(e, m, rounds, chance), 1e-9, BISECTIONS)


def subsampled_budget(distance: ArrayLike, rounds: int, chance: float, delta: float) -> Array:
    """`subsampled_epsilon` of many distances, by the table; below it in proportion, inf beyond it."""
    distance, table = np.asarray(distance, dtype=float), _table(delta, rounds, chance)
    least, most = np.exp(table(table.x[[0, -1]]))
    logs = scipy.interpolate.PchipInterpolator(table(table.x), table.x)(np.log(np.clip(distance, least, most)))
    return np.where(distance > most, np.inf, np.exp(logs) * np.minimum(distance / least, 1.0))


@lru_cache(maxsize=64)
def _profile(distance: float, rounds: int, chance: float) -> Measure:
    """Least distance of one use at which so many rounds, samples known, can be told apart so well."""
    return profile_around(distance, lambda m: subsampled_delta(EPSILONS, m, rounds, chance))


def subsampled_guarantee(distance: float, rounds: int, total_size: int, delta: float, claimed: float) -> Guarantee:
    """Of T rounds that each use one record of all n, known to all: an answer that uses it is Gaussian at ``distance``."""
    chance = 1 / total_size
    shows = float(-np.expm1(rounds * np.log1p(-chance))) if total_size > 1 else 1.0
    together = partial(subsampled_epsilon, rounds=rounds, chance=chance, delta=delta)
    alone = partial(subsampled_epsilon, rounds=1, chance=1.0, delta=delta)
    measure = _profile(distance, rounds, chance)
    return Guarantee(measure, distance, distance, together, claimed, gaussian, alone, shows)


@lru_cache(maxsize=64)
def _crowding(delta: float, rounds: int, overlap: int, total: int) -> tuple[Array, Array]:
    """Logs of so many records to pick among, and of the noise that a budget of 1 takes there, over that of ``total``."""
    logs = np.linspace(np.log(overlap), np.log(total), CROWDS)

    def allowed(records: float) -> float:
        """log m of one use."""
        chance = min(1.0, overlap / records)
        return float(
            scipy.optimize.brentq(
                lambda log: float(subsampled_delta(1.0, np.exp(log), rounds, chance)) - delta, *DISTANCES, xtol=1e-10
            )
        )

    distances = np.array([allowed(records) for records in np.exp(logs)])
    return logs, 2 * (distances[-1] - distances)


@dataclass(frozen=True)
class SubsampledGaussian(GaussianNoise, FixedHorizon):
    """Gaussian noise for SGD1: T rounds of one uniformly sampled record are (epsilon, delta)-DP, samples known to all.

    A record is used K ~ Binomial(T, kappa/n) times, and each use moves an answer by at most 2 G. "zcdp": K stays below its
    quantile M but for delta/2, and M answers get the noise of zCDP at delta/2. "pld": the largest m = 2 G/s at which
    `subsampled_delta` keeps to delta, from a table built once (under a second) and right to 1e-6, shaved by more than that so
    that the noise errs upwards. The noise does not fall with an owner's own records: v = G^2 term(epsilon)/n^2 with
    term = 4 n^2/m^2 and horizon factor 1.

    Parameters
    ----------
    delta: the failure probability over all rounds, in (0, 1).
    total_size: n, the records of all owners that take part, public.
    horizon: T, the most rounds.
    accounting: "zcdp" or "pld".
    overlap: kappa >= 1, the owners one record may sit with.

    Source: ours; zCDP as in `Gaussian`.

    >>> [round(float(SubsampledGaussian(1e-6, 100, 1000, how).scale(1.0, 40, 1.0, 1000)), 3) for how in ("zcdp", "pld")]
    [59.0, 30.635]
    """

    accountings = ("pld", "zcdp")
    single_record = True

    delta: Probability = parameter()
    total_size: Count = parameter()
    horizon: Count = parameter()
    accounting: Literal["zcdp", "pld"] = "pld"
    overlap: Count = 1

    def check(self) -> None:
        if self.overlap > self.total_size:
            raise InputError("learning.overlap", f"must be at most the {self.total_size} records", self.overlap)

    @classmethod
    def suits(cls, settings: NoiseSettings) -> bool:
        return settings.single_record

    @property
    def chance(self) -> float:
        """Of a round to use a given record: kappa/n."""
        return self.overlap / self.total_size

    @property
    def largest(self) -> float:  # type: ignore[override]
        return LARGEST if self.accounting == "pld" else np.inf

    def noise_denominator(self, sizes: ArrayLike) -> Array:
        """n for every owner."""
        return np.full(np.shape(sizes), float(self.total_size))

    def distance(self, epsilon: ArrayLike) -> Array:
        """m = 2 G/s of one use. Below a budget of 0.001, that of 0.001 in proportion.

        Raises
        ------
        InputError
            Beyond a budget of 100 under "pld", which the table does not cover.
        """
        if self.accounting == "zcdp":
            return zcdp_distance(epsilon, self.delta / 2) / np.sqrt(self._uses(self.total_size))
        return self._counted(np.asarray(epsilon, dtype=float))[0]

    def _counted(self, epsilon: Array) -> tuple[Array, Array]:
        """The table's distance and its elasticity d log m/d log epsilon."""
        check_covered(epsilon, LARGEST, "for SGD1 under exact accounting")
        return read(_table(self.delta, self.horizon, self.chance), epsilon, SMALLEST, LARGEST, SHAVE)

    def _scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        epsilon = np.broadcast_to(epsilon, np.broadcast_shapes(epsilon.shape, sizes.shape))
        return 2 * bound / self.distance(epsilon)

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4 n^2/m(epsilon)^2: over `noise_denominator` squared, not over sizes squared."""
        return where_noisy(epsilon, lambda e: 4 * self.total_size**2 / self.distance(e) ** 2)

    def _slope(self, epsilon: Array) -> Array:
        zcdp = self.accounting == "zcdp"
        growth = zcdp_growth(epsilon, self.delta / 2) if zcdp else self._counted(epsilon)[1] / epsilon
        return -2 * self.noise_term(epsilon) * growth

    def among(self, sizes: ArrayLike) -> SubsampledGaussian:
        """Records are picked among those of the owners that share, so that each is used the more often the fewer they are."""
        return replace(self, total_size=int(np.sum(sizes)))

    def noise_among(self, total: ArrayLike) -> Array:
        """(m(n)/m(total))^2: the fewer records there are to pick among, the more often each is used.

        Under "zcdp" by the uses allowed for, whatever the budget; under "pld" at a budget of 1, and for budgets from 0.1 to
        10 within a tenth of that.
        """
        fewer = np.clip(total, self.overlap, self.total_size)
        if self.accounting == "zcdp":
            return np.asarray(self._uses(fewer) / self._uses(self.total_size))
        nodes, grown = _crowding(self.delta, self.horizon, self.overlap, self.total_size)
        return np.exp(np.interp(np.log(fewer), nodes, grown))

    def _uses(self, total: ArrayLike) -> Array:
        """How often a record is used of so many, but for delta/2."""
        chance = self.overlap / np.asarray(total, dtype=float)
        return np.maximum(1.0, scipy.stats.binom.isf(self.delta / 2, self.horizon, chance))

    def surest(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """By the profile of a mixture over how often the record is used, at the least noise of any of its owners."""
        return by_column(
            lambda most: surest_subsampled(float(self.distance(most[0])), horizon, self.chance, self.but_for),
            held.max(axis=0, keepdims=True),
        )

    def claim(self, party: str, epsilon: float, horizon: int, unit: str = "one record") -> Claim:
        """It holds though everyone knows which record each round used."""
        return replace(super().claim(party, epsilon, horizon, unit), mechanism=f"{self.label}, picks known to all")

    def guarantee(self, epsilon: float, horizon: int, answers: int, *, size: int = 1) -> Guarantee:
        """All rounds are a mixture over how often the record is used."""
        return subsampled_guarantee(float(self.distance(epsilon)), horizon, self.total_size, self.delta, epsilon)
