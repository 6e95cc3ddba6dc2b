"""Laws that owners' private unit costs are drawn from (COST_LAWS).

Every law has a bounded support, so that a payment which covers the costs of the dearest owner exists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import ndtr, ndtri

from learning.errors import InputError
from market.columns import as_parameter

HALVINGS = 100  # bisections that invert the distribution of a mixture


class CostLaw(Protocol):
    """A distribution of unit costs, money per unit of epsilon, on a bounded support."""

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest cost."""
        ...

    def cdf(self, cost: np.ndarray) -> np.ndarray:
        """Part of the owners whose cost is at most ``cost``, any shape."""
        ...

    def pdf(self, cost: np.ndarray) -> np.ndarray:
        """Density, per money and unit of epsilon; 0 outside the support."""
        ...

    def quantile(self, part: np.ndarray) -> np.ndarray:
        """The cost that a part of the owners, in [0, 1], does not exceed."""
        ...

    def draw(self, shape: int | tuple[int, ...], *, rng: np.random.Generator) -> np.ndarray:
        """Independent costs."""
        ...


def check_number(key: str, value: float, *, strict: bool = False, at_least: float = 0.0) -> None:
    """Refuse what is not one finite number of at least (``strict``: above) ``at_least``."""
    if as_parameter(key, value, strict=strict, at_least=at_least).ndim:
        raise InputError(key, "must be one number", value)


@dataclass(frozen=True)
class Uniform:
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

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        check_number("costs.low", self.low)
        check_number("costs.high", self.high, strict=True, at_least=self.low)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest cost."""
        return self.low, self.high

    def cdf(self, cost: np.ndarray) -> np.ndarray:
        """Part of the owners whose cost is at most ``cost``."""
        return np.clip((np.asarray(cost, dtype=float) - self.low) / (self.high - self.low), 0.0, 1.0)

    def pdf(self, cost: np.ndarray) -> np.ndarray:
        """Density."""
        inside = (np.asarray(cost) >= self.low) & (np.asarray(cost) <= self.high)
        return np.where(inside, 1 / (self.high - self.low), 0.0)

    def quantile(self, part: np.ndarray) -> np.ndarray:
        """The cost that a part of the owners does not exceed."""
        return self.low + (self.high - self.low) * np.asarray(part, dtype=float)

    def draw(self, shape: int | tuple[int, ...], *, rng: np.random.Generator) -> np.ndarray:
        """Independent costs."""
        return self.quantile(rng.random(shape))


@dataclass(frozen=True)
class LogNormal:
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

    median: float = 1.0
    spread: float = 1.0
    ceiling: Any = None

    def __post_init__(self) -> None:
        check_number("costs.median", self.median, strict=True)
        check_number("costs.spread", self.spread, strict=True)
        if self.ceiling is None:
            object.__setattr__(self, "ceiling", float(self.median * np.exp(3 * self.spread)))
        check_number("costs.ceiling", self.ceiling, strict=True)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest cost."""
        return 0.0, float(self.ceiling)

    def cdf(self, cost: np.ndarray) -> np.ndarray:
        """Part of the owners whose cost is at most ``cost``."""
        return np.minimum(ndtr(self._standard(cost)) / self._kept, 1.0)

    def pdf(self, cost: np.ndarray) -> np.ndarray:
        """Density."""
        cost = np.asarray(cost, dtype=float)
        inside = (cost > 0) & (cost <= self.ceiling)
        scale = np.where(inside, cost, 1.0) * self.spread * np.sqrt(2 * np.pi) * self._kept
        return np.where(inside, np.exp(-np.minimum(self._standard(cost) ** 2, 1400) / 2) / scale, 0.0)

    def quantile(self, part: np.ndarray) -> np.ndarray:
        """The cost that a part of the owners does not exceed."""
        cost = self.median * np.exp(self.spread * ndtri(np.asarray(part, dtype=float) * self._kept))
        return np.minimum(cost, self.ceiling)

    def draw(self, shape: int | tuple[int, ...], *, rng: np.random.Generator) -> np.ndarray:
        """Independent costs."""
        return self.quantile(rng.random(shape))

    @property
    def _kept(self) -> float:
        return float(ndtr(self._standard(self.ceiling)))

    def _standard(self, cost: np.ndarray | float) -> np.ndarray:
        cost = np.asarray(cost, dtype=float)
        tiny = np.finfo(float).tiny
        return np.log(np.maximum(cost, tiny) / self.median) / self.spread + np.where(cost > 0, 0.0, -np.inf)


@dataclass(frozen=True)
class Bimodal:
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

    low: float = 0.2
    high: float = 2.0
    share: float = 0.5
    spread: float = 0.3
    ceiling: Any = None

    def __post_init__(self) -> None:
        for name in ("low", "high", "share", "spread"):
            check_number(f"costs.{name}", getattr(self, name), strict=True)
        if self.share >= 1:
            raise InputError("costs.share", "must be below 1", self.share)
        if self.ceiling is None:
            object.__setattr__(self, "ceiling", float(self.high * np.exp(3 * self.spread)))
        check_number("costs.ceiling", self.ceiling, strict=True)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest cost."""
        return 0.0, float(self.ceiling)

    def cdf(self, cost: np.ndarray) -> np.ndarray:
        """Part of the owners whose cost is at most ``cost``."""
        return self.share * self._kinds[0].cdf(cost) + (1 - self.share) * self._kinds[1].cdf(cost)

    def pdf(self, cost: np.ndarray) -> np.ndarray:
        """Density."""
        return self.share * self._kinds[0].pdf(cost) + (1 - self.share) * self._kinds[1].pdf(cost)

    def quantile(self, part: np.ndarray) -> np.ndarray:
        """The cost that a part of the owners does not exceed, by bisection between those of the two kinds."""
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

    @property
    def _kinds(self) -> tuple[LogNormal, LogNormal]:
        return LogNormal(self.low, self.spread, self.ceiling), LogNormal(self.high, self.spread, self.ceiling)


COST_LAWS: dict[str, type] = {"uniform": Uniform, "lognormal": LogNormal, "bimodal": Bimodal}
