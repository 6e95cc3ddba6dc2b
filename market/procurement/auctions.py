"""Auctions of privacy: owners report unit costs, and all reports together settle who sells and for what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.declaration import NonNegative, Positive, parameter
from market.procurement.mechanism import (
    ProcurementMechanism,
    ProcurementProblem,
    ranks,
    scaled_to_budget,
)
from market.procurement.valuation import AValuation

ACCURACY = 0.5 + np.log(3.0)  # error of a count, in people left out, that two answers in three stay under


@dataclass(frozen=True)
class FairQuery(ProcurementMechanism):
    """The largest count of buyers that a budget affords at one price: the cheapest k sell ``1 / (N - k)`` each.

    k < N is the largest with ``c_k / (N - k) <= B / k``, costs in rising order, and each seller is paid
    ``min(B / k, c_(k+1) / (N - k))``: what its report may rise to before it drops out. The noise 1 / epsilon is
    then as large as the count of those left out, which the answer misses anyway. Never do all sell: the price
    comes from one who does not.

    Parameters
    ----------
    budget : float, at least 0, money, never exceeded

    Raises
    ------
    InputError
        A negative or non-finite budget.

    Source: Ghosh and Roth, Selling Privacy at Auction, FairQuery.

    >>> epsilon, payments = FairQuery(2.0).settle(np.arange(1.0, 11.0), np.empty(0))
    >>> (epsilon > 0).sum().item(), round(epsilon[0].item(), 6), round(payments[0].item(), 6)
    (3, 0.142857, 0.571429)
    """

    title = "the most sellers that a budget affords at one price"
    truthful = True
    budget: NonNegative = parameter("Give the money to spend.")

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """epsilon and payments (..., n_owners) at reports (..., n_owners), money per unit of epsilon."""
        total = reports.shape[-1]
        if total < 2:
            return np.zeros_like(reports), np.zeros_like(reports)
        cost, place = ranks(reports)
        count = np.arange(1, total)
        afford = cost[..., :-1] * (count / (total - count)) <= self.budget
        k = afford.sum(axis=-1)[..., None]
        epsilon = 1 / (total - k)
        payment = np.minimum(self.budget / np.maximum(k, 1), np.take_along_axis(cost, k, axis=-1) * epsilon)
        wins = place < k
        return np.where(wins, epsilon, 0.0), np.where(wins, payment, 0.0)


@dataclass(frozen=True)
class MinCost(ProcurementMechanism):
    """The cheapest purchase that answers a count to within ``accuracy`` N, two times in three.

    With ``a = accuracy / (1/2 + ln 3)`` the ``k = ceil((1 - a) N)`` cheapest sell ``1 / (N - k)`` each and are
    paid ``c_(k+1) / (N - k)``. Spends what that takes. k stays below N, so that no finer accuracy than one
    owner left out can be bought.

    Parameters
    ----------
    accuracy : float, above 0, largest error as a part of N

    Raises
    ------
    InputError
        An accuracy not finite or not above 0.

    Source: Ghosh and Roth, Selling Privacy at Auction, MinCostAuction.

    >>> epsilon, payments = MinCost(0.2).settle(np.arange(1.0, 1001.0), np.empty(0))
    >>> (epsilon > 0).sum().item(), epsilon[0].item(), payments[0].item()
    (875, 0.008, 7.008)
    """

    title = "the cheapest purchase of a given accuracy"
    truthful = True
    budget = np.inf
    accuracy: Positive = parameter("Give the largest error as a part of the owners.")

    def sellers(self, n_owners: int) -> int:
        """How many sell, whatever they report."""
        wanted = int(np.ceil((1 - self.accuracy / ACCURACY) * n_owners - 1e-9))
        return max(0, min(wanted, n_owners - 1))

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """epsilon and payments (..., n_owners) at reports (..., n_owners), money per unit of epsilon."""
        k = self.sellers(reports.shape[-1])
        if k == 0:
            return np.zeros_like(reports), np.zeros_like(reports)
        cost, place = ranks(reports)
        epsilon = 1 / (reports.shape[-1] - k)
        wins = place < k
        return np.where(wins, epsilon, 0.0), np.where(wins, cost[..., k : k + 1] * epsilon, 0.0)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> MinCost:
        """The finest accuracy that costs no more than the budget where costs are the law's quantiles.

        The law is public, so the owners' own reports do not move what is bought. In one market it may cost more.
        """
        n_owners = problem.n_owners
        count = np.arange(1, n_owners)
        spend = count * problem.law.quantile((count + 1) / (n_owners + 1)) / (n_owners - count)
        k = int(np.searchsorted(spend, problem.budget, side="right"))
        return cls(ACCURACY * (1 - k / n_owners))


@dataclass(frozen=True)
class ProportionalShare(ProcurementMechanism):
    """A fixed budget shared in proportion to what each sells, at its equilibrium for the reported costs.

    With k active owners, the cheapest, whose costs sum to s, they sell ``X = (k - 1) R / s`` in all and each
    ``x_i = X (1 - (k - 1) c_i / s)``, active while that is positive, and is paid ``R x_i / X``. Owners that
    cost nothing sell without noise where there are two or more of them. One owner alone meets no contest:
    nothing is sold.

    Not truthful: what others sell depends on what an owner is believed to cost.

    Parameters
    ----------
    budget : float, at least 0, money, all of it spent wherever two owners or more take part

    Raises
    ------
    InputError
        A negative or non-finite budget.

    Source: Tullock's contest, with linear costs.

    >>> epsilon, payments = ProportionalShare(12.0).settle(np.array([1.0, 2.0, 3.0]), np.empty(0))
    >>> epsilon.round(6).tolist(), payments.round(6).tolist()
    ([2.666667, 1.333333, 0.0], [8.0, 4.0, 0.0])
    """

    title = "a budget shared in proportion to what each sells"
    budget: NonNegative = parameter("Give the money to spend.")

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """epsilon and payments (..., n_owners) at reports (..., n_owners), money per unit of epsilon."""
        total = reports.shape[-1]
        if total < 2 or self.budget == 0:
            return np.zeros_like(reports), np.zeros_like(reports)
        cost, place = ranks(reports)
        sums = np.cumsum(cost, axis=-1)
        k = np.maximum((np.arange(total) * cost < sums).sum(axis=-1), 2)[..., None]
        active_sum = np.take_along_axis(sums, k - 1, axis=-1)
        free = active_sum == 0  # two or more that cost nothing: they outsell everybody
        divisor = np.where(free, 1.0, active_sum)
        share = np.where(place < k, np.maximum(1 - (k - 1) * reports / divisor, 0.0), 0.0)
        epsilon = (k - 1) * self.budget / divisor * share
        none = reports == 0
        share = np.where(free, none / np.maximum(none.sum(axis=-1, keepdims=True), 1), share)
        return np.where(free, np.where(none, np.inf, 0.0), epsilon), self.budget * share


@dataclass(frozen=True)
class ClarkePivot(ProcurementMechanism):
    """What is best for all by the reports, each owner paid what its part is worth to everybody else (VCG).

    Where each budget has a value of its own, as under a forecast linear in the noise, an owner with cost c sells
    the epsilon that maximises ``V(epsilon) - c epsilon`` and is paid ``V(epsilon)``: the total without it
    is less by exactly its own surplus. It keeps no budget, and leaves the learner nothing.

    Parameters
    ----------
    valuation : Valuation, V

    Source: Vickrey, Clarke and Groves; Clarke's pivot.

    >>> from market.procurement.valuation import PrecisionValuation
    >>> epsilon, payments = ClarkePivot(PrecisionValuation(1.0)).settle(np.array([0.1, 0.2]), np.empty(0))
    >>> epsilon.round(6).tolist(), payments.round(6).tolist()
    ([7.961177, 5.97811], [3.551697, 3.268367])
    """

    title = "the most gain for all, each paid what it brings (Vickrey, Clarke, Groves)"
    truthful = True
    budget = np.inf
    valuation: AValuation

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """epsilon and payments (..., n_owners) at reports (..., n_owners), money per unit of epsilon."""
        epsilon = self.valuation.demand(reports)
        return epsilon, self.valuation.value(epsilon)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> ClarkePivot:
        """The pivot of a valuation scaled so that it spends the budget on average; in one market it may spend more."""
        return scaled_to_budget(cls(problem.valuation), problem)
