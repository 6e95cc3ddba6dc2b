"""Searches for a price by posts alone: golden section, tatonnement, and Bayesian optimisation."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from agents.pricing.base import Observation, Posts, Pricing
from learning.arrays import Array
from learning.declaration import Count, Positive

GOLDEN = (np.sqrt(5) - 1) / 2
CANDIDATES = 401  # prices between the ends, in equal ratios
LENGTHS = np.geomspace(0.05, 1.6, 8)  # length scales, as parts of the range of log prices
NOISES = (1e-6, 1e-3, 3e-2, 0.3)  # of observations, as parts of the variance


@dataclass(frozen=True)
class GoldenSection(Pricing):
    """Of two inner prices, drops the range beyond the worse one: each post narrows it to 0.618.

    It finds the maximum of a unimodal profit in the logarithm of the price, and a local maximum
    otherwise. Observations must be exact, since a dropped range never returns. Of two equally good
    prices, as where no one sells at either, the higher range is kept.

    Source: Kiefer, Sequential Minimax Search for a Maximum (1953): no search by as many posts
        narrows further.
    """

    title = "narrows the range of prices by the golden section"

    def posts(self) -> Posts:
        left, right = self.ends
        inner = yield float(np.exp(right - GOLDEN * (right - left)))
        outer = yield float(np.exp(left + GOLDEN * (right - left)))
        seen = [inner, outer]
        for _ in range(self.prices - 2):
            if inner.price_rank > outer.price_rank or outer.over:
                right = float(np.log(outer.price))
                outer = inner
                inner = yield float(np.exp(right - GOLDEN * (right - left)))
                seen.append(inner)
            else:
                left = float(np.log(inner.price))
                inner = outer
                outer = yield float(np.exp(left + GOLDEN * (right - left)))
                seen.append(outer)
            if right - left <= self.close:
                break
        return max(seen, key=lambda one: one.price_rank).price


@dataclass(frozen=True)
class Tatonnement(Pricing):
    """Moves the logarithm of the price by ``step/(1 + turns) * excess``, turns of its direction.

    ``turns`` counts changes of direction. For "profit", two prices around the present one are
    posted for each move. The excess is ``(rise of gain - rise of spending)/(|rise of gain| + |rise
    of spending|)`` between them, so that the price rises while the marginal gain exceeds the
    marginal payment; it is 1 where nothing is sold at the higher price, and -1 where that exceeds
    the budget. For "budget" the excess is ``(budget - spending)/budget``, not below -1: the price
    goes to where the learner spends its budget.

    Parameters
    ----------
    aim : the largest "profit", or spending the "budget"
    step : the first step, of the logarithm of the price
    apart : distance of the two prices from the present one, of the logarithm; smaller after turns

    Source: Walras, Elements of Pure Economics, and Arrow and Hurwicz (1958), prices that follow
        excess demand; Robbins and Monro (1951) and, for differences of observations, Kiefer and
        Wolfowitz (1952), steps that decline; Kesten (1958), only where the direction turns. Theirs
        are in units of observations, ours a part of the money at stake.
    """

    title = "raises its price while the gain seen rises by more than what it pays"
    aim: Literal["profit", "budget"] = "profit"
    step: Positive = 1.0
    apart: Positive = 0.1

    @property
    def needs_budget(self) -> bool:
        return self.aim == "budget"

    def posts(self) -> Posts:
        low, high = self.ends
        log = (low + high) / 2
        turns = 0
        last = 0.0
        for _ in range(self.prices if self.needs_budget else self.prices // 2):
            if self.needs_budget:
                excess = excess_budget((yield float(np.exp(log))))
            else:
                distance = self.apart / (1 + turns) ** (1 / 3)
                below = yield float(np.exp(max(log - distance, low)))
                above = yield float(np.exp(min(log + distance, high)))
                excess = excess_gain(below, above)
            turns += excess * last < 0
            last = excess
            before = log
            log = float(np.clip(log + self.step / (1 + turns) * excess, low, high))
            if abs(log - before) < self.close:
                break
        return float(np.exp(log))


def excess_gain(below: Observation, above: Observation) -> float:
    """Rise of the gain less that of the spending between two prices, over their sizes, in [-1, 1].

    It is -1 where the higher price exceeds the budget, and 1 where nothing is sold at it.
    """
    if above.over:
        return -1.0
    if not above.sold:
        return 1.0
    gained = above.gain - below.gain
    paid = above.spending - below.spending
    at_stake = abs(gained) + abs(paid)
    return (gained - paid) / at_stake if at_stake else 0.0


def excess_budget(seen: Observation) -> float:
    """Unspent part of the budget, negative if overspent, from -1 to 1."""
    return max(-1.0, 1 - seen.spending / seen.budget)


@dataclass(frozen=True)
class Bayesian(Pricing):
    """Posts the price of largest expected improvement under a Gaussian process of log prices.

    The process has Matern's covariance (5/2) and noise, of the largest likelihood out of a few
    lengths and noises. Offers and payments rise with the price: so no price is posted above one
    that exceeded the budget, or below one that bought nothing. The observed price of the largest
    expected profit is kept, so that luck alone keeps none. A transform (asinh) draws profits far
    from the usual ones nearer, and changes no order.

    Parameters
    ----------
    first : prices posted first, in equal ratios inside the range
    least : it stops where the expected improvement is below this part of the spread of profits

    Source: Jones, Schonlau and Welch (1998), efficient global optimisation; the constant by the
        mean of the observations.
    """

    title = "posts where the expected improvement is largest"
    first: Count = 4
    least: Positive = 1e-3

    def posts(self) -> Posts:
        low, high = self.ends
        seen = list[Observation]()
        for number in range(self.prices):
            at: float | None = low + (number + 0.5) / self.first * (high - low)
            if number >= self.first or any(one.over for one in seen):
                at = self._next_price(seen)
            if at is None:
                break
            seen.append((yield float(np.exp(at))))
        payable = [one for one in seen if not one.over] or seen
        law = self._fit_process(payable)
        return payable[int(np.argmax(law.predict(law.points)[0]))].price

    def _next_price(self, seen: list[Observation]) -> float | None:
        """Logarithm of the next price to post; None where no price is worth a post."""
        low, high = self.ends
        logs = np.log([one.price for one in seen])
        over = np.array([one.over > 0 for one in seen])
        idle = np.array([not one.sold for one in seen])
        ceiling = logs[over].min(initial=high + 1)
        floor = logs[idle].max(initial=low - 1)
        payable = [one for one, log in zip(seen, logs, strict=True) if floor <= log < ceiling]
        if not payable:
            return float(max(low, floor) + ceiling) / 2
        prices = np.linspace(low, high, CANDIDATES)
        prices = prices[(prices > floor + self.close) & (prices < ceiling - self.close)]
        if not prices.size:
            return None
        law = self._fit_process(payable)
        improvement = law.expected_improvement((prices - low) / (high - low))
        if len(seen) >= self.first and improvement.max() < self.least:
            return None
        return float(prices[np.argmax(improvement)])

    def _fit_process(self, seen: list[Observation]) -> GaussianProcess:
        low, high = self.ends
        points = (np.log([one.price for one in seen]) - low) / (high - low)
        return GaussianProcess.fit_likeliest(points, np.array([one.profit for one in seen]))


@dataclass(frozen=True)
class GaussianProcess:
    """Gaussian process regression of standardised values (k,) at points (k,).

    Parameters
    ----------
    points : (k,)
    values : (k,), of mean 0 and variance 1, or all 0
    length : length scale
    noise : variance of the observations
    """

    points: Array
    values: Array
    length: float
    noise: float

    @classmethod
    def fit_likeliest(cls, points: Array, values: Array) -> GaussianProcess:
        """Fit the process of the largest likelihood out of a few lengths and noises."""
        centred = values - np.median(values)
        scaled = np.arcsinh(centred / (np.median(np.abs(centred)) or values.std() or 1.0))
        scaled = (scaled - scaled.mean()) / (scaled.std() or 1.0)
        laws = (cls(points, scaled, *law) for law in product(LENGTHS, NOISES))
        return max(laws, key=cls.log_likelihood)

    def log_likelihood(self) -> float:
        """Logarithm of the likelihood of the values, up to a constant."""
        factor, weights = self._solve_weights()
        return float(-self.values @ weights / 2 - np.log(np.diag(factor[0])).sum())

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of the values at points (m,)."""
        factor, weights = self._solve_weights()
        across = self.covariance_of(points, self.points)
        variance = 1 - np.einsum("mk,km->m", across, cho_solve(factor, across.T))
        return across @ weights, np.sqrt(np.maximum(variance, 0.0))

    def expected_improvement(self, points: Array) -> Array:
        """``E max(0, value - best)`` at points (m,), best the largest mean at an observed point.

        The improvement is 0 at an exactly known point, and E max(0, N(0, 1)) far from it.

        >>> law = GaussianProcess(np.array([0.0]), np.array([0.0]), 0.1, 1e-9)
        >>> law.expected_improvement(np.array([0.0, 10.0])).round(4).tolist()
        [0.0, 0.3989]
        """
        from scipy.special import ndtr  # a tenth of a second, spared to readers of scenarios

        mean, deviation = self.predict(points)
        above = mean - self.predict(self.points)[0].max()
        ratio = np.divide(above, deviation, out=np.zeros_like(above), where=deviation > 0)
        spread = np.exp(-(ratio**2) / 2) / np.sqrt(2 * np.pi)
        gained = above * ndtr(ratio) + deviation * spread
        return np.where(deviation > 0, gained, np.maximum(above, 0.0))

    def covariance_of(self, here: Array, there: Array) -> Array:
        """Matern covariance (5/2) of values at points (m,) and (k,), (m, k)."""
        distance = np.sqrt(5) * np.abs(here[:, None] - there) / self.length
        return np.asarray((1 + distance + distance**2 / 3) * np.exp(-distance))

    def _solve_weights(self) -> tuple[tuple[Array, bool], Array]:
        covariance = self.covariance_of(self.points, self.points)
        factor = cho_factor(covariance + self.noise * np.eye(len(self.points)))
        return factor, cho_solve(factor, self.values)
