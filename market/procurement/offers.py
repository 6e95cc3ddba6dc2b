"""Take-it-or-leave-it offers: owners are asked one after another whether they sell at a price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from learning.declaration import Count, NonNegative, Positive, parameter
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem, SequentialOffers

PRICES = 400  # quantiles of the costs tried as a posted price
ROUNDED = 1 - 1e-12  # of a budget is divided, so that rounding does not cost the last owner its share
GROUPS = 5  # offers that a ladder made for a budget has


def most_value(problem: ProcurementProblem, takers: np.ndarray, spend: np.ndarray) -> tuple[int, float]:
    """The plan (number, epsilon each sells) that buys the most value for a budget.

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

    title = "one price for all, in random order, while money lasts"
    budget: NonNegative = parameter("Give the money to spend.")
    price: NonNegative = parameter("Give the money per unit of epsilon.")
    epsilon: Positive = parameter("Say how much an owner may sell.")

    def offer(self, report: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pay = self.price * self.epsilon
        takes = (report <= self.price) & (pay <= left)
        return np.where(takes, self.epsilon, 0.0), np.where(takes, pay, 0.0)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> PostedPrice:
        """The price that buys the most value where ``n_owners F(price)`` sell and share the budget equally."""
        part = np.linspace(0, 1, PRICES + 1)[1:]
        price = np.maximum(problem.law.quantile(part), np.finfo(float).tiny)
        takers = part * problem.n_owners
        best, epsilon = most_value(problem, takers, np.maximum(takers, 1.0) * price)
        return cls(problem.budget, float(price[best]), epsilon)


@dataclass(frozen=True)
class Ladder(ProcurementMechanism):
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

    title = "rising offers to fresh groups of owners, until enough take one"
    truthful = True
    budget: NonNegative = parameter("Give the money to spend.")
    price: Positive = parameter("Give the first offer, money per unit of epsilon.")
    epsilon: Positive = parameter("Say how much an owner may sell.")
    growth: Annotated[float, Gt(1)] = 1.5
    group: Count = 10
    bar: Annotated[float, Gt(0), Le(1)] = 0.5
    count_epsilon: Positive = 1.0

    def steps(self, n_owners: int) -> int:
        """How many groups there are, the last one perhaps smaller."""
        return -(-n_owners // self.group)

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> np.ndarray:
        """The order owners are drawn in, then the noise of each count: (n_owners + steps,)."""
        order = rng.random(n_owners)
        return np.concatenate([order, rng.laplace(scale=1 / self.count_epsilon, size=self.steps(n_owners))])

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        total = reports.shape[-1]
        order = np.broadcast_to(np.argsort(chances[..., :total], axis=-1, kind="stable"), reports.shape)
        asked = np.take_along_axis(reports, order, axis=-1)
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
            paid[..., group] = np.where(taken, pay, 0.0)
            left = np.maximum(left - pay * taken.sum(axis=-1), 0.0)
            running &= taken.sum(axis=-1) + chances[..., total + step] < self.bar * size
        payments = np.take_along_axis(paid, np.argsort(order, axis=-1), axis=-1)
        return np.where(payments > 0, self.epsilon, 0.0), payments

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Ladder:
        """The bar that buys the most value where ``group F(price)`` take each offer and share the budget equally.

        A fifth of the owners at a time, from what the cheapest fifth accept to the largest cost.
        """
        law, group = problem.law, max(1, problem.n_owners // GROUPS)
        steps = -(-problem.n_owners // group)
        first = max(float(law.quantile(np.array(1 / GROUPS if steps > 1 else 1.0))), np.finfo(float).tiny)
        growth = max((law.support[1] / first) ** (1 / max(steps - 1, 1)), 1.01)
        price = first * growth ** np.arange(steps)
        takers = group * law.cdf(price)
        best, epsilon = most_value(problem, np.cumsum(takers), np.maximum(np.cumsum(takers * price), price))
        bar = takers[best] + (takers[best - 1] if best else 0.0)  # halfway between too few and enough
        return cls(problem.budget, first, epsilon, growth, group, float(bar / (2 * group)))
