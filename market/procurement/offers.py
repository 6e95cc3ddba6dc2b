"""Take-it-or-leave-it offers: owners are asked in turn whether they sell at a price."""

from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from annotated_types import Gt, Le

from learning.declaration import Count, NonNegative, Positive, parameter
from market.columns import Array, Pair
from market.procurement.mechanism import (
    Budgeted,
    ProcurementProblem,
    SequentialOffers,
    sell_where,
)

# Quantiles of the costs tried as a posted price.
PRICES = 400
# Part of a budget that is divided, so that rounding does not cost the last owner its share.
ROUNDED = 1 - 1e-12
# Offers of a ladder that is made for a budget.
GROUPS = 5
TINY = np.finfo(float).tiny


def most_value(problem: ProcurementProblem, takers: Array, spend: Array) -> tuple[int, float]:
    """Plan (number, epsilon each sells) that buys the most value for a budget.

    Parameters
    ----------
    problem : ProcurementProblem
    takers : (k,), owners expected to sell under each plan
    spend : (k,), money that one unit of epsilon from each of them costs
    """
    epsilon = np.minimum(ROUNDED * problem.budget / spend, problem.valuation.demand(np.array(0.0)))
    best = int(np.argmax(takers * problem.valuation.value(epsilon)))
    return best, float(epsilon[best])


@dataclass(frozen=True)
class PostedPrice(SequentialOffers):
    """One price for all: owners in random order may sell ``epsilon`` at ``price`` a unit.

    Parameters
    ----------
    budget : float, at least 0, money, never exceeded
    price : float, at least 0, money per unit of epsilon
    epsilon : float, above 0, what an owner may sell

    >>> rule = PostedPrice(6.0, 2.0, 0.5)
    >>> sold, paid = rule.settle(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]))
    >>> sold.tolist(), paid.tolist()
    ([0.5, 0.5, 0.0], [1.0, 1.0, 0.0])
    """

    title = "one price for all, in random order, while money lasts"
    budget: NonNegative = parameter("Give the money to spend.")
    price: NonNegative = parameter("Give the money per unit of epsilon.")
    epsilon: Positive = parameter("Say how much an owner may sell.")

    def make_offer(self, report: Array, left: Array) -> Pair:
        pay = self.price * self.epsilon
        takes = (report <= self.price) & (pay <= left)
        return sell_where(takes, self.epsilon, pay)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """The price of most value where ``n_owners F(price)`` sell and share the budget equally."""
        part = np.linspace(0, 1, PRICES + 1)[1:]
        price = np.maximum(problem.law.quantile(part), TINY)
        takers = part * problem.n_owners
        best, epsilon = most_value(problem, takers, np.maximum(takers, 1.0) * price)
        return cls(problem.budget, float(price[best]), epsilon)


@dataclass(frozen=True)
class Ladder(Budgeted):
    """Rising offers to fresh groups: ``price growth^j`` a unit to the j-th, until enough take it.

    Groups are drawn at random. An owner that takes an offer sells ``epsilon`` and is paid. The
    ladder ends when the count of takers plus Laplace noise of scale ``1 / count_epsilon`` reaches
    ``bar`` of the group, or owners or money run out. The noise hides whether a given owner took
    the offer, since a refusal also reveals information.

    Parameters
    ----------
    budget : float, at least 0, money, never exceeded
    price : float, above 0, money per unit of epsilon, the first offer
    epsilon : float, above 0, what an owner may sell
    growth : float, above 1, factor between offers
    group : int, at least 1, owners asked at one price
    bar : float in (0, 1], part of a group that is enough
    count_epsilon : float, above 0, privacy budget of each count

    Source: Ligett and Roth, Take It or Leave It: Running a Survey When Privacy Comes at a Cost.
        Theirs estimates from the last group alone; here all who were paid sell. A budget ends ours.
    """

    title = "rising offers to fresh groups of owners, until enough take one"
    truthful = True
    price: Positive = parameter("Give the first offer, money per unit of epsilon.")
    epsilon: Positive = parameter("Say how much an owner may sell.")
    growth: Annotated[float, Gt(1)] = 1.5
    group: Count = 10
    bar: Annotated[float, Gt(0), Le(1)] = 0.5
    count_epsilon: Positive = 1.0

    def group_count(self, n_owners: int) -> int:
        """Number of groups, the last one perhaps smaller."""
        return -(-n_owners // self.group)

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> Array:
        """Order of the owners, then the noise of each count: (n_owners + groups,)."""
        order = rng.random(n_owners)
        noise = rng.laplace(scale=1 / self.count_epsilon, size=self.group_count(n_owners))
        return np.concatenate([order, noise])

    def settle(self, reports: Array, chances: Array) -> Pair:
        total = reports.shape[-1]
        order = np.argsort(chances[..., :total], axis=-1, kind="stable")
        order = np.broadcast_to(order, reports.shape)
        asked = np.take_along_axis(reports, order, axis=-1)
        paid = np.zeros(reports.shape)
        left = np.full(reports.shape[:-1], self.budget)
        running = np.ones(reports.shape[:-1], dtype=bool)
        for step in range(self.group_count(total)):
            group = slice(step * self.group, min((step + 1) * self.group, total))
            size = group.stop - group.start
            price = self.price * self.growth**step
            pay = price * self.epsilon
            offered = np.where(running, np.minimum(np.floor(left / pay), size), 0)[..., None]
            taken = (np.arange(size) < offered) & (asked[..., group] <= price)
            paid[..., group] = np.where(taken, pay, 0.0)
            left = np.maximum(left - pay * taken.sum(axis=-1), 0.0)
            running &= taken.sum(axis=-1) + chances[..., total + step] < self.bar * size
        payments = np.take_along_axis(paid, np.argsort(order, axis=-1), axis=-1)
        return np.where(payments > 0, self.epsilon, 0.0), payments

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """The bar of most value where ``group F(price)`` take each offer and share the budget.

        A fifth of the owners at a time, from what the cheapest fifth accept to the largest cost.
        """
        law = problem.law
        group = max(1, problem.n_owners // GROUPS)
        steps = -(-problem.n_owners // group)
        first = max(float(law.quantile(np.array(1 / GROUPS if steps > 1 else 1.0))), TINY)
        growth = max((law.support[1] / first) ** (1 / max(steps - 1, 1)), 1.01)
        price = first * growth ** np.arange(steps)
        takers = group * law.cdf(price)
        spend = np.maximum(np.cumsum(takers * price), price)
        best, epsilon = most_value(problem, np.cumsum(takers), spend)
        # Halfway between too few and enough.
        bar = takers[best] + (takers[best - 1] if best else 0.0)
        return cls(problem.budget, first, epsilon, growth, group, float(bar / (2 * group)))
