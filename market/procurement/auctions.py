"""Auctions of privacy: sales and payments from all owners' reported unit costs."""

from dataclasses import dataclass
from typing import Annotated, Any, Self

import numpy as np
from annotated_types import Gt
from pydantic import AllowInfNan

from learning.declaration import Count, Positive, PositivePerOwner, parameter
from market.columns import Array, Pair
from market.procurement.mechanism import (
    PLANS,
    Budgeted,
    ProcurementMechanism,
    ProcurementProblem,
    Unlimited,
    report_ranks,
    scaled_to_budget,
    sell_where,
)
from market.procurement.offers import TINY, most_value
from market.procurement.valuation import AValuation

# Error of a count, in people left out, that two answers in three stay under.
ACCURACY = 0.5 + np.log(3.0)


@dataclass(frozen=True)
class FairQuery(Budgeted):
    """The most sellers that a budget affords at one price: the cheapest k sell ``1 / (N - k)``.

    k < N is the largest with ``c_k / (N - k) <= B / k``, costs in rising order, and each seller is
    paid ``min(B / k, c_(k+1) / (N - k))``: the highest report at which it still sells. The noise 1
    / epsilon equals the number of those left out, which the answer misses anyway. The price comes
    from an owner that does not sell.

    Parameters
    ----------
    budget : float, at least 0, money, never exceeded

    Source: Ghosh and Roth, Selling Privacy at Auction, FairQuery.

    >>> epsilon, payments = FairQuery(2.0).settle(np.arange(1.0, 11.0), np.empty(0))
    >>> (epsilon > 0).sum().item(), round(epsilon[0].item(), 6), round(payments[0].item(), 6)
    (3, 0.142857, 0.571429)
    """

    title = "the most sellers that a budget affords at one price"
    truthful = True

    def settle(self, reports: Array, chances: Array) -> Pair:
        total = reports.shape[-1]
        cost, rank = report_ranks(reports)
        count = np.arange(1, total)
        k = (cost[..., :-1] * (count / (total - count)) <= self.budget).sum(axis=-1)[..., None]
        epsilon = 1 / (total - k)
        next_cost = np.take_along_axis(cost, k, axis=-1)
        payment = np.minimum(self.budget / np.maximum(k, 1), next_cost * epsilon)
        return sell_where(rank < k, epsilon, payment)


@dataclass(frozen=True)
class MinCost(ProcurementMechanism):
    """The cheapest purchase that answers a count to within ``accuracy`` N, two times in three.

    With ``a = accuracy / (1/2 + ln 3)`` the ``k = ceil((1 - a) N)`` cheapest sell ``1 / (N - k)``
    each and are paid ``c_(k+1) / (N - k)``. k stays below N, so one owner left out is the finest
    accuracy.

    Parameters
    ----------
    accuracy : float, above 0, largest error as a part of N

    Source: Ghosh and Roth, Selling Privacy at Auction, MinCostAuction.

    >>> epsilon, payments = MinCost(0.2).settle(np.arange(1.0, 1001.0), np.empty(0))
    >>> (epsilon > 0).sum().item(), epsilon[0].item(), payments[0].item()
    (875, 0.008, 7.008)
    """

    title = "the cheapest purchase of a given accuracy"
    truthful = True
    budget = np.inf
    accuracy: Positive = parameter("Give the largest error as a part of the owners.")

    def seller_count(self, n_owners: int) -> int:
        """Number of sellers, whatever the reports."""
        wanted = int(np.ceil((1 - self.accuracy / ACCURACY) * n_owners - 1e-9))
        return max(0, min(wanted, n_owners - 1))

    def settle(self, reports: Array, chances: Array) -> Pair:
        k = self.seller_count(reports.shape[-1])
        cost, rank = report_ranks(reports)
        epsilon = 1 / (reports.shape[-1] - k)
        payment = cost[..., k : k + 1] * epsilon
        return sell_where(rank < k, epsilon, payment)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """The finest accuracy within the budget where costs are the law's quantiles.

        The law is public, so reports do not change the quantity. One market may cost more.
        """
        n_owners = problem.n_owners
        count = np.arange(1, n_owners)
        spend = count * problem.law.quantile((count + 1) / (n_owners + 1)) / (n_owners - count)
        k = int(np.searchsorted(spend, problem.budget, side="right"))
        return cls(ACCURACY * (1 - k / n_owners))


@dataclass(frozen=True)
class ProportionalShare(Budgeted):
    """A budget shared in proportion to sales, at its equilibrium for the reported costs.

    With k active owners, the cheapest, whose costs sum to s, they sell ``X = (k - 1) R / s`` in all
    and each ``x_i = X (1 - (k - 1) c_i / s)``, active while that is positive, and is paid ``R x_i /
    X``. Two or more owners without costs sell without noise. A single owner sells nothing.

    Not truthful: the others' sales depend on an owner's reported cost.

    Parameters
    ----------
    budget : float, at least 0, money, all of it spent wherever two owners or more take part

    Source: Tullock's contest, with linear costs.

    >>> rule = ProportionalShare(12.0)
    >>> epsilon, payments = rule.settle(np.array([1.0, 2.0, 3.0]), np.empty(0))
    >>> epsilon.round(6).tolist(), payments.round(6).tolist()
    ([2.666667, 1.333333, 0.0], [8.0, 4.0, 0.0])
    """

    title = "a budget shared in proportion to what each sells"

    def settle(self, reports: Array, chances: Array) -> Pair:
        total = reports.shape[-1]
        if total < 2 or self.budget == 0:
            return np.zeros_like(reports), np.zeros_like(reports)
        cost, rank = report_ranks(reports)
        sums = np.cumsum(cost, axis=-1)
        k = np.maximum((np.arange(total) * cost < sums).sum(axis=-1), 2)[..., None]
        active_sum = np.take_along_axis(sums, k - 1, axis=-1)
        free = active_sum == 0
        divisor = np.where(free, 1.0, active_sum)
        share = np.where(rank < k, np.maximum(1 - (k - 1) * reports / divisor, 0.0), 0.0)
        epsilon = (k - 1) * self.budget / divisor * share
        # Two or more owners without costs outsell all others.
        none = reports == 0
        share = np.where(free, none / np.maximum(none.sum(axis=-1, keepdims=True), 1), share)
        return np.where(free, np.where(none, np.inf, 0.0), epsilon), self.budget * share


@dataclass(frozen=True)
class ClarkePivot(ProcurementMechanism):
    """The efficient allocation, each owner paid its value to all others (VCG).

    Where the values of budgets add up, as under a forecast linear in the noise, an owner with cost
    c sells the epsilon that maximises ``V(epsilon) - c epsilon`` and is paid ``V(epsilon)``:
    without it the total is less by exactly its own surplus. There is no budget, and the learner's
    surplus is 0.

    Parameters
    ----------
    valuation : Valuation, V

    Source: Vickrey, Clarke and Groves; Clarke's pivot.

    >>> from market.procurement.valuation import PrecisionValuation
    >>> rule = ClarkePivot(PrecisionValuation(1.0))
    >>> epsilon, payments = rule.settle(np.array([0.1, 0.2]), np.empty(0))
    >>> epsilon.round(6).tolist(), payments.round(6).tolist()
    ([7.961177, 5.97811], [3.551697, 3.268367])
    """

    title = "the most gain for all, each paid what it brings (Vickrey, Clarke, Groves)"
    truthful = True
    budget = np.inf
    valuation: AValuation

    def settle(self, reports: Array, chances: Array) -> Pair:
        epsilon = self.valuation.demand(reports)
        return epsilon, self.valuation.value(epsilon)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """The pivot of a valuation scaled to spend the budget on average."""
        return scaled_to_budget(cls(problem.valuation), problem)


@dataclass(frozen=True)
class ShapleyShare(Budgeted):
    """The most owners, cheapest first, who each sell ``epsilon`` for their Shapley value.

    Owners who sell the same are symmetric, so the Shapley value of each of k sellers is ``V g(k) /
    k``, where ``g(k) = psi(nobody) - psi(k sell)`` and V is such that the largest gain would cost
    the budget. k is the largest with ``c_k epsilon <= V g(k) / k``.

    Not truthful: sellers earn more the fewer they are, so an owner may report less than its cost to
    replace a cheaper one.

    Parameters
    ----------
    budget : float, at least 0, money, never exceeded
    epsilon : float, above 0, what an owner may sell
    forecast : market.game.Forecast of identical owners, of which the first owner's terms are used

    Source: Shapley, A value for n-person games; the rule for the sellers is ours.

    A first owner lowers the variance from 1 to 1/5, a second to 1/9: gains of 0.8 and 0.889, so
    that at a budget of 8.89 one seller is paid 8 and two 4.44 each.

    >>> from market.procurement.valuation import MeanEstimate
    >>> share = ShapleyShare(80 / 9, np.inf, MeanEstimate(sizes=4.0))
    >>> share.seller_payments(2).round(2).tolist(), share.seller_count(np.zeros(2)).tolist()
    ([8.0, 4.44], 2)
    """

    title = "a budget shared by Shapley values among the cheapest owners"
    epsilon: Annotated[float, Gt(0), AllowInfNan(True)] = parameter(
        "Say how much an owner may sell."
    )
    forecast: Any = parameter("Give a forecast of owners who are alike.")

    def seller_gains(self, n_owners: int) -> Array:
        """Improvement by 1, 2, ... n_owners sellers together (n_owners,), in relative fitness."""
        each = self.forecast.terms(np.full(n_owners, self.epsilon))[0]
        sums = np.arange(1, n_owners + 1)[:, None] * each
        return self.forecast.outside - self.forecast.excess(sums)

    def seller_payments(self, n_owners: int) -> Array:
        """Payment to each of 1, 2, ... n_owners sellers (n_owners,), money."""
        gains = np.maximum(self.seller_gains(n_owners), 0.0)
        most = gains.max()
        return self.budget * (gains / most if most > 0 else gains) / np.arange(1, n_owners + 1)

    def seller_count(self, reports: Array) -> Array:
        """Number of sellers (...) at reports (..., n_owners)."""
        total = reports.shape[-1]
        payments = self.seller_payments(total)
        # At no cost an owner sells without noise for any money.
        with np.errstate(invalid="ignore"):
            asked = np.where(reports > 0, reports * self.epsilon, 0.0)
        takes = (np.sort(asked, axis=-1) <= payments) & (payments > 0)
        return np.where(takes, np.arange(1, total + 1), 0).max(axis=-1)

    def settle(self, reports: Array, chances: Array) -> Pair:
        k = self.seller_count(reports)[..., None]
        wins = report_ranks(reports)[1] < k
        payments = np.append(0.0, self.seller_payments(reports.shape[-1]))
        return sell_where(wins, self.epsilon, payments[k])

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """The contract of the best model where costs are the law's quantiles."""
        costs = problem.ranked_costs
        choices = [cls(problem.budget, float(epsilon), problem.forecast) for epsilon in PLANS]
        gains = [np.append(0.0, one.seller_gains(len(costs))) for one in choices]
        best = [gain[one.seller_count(costs)] for one, gain in zip(choices, gains, strict=True)]
        return choices[int(np.argmax(best))]


@dataclass(frozen=True)
class PayAsBid(ProcurementMechanism):
    """The ``sellers`` cheapest reports up to ``reserve`` sell ``epsilon``, each paid its report.

    A discriminatory auction, not truthful: an owner that reports its cost has no surplus. Where
    each owner knows the law of costs F and its own cost c alone, the symmetric equilibrium without
    a reserve is to report the expected k-th lowest cost of the others, given that it is above c;
    with costs uniform on [0, 1] and one seller of n owners, ``c + (1 - c) / n``.

    Parameters
    ----------
    sellers : int, at least 1, k
    epsilon : float, above 0, what a seller sells
    reserve : float, at least 0, money per unit of epsilon, the highest report that is bought; by
        default any

    Source: Krishna, Auction Theory, chapters 2 and 13; Milgrom, Putting Auction Theory to Work,
        chapter 4. Theirs sell; here costs replace values.

    >>> rule = PayAsBid(2, 0.5, reserve=4.0)
    >>> epsilon, payments = rule.settle(np.array([3.0, 1.0, 2.0]), np.empty(0))
    >>> epsilon.tolist(), payments.tolist()
    ([0.0, 0.5, 0.5], [0.0, 0.5, 1.0])
    """

    title = "the cheapest owners sell, each paid what it reports (pay as bid)"
    budget = np.inf
    sellers: Count = parameter("Say how many owners sell.")
    epsilon: Positive = parameter("Say how much an owner may sell.")
    reserve: Unlimited = np.inf

    def settle(self, reports: Array, chances: Array) -> Pair:
        wins = (report_ranks(reports)[1] < self.sellers) & (reports <= self.reserve)
        return sell_where(wins, self.epsilon, reports * self.epsilon)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """The number of sellers of most value where costs are the law's quantiles.

        By revenue equivalence each seller is paid on average the cost of the cheapest non-seller.
        """
        count = np.arange(1, max(problem.n_owners, 2))
        price = problem.law.quantile(np.minimum((count + 1) / (problem.n_owners + 1), 1.0))
        best, epsilon = most_value(problem, count, count * np.maximum(price, TINY))
        return cls(int(count[best]), epsilon, problem.law.support[1])


@dataclass(frozen=True)
class AllIn(Budgeted):
    """Owners sell all of ``epsilon_i`` or nothing, and share the budget at one price (FL-Market).

    An owner's offer is ``w_i = n_i epsilon_i`` units for ``c_i epsilon_i``. In the order of rising
    prices ``c_i / n_i`` an owner is taken where all units taken so far and its own, at its price,
    cost no more than the budget; the others are passed over. All W units taken are paid ``budget /
    W`` a unit: the whole budget is spent, and no owner loses.

    Not truthful: a loser that reports less than a winner can replace it and sell above its own
    cost, where the money does not suffice for both. ``capped`` pays no more than the first price
    passed over above all winners', as FairQuery does; among owners with equal units lies then gain
    nothing. That is ours.

    Parameters
    ----------
    budget : float, at least 0, money, spent wherever anybody sells
    epsilon : scalar or (n_owners,), above 0, what each owner sells, all of it or nothing
    sizes : scalar or (n_owners,), above 0, records of each owner
    capped : bool, whether the price stays below that of the first owner passed over

    Source: Zheng, Cao, Yoshikawa, Li and Yan, FL-Market: Trading Private Models in Federated
        Learning (2022), All-in, as in their public code. Their learned auction and their weights
        of gradients are left out.

    Of costs 1, 2 and 4 and a budget of 5, the first two sell: 2 units at 2 cost 4, 3 at 4 would
    cost 12.

    >>> epsilon, payments = AllIn(5.0, 1.0).settle(np.array([1.0, 2.0, 4.0]), np.empty(0))
    >>> epsilon.tolist(), payments.tolist()
    ([1.0, 1.0, 0.0], [2.5, 2.5, 0.0])
    """

    title = "whole privacy budgets at one price, as many as the money buys (FL-Market)"
    epsilon: PositivePerOwner = parameter("Say how much an owner may sell.")
    sizes: PositivePerOwner = 1.0
    capped: bool = False

    def settle(self, reports: Array, chances: Array) -> Pair:
        units = np.broadcast_to(np.asarray(self.epsilon, dtype=float) * self.sizes, reports.shape)
        asked = reports / self.sizes
        order = np.argsort(asked, axis=-1, kind="stable")
        wins = np.zeros(reports.shape, dtype=bool)
        taken = np.zeros((*reports.shape[:-1], 1))
        for turn in range(reports.shape[-1]):
            who = order[..., turn : turn + 1]
            more = taken + np.take_along_axis(units, who, axis=-1)
            fits = more * np.take_along_axis(asked, who, axis=-1) <= self.budget
            np.put_along_axis(wins, who, fits, axis=-1)
            taken = np.where(fits, more, taken)
        price = self.budget / np.where(taken > 0, taken, 1.0)
        if self.capped:
            dearest = np.where(wins, asked, 0.0).max(axis=-1, keepdims=True)
            above = np.where(~wins & (asked >= dearest), asked, np.inf)
            price = np.minimum(price, above.min(axis=-1, keepdims=True))
        return sell_where(wins, self.epsilon, units * price)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """The contract of most value where costs are the law's quantiles."""
        count = np.arange(1, problem.n_owners + 1)
        price = np.maximum(problem.ranked_costs, TINY)
        return cls(problem.budget, most_value(problem, count, count * price)[1])
