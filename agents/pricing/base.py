"""Price learning: a learner posts a price, owners answer, and its pricing sets the next price."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from learning.arrays import Array
from learning.declaration import Count, Declaration, Positive, TwoOrMore
from learning.errors import InputError
from market.analysis.welfare import SLACK

NEAR = 0.01  # a price with a profit within this part of the best one's is as good


@dataclass(frozen=True)
class Observation:
    """A learner's observation of a posted price: offers, payments, and its forecast of the gain.

    It holds no privacy cost, no surplus of an owner and no record, so no pricing can use them.

    Parameters
    ----------
    price : float, the factor on the money in the policy
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
    def price_rank(self) -> tuple[float, float]:
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
    bargains: ClassVar[bool] = False
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


@dataclass(frozen=True)
class Learned:
    """The prices that a learner posted.

    Attributes
    ----------
    seen : tuple of Observation, in the order posted; the last is of the price kept
    """

    seen: tuple[Observation, ...]

    @property
    def kept(self) -> Observation:
        """Observation of the price kept."""
        return self.seen[-1]

    @property
    def profits(self) -> Array:
        """Profit at each posted price (k,), money."""
        return np.array([one.profit for one in self.seen])

    def near(self, best: float) -> int | None:
        """Number of the first post, from 1, payable and within 1 % of the best profit; or None."""
        there = [one.over == 0 and one.profit >= best - NEAR * abs(best) for one in self.seen]
        return there.index(True) + 1 if any(there) else None

    def lost(self, best: float) -> float:
        """Total shortfall of the profits of all posts but the last from the best profit, money."""
        return float((best - self.profits[:-1]).sum())


def learn_price(
    market: Any,
    make: Callable[[float], Any],
    pricing: Pricing,
    *,
    budget: float = np.inf,
    watch: Callable[[Observation], object] = lambda seen: None,
) -> Learned:
    """Let the learner of a market move its price until its pricing keeps one, which stays posted.

    Nothing is sold meanwhile: owners state their offers, and money is paid and privacy spent at the
    price kept. Where that exceeds the budget, the best payable price is posted instead.

    Parameters
    ----------
    market : DataMarket, or anything with its ``learner``, ``step``, ``running``, ``epsilon``,
        ``payments``, ``fitness``
    make : callable(price) -> policy
    pricing : Pricing
    budget : float, money
    watch : called with every observation

    Returns
    -------
    Learned

    The best price is 2 here, as `market.analysis.policy_search` finds, which knows the costs.

    >>> from agents.model import DataMarket
    >>> from agents.pricing.searches import GoldenSection
    >>> from market.costs.functions import Quadratic
    >>> from market.game.game import Game
    >>> from market.game.owners import Owners
    >>> from market.policies.posted import Posted
    >>> class Law:
    ...     outside = 1.0
    ...     def terms(self, epsilon):
    ...         return np.where(epsilon > 0, np.maximum(epsilon, 1e-9) ** -2.0, 0.0)[..., None]
    ...     def excess(self, sums):
    ...         return 0.01 * sums[..., 0]
    >>> owners = Owners(("A", "B"), 1, 0.01, 100.0, Quadratic(2.0))
    >>> market = DataMarket(Game(owners, Posted(1.0), Law(), 200.0), rng=0)
    >>> learned = learn_price(market, Posted, GoldenSection())
    >>> round(learned.kept.price, 2)
    2.0
    """
    seen: list[Observation] = []

    def post_price(price: float) -> Observation:
        market.learner.post(make(price))
        rounds = 0
        while market.running and rounds < (pricing.rounds_per_price or np.inf):
            market.step()
            rounds += 1
        gain = float(market.game.value * (market.game.forecast.outside - market.fitness))
        epsilon = market.epsilon.copy()
        found = Observation(price, epsilon, market.payments.copy(), gain, budget, rounds)
        seen.append(found)
        watch(found)
        return found

    posts = pricing.posts()
    price = next(posts)
    while True:
        try:
            price = posts.send(post_price(price))
        except StopIteration as end:
            kept = end.value
            break
    if kept != seen[-1].price:
        post_price(kept)
    payable = [one for one in seen if not one.over]
    if seen[-1].over and payable:
        post_price(max(payable, key=lambda one: one.profit).price)
    return Learned(tuple(seen))
