"""A learner learns its price: it posts one, owners answer, it looks at what it is sold, and posts the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from agents.pricing.base import Observation, Pricing
from learning.arrays import Array

NEAR = 0.01  # a price whose profit is within this part of the best one's is as good


@dataclass(frozen=True)
class Learned:
    """The prices a learner posted, what it saw of each, and the one it kept.

    Attributes
    ----------
    seen : tuple of Observation, in the order posted; the last of the price kept
    """

    seen: tuple[Observation, ...]

    @property
    def kept(self) -> Observation:
        """What was seen of the price kept."""
        return self.seen[-1]

    @property
    def profits(self) -> Array:
        """Profit at each price posted (k,), money."""
        return np.array([one.profit for one in self.seen])

    def near(self, best: float) -> int | None:
        """The number of the first post, from 1, of a payable price within 1 % of the best profit; None without."""
        there = [one.over == 0 and one.profit >= best - NEAR * abs(best) for one in self.seen]
        return there.index(True) + 1 if any(there) else None

    def lost(self, best: float) -> float:
        """Money by which the profits of the posts before the last fall short of the best, were each traded at."""
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

    Nothing is sold on the way: owners say what they would sell, and money changes hands and privacy is spent at the price
    kept. Where that exceeds the budget, the best of the payable prices is posted instead.

    Parameters
    ----------
    market : DataMarket, or anything with its ``learner``, ``step``, ``running``, ``epsilon``, ``payments``, ``fitness``
    make : callable(price) -> policy
    pricing : Pricing
    budget : float, money
    watch : called with every observation

    Returns
    -------
    Learned

    >>> from agents.model import DataMarket
    >>> from agents.pricing.golden_section import GoldenSection
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
    >>> round(learned.kept.price, 2)  # the best is 2, as market.analysis.design finds, which knows the costs
    2.0
    """
    seen: list[Observation] = []

    def post(price: float) -> Observation:
        market.learner.post(make(price))
        rounds = 0
        while market.running and rounds < (pricing.rounds_per_price or np.inf):
            market.step()
            rounds += 1
        gain = market.game.value * (market.game.forecast.outside - market.fitness)
        seen.append(Observation(price, market.epsilon.copy(), market.payments.copy(), float(gain), budget, rounds))
        watch(seen[-1])
        return seen[-1]

    posts = pricing.posts()
    price = next(posts)
    while True:
        try:
            price = posts.send(post(price))
        except StopIteration as end:
            kept = end.value
            break
    if kept != seen[-1].price:
        post(kept)
    payable = [one for one in seen if not one.over]
    if seen[-1].over and payable:
        post(max(payable, key=lambda one: one.profit).price)
    return Learned(tuple(seen))
