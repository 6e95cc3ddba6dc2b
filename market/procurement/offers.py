"""Take-it-or-leave-it offers: owners are asked one after another whether they sell at a price.

Nobody's offer depends on its own report, so nobody gains by lying; what earlier owners took lowers only what is
left for later ones. An offer that the rest of the budget does not cover is not made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from learning.errors import InputError
from market.procurement.cost_laws import CostLaw, check_number
from market.procurement.valuation import Valuation

Offer = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
PRICES = 400  # quantiles of the costs tried as a posted price
ROUNDED = 1 - 1e-12  # of a budget is divided, so that rounding does not cost the last owner its share
GROUPS = 5  # offers that a ladder made for a budget has


def in_turn(reports: np.ndarray, chances: np.ndarray, budget: float, offer: Offer) -> tuple[np.ndarray, np.ndarray]:
    """Serve owners one by one, by rising ``chances``, until the budget is spent.

    Parameters
    ----------
    reports : (..., n_owners)
    chances : (..., n_owners), broadcast against ``reports``
    budget : float, money, may be inf
    offer : callable(report (...), left (...)) -> epsilon (...), payment (...) of at most ``left``

    Returns
    -------
    epsilon, payments : (..., n_owners)
    """
    order = np.broadcast_to(np.argsort(chances, axis=-1, kind="stable"), reports.shape)
    epsilon, payments = np.zeros(reports.shape), np.zeros(reports.shape)
    left = np.full(reports.shape[:-1], budget)
    for turn in range(reports.shape[-1]):
        who = order[..., turn : turn + 1]
        sold, paid = offer(np.take_along_axis(reports, who, axis=-1)[..., 0], left)
        np.put_along_axis(epsilon, who, sold[..., None], axis=-1)
        np.put_along_axis(payments, who, paid[..., None], axis=-1)
        left = left - paid
    return epsilon, payments


@dataclass(frozen=True)
class PostedPrice:
    """One price for all: whoever comes, in random order, may sell ``epsilon`` at ``price`` a unit, while money lasts.

    Parameters
    ----------
    budget : float, at least 0, money, never exceeded
    price : float, at least 0, money per unit of epsilon
    epsilon : float, above 0, what an owner may sell

    Raises
    ------
    InputError
        A number not finite or out of range.

    >>> sold, paid = PostedPrice(6.0, 2.0, 0.5).settle(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]))
    >>> sold.tolist(), paid.tolist()
    ([0.5, 0.5, 0.0], [1.0, 1.0, 0.0])
    """

    budget: float
    price: float
    epsilon: float
    truthful: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("mechanism.budget", self.budget)
        check_number("mechanism.price", self.price)
        check_number("mechanism.epsilon", self.epsilon, strict=True)

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> np.ndarray:
        """The order owners come in: (n_owners,)."""
        return rng.random(n_owners)

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """epsilon and payments (..., n_owners) at reports (..., n_owners), money per unit of epsilon."""
        pay = self.price * self.epsilon

        def offer(report: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            takes = (report <= self.price) & (pay <= left)
            return np.where(takes, self.epsilon, 0.0), np.where(takes, pay, 0.0)

        return in_turn(reports, chances, self.budget, offer)

    @classmethod
    def for_budget(cls, budget: float, n_owners: int, law: CostLaw, worth: Valuation) -> PostedPrice:
        """The price that buys the most worth where ``n_owners F(price)`` sell and share the budget equally."""
        part = np.linspace(0, 1, PRICES + 1)[1:]
        price = np.maximum(law.quantile(part), np.finfo(float).tiny)
        takers = part * n_owners
        most = float(worth.demand(np.array(0.0)))
        spend = np.maximum(takers, 1.0) * price
        epsilon = np.minimum(ROUNDED * budget / spend, most) if budget > 0 else np.full(PRICES, most)
        best = int(np.argmax(takers * worth.value(epsilon)))
        return cls(budget, float(price[best]), float(epsilon[best]))


@dataclass(frozen=True)
class Ladder:
    """Rising offers to fresh owners: ``price growth^j`` a unit to the j-th group, until enough take it.

    Groups are drawn at random. Who takes an offer sells ``epsilon`` and is paid. The ladder ends when the count
    of takers plus Laplace noise of scale ``1 / count_epsilon`` reaches ``bar`` of the group, or nobody or no
    money is left. The noise hides whether a given owner took the offer: to refuse one tells something, too.

    Parameters
    ----------
    budget : float, at least 0, money, never exceeded
    price : float, above 0, money per unit of epsilon, the first offer
    epsilon : float, above 0, what an owner may sell
    growth : float, above 1, factor between offers
    group : int, at least 1, owners asked at one price
    bar : float in (0, 1], part of a group that is enough
    count_epsilon : float, above 0, privacy budget of each count

    Raises
    ------
    InputError
        A number not finite or out of range.

    Source: Ligett and Roth, Take It or Leave It: Running a Survey When Privacy Comes at a Cost. Theirs
    estimates from the last group alone; here all who were paid sell. A budget ends ours.
    """

    budget: float
    price: float
    epsilon: float
    growth: float = 1.5
    group: int = 10
    bar: float = 0.5
    count_epsilon: float = 1.0
    truthful: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("mechanism.budget", self.budget)
        for name in ("price", "epsilon", "bar", "count_epsilon"):
            check_number(f"mechanism.{name}", getattr(self, name), strict=True)
        check_number("mechanism.growth", self.growth, strict=True, at_least=1.0)
        if int(self.group) != self.group or self.group < 1:
            raise InputError("mechanism.group", "must be a whole number of at least 1", self.group)
        if self.bar > 1:
            raise InputError("mechanism.bar", "must be at most 1", self.bar)

    def steps(self, n_owners: int) -> int:
        """How many groups there are, the last one perhaps smaller."""
        return -(-n_owners // self.group)

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> np.ndarray:
        """The order owners are drawn in, then the noise of each count: (n_owners + steps,)."""
        order = rng.random(n_owners)
        return np.concatenate([order, rng.laplace(scale=1 / self.count_epsilon, size=self.steps(n_owners))])

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """epsilon and payments (..., n_owners) at reports (..., n_owners), money per unit of epsilon."""
        total = reports.shape[-1]
        order = np.broadcast_to(np.argsort(chances[..., :total], axis=-1, kind="stable"), reports.shape)
        asked = np.take_along_axis(reports, order, axis=-1)
        takes = np.zeros(reports.shape, dtype=bool)
        paid = np.zeros(reports.shape)
        left = np.full(reports.shape[:-1], self.budget)
        running = np.ones(reports.shape[:-1], dtype=bool)
        for step in range(self.steps(total)):
            group = slice(step * self.group, min((step + 1) * self.group, total))
            size = group.stop - group.start
            price = self.price * self.growth**step
            pay = price * self.epsilon
            offered = np.where(running, np.minimum(np.floor(left / pay), size), 0)[..., None]
            taken = (np.arange(size) < offered) & (asked[..., group] <= price)
            takes[..., group] = taken
            paid[..., group] = np.where(taken, pay, 0.0)
            left = np.maximum(left - pay * taken.sum(axis=-1), 0.0)
            running &= taken.sum(axis=-1) + chances[..., total + step] < self.bar * size
        epsilon, payments = np.zeros(reports.shape), np.zeros(reports.shape)
        np.put_along_axis(epsilon, order, np.where(takes, self.epsilon, 0.0), axis=-1)
        np.put_along_axis(payments, order, paid, axis=-1)
        return epsilon, payments

    @classmethod
    def for_budget(cls, budget: float, n_owners: int, law: CostLaw, worth: Valuation) -> Ladder:
        """The bar that buys the most worth where ``group F(price)`` take each offer and share the budget equally.

        A fifth of the owners at a time, from what the cheapest fifth accept to the largest cost.
        """
        group = max(1, n_owners // GROUPS)
        steps = -(-n_owners // group)
        first = float(law.quantile(np.array(1 / GROUPS if steps > 1 else 1.0)))
        first = max(first, np.finfo(float).tiny)
        growth = max((law.support[1] / first) ** (1 / max(steps - 1, 1)), 1.01)
        price = first * growth ** np.arange(steps)
        takers = group * law.cdf(price)
        spend, count = np.maximum(np.cumsum(takers * price), price), np.cumsum(takers)
        most = float(worth.demand(np.array(0.0)))
        epsilon = np.minimum(ROUNDED * budget / spend, most) if budget > 0 else np.full(steps, most)
        best = int(np.argmax(count * worth.value(epsilon)))
        bar = takers[best] + (takers[best - 1] if best else 0.0)  # halfway between too few and enough
        return cls(budget, first, float(epsilon[best]), growth=growth, group=group, bar=float(bar / (2 * group)))
