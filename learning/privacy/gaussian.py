"""Gaussian noise on mean-gradient answers: (epsilon, delta)-DP, accounted by zCDP or exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from learning.arrays import Array
from learning.declaration import Count, Probability, parameter
from learning.losses.moment_bounds import noise_stretch
from learning.privacy.accounting import (
    BISECTIONS,
    GaussianAccounting,
    GaussianFacts,
    gaussian_delta,
    zcdp_distance,
    zcdp_epsilon,
)
from learning.privacy.mechanism import Mechanism
from learning.privacy.noise import NoiseLaw, check_covered, tabulate_distance, where_noisy

# budgets of the exact table; smaller ones get the noise of 0, and none remains of them
SMALLEST = 1e-3
LARGEST = 1e3
NODES = 3000


def zcdp_growth(epsilon: Array, delta: float) -> Array:
    """Compute d ln m/d epsilon of `zcdp_distance`.

    It is 1/(2 sqrt(r)(sqrt(r) - sqrt(l))), with l = ln(1/delta) and r = l + epsilon.
    """
    log = np.log(1 / delta)
    root = np.sqrt(log + epsilon)
    return np.asarray(1 / (2 * root * (root - np.sqrt(log))))


@lru_cache(maxsize=64)
def _exact_table(delta: float) -> scipy.interpolate.PchipInterpolator:
    nodes = np.geomspace(SMALLEST, LARGEST, NODES)
    return tabulate_distance(nodes, delta, gaussian_delta, 1e-12, BISECTIONS)


@lru_cache(maxsize=64)
def _inverse_table(delta: float) -> scipy.interpolate.PchipInterpolator:
    table = _exact_table(delta)
    return scipy.interpolate.PchipInterpolator(table(table.x), table.x)


def exact_distance(epsilon: ArrayLike, delta: float) -> Array:
    """Look up the largest m = sensitivity/deviation of an (epsilon, delta)-DP Gaussian mechanism.

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
    """Look up the epsilon of a distance, the inverse of `exact_distance`; inf beyond the table.

    Below the table it falls linearly to 0, at the distance that delta alone allows.
    """
    distance = np.asarray(distance, dtype=float)
    table = _inverse_table(delta)
    nothing = 2 * scipy.special.ndtri((1 + delta) / 2)
    least, most = np.exp(table.x[[0, -1]])
    inside = np.exp(table(np.log(np.clip(distance, least, most))))
    below = SMALLEST * np.clip((distance - nothing) / (least - nothing), 0.0, 1.0)
    return np.where(distance < least, below, np.where(distance > most, np.inf, inside))


def exact_growth(epsilon: Array, delta: float) -> Array:
    """Look up d ln m/d epsilon of `exact_distance`."""
    inside = np.clip(epsilon, SMALLEST, LARGEST)
    return np.where(epsilon > SMALLEST, _exact_table(delta)(np.log(inside), 1) / inside, 0.0)


class GaussianAccountant(NamedTuple):
    """Accountant of Gaussian noise; each function takes delta as its second argument.

    Attributes
    ----------
    distance: epsilon -> the distance m.
    epsilon: the inverse of ``distance``.
    growth: epsilon -> d ln m/d epsilon.
    """

    distance: Callable[[ArrayLike, float], Array]
    epsilon: Callable[[ArrayLike, float], Array]
    growth: Callable[[Array, float], Array]


ACCOUNTANTS = {
    "zcdp": GaussianAccountant(zcdp_distance, zcdp_epsilon, zcdp_growth),
    "pld": GaussianAccountant(exact_distance, exact_epsilon, exact_growth),
}


class GaussianNoise(GaussianFacts, NoiseLaw):
    """Gaussian noise on each number, for answers bounded in 2-norm."""

    length_power = 2
    widens = True

    def draw(self, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator) -> Array:
        return np.multiply(rng.normal(size=shape), scale)

    def draw_further(
        self, factor: float, widths: Sequence[int], *, rng: np.random.Generator
    ) -> Array:
        """Draw Gaussian noise of the variance that is missing."""
        return self.draw(np.sqrt(factor**2 - 1), (sum(widths),), rng=rng)

    def draw_part(
        self, parts: int, scale: ArrayLike, shape: tuple[int, ...], *, rng: np.random.Generator
    ) -> Array:
        """Draw Gaussian noise of a ``parts``-th of the variance."""
        if not self.divides:
            return super().draw_part(parts, scale, shape, rng=rng)
        return self.draw(np.divide(scale, np.sqrt(parts)), shape, rng=rng)

    def beside_moments(self, share: float) -> float:
        return noise_stretch(share)


@dataclass(frozen=True)
class Gaussian(GaussianNoise, GaussianAccounting, Mechanism):
    """Gaussian noise on T mean-gradient answers: (epsilon, delta)-DP over all of them.

    Each answer moves by at most D = 2 G/n in 2-norm when one record is replaced
    (`squared_gradient_bound`). T answers with deviation s are one Gaussian mechanism of distance m
    = sqrt(T) D/s, so s^2 = T D^2/m(epsilon, delta)^2: noise grows as sqrt(T) only. "zcdp" takes m =
    sqrt(2 rho(epsilon, delta)); "pld" takes the exact m, that of a Gaussian's privacy-loss
    distribution, and needs less noise for the same budget.

    Parameters
    ----------
    delta: the failure probability, in (0, 1); at or above 1/n it may mean a whole record given
        away.
    accounting: "zcdp" or "pld".
    overlap: kappa >= 1, the owners one record may sit with; their distances add in squares: each
        spends m/sqrt(kappa).

    Source: Bun and Steinke (zCDP); Balle and Wang (exact). The budget is split over T answers, T -
        1 are asked.

    >>> for accounting in ("zcdp", "pld"):
    ...     round(float(Gaussian(1e-6, accounting).variance(1.0, 100, 1.0, 10)), 4)
    0.1145
    0.0714
    """

    accountings = ("pld", "zcdp")
    compared = True
    share_power = 0.5
    divides = True

    delta: Probability = parameter()
    accounting: Literal["zcdp", "pld"] = "zcdp"
    overlap: Count = 1

    @property
    def accountant(self) -> GaussianAccountant:
        return ACCOUNTANTS[self.accounting]

    def distance(self, epsilon: ArrayLike) -> Array:
        """Distance m that one owner may spend over all its answers."""
        return self.accountant.distance(epsilon, self.delta) / np.sqrt(self.overlap)

    def epsilon_at(self, distance: Array) -> Array:
        """Budget that each of kappa owners sells at a distance; the distances add in squares."""
        return self.accountant.epsilon(distance * np.sqrt(self.overlap), self.delta)

    def _noise_scale(self, epsilon: Array, sizes: Array, bound: float, horizon: int) -> Array:
        return 2 * bound * np.sqrt(horizon) / sizes / self.distance(epsilon)

    def _budget_of_term(self, term: float) -> float:
        """Budget of a distance 2/sqrt(term); inf beyond the table."""
        return float(self.epsilon_at(np.asarray(2 / np.sqrt(term))))

    def noise_term(self, epsilon: ArrayLike) -> Array:
        """4/m(epsilon)^2."""
        return where_noisy(epsilon, lambda e: 4 / self.distance(e) ** 2)

    def _term_slope(self, epsilon: Array) -> Array:
        return -2 * self.noise_term(epsilon) * self.accountant.growth(epsilon, self.delta)

    def horizon_factor(self, horizon: ArrayLike) -> Array:
        """T."""
        return np.asarray(horizon, dtype=float)

    def composed_epsilon(self, sold: Array) -> Array:
        """Epsilon of distances added in squares: consecutive trainings are one Gaussian mechanism.

        It is inf where one of them gets no noise.
        """
        distance = np.linalg.norm(where_noisy(sold, self.distance), axis=0)
        spent = np.where(sold.any(axis=0), self.epsilon_at(distance), 0.0)
        return np.where(np.isinf(sold).any(axis=0), np.inf, spent)

    def composed_delta(self, trainings: ArrayLike) -> Array:
        """Delta, for any number of trainings."""
        return np.where(np.asarray(trainings) > 0, self.delta, 0.0)

    def remaining_epsilon(self, limit: Array, sold: Array, parts: int = 1) -> Array:
        """Epsilon of the remaining squared distance, in equal parts; 0 below the table."""
        spent = np.where(np.isinf(sold), np.inf, where_noisy(sold, self.distance))
        left = self.distance(limit) ** 2 - (spent**2).sum(axis=0)
        found = self.epsilon_at(np.sqrt(np.maximum(left, 0.0) / parts))
        return np.where(found > SMALLEST, found, 0.0)

    def epsilon_of_parts(self, epsilon: ArrayLike, share: float) -> Array:
        """Epsilon of the same distances over the root of ``share``."""
        epsilon = np.asarray(epsilon, dtype=float)
        spent = where_noisy(epsilon, lambda e: self.epsilon_at(self.distance(e) / np.sqrt(share)))
        return np.where(np.isinf(epsilon), np.inf, spent)
