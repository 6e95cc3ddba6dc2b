"""Gaussian noise on mean-gradient answers: approximate (epsilon, delta)-DP, accounted by zCDP or exactly."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count, Probability, parameter
from learning.losses.scores import stretch
from learning.privacy.beliefs import belief
from learning.privacy.guarantees import Guarantee, gaussian
from learning.privacy.mechanism import Mechanism
from learning.privacy.noise_law import where_noisy
from learning.privacy.tables import check_covered, distance_table

SMALLEST, LARGEST = 1e-3, 1e3  # budgets the exact accountant tabulates; smaller ones are served the noise of 0
NODES = 3000
BISECTIONS = 100
LEAST = 1e-3  # below it budgets are served the noise of 0: what is left of a budget that is spent is none


def gaussian_delta(epsilon: ArrayLike, distance: ArrayLike) -> Array:
    """Smallest delta of a Gaussian mechanism: Phi(m/2 - e/m) - exp(e) Phi(-m/2 - e/m), m = sensitivity/deviation.

    Parameters
    ----------
    epsilon: array, e >= 0.
    distance: array, m > 0; T answers of one deviation have m sqrt(T).

    Source: Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy, Theorem 8.

    >>> round(float(gaussian_delta(1.0, 1.0)), 6)
    0.126937
    """
    epsilon, distance = np.asarray(epsilon, dtype=float), np.asarray(distance, dtype=float)
    first = scipy.special.log_ndtr(distance / 2 - epsilon / distance)
    second = epsilon + scipy.special.log_ndtr(-distance / 2 - epsilon / distance)
    return np.exp(first) * -np.expm1(np.minimum(second - first, 0.0))


def surest_gaussian(distance: ArrayLike, chance: float) -> Array:
    """The bound of `learning.privacy.beliefs` for a Gaussian mechanism: Phi(m - z)/M where Phi(-z) + Phi(m - z) = M.

    Parameters
    ----------
    distance: array, m > 0, sensitivity/deviation of all answers together.
    chance: M in (0, 1], of beliefs above it.

    >>> [round(float(surest_gaussian(0.2, chance)), 4) for chance in (1.0, 1e-6)]
    [0.5398, 0.7352]
    """
    distance = np.asarray(distance, dtype=float)
    low, high = np.zeros_like(distance), distance + 40.0
    for _ in range(BISECTIONS):  # the bound holds at any e: nothing hangs on how well the least one is found
        middle = (low + high) / 2
        rarer = scipy.special.ndtr(-middle) + scipy.special.ndtr(distance - middle) < chance
        low, high = np.where(rarer, low, middle), np.where(rarer, middle, high)
    epsilon = np.maximum(distance * low - distance**2 / 2, 0.0)
    return belief(epsilon, gaussian_delta(epsilon, distance), chance)


@lru_cache(maxsize=64)
def _exact_table(delta: float) -> scipy.interpolate.PchipInterpolator:
    return distance_table(np.geomspace(SMALLEST, LARGEST, NODES), delta, gaussian_delta, 1e-12, BISECTIONS)


@lru_cache(maxsize=64)
def _exact_inverse(delta: float) -> scipy.interpolate.PchipInterpolator:
    table = _exact_table(delta)
    return scipy.interpolate.PchipInterpolator(table(table.x), table.x)


def zcdp_distance(epsilon: ArrayLike, delta: float) -> Array:
    """sqrt(2 rho) with rho = (sqrt(ln(1/delta) + epsilon) - sqrt(ln(1/delta)))^2.

    Source: Bun and Steinke, Concentrated Differential Privacy, Prop. 1.3, solved for rho.

    >>> round(float(zcdp_distance(1.0, 1e-6)), 6)
    0.186917
    """
    epsilon, log = np.asarray(epsilon, dtype=float), np.log(1 / delta)
    return np.sqrt(2) * epsilon / (np.sqrt(log + epsilon) + np.sqrt(log))  # the difference of roots, without cancelling


def zcdp_epsilon(distance: ArrayLike, delta: float) -> Array:
    """The epsilon of a distance, m^2/2 + m sqrt(2 ln(1/delta)): the inverse of `zcdp_distance`."""
    distance = np.asarray(distance, dtype=float)
    return distance**2 / 2 + distance * np.sqrt(2 * np.log(1 / delta))


def zcdp_growth(epsilon: Array, delta: float) -> Array:
    """d ln m/d epsilon of `zcdp_distance`: 1/(2 sqrt(r)(sqrt(r) - sqrt(l))), l = ln(1/delta), r = l + epsilon."""
    log = np.log(1 / delta)
    root = np.sqrt(log + epsilon)
    return np.asarray(1 / (2 * root * (root - np.sqrt(log))))


def exact_distance(epsilon: ArrayLike, delta: float) -> Array:
    """The largest m = sensitivity/deviation of a Gaussian mechanism that is (epsilon, delta)-DP, from a table.

    Below 0.001 the noise of epsilon = 0 is used, 2 Phi^-1((1 + delta)/2), which protects more.

    Raises
    ------
    InputError
        Beyond 1,000, which the table does not cover.
    """
    epsilon = np.asarray(epsilon, dtype=float)
    check_covered(epsilon, LARGEST, "under exact accounting")
    inside = np.exp(_exact_table(delta)(np.log(np.clip(epsilon, SMALLEST, LARGEST))))
    return np.where(epsilon < SMALLEST, 2 * scipy.special.ndtri((1 + delta) / 2), inside)


def exact_epsilon(distance: ArrayLike, delta: float) -> Array:
    """The epsilon of a distance, the inverse of `exact_distance`; inf beyond the table, where it is unknown.

    Below the table it falls in a line to 0, at the distance that delta alone allows.
    """
    distance, back = np.asarray(distance, dtype=float), _exact_inverse(delta)
    nothing, (least, most) = 2 * scipy.special.ndtri((1 + delta) / 2), np.exp(back.x[[0, -1]])
    inside = np.exp(back(np.log(np.clip(distance, least, most))))
    below = SMALLEST * np.clip((distance - nothing) / (least - nothing), 0.0, 1.0)
    return np.where(distance < least, below, np.where(distance > most, np.inf, inside))


def exact_growth(epsilon: Array, delta: float) -> Array:
    """d ln m/d epsilon of `exact_distance`."""
    inside = np.clip(epsilon, SMALLEST, LARGEST)
    return np.where(epsilon > SMALLEST, _exact_table(delta)(np.log(inside), 1) / inside, 0.0)


class GaussianNoise(Mechanism):
    """What mechanisms with Gaussian noise share, whatever its deviation."""

    name = "gaussian"
    norm: ClassVar[int] = 2

    @property
    def but_for(self) -> float:
        """Delta: its profile is known."""
        return self.delta

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return np.multiply(rng.normal(size=shape), scale)

    def beside_moments(self, share: float) -> float:
        return stretch(share)

    def longest(self, width: int, level: float) -> float:
        return float(np.sqrt(2 * scipy.special.gammainccinv(width / 2, level)))  # the root of a chi-squared variable

    def length_law(self, width: int) -> tuple[float, float]:
        return width / 2, 2.0


@dataclass(frozen=True)
class Gaussian(GaussianNoise):
    """Gaussian noise on T mean-gradient answers: (epsilon, delta)-DP over all of them.

    Each answer moves by at most D = 2 G/n in 2-norm when one record is replaced (`squared_gradient_bound`). T answers
    with deviation s are one Gaussian mechanism of distance m = sqrt(T) D/s, so s^2 = T D^2/m(epsilon, delta)^2: noise
    grows as sqrt(T) only. "zcdp" takes m = sqrt(2 rho(epsilon, delta)); "pld" takes the exact m, which is what the
    privacy-loss distribution of a Gaussian gives, and needs less noise for the same budget.

    Parameters
    ----------
    delta: the failure probability, in (0, 1); at or above 1/n it may mean a whole record given away.
    accounting: "zcdp" or "pld".
    overlap: kappa >= 1, the owners one record may sit with; their distances add in squares: each spends m/sqrt(kappa).

    Source: Bun and Steinke (zCDP); Balle and Wang (exact). The budget is split over T answers, T - 1 are asked.

    >>> pair = [Gaussian(1e-6, how).variance(1.0, 100, bound=1.0, horizon=10) for how in ("zcdp", "pld")]
    >>> [round(float(v), 4) for v in pair]
    [0.1145, 0.0714]
    """

    accountings = ("pld", "zcdp")
    compared = True
    share_power = 0.5
    divides = True

    delta: Probability = parameter()
    accounting: Literal["zcdp", "pld"] = "zcdp"
    overlap: Count = 1

    def distance(self, epsilon: ArrayLike) -> Array:
        """m that one owner may spend over all its answers."""
        m = (zcdp_distance if self.accounting == "zcdp" else exact_distance)(epsilon, self.delta)
        return m / np.sqrt(self.overlap)

    def _scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        return 2 * bound * np.sqrt(horizon) / sizes / self.distance(epsilon)

    def _budget(self, term: float) -> float:
        """The budget of a distance 2/sqrt(term); inf beyond the table, where it is unknown."""
        return float(self._spent(np.asarray(2 / np.sqrt(term))))

    def _spent(self, distance: Array) -> Array:
        """The budget that each of kappa owners sells at such a distance; the distances add in squares."""
        back = zcdp_epsilon if self.accounting == "zcdp" else exact_epsilon
        return back(distance * np.sqrt(self.overlap), self.delta)

    def joint_epsilon(self, held: Array, horizon: int) -> Array:
        """The epsilon of the root of the sum of m(epsilon_l)^2/kappa."""
        return self._spent(self._joint_distance(held) / np.sqrt(self.overlap))

    def _joint_distance(self, held: Array) -> Array:
        return np.asarray(np.linalg.norm(self.distance(held), axis=0))

    def composed_epsilon(self, sold: Array) -> Array:
        """The epsilon of distances added in squares: trainings one after another are one Gaussian mechanism."""
        return np.where(sold.any(axis=0), self._spent(np.linalg.norm(self._distances(sold), axis=0)), 0.0)

    def composed_delta(self, trainings: ArrayLike) -> Array:
        """Delta, however many there are."""
        return np.where(np.asarray(trainings) > 0, self.delta, 0.0)

    def remaining_epsilon(self, limit: Array, sold: Array, parts: int = 1) -> Array:
        """The epsilon of what is left of the squared distance, in equal parts; 0 where no less noise can be told from it."""
        left = self.distance(limit) ** 2 - (self._distances(sold) ** 2).sum(axis=0)
        found = self._spent(np.sqrt(np.maximum(left, 0.0) / parts))
        return np.where(found > LEAST, found, 0.0)

    def _distances(self, sold: Array) -> Array:
        """`distance` of budgets, 0 of those of 0."""
        return where_noisy(sold, self.distance)

    def surest(self, held: Array, horizon: int, sizes: ArrayLike) -> Array:
        """By the trade-off curve of Gaussian noise at the distances that the owners spend, added in squares."""
        return surest_gaussian(self._joint_distance(held), self.but_for)

    def part(self, parts: int, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Gaussian noise of a variance so many times smaller."""
        return self.draw(np.divide(scale, np.sqrt(parts)), shape, rng=rng)

    def of_parts(self, epsilon: ArrayLike, share: float) -> Array:
        """The budgets of the same distances over the root of ``share``."""
        epsilon = np.asarray(epsilon, dtype=float)
        spent = where_noisy(epsilon, lambda e: self._spent(self.distance(e) / np.sqrt(share)))
        return np.where(np.isinf(epsilon), np.inf, spent)

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4/m(epsilon)^2."""
        return where_noisy(epsilon, lambda e: 4 / self.distance(e) ** 2)

    def _slope(self, epsilon: Array) -> Array:
        growth = (zcdp_growth if self.accounting == "zcdp" else exact_growth)(epsilon, self.delta)
        return -2 * self.noise_term(epsilon) * growth

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """T."""
        return np.asarray(horizon, dtype=float)

    def guarantee(self, epsilon: float, horizon: int, answers: int, *, size: int = 1) -> Guarantee:
        """The trade-off curve of Gaussian noise: each answer at distance m/sqrt(T), and distances add in squares."""
        distance = float(self.distance(epsilon)) / np.sqrt(horizon)

        def back(m: float) -> float:
            return self._budget(4 / m**2) if m > 0 else 0.0

        return Guarantee.alike(gaussian, distance * np.sqrt(answers), distance, back, epsilon)

    def release_budget(self, epsilon: float, horizon: int) -> float | None:
        """rho(epsilon, delta)/(T kappa) under zCDP, which OpenDP's own map confirms."""
        if self.accounting != "zcdp":
            return None
        return float(zcdp_distance(epsilon, self.delta)) ** 2 / 2 / (horizon * self.overlap)
