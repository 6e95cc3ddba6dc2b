"""Price learning: a learner posts a price, owners answer, and its pricing sets the next price."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.pricing.base import Observation, Pricing
from learning.arrays import Array

NEAR = 0.01  # a price with a profit within this part of the best one's is as good


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

    The best price is 2 here, as `market.analysis.design` finds, which knows the costs.

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
