"""Laws that owners' private unit costs are drawn from (COST_LAWS).

Every law has a bounded support, so that a payment which covers the costs of the dearest owner exists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
import scipy
from pydantic import InstanceOf

from learning.declaration import Declaration, NonNegative, Positive, Probability, Words
from learning.errors import InputError

HALVINGS = 100  # bisections that invert the distribution of a mixture


class CostLaw(Declaration, ABC):
    """A distribution of unit costs, money per unit of epsilon, on a bounded support."""

    where = "costs"

    @property
    @abstractmethod
    def support(self) -> tuple[float, float]:
        """The least and the largest cost."""

    @abstractmethod
    def cdf(self, cost: np.ndarray) -> np.ndarray:
        """Part of the owners whose cost is at most ``cost``, any shape."""

    @abstractmethod
    def pdf(self, cost: np.ndarray) -> np.ndarray:
        """Density, per money and unit of epsilon; 0 outside the support."""

    @abstractmethod
    def quantile(self, part: np.ndarray) -> np.ndarray:
        """The cost that a part of the owners, in [0, 1], does not exceed."""

    def draw(self, shape: int | tuple[int, ...], *, rng: np.random.Generator) -> np.ndarray:
        """Independent costs."""
        return self.quantile(rng.random(shape))


ACostLaw = Annotated[CostLaw, InstanceOf(), Words("a CostLaw")]


@dataclass(frozen=True)
class Uniform(CostLaw):
    """Every cost between two ends is equally likely.

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
        """An interval."""
        if self.high <= self.low:
            raise InputError("costs.high", f"must be above {self.low:g}", self.high)

    @property
    def support(self) -> tuple[float, float]:
        return self.low, self.high

    def cdf(self, cost: np.ndarray) -> np.ndarray:
        return np.clip((np.asarray(cost, dtype=float) - self.low) / (self.high - self.low), 0.0, 1.0)

    def pdf(self, cost: np.ndarray) -> np.ndarray:
        inside = (np.asarray(cost) >= self.low) & (np.asarray(cost) <= self.high)
        return np.where(inside, 1 / (self.high - self.low), 0.0)

    def quantile(self, part: np.ndarray) -> np.ndarray:
        return self.low + (self.high - self.low) * np.asarray(part, dtype=float)


@dataclass(frozen=True)
class LogNormal(CostLaw):
    """Costs whose logarithm is normal, cut off at ``ceiling``.

    Parameters
    ----------
    median : float, above 0, of the law before it is cut off
    spread : float, above 0, standard deviation of the logarithm
    ceiling : float, above 0; by default the median times e^(3 spread), which cuts off 0.13 %

    Raises
    ------
    InputError
        A parameter not finite or not above 0.
    """

    median: Positive = 1.0
    spread: Positive = 1.0
    ceiling: Positive | None = None

    @property
    def support(self) -> tuple[float, float]:
        return 0.0, self.ceiling or float(self.median * np.exp(3 * self.spread))

    def cdf(self, cost: np.ndarray) -> np.ndarray:
        return np.minimum(scipy.special.ndtr(self._standard(cost)) / self._kept, 1.0)

    def pdf(self, cost: np.ndarray) -> np.ndarray:
        cost = np.asarray(cost, dtype=float)
        inside = (cost > 0) & (cost <= self.support[1])
        scale = np.where(inside, cost, 1.0) * self.spread * np.sqrt(2 * np.pi) * self._kept
        return np.where(inside, np.exp(-np.minimum(self._standard(cost) ** 2, 1400) / 2) / scale, 0.0)

    def quantile(self, part: np.ndarray) -> np.ndarray:
        cost = self.median * np.exp(self.spread * scipy.special.ndtri(np.asarray(part, dtype=float) * self._kept))
        return np.minimum(cost, self.support[1])

    @cached_property
    def _kept(self) -> float:
        return float(scipy.special.ndtr(self._standard(self.support[1])))

    def _standard(self, cost: np.ndarray | float) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(cost, 0.0) / self.median) / self.spread


@dataclass(frozen=True)
class Bimodal(CostLaw):
    """Two kinds of owners, each log-normal: those who hardly mind, and those who mind a lot.

    What people say their privacy is worth has two peaks, so no single-peaked law should stand for it.

    Parameters
    ----------
    low, high : float, above 0, median cost of the two kinds
    share : float in (0, 1), part of the owners who hardly mind
    spread : float, above 0, standard deviation of the logarithm within a kind
    ceiling : float, above 0; by default ``high`` times e^(3 spread)

    Raises
    ------
    InputError
        A parameter not finite or not above 0, or ``share`` not below 1.
    """

    low: Positive = 0.2
    high: Positive = 2.0
    share: Probability = 0.5
    spread: Positive = 0.3
    ceiling: Positive | None = None

    @property
    def support(self) -> tuple[float, float]:
        return self._kinds[1].support

    def cdf(self, cost: np.ndarray) -> np.ndarray:
        return self.share * self._kinds[0].cdf(cost) + (1 - self.share) * self._kinds[1].cdf(cost)

    def pdf(self, cost: np.ndarray) -> np.ndarray:
        return self.share * self._kinds[0].pdf(cost) + (1 - self.share) * self._kinds[1].pdf(cost)

    def quantile(self, part: np.ndarray) -> np.ndarray:
        """The least cost that a part of the owners does not exceed, by bisection between those of the two kinds."""
        part = np.asarray(part, dtype=float)
        ends = [kind.quantile(part) for kind in self._kinds]
        left, right = np.minimum(*ends), np.maximum(*ends)
        for _ in range(HALVINGS):
            middle = 0.5 * (left + right)
            enough = self.cdf(middle) >= part
            left, right = np.where(enough, left, middle), np.where(enough, middle, right)
        return right

    def draw(self, shape: int | tuple[int, ...], *, rng: np.random.Generator) -> np.ndarray:
        """Independent costs: first the kind, then the cost."""
        first = rng.random(shape) < self.share
        part = rng.random(shape)
        return np.where(first, self._kinds[0].quantile(part), self._kinds[1].quantile(part))

    @cached_property
    def _kinds(self) -> tuple[LogNormal, LogNormal]:
        dear = LogNormal(self.high, self.spread, self.ceiling)
        return LogNormal(self.low, self.spread, dear.support[1]), dear


COST_LAWS: dict[str, type[CostLaw]] = {"uniform": Uniform, "lognormal": LogNormal, "bimodal": Bimodal}
