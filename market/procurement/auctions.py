"""Auctions of privacy: owners report unit costs, and all reports together settle who sells and for what.

An auction, like every entry of MECHANISMS, has ``draw(n_owners, rng=)``, its own chances, and
``settle(reports, chances)``, which is then fixed: (..., n_owners) -> epsilon and payments (..., n_owners).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from market.procurement.cost_laws import CostLaw, check_number
from market.procurement.valuation import Valuation

ACCURACY = 0.5 + np.log(3.0)  # error of a count, in people left out, that two answers in three stay under
NONE = np.empty(0)


def ranks(reports: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reports (..., n_owners) in rising order, and every owner's place in it; ties go to the first owner."""
    order = np.argsort(reports, axis=-1, kind="stable")
    place = np.argsort(order, axis=-1, kind="stable")
    return np.take_along_axis(reports, order, axis=-1), place


@dataclass(frozen=True)
class FairQuery:
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

    >>> epsilon, payments = FairQuery(2.0).settle(np.arange(1.0, 11.0), NONE)
    >>> (epsilon > 0).sum().item(), round(epsilon[0].item(), 6), round(payments[0].item(), 6)
    (3, 0.142857, 0.571429)
    """

    budget: float
    truthful: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_number("mechanism.budget", self.budget)

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> np.ndarray:
        """Nothing is left to chance: (0,)."""
        return NONE

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
class MinCost:
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

    >>> epsilon, payments = MinCost(0.2).settle(np.arange(1.0, 1001.0), NONE)
    >>> (epsilon > 0).sum().item(), epsilon[0].item(), payments[0].item()
    (875, 0.008, 7.008)
    """

    accuracy: float
    truthful: ClassVar[bool] = True
    budget: ClassVar[float] = np.inf

    def __post_init__(self) -> None:
        check_number("mechanism.accuracy", self.accuracy, strict=True)

    def sellers(self, n_owners: int) -> int:
        """How many sell, whatever they report."""
        wanted = int(np.ceil((1 - self.accuracy / ACCURACY) * n_owners - 1e-9))
        return max(0, min(wanted, n_owners - 1))

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> np.ndarray:
        """Nothing is left to chance: (0,)."""
        return NONE

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
    def for_budget(cls, budget: float, n_owners: int, law: CostLaw) -> MinCost:
        """The finest accuracy that costs no more than ``budget`` where costs are a law's quantiles.

        The law is public, so the owners' own reports do not move what is bought.
        """
        count = np.arange(1, n_owners)
        spend = count * law.quantile((count + 1) / (n_owners + 1)) / (n_owners - count)
        k = int(np.searchsorted(spend, budget, side="right"))
        return cls(ACCURACY * (1 - k / n_owners))


@dataclass(frozen=True)
class ProportionalShare:
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

    >>> epsilon, payments = ProportionalShare(12.0).settle(np.array([1.0, 2.0, 3.0]), NONE)
    >>> epsilon.round(6).tolist(), payments.round(6).tolist()
    ([2.666667, 1.333333, 0.0], [8.0, 4.0, 0.0])
    """

    budget: float
    truthful: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_number("mechanism.budget", self.budget)

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> np.ndarray:
        """Nothing is left to chance: (0,)."""
        return NONE

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
class ClarkePivot:
    """What is best for all by the reports, each owner paid what its part is worth to everybody else (VCG).

    Where budgets are worth money one by one, as under a forecast linear in the noise, an owner with cost c sells
    the epsilon that maximises ``worth(epsilon) - c epsilon`` and is paid ``worth(epsilon)``: the total without
    it is less by exactly its own surplus. It keeps no budget, and leaves the learner nothing.

    Parameters
    ----------
    worth : Valuation

    Source: Vickrey, Clarke and Groves; Clarke's pivot.

    >>> from market.procurement.valuation import SquareRootValuation
    >>> epsilon, payments = ClarkePivot(SquareRootValuation(2.0)).settle(np.array([1.0, 2.0]), NONE)
    >>> epsilon.round(6).tolist(), payments.round(6).tolist()
    ([1.0, 0.25], [2.0, 1.0])
    """

    worth: Valuation
    truthful: ClassVar[bool] = True
    budget: ClassVar[float] = np.inf

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> np.ndarray:
        """Nothing is left to chance: (0,)."""
        return NONE

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """epsilon and payments (..., n_owners) at reports (..., n_owners), money per unit of epsilon."""
        epsilon = self.worth.demand(reports)
        return epsilon, self.worth.value(epsilon)
