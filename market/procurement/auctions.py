"""Auctions of privacy: owners report unit costs, and all reports together settle who sells and for what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Gt
from pydantic import AllowInfNan

from learning.declaration import NonNegative, Positive, parameter
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem, ranks, scaled_to_budget
from market.procurement.valuation import AValuation

ACCURACY = 0.5 + np.log(3.0)  # error of a count, in people left out, that two answers in three stay under
BUDGETS = 200  # epsilons tried where one is chosen for a law of costs
EPSILON_MAX = 10.0  # the largest of them


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
        total = reports.shape[-1]
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
        k = self.sellers(reports.shape[-1])
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
        epsilon = self.valuation.demand(reports)
        return epsilon, self.valuation.value(epsilon)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> ClarkePivot:
        """The pivot of a valuation scaled so that it spends the budget on average; in one market it may spend more."""
        return scaled_to_budget(cls(problem.valuation), problem)


@dataclass(frozen=True)
class ShapleyShare(ProcurementMechanism):
    """The most owners, cheapest first, who each sell ``epsilon`` for their Shapley value of the model's improvement.

    Owners who sell the same are alike, so that the Shapley value of each of k sellers is ``V g(k) / k``, where
    ``g(k) = psi(nobody) - psi(k sell)`` and V is such that the budget is what all owners together would be paid.
    k is the largest with ``c_k epsilon <= V g(k) / k``.

    Not truthful: sellers earn more the fewer they are, so that an owner may report less than its cost to take
    the place of a cheaper one.

    Parameters
    ----------
    budget : float, at least 0, money, never exceeded
    epsilon : float, above 0, what an owner may sell
    forecast : market.game.Forecast of owners who are alike
        Only its first owner's terms are asked for.

    Raises
    ------
    InputError
        A number not finite or out of range.

    Source: Shapley, A value for n-person games; the rule for who sells is ours.

    A first owner brings the variance from 1 to 1/5, a second to 1/9: gains of 0.8 and 0.889, so that at a budget
    of 8.89 one seller is paid 8 and two 4.44 each.

    >>> from market.procurement.valuation import MeanEstimate
    >>> share = ShapleyShare(80 / 9, np.inf, MeanEstimate(sizes=4.0))
    >>> [share.offers(2).round(2).tolist(), share.sellers(np.array([0.0, 0.0])).tolist()]
    [[8.0, 4.44], 2]
    """

    title = "a budget shared by Shapley values among the cheapest owners"
    budget: NonNegative = parameter("Give the money to spend.")
    epsilon: Annotated[float, Gt(0), AllowInfNan(True)] = parameter("Say how much an owner may sell.")
    forecast: Any = parameter("Give a forecast of owners who are alike.")

    def gains(self, n_owners: int) -> np.ndarray:
        """The improvement that 1, 2, ... n_owners sellers bring together (n_owners,), in relative fitness."""
        each = self.forecast.terms(np.full(n_owners, self.epsilon))[0]
        return self.forecast.outside - self.forecast.excess(np.arange(1, n_owners + 1)[:, None] * each)

    def offers(self, n_owners: int) -> np.ndarray:
        """What each of 1, 2, ... n_owners sellers is paid (n_owners,), money."""
        gains = np.maximum(self.gains(n_owners), 0.0)
        most = gains.max()
        return self.budget * (gains / most if most > 0 else gains) / np.arange(1, n_owners + 1)

    def sellers(self, reports: np.ndarray) -> np.ndarray:
        """How many sell (...) at reports (..., n_owners)."""
        total = reports.shape[-1]
        offers = self.offers(total)
        with np.errstate(invalid="ignore"):  # who loses nothing sells without noise for any money
            asked = np.where(reports > 0, reports * self.epsilon, 0.0)
        takes = (np.sort(asked, axis=-1) <= offers) & (offers > 0)
        return np.where(takes, np.arange(1, total + 1), 0).max(axis=-1)

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        k = self.sellers(reports)[..., None]
        wins = ranks(reports)[1] < k
        offers = np.append(0.0, self.offers(reports.shape[-1]))
        return np.where(wins, self.epsilon, 0.0), np.where(wins, offers[k], 0.0)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> ShapleyShare:
        """The contract that makes the best model where costs are the law's quantiles."""
        n_owners = problem.n_owners
        costs = problem.law.quantile(np.arange(1, n_owners + 1) / (n_owners + 1))
        grid = np.geomspace(1e-6, 1, BUDGETS) * EPSILON_MAX
        choices = [cls(problem.budget, float(epsilon), problem.forecast) for epsilon in grid]
        improvement = [np.append(0.0, one.gains(n_owners))[one.sellers(costs)] for one in choices]
        return choices[int(np.argmax(improvement))]
