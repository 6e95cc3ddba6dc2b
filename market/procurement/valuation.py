"""A learner's valuation of bought privacy budgets, its demand at a price, and a mean's forecast."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import InstanceOf

from learning.declaration import Declaration, NonNegative, Positive, Words, parameter
from market.columns import Array, column

# Newton's steps at most; six are usual.
NEWTON = 40
# Epsilon beyond which nothing is bought by default.
LARGEST = 10.0


class Valuation(Declaration, ABC):
    """Money for one owner's sale, in proportion to a ``scale``; values of owners add up.

    Demand never rises with the price, on which the truthfulness of mechanisms depends.
    """

    where = "valuation"
    scale: float

    @abstractmethod
    def value(self, epsilon: Array) -> Array:
        """Money for epsilon, any shape; 0 at epsilon = 0."""

    @abstractmethod
    def demand(self, price: Array) -> Array:
        """Maximiser of ``value(epsilon) - price * epsilon``, for prices from 0 to inf."""


AValuation = Annotated[Valuation, InstanceOf(), Words("a Valuation")]


@dataclass(frozen=True)
class PrecisionValuation(Valuation):
    """Money per precision of an owner's noisy mean: ``scale / (s^2 / n + 2 (r / (n epsilon))^2)``.

    The denominator is the variance of the mean of n records, with standard deviation s, answered
    with Laplace noise of scale r / (n epsilon). The value is convex, then concave, so demand jumps:
    below epsilon = sqrt(2) r / (s sqrt(n)) nothing is bought.

    Parameters
    ----------
    scale : float, at least 0, money per unit of precision
    records : float, above 0, n
    deviation : float, above 0, s
    width : float, above 0, r, the range of a record
    epsilon_max : float, above 0, the most that is bought of one owner

    Source: Fallah, Makhdoumi, Malekian and Ozdaglar, Optimal and Differentially Private Data
        Acquisition (local privacy: inverse-variance weights). We give money per unit of precision
        instead of one per unit of variance, so that owners can be priced one by one.
    """

    scale: NonNegative = parameter("Give the money per unit of precision.")
    records: Positive = 1.0
    deviation: Positive = 0.5
    width: Positive = 1.0
    epsilon_max: Positive = LARGEST

    def value(self, epsilon: Array) -> Array:
        return self.scale * mean_precision(epsilon, self.records, self.deviation, self.width)

    def demand(self, price: Array) -> Array:
        """Demand: with y = epsilon / epsilon_0, y / (1 + y^2)^2 = price / (4 price_0)."""
        price = np.maximum(price, np.finfo(float).tiny)
        if self.scale == 0:
            return np.zeros_like(price)
        inner = self.deviation**2 / self.records
        noise = 2 * (self.width / self.records) ** 2
        least = np.sqrt(noise / inner)
        ratio = np.clip(price * (np.sqrt(inner * noise) / (2 * self.scale)), 1e-300, 0.25)
        wanted = np.minimum(least * _falling_branch(ratio), self.epsilon_max)
        # A price of inf buys nothing.
        with np.errstate(over="ignore"):
            return np.where(self.value(wanted) >= price * wanted, wanted, 0.0)


def _falling_branch(ratio: Array) -> Array:
    """The y >= 1 with ``y / (1 + y^2)^2 = ratio`` in (0, 1/4]: Newton's method in log y.

    The logarithm of the left side is concave and falls, so every step from above, where ``y^-3 =
    ratio``, stays above.
    """
    target = np.log(ratio)
    log_y = -target / 3
    for _ in range(NEWTON):
        square = np.exp(2 * log_y)
        step = (log_y - 2 * np.log1p(square) - target) / (1 - 4 * square / (1 + square))
        log_y = np.maximum(log_y - step, 0.0)
        if np.all(np.abs(step) <= 1e-15 * np.maximum(log_y, 1.0)):
            break
    return np.exp(log_y)


def mean_precision(epsilon: Array, records: Array | float, deviation: float, width: float) -> Array:
    """Inverse variance of a mean of ``records`` records answered at epsilon; 0 at epsilon = 0.

    Without noise it is n / s^2:

    >>> float(mean_precision(np.array(np.inf), 100.0, 0.5, 1.0))
    400.0
    """
    epsilon = np.asarray(epsilon, dtype=float)
    records = np.asarray(records, dtype=float)
    shares = epsilon > 0
    noise = 2 * (width / (records * np.where(shares, np.maximum(epsilon, 1e-150), 1.0))) ** 2
    return np.where(shares, 1 / (deviation**2 / records + noise), 0.0)


def count_error(epsilon: Array) -> float:
    """Error of a count of one private bit per owner (n_owners,), two times in three, over n.

    ``((N - k) / 2 + ln 3 / e) / N``: the N - k non-sellers are counted as halves, and one Laplace
    noise of scale 1 / e, with e the least epsilon sold, covers all. At most 1/2: N / 2 can always
    be answered. This is privacy against readers of the answer, not against the collector.

    Source: Ghosh and Roth, Selling Privacy at Auction.

    >>> round(count_error(np.array([0.5] * 8 + [0.0] * 2)), 4)
    0.3197
    """
    epsilon = np.asarray(epsilon, dtype=float)
    sold = epsilon[epsilon > 0]
    noise = np.log(3) / sold.min(initial=np.inf)
    return float(min(((len(epsilon) - len(sold)) / 2 + noise) / len(epsilon), 0.5))


@dataclass(frozen=True)
class MeanEstimate(Declaration):
    """A forecast of a mean: the variance of the best weighting of all owners' noisy means.

    ``1 / (public / s^2 + sum of precisions)``, relative to the variance of one record, s^2. It has
    the interface of `market.game.forecast.Forecast`.

    Parameters
    ----------
    sizes : (n_owners,) or scalar, records of each owner, above 0
    public_records : float, above 0, records that the learner has of its own
    deviation, width : float, above 0, standard deviation and range of a record

    >>> estimate = MeanEstimate(sizes=100.0, public_records=10.0)
    >>> sums = estimate.terms(np.array([np.inf, 0.0])).sum(axis=0)
    >>> estimate.outside, round(float(estimate.excess(sums)), 6)
    (0.1, 0.009091)
    """

    where = "estimate"
    sizes: Any = parameter("Give the records of each owner.")
    public_records: Positive = 1.0
    deviation: Positive = 0.5
    width: Positive = 1.0

    @property
    def outside(self) -> float:
        """Variance from the learner's own records."""
        return 1 / self.public_records

    def terms(self, epsilon: Array) -> Array:
        """Precision of each owner, in records without noise: (n_owners, ...) -> (..., 1)."""
        sizes = column(self.sizes, np.asarray(epsilon))
        precision = mean_precision(epsilon, sizes, self.deviation, self.width)
        return (self.deviation**2 * precision)[..., None]

    def excess(self, sums: Array) -> Array:
        """Variance over that of one record: (..., 1) -> (...)."""
        return 1 / (self.public_records + sums[..., 0])
