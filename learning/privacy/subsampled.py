"""Subsampling of one record a round: its accounting, and noise whose samples are known.

The accounting is of known samples, or of hidden ones.
"""

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
from learning.privacy.accounting import gaussian_delta, zcdp_distance
from learning.privacy.claims import Claim, bound_profile_belief
from learning.privacy.gaussian import GaussianNoise, zcdp_growth
from learning.privacy.mechanism import FixedHorizon, NoiseSettings, evaluate_columns
from learning.privacy.noise import check_covered, read_table, tabulate_distance, where_noisy

LEFT_OUT = 1e-25  # bound on the probability of uses beyond the sum; counted towards delta in full
ORDERS = 100  # Renyi orders tried; each gives a valid epsilon, the least is kept
FURTHEST = 200.0  # largest order times distance
CROWDS = 64  # numbers of records at which a budget of 1 is priced
DISTANCES = (-30.0, 10.0)  # logs of the distances tried there
SMALLEST = 1e-3  # budgets that SubsampledGaussian tabulates
LARGEST = 1e2
NODES = 160  # of its table; the shave is above the error between nodes
BISECTIONS = 48
SHAVE = 1e-5


def subsampled_delta(epsilon: ArrayLike, distance: ArrayLike, rounds: int, chance: float) -> Array:
    """Compute the least delta with known samples: sum_k P(K = k) delta_Gauss(epsilon, m sqrt(k)).

    K ~ Binomial(T, chance) counts the uses of the record that is replaced. Sampling reads no
    records, so the samples are part of the observation; given them, K answers are one Gaussian
    mechanism of distance m sqrt(K). The sum is exact.

    Parameters
    ----------
    epsilon: array, >= 0.
    distance: array, m = 2 G/s of one use.
    rounds: T.
    chance: the probability that a round uses the record: 1/n under uniform sampling, 1 where every
        round uses it.

    Source: ours; `gaussian_delta`.

    >>> round(float(subsampled_delta(1.0, 1.0, 1, 0.25)) / float(gaussian_delta(1.0, 1.0)), 9)
    0.25
    """
    mean = rounds * chance
    log = -np.log(LEFT_OUT)
    # Bernstein: further out with LEFT_OUT at most
    reach = log / 3 + np.sqrt(log**2 / 9 + 2 * log * mean * (1 - chance))
    uses = np.arange(max(0, np.floor(mean - reach)), min(rounds, np.ceil(mean + reach)) + 1)
    odds = scipy.stats.binom.pmf(uses, rounds, chance)
    # fewer uses lose no more than the least that are summed over
    odds[0] = scipy.stats.binom.cdf(uses[0], rounds, chance)
    distances = np.asarray(distance, float)[..., None] * np.sqrt(uses)
    moved = distances > 0
    delta = gaussian_delta(np.asarray(epsilon)[..., None], np.where(moved, distances, 1.0))
    left_out = LEFT_OUT if uses[-1] < rounds else 0.0
    return np.asarray(np.where(moved, delta, 0.0) @ odds + left_out)


def subsampled_epsilon(distance: float, rounds: int, chance: float, delta: float) -> float:
    """Compute the exact epsilon of T rounds at delta with known samples.

    With chance 1 these are T Gaussian answers.

    Parameters
    ----------
    distance, rounds, chance: as in `subsampled_delta`; distance 0 is infinite noise.
    delta: the failure probability over all rounds, in (0, 1).

    >>> round(subsampled_epsilon(0.1, 100, 1.0, 1e-6), 4)  # one Gaussian of distance 1
    4.8866
    """
    if not distance < np.inf:
        return np.inf

    def excess_delta(epsilon: float) -> float:
        return float(subsampled_delta(epsilon, distance, rounds, chance)) - delta

    if distance == 0 or excess_delta(0.0) <= 0:
        return 0.0
    high = 1.0
    while excess_delta(high) > 0:
        high *= 2
    root = scipy.optimize.brentq(excess_delta, 0.0, high, xtol=1e-12)
    return float(root * (1 + 1e-9) + 1e-11)


@lru_cache(maxsize=256)
def subsampled_belief(distance: float, rounds: int, chance: float, but_for: float) -> float:
    """Bound beliefs with known samples except with probability ``but_for``."""
    return bound_profile_belief(lambda e: subsampled_delta(e, distance, rounds, chance), but_for)


def sampled_epsilon(
    distance: float, rounds: int, records: int, delta: float, share: float = 1.0
) -> float:
    """Bound the epsilon of T rounds at delta with hidden samples.

    A round uses one of N records, unseen. Replacing one moves the output by no more than the
    profile delta(e) = delta_e(A, B), A = (1 - 1/N) B + P/N, P = N(m, 1), B = N(0, 1), e >= 0, in
    either direction. A Renyi moment is an integral over that profile, which comes to

        E[(D/D')^a] - 1 <= E_B[(L^a - 1)(1 - L^(1 - a)); L > 1],   L = A/B,

    and moments multiply over rounds. Never more than with known samples.

    Parameters
    ----------
    distance: m = 2 G/s of one use, 0 for infinite noise.
    rounds: T.
    records: N, among which the sample is hidden.
    delta: the failure probability over all rounds, in (0, 1).
    share: the probability that a round uses any of the N, where everyone sees whether it does.

    Returns
    -------
    An upper bound, a tenth to a quarter above what one bad data set attains.

    Source: profile: Zhu, Dong and Wang, Optimal Accounting of Differential Privacy via
        Characteristic Function, Theorem 11 (one pair for e >= 0; taking it for e < 0 too and
        composing it would be wrong, hence moments); moments from profiles: Sason and Verdu,
        f-Divergence Inequalities, (204); epsilon from moments: Canonne, Kamath and Steinke, Prop.
        12.
    """
    known = subsampled_epsilon(distance, rounds, share / records, delta)
    if known == 0:
        return 0.0
    orders = 1 + np.geomspace(1e-2, min(1e6, max(1.0, FURTHEST / distance)), ORDERS)
    logs = np.array([log_moment(order, distance, 1 / records) for order in orders])
    moments = np.logaddexp(0, np.log(share) + logs)
    spent = rounds * moments / (orders - 1) + np.log1p(-1 / orders)
    spent -= np.log(delta * orders) / (orders - 1)
    return float(min(max(0.0, spent.min()), known))


def log_moment(order: float, distance: float, chance: float) -> float:
    """Compute the logarithm of the Renyi moment that `sampled_epsilon` bounds.

    It is log E_B[(L^a - 1)(1 - L^(1 - a)); L > 1], with L = 1 - g + g exp(m z - m^2/2) and
    z ~ N(0, 1), by Gauss-Legendre quadrature in z. All is computed in logarithms, so that neither
    differences nor large orders lose digits.

    Parameters
    ----------
    order: a > 1.
    distance: m > 0.
    chance: g = 1/N.
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
    weight = np.tile(weights / 2, len(edges) - 1)
    return float(scipy.special.logsumexp(first + second + density, b=weight))


@lru_cache(maxsize=16)
def _distance_table(
    delta: float, rounds: int, chance: float
) -> scipy.interpolate.PchipInterpolator:
    """Tabulate log distance of one use as a function of log epsilon at a delta."""
    nodes = np.geomspace(SMALLEST, LARGEST, NODES)
    delta_at = partial(subsampled_delta, rounds=rounds, chance=chance)
    return tabulate_distance(nodes, delta, delta_at, 1e-9, BISECTIONS)


def subsampled_budget(distance: ArrayLike, rounds: int, chance: float, delta: float) -> Array:
    """Look up `subsampled_epsilon` of many distances: in proportion below the table, inf beyond."""
    distance = np.asarray(distance, dtype=float)
    table = _distance_table(delta, rounds, chance)
    least, most = np.exp(table(table.x[[0, -1]]))
    inverse = scipy.interpolate.PchipInterpolator(table(table.x), table.x)
    logs = inverse(np.log(np.clip(distance, least, most)))
    return np.where(distance > most, np.inf, np.exp(logs) * np.minimum(distance / least, 1.0))


@lru_cache(maxsize=64)
def _noise_by_crowd(delta: float, rounds: int, overlap: int, total: int) -> tuple[Array, Array]:
    """Tabulate logs of numbers of records, and of their noise at a budget of 1 over that of all."""
    logs = np.linspace(np.log(overlap), np.log(total), CROWDS)

    def log_distance(records: float) -> float:
        chance = min(1.0, overlap / records)

        def excess_delta(log: float) -> float:
            return float(subsampled_delta(1.0, np.exp(log), rounds, chance)) - delta

        return float(scipy.optimize.brentq(excess_delta, *DISTANCES, xtol=1e-10))

    distances = np.array([log_distance(records) for records in np.exp(logs)])
    return logs, 2 * (distances[-1] - distances)


@dataclass(frozen=True)
class SubsampledGaussian(GaussianNoise, FixedHorizon):
    """Gaussian noise for SGD1: T rounds of one known sample each are (epsilon, delta)-DP.

    A record is used K ~ Binomial(T, kappa/n) times, and each use moves an answer by at most 2 G.
    "zcdp": K exceeds its quantile M with probability delta/2, and M answers get the noise of zCDP
    at delta/2. "pld": the largest m = 2 G/s at which `subsampled_delta` keeps to delta, from a
    table built once (under a second), right to 1e-6 and shaved by more, so that noise errs upwards.
    The noise does not fall with an owner's own records: v = G^2 term(epsilon)/n^2 with term = 4
    n^2/m^2 and horizon factor 1.

    Parameters
    ----------
    delta: the failure probability over all rounds, in (0, 1).
    total_size: n, the records of all owners that take part, public.
    horizon: T, the most rounds.
    accounting: "zcdp" or "pld".
    overlap: kappa >= 1, the owners one record may sit with.

    Source: ours; zCDP as in `Gaussian`.

    >>> both = [SubsampledGaussian(1e-6, 100, 1000, how) for how in ("zcdp", "pld")]
    >>> [round(float(one.scale(1.0, 40, 1.0, 1000)), 3) for one in both]
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
            rule = f"must be at most the {self.total_size} records"
            raise InputError("learning.overlap", rule, self.overlap)

    @classmethod
    def suits_settings(cls, settings: NoiseSettings) -> bool:
        return settings.single_record

    @property
    def use_chance(self) -> float:
        """Probability that a round uses a given record, kappa/n."""
        return self.overlap / self.total_size

    @property
    def largest(self) -> float:  # type: ignore[override]
        return LARGEST if self.accounting == "pld" else np.inf

    def noise_denominator(self, sizes: ArrayLike) -> Array:
        """n for every owner."""
        return np.full(np.shape(sizes), float(self.total_size))

    def distance(self, epsilon: ArrayLike) -> Array:
        """Distance m = 2 G/s of one use; below a budget of 0.001, that of 0.001 in proportion.

        Raises
        ------
        InputError
            Beyond a budget of 100 under "pld", which the table does not cover.
        """
        if self.accounting == "zcdp":
            uses = self._most_uses(self.total_size)
            return zcdp_distance(epsilon, self.delta / 2) / np.sqrt(uses)
        return self._counted_distance(np.asarray(epsilon, dtype=float))[0]

    def _counted_distance(self, epsilon: Array) -> tuple[Array, Array]:
        """Read the table's distance and its elasticity d log m/d log epsilon."""
        check_covered(epsilon, LARGEST, "for SGD1 under exact accounting")
        table = _distance_table(self.delta, self.horizon, self.use_chance)
        return read_table(table, epsilon, SMALLEST, LARGEST, SHAVE)

    def _noise_scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        epsilon = np.broadcast_to(epsilon, np.broadcast_shapes(epsilon.shape, sizes.shape))
        return 2 * bound / self.distance(epsilon)

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4 n^2/m(epsilon)^2: over `noise_denominator` squared, not over sizes squared."""
        return where_noisy(epsilon, lambda e: 4 * self.total_size**2 / self.distance(e) ** 2)

    def _term_slope(self, epsilon: Array) -> Array:
        if self.accounting == "zcdp":
            growth = zcdp_growth(epsilon, self.delta / 2)
        else:
            growth = self._counted_distance(epsilon)[1] / epsilon
        return -2 * self.noise_term(epsilon) * growth

    def for_owners(self, sizes: ArrayLike) -> SubsampledGaussian:
        """Reprice for picks among the records of the owners that share; fewer are used oftener."""
        return replace(self, total_size=int(np.sum(sizes)))

    def noise_among(self, total: ArrayLike) -> Array:
        """Factor (m(n)/m(total))^2 of the noise where there are fewer records to pick among.

        Under "zcdp" by the uses allowed for, whatever the budget; under "pld" at a budget of 1, and
        for budgets from 0.1 to 10 within a tenth of that.
        """
        fewer = np.clip(total, self.overlap, self.total_size)
        if self.accounting == "zcdp":
            return np.asarray(self._most_uses(fewer) / self._most_uses(self.total_size))
        nodes, grown = _noise_by_crowd(self.delta, self.horizon, self.overlap, self.total_size)
        return np.exp(np.interp(np.log(fewer), nodes, grown))

    def _most_uses(self, total: ArrayLike) -> Array:
        """Most uses of a record of ``total``, exceeded with probability delta/2."""
        chance = self.overlap / np.asarray(total, dtype=float)
        return np.maximum(1.0, scipy.stats.binom.isf(self.delta / 2, self.horizon, chance))

    def belief_bound(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """Bound by the mixture over uses of the record, at the least noise of any of its owners."""

        def bound_budget(budgets: tuple[float, ...]) -> float:
            distance = float(self.distance(budgets[0]))
            return subsampled_belief(distance, horizon, self.use_chance, self.but_for)

        return evaluate_columns(bound_budget, held.max(axis=0, keepdims=True))

    def onlooker_claims(self, epsilon: float, horizon: int, size: int | None) -> list[Claim]:
        """Make the claim, which holds with known samples."""
        made = super().onlooker_claims(epsilon, horizon, size)[0]
        return [replace(made, mechanism=f"{self.label}, picks known to all")]
