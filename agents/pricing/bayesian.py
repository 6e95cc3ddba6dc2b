"""Bayesian optimisation: a law of profit by price, and next the price that may be expected to improve most on the best."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from agents.pricing.base import Observation, Posts, Pricing
from learning.arrays import Array
from learning.declaration import Count, Positive

CANDIDATES = 401  # prices between the ends, in equal ratios
LENGTHS = np.geomspace(0.05, 1.6, 8)  # over which profit changes, as parts of the range of log prices
NOISES = (1e-6, 1e-3, 3e-2, 0.3)  # of what is seen, as parts of the variance


@dataclass(frozen=True)
class Bayesian(Pricing):
    """Profits over log prices are taken for draws of a Gaussian process; posted is where the expected improvement is largest.

    The process has Matern's covariance (5/2) and noise; its length and noise are those of the largest likelihood of what was
    seen, out of a few. What is offered and owed rises with the price: so prices above one that exceeded the budget are not
    posted, nor those below one that bought nothing. Kept is the price seen whose expected profit is largest, so that luck
    alone keeps none. Profits far from the usual ones are drawn nearer (asinh), which changes no order.

    Parameters
    ----------
    first : prices posted first, in equal ratios inside the range
    least : it stops where the expected improvement is below this part of the spread of profits seen

    Source: Jones, Schonlau and Welch (1998), efficient global optimisation; the constant by the mean of what is seen.
    """

    title = "posts where the expected improvement is largest"
    first: Count = 4
    least: Positive = 1e-3

    def posts(self) -> Posts:
        (low, high), seen = self.ends, list[Observation]()
        for number in range(self.prices):
            at: float | None = low + (number + 0.5) / self.first * (high - low)
            if number >= self.first or any(one.over for one in seen):
                at = self._next(seen)
            if at is None:
                break
            seen.append((yield float(np.exp(at))))
        payable = [one for one in seen if not one.over] or seen
        law = self._law(payable)
        return payable[int(np.argmax(law.at(law.points)[0]))].price

    def _next(self, seen: list[Observation]) -> float | None:
        """The logarithm of the price to post next; None where no other is worth it."""
        (low, high), logs = self.ends, np.log([one.price for one in seen])
        over, idle = np.array([one.over > 0 for one in seen]), np.array([not one.sold for one in seen])
        ceiling, floor = logs[over].min(initial=high + 1), logs[idle].max(initial=low - 1)
        payable = [one for one, log in zip(seen, logs, strict=True) if floor <= log < ceiling]
        if not payable:
            return float(max(low, floor) + ceiling) / 2
        prices = np.linspace(low, high, CANDIDATES)
        prices = prices[(prices > floor + self.close) & (prices < ceiling - self.close)]
        if not prices.size:
            return None
        improvement = self._law(payable).expected_improvement((prices - low) / (high - low))
        enough = len(seen) >= self.first and improvement.max() < self.least
        return None if enough else float(prices[np.argmax(improvement)])

    def _law(self, seen: list[Observation]) -> GaussianProcess:
        low, high = self.ends
        points = (np.log([one.price for one in seen]) - low) / (high - low)
        return GaussianProcess.fitted(points, np.array([one.profit for one in seen]))


@dataclass(frozen=True)
class GaussianProcess:
    """What values (k,) seen at points (k,) tell of values elsewhere; values are told in their own spread.

    Parameters
    ----------
    points : (k,)
    values : (k,), of mean 0 and variance 1, or all 0
    length : over which they change
    noise : variance with which they are seen
    """

    points: Array
    values: Array
    length: float
    noise: float

    @classmethod
    def fitted(cls, points: Array, values: Array) -> GaussianProcess:
        """The process, of a few lengths and noises, under which what was seen is likeliest."""
        middle = np.median(values)
        told = np.arcsinh((values - middle) / (np.median(np.abs(values - middle)) or values.std() or 1.0))
        told = (told - told.mean()) / (told.std() or 1.0)
        return max((cls(points, told, *law) for law in product(LENGTHS, NOISES)), key=lambda one: one.likelihood)

    @property
    def likelihood(self) -> float:
        """The logarithm of the likelihood of the values, but for a constant."""
        factor, weights = self._solved()
        return float(-self.values @ weights / 2 - np.log(np.diag(factor[0])).sum())

    def at(self, points: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the values at points (m,)."""
        factor, weights = self._solved()
        across = self._covariance(points, self.points)
        variance = 1 - np.einsum("mk,km->m", across, cho_solve(factor, across.T))
        return across @ weights, np.sqrt(np.maximum(variance, 0.0))

    def expected_improvement(self, points: Array) -> Array:
        """``E max(0, value - best)`` at points (m,), the best being the largest mean at a point seen.

        >>> law = GaussianProcess(np.array([0.0]), np.array([0.0]), 0.1, 1e-9)
        >>> law.expected_improvement(np.array([0.0, 10.0])).round(4).tolist()  # known, and E max(0, N(0, 1))
        [0.0, 0.3989]
        """
        from scipy.special import ndtr  # a tenth of a second, which whoever only reads a scenario is spared

        mean, deviation = self.at(points)
        above = mean - self.at(self.points)[0].max()
        ratio = np.divide(above, deviation, out=np.zeros_like(above), where=deviation > 0)
        spread = np.exp(-(ratio**2) / 2) / np.sqrt(2 * np.pi)
        return np.where(deviation > 0, above * ndtr(ratio) + deviation * spread, np.maximum(above, 0.0))

    def _covariance(self, here: Array, there: Array) -> Array:
        apart = np.sqrt(5) * np.abs(here[:, None] - there) / self.length
        return np.asarray((1 + apart + apart**2 / 3) * np.exp(-apart))

    def _solved(self) -> tuple[tuple[Array, bool], Array]:
        factor = cho_factor(self._covariance(self.points, self.points) + self.noise * np.eye(len(self.points)))
        return factor, cho_solve(factor, self.values)
