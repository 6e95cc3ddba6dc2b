"""Laws of owners' private unit costs (COST_LAWS).

Every law has a bounded support, so that some payment covers the costs of the dearest owner.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import scipy
from pydantic import InstanceOf

from learning.declaration import Declaration, NonNegative, Positive, Probability, Words
from learning.errors import InputError
from market.columns import Array

# Bisections that invert the distribution of a mixture.
HALVINGS = 100


class CostLaw(Declaration, ABC):
    """A distribution of unit costs, money per unit of epsilon, on a bounded support."""

    where = "costs"

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The least and the largest cost."""

    @abstractmethod
    def cdf(self, cost: Array) -> Array:
        """Probability of a cost of at most ``cost``, any shape."""

    @abstractmethod
    def pdf(self, cost: Array) -> Array:
        """Density, per money and unit of epsilon; 0 outside the support."""

    @abstractmethod
    def quantile(self, part: Array) -> Array:
        """Quantile at probabilities in [0, 1], any shape."""

    def draw(self, shape: int | tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Independent costs."""
        return self.quantile(rng.random(shape))


ACostLaw = Annotated[CostLaw, InstanceOf(), Words("a CostLaw")]


@dataclass(frozen=True)
class Uniform(CostLaw):
    """Uniform costs between two ends.

    Parameters
    ----------
    low, high : float, money per unit of epsilon, 0 <= low < high

    Raises
    ------
    InputError
        A negative or non-finite end, or ``high`` not above ``low``.

    >>> law = Uniform(1.0, 3.0)
    >>> law.support, float(law.cdf(1.5)), float(law.quantile(0.25))
    ((1.0, 3.0), 0.25, 1.5)
    """

    low: NonNegative = 0.0
    high: Positive = 1.0

    def check(self) -> None:
        """Refuse an empty interval."""
        if self.high <= self.low:
            raise InputError("costs.high", f"must be above {self.low:g}", self.high)

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high

    def cdf(self, cost: Array) -> Array:
        part = (np.asarray(cost, dtype=float) - self.low) / (self.high - self.low)
        return np.clip(part, 0.0, 1.0)

    def pdf(self, cost: Array) -> Array:
        inside = (np.asarray(cost) >= self.low) & (np.asarray(cost) <= self.high)
        return np.where(inside, 1 / (self.high - self.low), 0.0)

    def quantile(self, part: Array) -> Array:
        return self.low + (self.high - self.low) * np.asarray(part, dtype=float)


@dataclass(frozen=True)
class LogNormal(CostLaw):
    """Log-normal costs, truncated at ``ceiling``.

    Parameters
    ----------
    median : float, above 0, of the law before it is truncated
    spread : float, above 0, standard deviation of the logarithm
    ceiling : float, above 0; by default the median times e^(3 spread), which truncates 0.13 %
    """

    median: Positive = 1.0
    spread: Positive = 1.0
    ceiling: Positive | None = None

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, self.ceiling or float(self.median * np.exp(3 * self.spread))

    def cdf(self, cost: Array) -> Array:
        return np.minimum(scipy.special.ndtr(self._standard_score(cost)) / self._kept_part, 1.0)

    def pdf(self, cost: Array) -> Array:
        cost = np.asarray(cost, dtype=float)
        inside = (cost > 0) & (cost <= self.support[1])
        scale = np.where(inside, cost, 1.0) * self.spread * np.sqrt(2 * np.pi) * self._kept_part
        square = np.minimum(self._standard_score(cost) ** 2, 1400)
        return np.where(inside, np.exp(-square / 2) / scale, 0.0)

    def quantile(self, part: Array) -> Array:
        normal = scipy.special.ndtri(np.asarray(part, dtype=float) * self._kept_part)
        return np.minimum(self.median * np.exp(self.spread * normal), self.support[1])

    @cached_property
    def _kept_part(self) -> float:
        return float(scipy.special.ndtr(self._standard_score(self.support[1])))

    def _standard_score(self, cost: Array | float) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(cost, 0.0) / self.median) / self.spread


@dataclass(frozen=True)
class Bimodal(CostLaw):
    """A mixture of two log-normal kinds of owners: those who hardly mind, and those who mind a lot.

    Surveys of the value of privacy have two peaks.

    Parameters
    ----------
    low, high : float, above 0, median cost of the two kinds
    share : float in (0, 1), part of the owners who hardly mind
    spread : float, above 0, standard deviation of the logarithm within a kind
    ceiling : float, above 0; by default ``high`` times e^(3 spread)
    """

    low: Positive = 0.2
    high: Positive = 2.0
    share: Probability = 0.5
    spread: Positive = 0.3
    ceiling: Positive | None = None

    @property
    def support(self) -> tuple[float, float]:
        return self._both_kinds[1].support

    def cdf(self, cost: Array) -> Array:
        low, high = (kind.cdf(cost) for kind in self._both_kinds)
        return self.share * low + (1 - self.share) * high

    def pdf(self, cost: Array) -> Array:
        low, high = (kind.pdf(cost) for kind in self._both_kinds)
        return self.share * low + (1 - self.share) * high

    def quantile(self, part: Array) -> Array:
        """Quantile, by bisection between those of the two kinds."""
        part = np.asarray(part, dtype=float)
        ends = [kind.quantile(part) for kind in self._both_kinds]
        left = np.minimum(*ends)
        right = np.maximum(*ends)
        for _ in range(HALVINGS):
            middle = 0.5 * (left + right)
            enough = self.cdf(middle) >= part
            left = np.where(enough, left, middle)
            right = np.where(enough, middle, right)
        return right

    def draw(self, shape: int | tuple[int, ...], *, rng: np.random.Generator) -> Array:
        """Independent costs: first the kind, then the cost."""
        first = rng.random(shape) < self.share
        part = rng.random(shape)
        low, high = (kind.quantile(part) for kind in self._both_kinds)
        return np.where(first, low, high)

    @cached_property
    def _both_kinds(self) -> tuple[LogNormal, LogNormal]:
        dear = LogNormal(self.high, self.spread, self.ceiling)
        return LogNormal(self.low, self.spread, dear.support[1]), dear


COST_LAWS: dict[str, type[CostLaw]] = {
    "uniform": Uniform,
    "lognormal": LogNormal,
    "bimodal": Bimodal,
}
