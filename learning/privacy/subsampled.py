"""One record asked at a time: what picks that are known, or kept secret, give away; and the noise that keeps a promise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator
from scipy.optimize import brentq
from scipy.special import logsumexp
from scipy.stats import binom

from learning.arrays import Array
from learning.errors import InputError
from learning.privacy.gaussian import BEYOND, gaussian_delta, zcdp_distance
from learning.privacy.mechanism import Claim, check_noise, make_claim

LEFT_OUT = 1e-25  # bound on the chance of more uses than are summed over; it counts towards delta in full
ORDERS = 100  # Renyi orders tried; each gives a valid epsilon, the least is kept
FURTHEST = 200.0  # largest order times distance
SMALLEST, LARGEST = 1e-3, 1e2  # budgets that SubsampledGaussian tabulates
NODES, BISECTIONS, SHAVE = 160, 48, 1e-5  # of its table; the shave is above the error between nodes


def subsampled_delta(epsilon: ArrayLike, distance: ArrayLike, rounds: int, chance: float) -> Array:
    """Smallest delta where everyone sees which record each round uses: sum_k P(K = k) delta_Gauss(epsilon, m sqrt(k)).

    K ~ Binomial(T, chance) counts the uses of the record that is replaced. Picks read no records, so they are part of
    what is seen; given them, K answers are one Gaussian mechanism of distance m sqrt(K). Nothing is lost in the sum.

    Parameters
    ----------
    epsilon : array, >= 0. distance : array, m = 2 G/s of one use. rounds : T.
    chance : of a round to use the record: 1/n where picks are uniform, 1 where every round uses it.

    Source: ours; `gaussian_delta`.

    >>> round(float(subsampled_delta(1.0, 1.0, 1, 0.25)) / float(gaussian_delta(1.0, 1.0)), 9)
    0.25
    """
    mean, log = rounds * chance, -np.log(LEFT_OUT)
    reach = log / 3 + np.sqrt(
        log**2 / 9 + 2 * log * mean * (1 - chance)
    )  # Bernstein: further out with LEFT_OUT at most
    uses = np.arange(max(0, np.floor(mean - reach)), min(rounds, np.ceil(mean + reach)) + 1)
    odds = binom.pmf(uses, rounds, chance)
    odds[0] = binom.cdf(uses[0], rounds, chance)  # fewer uses lose no more than the least that are summed over
    epsilon, distance = np.broadcast_arrays(
        np.asarray(epsilon, float)[..., None], np.asarray(distance, float)[..., None]
    )
    apart = distance * np.sqrt(uses)
    lost = np.where(apart > 0, gaussian_delta(epsilon, np.where(apart > 0, apart, 1.0)), 0.0)
    return np.asarray(lost @ odds + (LEFT_OUT if uses[-1] < rounds else 0.0))


def subsampled_epsilon(distance: float, rounds: int, chance: float, delta: float) -> float:
    """The epsilon that T rounds give at delta against who knows the picks; exact. With chance 1, T Gaussian answers.

    Parameters
    ----------
    distance : m = 2 G/s of one use, 0 for infinite noise. rounds, chance : see `subsampled_delta`. delta : in (0, 1).

    >>> round(subsampled_epsilon(0.1, 100, 1.0, 1e-6), 4)  # one Gaussian of distance 1
    4.8866
    """
    if not distance < np.inf:
        return np.inf
    if distance == 0 or subsampled_delta(0.0, distance, rounds, chance) <= delta:
        return 0.0
    high = 1.0
    while subsampled_delta(high, distance, rounds, chance) > delta:
        high *= 2
    root = brentq(
        lambda epsilon: float(subsampled_delta(epsilon, distance, rounds, chance)) - delta, 0.0, high, xtol=1e-12
    )
    return float(root * (1 + 1e-9) + 1e-11)


def sampled_epsilon(distance: float, rounds: int, records: int, delta: float, share: float = 1.0) -> float:
    """An epsilon that T rounds give at delta against who sees the answers and does not know the picks.

    A round uses one of N records, unseen. Replacing one moves the output by no more than the profile
    delta(e) = delta_e(A, B), A = (1 - 1/N) B + P/N, P = N(m, 1), B = N(0, 1), e >= 0, in either direction. A Renyi moment
    is an integral over that profile, which comes to

        E[(D/D')^a] - 1 <= E_B[(L^a - 1)(1 - L^(1 - a)); L > 1],   L = A/B,

    and moments multiply over rounds. Never more than to who knows the picks.

    Parameters
    ----------
    distance, rounds, delta : as for `subsampled_epsilon`. records : N, among which the pick is hidden.
    share : chance that a round uses any of the N, where everyone sees whether it does.

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
    return float(logsumexp(first + second + density, b=np.tile(weights / 2, len(edges) - 1)))


@lru_cache(maxsize=16)
def _pick_table(delta: float, rounds: int, chance: float) -> PchipInterpolator:
    """log distance of one use as a function of log epsilon at this delta, by bisection on every node at once."""
    nodes = np.geomspace(SMALLEST, LARGEST, NODES)
    low, high = np.full(NODES, np.log(1e-9)), np.full(NODES, np.log(1e3))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        above = subsampled_delta(nodes, np.exp(middle), rounds, chance) > delta
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return PchipInterpolator(np.log(nodes), low)


@dataclass(frozen=True)
class SubsampledGaussian:
    """Gaussian noise for SGD1: T rounds of one uniformly picked record are (epsilon, delta)-DP though all know the picks.

    A record is used K ~ Binomial(T, kappa/n) times, and each use moves an answer by at most 2 G. "zcdp": K stays below its
    quantile M but for delta/2, and M answers get the noise of zCDP at delta/2. "pld": the largest m = 2 G/s at which
    `subsampled_delta` keeps to delta, from a table built once (under a second) and right to 1e-6, shaved by more than that so
    that the noise errs upwards. The noise does not fall with an owner's own records: v = G^2 term(epsilon)/n^2 with
    term = 4 n^2/m^2 and growth 1.

    Parameters
    ----------
    delta : in (0, 1). total_size : n, records of all owners that take part, public. horizon : T, the most rounds.
    accounting : "zcdp" or "pld". overlap : kappa >= 1, owners one record may sit with.

    Source: ours; zCDP as in `Gaussian`.

    >>> [round(float(SubsampledGaussian(1e-6, 100, 1000, how).scale(1.0, 40, 1.0, 1000)), 3) for how in ("zcdp", "pld")]
    [59.0, 30.635]
    """

    delta: float
    total_size: int
    horizon: int
    accounting: str = "pld"
    overlap: int = 1
    name: str = "gaussian"
    norm: int = 2

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise ValueError(f"delta must lie between 0 and 1, got {self.delta}")
        if self.horizon < 1 or self.total_size < 1:
            raise ValueError(f"horizon and total_size must be at least 1, got {self.horizon} and {self.total_size}")
        if self.accounting not in ("zcdp", "pld"):
            raise ValueError(f"accounting must be 'zcdp' or 'pld', got {self.accounting!r}")
        if not 1 <= self.overlap <= self.total_size:
            raise ValueError(f"overlap must be at least 1 owner per record and at most {self.total_size} records")

    @property
    def single_record(self) -> bool:
        """The noise is meant for answers with one record's gradient, as SGD1 asks for."""
        return True

    @property
    def chance(self) -> float:
        """Of a round to use a given record: kappa/n."""
        return self.overlap / self.total_size

    def noise_denominator(self, sizes: ArrayLike) -> Array:
        """n for every owner: the records that ``noise_term`` is divided by."""
        return np.full(np.shape(sizes), float(self.total_size))

    def distance(self, epsilon: ArrayLike) -> Array:
        """m = 2 G/s of one use; inf at epsilon = inf. Below a budget of 0.001, that of 0.001 in proportion.

        Raises
        ------
        InputError
            Beyond a finite epsilon of 100 under "pld", which the table does not cover.
        """
        epsilon = np.asarray(epsilon, dtype=float)
        finite = np.where(np.isfinite(epsilon), epsilon, 1.0)
        if self.accounting == "zcdp":
            uses = max(1.0, binom.isf(self.delta / 2, self.horizon, self.chance))
            return np.where(np.isfinite(epsilon), zcdp_distance(finite, self.delta / 2) / np.sqrt(uses), np.inf)
        if np.any(finite > LARGEST * (1 + BEYOND)):
            rule = f"must be at most {LARGEST:g} for SGD1 under exact accounting"
            raise InputError("owners.epsilon", rule, f"{finite.max():g}", "Lower it.")
        table = _pick_table(self.delta, self.horizon, self.chance)
        inside = np.exp(table(np.log(np.clip(finite, SMALLEST, LARGEST)))) * (1 - SHAVE)
        return np.where(np.isfinite(epsilon), inside * np.minimum(finite / SMALLEST, 1.0), np.inf)

    def _check_horizon(self, horizon: ArrayLike) -> None:
        if np.max(horizon) > self.horizon:
            raise ValueError(f"horizon must be at most the accounted {self.horizon} rounds, got {np.max(horizon)}")

    def scale(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Deviation s of the noise on each coordinate of each answer, (n_owners,); inf at epsilon = 0, 0 at inf.

        Raises
        ------
        ValueError
            As for Laplace noise, and if the horizon is longer than the accounted one.
        InputError
            See `distance`.
        """
        epsilon, sizes = check_noise(epsilon, sizes, bound, horizon)
        self._check_horizon(horizon)
        epsilon = np.broadcast_to(epsilon, np.broadcast_shapes(epsilon.shape, sizes.shape))
        with np.errstate(divide="ignore"):
            return np.asarray(2 * (bound if np.isfinite(bound) else 0.0) / self.distance(epsilon))

    def variance(self, epsilon: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """Variance s^2 per coordinate of one answer."""
        return self.scale(epsilon, sizes, bound, horizon) ** 2

    def epsilon(self, variance: ArrayLike, sizes: ArrayLike, bound: float, horizon: int) -> Array:
        """The budget that a variance per coordinate costs over the accounted horizon: the inverse of `variance`."""
        self._check_horizon(horizon)
        variance = np.broadcast_to(variance, np.broadcast_shapes(np.shape(variance), np.shape(sizes)))
        with np.errstate(divide="ignore"):
            spent = 2 * bound / np.sqrt(np.asarray(variance, dtype=float))
        if self.accounting == "zcdp":
            spent = spent * np.sqrt(max(1.0, binom.isf(self.delta / 2, self.horizon, self.chance)))
            return np.asarray(spent**2 / 2 + spent * np.sqrt(2 * np.log(2 / self.delta)))
        least = float(self.distance(SMALLEST))
        inside = np.maximum(spent, least).ravel() / (1 - SHAVE)
        found = np.array([subsampled_epsilon(float(m), self.horizon, self.chance, self.delta) for m in inside])
        return np.where(spent < least, SMALLEST * spent / least, found.reshape(spent.shape))

    def spread(self, variance: ArrayLike) -> Array:
        """The deviation of noise of this variance."""
        return np.sqrt(np.asarray(variance, dtype=float))

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4 n^2/m(epsilon)^2; 0 for who shares nothing. Over ``counted`` squared, not over sizes squared."""
        epsilon = np.asarray(epsilon, dtype=float)
        sharing = np.where(epsilon > 0, epsilon, 1.0)
        return np.where(epsilon > 0, 4 * self.total_size**2 / self.distance(sharing) ** 2, 0.0)

    def noise_term_slope(self, epsilon: ArrayLike) -> Array:
        """Derivative of `noise_term` at epsilon > 0."""
        epsilon = np.asarray(epsilon, dtype=float)
        sharing = np.where((epsilon > 0) & np.isfinite(epsilon), epsilon, 1.0)
        if self.accounting == "zcdp":
            log = np.log(2 / self.delta)
            root = np.sqrt(log + sharing)
            growth = 1 / (2 * root * (root - np.sqrt(log)))
        else:
            inside = np.log(np.clip(sharing, SMALLEST, LARGEST))
            table = _pick_table(self.delta, self.horizon, self.chance)
            growth = np.where(sharing > SMALLEST, table(inside, 1), 1.0) / sharing
        return np.where((epsilon > 0) & np.isfinite(epsilon), -2 * self.noise_term(sharing) * growth, 0.0)

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """1 up to the accounted horizon: the noise is that of T = ``horizon`` for fewer rounds too."""
        self._check_horizon(horizon)
        return np.ones_like(np.asarray(horizon, dtype=float))

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Noise of the given deviation; all zeros at 0."""
        return rng.normal(size=shape) * np.asarray(scale, dtype=float)

    def claim(self, party: str, epsilon: float, horizon: int, unit: str = "one record") -> Claim:
        """The promise to one owner's records; it holds though everyone knows which record each round used.

        Raises
        ------
        ValueError
            If the owner adds no noise (epsilon = inf), or the horizon is longer than the accounted one.
        """
        self._check_horizon(horizon)
        return make_claim(self, party, epsilon, horizon, unit, f"{self.name} ({self.accounting}), picks known to all")
