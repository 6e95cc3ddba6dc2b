"""The interface of a pricing: observations of posted prices, and the next price to post."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from learning.declaration import Count, Declaration, Positive, TwoOrMore
from learning.errors import InputError
from market.analysis.welfare import SLACK


@dataclass(frozen=True)
class Observation:
    """A learner's observation of a posted price: offers, payments, and its forecast of the gain.

    It holds no privacy cost, no surplus of an owner and no record, so no pricing can use them.

    Parameters
    ----------
    price : float, times the money in the policy
    epsilon : (n_owners,), the privacy budgets offered at that price
    payments : (n_owners,), money owed for them
    gain : float, forecast worth of the model over the learner's own, money
    budget : float, money the learner can spend; inf without a limit
    rounds : int, rounds in which owners answered this price
    """

    price: float
    epsilon: np.ndarray
    payments: np.ndarray
    gain: float
    budget: float = np.inf
    rounds: int = 0

    @property
    def spending(self) -> float:
        """Total money owed."""
        return float(self.payments.sum())

    @property
    def profit(self) -> float:
        """Forecast gain less spending."""
        return self.gain - self.spending

    @property
    def over(self) -> float:
        """Money by which the spending exceeds the budget, 0 within."""
        return max(0.0, self.spending - self.budget * (1 + SLACK))

    @property
    def sold(self) -> bool:
        """True if some owner sells for money."""
        return bool(np.any(self.epsilon > 0)) and self.spending > 0

    @property
    def rank(self) -> tuple[float, float]:
        """Order of prices: payable ones first, then by profit."""
        return -self.over, self.profit


Posts = Generator[float, Observation, float]  # prices to post, observations, the price to keep


@dataclass(frozen=True)
class Pricing(Declaration, ABC):
    """A rule that moves the learner's price, a factor on the money in its policy, in an interval.

    A pricing is a frozen dataclass with ``posts``; its memory lives in that generator, so one
    pricing may serve many markets. Payments rise with the price, as
    `market.policies.base.Policy.money` says.

    Parameters
    ----------
    low : the lowest price, times the money in `[policy]`
    high : the highest one
    prices : prices posted at most before one is kept
    rounds_per_price : rounds that owners get to answer a price; until they rest unless given
    close : relative difference of prices that count as one

    Raises
    ------
    InputError
        For ends not in order, or a number out of range.

    >>> @dataclass(frozen=True)
    ... class Halving(Pricing):
    ...     title = "halves its price until it gains"
    ...     def posts(self):
    ...         seen = yield self.high
    ...         while seen.profit < 0:
    ...             seen = yield seen.price / 2
    ...         return seen.price
    >>> posts = Halving(high=8.0).posts()
    >>> price = next(posts)
    >>> while price > 3:
    ...     price = posts.send(Observation(price, np.ones(1), np.array([price]), gain=3.0))
    >>> price
    2.0
    """

    where = "learner.pricing"
    title: ClassVar[str] = ""
    low: Positive = 0.1
    high: Positive = 10.0
    prices: TwoOrMore = 30
    rounds_per_price: Count | None = None
    close: Positive = 1e-3

    def check(self) -> None:
        if not self.low < self.high:
            rule = f"must be below high, {self.high:g}"
            raise InputError(f"{self.where}.low", rule, f"{self.low:g}")

    @property
    def needs_budget(self) -> bool:
        """True if it needs a budget of the learner."""
        return False

    @property
    def ends(self) -> tuple[float, float]:
        """Logarithms of the lowest and the highest price."""
        return float(np.log(self.low)), float(np.log(self.high))

    @abstractmethod
    def posts(self) -> Posts:
        """Yield prices to post, each answered with its `Observation`; return the price to keep."""
