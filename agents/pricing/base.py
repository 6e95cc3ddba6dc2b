"""How a learner moves its price without seeing costs: what it sees of a price, and what every pricing has."""

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
    """What a learner sees of a price that it posted: what it was sold, what it owes, what its own forecast makes of that.

    No privacy cost, no surplus of an owner and no record is in it, so no pricing can look at them.

    Parameters
    ----------
    price : float, times the money in the policy
    epsilon : (n_owners,), the privacy budgets offered at that price
    payments : (n_owners,), money each would be paid for them
    gain : float, money that the model is worth over the learner's own, by the learner's forecast
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
        """Money owed in all."""
        return float(self.payments.sum())

    @property
    def profit(self) -> float:
        """What is left to the learner, as forecast: the gain less what it owes."""
        return self.gain - self.spending

    @property
    def over(self) -> float:
        """Money by which the bill exceeds the budget, 0 within."""
        return max(0.0, self.spending - self.budget * (1 + SLACK))

    @property
    def sold(self) -> bool:
        """Whether anybody sells anything that is paid for."""
        return bool(np.any(self.epsilon > 0)) and self.spending > 0

    @property
    def rank(self) -> tuple[float, float]:
        """What prices are ordered by: first how near to payable, then the profit."""
        return -self.over, self.profit


Posts = Generator[float, Observation, float]  # yields the prices to post, is sent what was seen, gives the one to keep


@dataclass(frozen=True)
class Pricing(Declaration, ABC):
    """How a learner moves its price: a number times the money in its policy, between two ends, by what it sees alone.

    A pricing is a frozen dataclass with ``posts``; what it remembers lives in that generator, so one pricing may serve
    many markets. Payments rise with the price, as `market.policies.base.Policy.money` says.

    Parameters
    ----------
    low : the lowest price, times the money in `[policy]`
    high : the highest one
    prices : prices posted at most before one is kept
    rounds_per_price : rounds that owners get to answer a price; until they rest unless given
    close : prices this near, as a part of themselves, count as one

    Raises
    ------
    InputError
        Ends not in order, or a number out of range.

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
            raise InputError(f"{self.where}.low", f"must be below high, {self.high:g}", f"{self.low:g}")

    @property
    def needs_budget(self) -> bool:
        """Whether it cannot do without a budget of the learner."""
        return False

    @property
    def ends(self) -> tuple[float, float]:
        """The logarithms of the lowest and the highest price."""
        return float(np.log(self.low)), float(np.log(self.high))

    @abstractmethod
    def posts(self) -> Posts:
        """Prices to post, one after the other, each answered with its `Observation`; the price to keep is returned."""
