"""Contracts bought against virtual costs: what an owner must be left with so that it does not pass for a dearer one.

An owner with unit cost c is bought as if it cost ``c + F(c) / f(c)``: the second part is what all cheaper owners
then gain. The payment is ``t(c) = c epsilon(c) + integral of epsilon from c to the largest cost``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar

import numpy as np

from learning.declaration import PerOwner, PositivePerOwner, parameter
from learning.errors import InputError
from market.procurement.cost_laws import ACostLaw, CostLaw
from market.procurement.mechanism import NONE, ProcurementProblem, SequentialOffers, Unlimited, scaled_to_budget
from market.procurement.valuation import AValuation, Valuation

COVERAGES = np.linspace(0.3, 1.0, 15)  # parts of the owners that a menu may be made for
NODES = 1024  # costs at which a law's virtual cost is computed, and again as many of its quantiles
CLOSE = 1e-7  # costs nearer than this part of the support are one: slopes between them would be rounding


def iron(virtual: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """The nearest virtual costs (n_types,) that never fall: neighbours that would are pooled at their mean.

    Source: Myerson, Optimal Auction Design, section 6; for a finite number of types, pool adjacent violators.

    >>> iron(np.array([1.0, 5.0, 3.0, 6.0]), np.array([0.25, 0.25, 0.25, 0.25])).tolist()
    [1.0, 4.0, 4.0, 6.0]
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(virtual.tolist(), odds.tolist(), strict=True):
        count = 1
        while pools and pools[-1][0] >= value:
            other, other_weight, other_count = pools.pop()
            value = (value * weight + other * other_weight) / (weight + other_weight)
            weight, count = weight + other_weight, count + other_count
        pools.append((value, weight, count))
    return np.repeat([pool[0] for pool in pools], [pool[2] for pool in pools])


def lower_hull(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Numbers of the points (m,) on the lower convex hull of (x, y), x rising; of equal x the first counts.

    Its slopes are those between the points, ironed.

    >>> lower_hull(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 1.0, 3.0])).tolist()
    [0, 2, 3]
    """
    distinct = np.unique(x, return_index=True)[1]
    run = np.diff(x[distinct])
    slopes = iron(np.diff(y[distinct]) / run, run)
    return distinct[np.append(np.diff(slopes, prepend=-np.inf) > 0, True)]


@lru_cache(maxsize=64)
def virtual_cost(law: CostLaw) -> tuple[np.ndarray, np.ndarray]:
    """A law's ironed virtual cost ``c + F(c) / f(c)``: costs (m,), rising over its support, and values (m,).

    Where it falls it is replaced by the slope of the lower convex hull of ``c F(c)`` over F, which is what the
    owners so pooled cost together.

    Source: Myerson, Optimal Auction Design, section 6, for costs in place of values.
    """
    low, high = law.support
    inner = law.quantile((np.arange(NODES) + 0.5) / NODES)
    nodes = np.unique(np.clip(np.concatenate([np.linspace(low, high, NODES), inner]), low, high))
    nodes = nodes[np.append(np.diff(nodes) > CLOSE * (high - low), True)]
    nodes[0] = low
    part, density = law.cdf(nodes), law.pdf(nodes)
    plain = nodes + np.divide(part, density, out=np.where(part > 0, np.inf, 0.0), where=density > 0)
    hull = lower_hull(part, nodes * part)
    cell = np.clip(np.searchsorted(hull, np.arange(len(nodes)), side="right") - 1, 0, len(hull) - 2)
    rise = np.diff((nodes * part)[hull]) / np.diff(part[hull])
    pooled = ~np.isin(np.arange(len(nodes)), hull)
    ironed = np.maximum.accumulate(np.where(pooled | np.isinf(plain), rise[cell], plain))
    nodes.flags.writeable = ironed.flags.writeable = False
    return nodes, ironed


@dataclass(frozen=True)
class Menu(SequentialOffers):
    """A contract for each type of owner, the best for the learner when it knows only the odds of the types.

    Types with costs ``c_1 < ... < c_K`` and odds f are bought at ``v_k = c_k + (F_(k-1) / f_k) (c_k - c_(k-1))``,
    ironed where that falls; the cheapest is efficient. The dearest is paid its cost, and each cheaper one
    ``t_k = t_(k+1) + c_k (epsilon_k - epsilon_(k+1))``: just enough not to pass for its neighbour. An owner of
    any cost takes the contract meant for the next dearer type, and none beyond c_K. Owners come in random order
    and choose among the contracts that the rest of the budget covers.

    Parameters
    ----------
    costs : (n_types,), money per unit of epsilon, at least 0 and rising
    odds : (n_types,), above 0; scaled to sum to 1
    valuation : Valuation, V
    budget : float, at least 0, money, never exceeded; without one the contracts are open to all

    Raises
    ------
    InputError
        No type, numbers out of range, costs that do not rise, or as many odds as there are not types.

    Source: Laffont and Martimort, The Theory of Incentives, chapters 2 and 3; Myerson for the ironing.

    >>> from market.procurement.valuation import PrecisionValuation
    >>> menu = Menu([0.1, 0.2], [0.5, 0.5], PrecisionValuation(1.0))
    >>> menu.epsilon.round(6).tolist(), menu.payments.round(6).tolist()
    ([7.961177, 4.949041], [1.291022, 0.989808])
    """

    title = "eight contracts, one for each group of owners by cost"
    types: ClassVar[int] = 8
    costs: PerOwner
    odds: PositivePerOwner
    valuation: AValuation
    budget: Unlimited = np.inf

    def check(self) -> None:
        """Costs that rise, and as many odds."""
        costs, odds = np.atleast_1d(self.costs, self.odds)
        if not len(costs) or len(costs) != len(odds):
            raise InputError("mechanism.odds", "needs one number per type", f"{len(odds)} for {len(costs)} types")
        if np.any(np.diff(costs) <= 0):
            raise InputError("mechanism.costs", "must rise from type to type", costs.tolist())
        object.__setattr__(self, "costs", costs)
        object.__setattr__(self, "odds", odds / odds.sum())

    @cached_property
    def virtual_costs(self) -> np.ndarray:
        """What each type is bought at (n_types,), ironed."""
        cheaper = np.concatenate([[0.0], np.cumsum(self.odds)[:-1]])
        gap = np.diff(self.costs, prepend=self.costs[0])
        return iron(self.costs + cheaper / self.odds * gap, self.odds)

    @cached_property
    def epsilon(self) -> np.ndarray:
        """What each contract asks for (n_types,), never rising."""
        return np.minimum.accumulate(self.valuation.demand(self.virtual_costs))

    @cached_property
    def payments(self) -> np.ndarray:
        """What each contract pays (n_types,)."""
        steps = self.costs * (self.epsilon - np.append(self.epsilon[1:], 0.0))
        return np.cumsum(steps[::-1])[::-1]

    def offer(self, report: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The contract for each report, or the nearest that ``left`` covers."""
        covered = len(self.costs) - np.searchsorted(self.payments[::-1], left, side="right")
        at = np.maximum(np.searchsorted(self.costs, report, side="left"), covered)
        epsilon, payments = np.append(self.epsilon, 0.0), np.append(self.payments, 0.0)
        return epsilon[at], payments[at]

    @classmethod
    def from_law(cls, law: CostLaw, types: int, valuation: Valuation, *, coverage: float = 1.0) -> Menu:
        """Contracts for ``types`` equally likely groups of owners, each made for the dearest of its group.

        The groups are the cheapest part ``coverage`` of the owners, in (0, 1]; the rest are offered nothing.
        """
        costs = np.unique(law.quantile(coverage * np.arange(1, types + 1) / types))
        return cls(costs, np.diff(law.cdf(costs), prepend=0.0), valuation)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Menu:
        """The menu made for the part of the owners that buys the most value, and that spends the budget."""
        made = [cls.from_law(problem.law, cls.types, problem.valuation, coverage=part) for part in COVERAGES]
        choices = [scaled_to_budget(one, problem) for one in made]
        sold = [one.settle(problem.typical_costs, NONE)[0] for one in choices]
        best = int(np.argmax([problem.valuation.value(epsilon).sum() for epsilon in sold]))
        return replace(choices[best], budget=problem.budget)


class TwoContracts(Menu):
    """A menu with two contracts only."""

    title = "two contracts, one for each half of the owners by cost"
    types = 2


@dataclass(frozen=True)
class VirtualCost(SequentialOffers):
    """Buys from each owner against its virtual cost: the best for the learner when it knows the law of costs.

    ``epsilon(c)`` maximises ``V(epsilon) - (c + F(c) / f(c)) epsilon``, and the owner is paid
    ``c epsilon(c) + integral of epsilon from c to c_max``. Computed at some thousand costs and linear between
    them, with the integral of just that rule: truthful exactly, and optimal to the width of the mesh. Owners come
    in random order; with a budget, each chooses among the contracts that the rest of it covers.

    Parameters
    ----------
    law : CostLaw
    valuation : Valuation, V
    budget : float, at least 0, money, never exceeded; without one the contracts are open to all

    Source: Myerson, Optimal Auction Design; Fallah et al., Optimal and Differentially Private Data Acquisition.

    With costs uniform on [0.1, 0.2] the virtual cost is 2c - 0.1:

    >>> from market.procurement.cost_laws import Uniform
    >>> from market.procurement.valuation import PrecisionValuation
    >>> rule = VirtualCost(Uniform(0.1, 0.2), PrecisionValuation(1.0))
    >>> epsilon, payments = rule.settle(np.array([0.1, 0.15, 0.2]), np.zeros(3))
    >>> epsilon.round(5).tolist(), payments.round(5).tolist()
    ([7.96118, 5.97811, 4.94904], [1.40868, 1.16786, 0.98981])
    """

    title = "the best contracts for a known law of costs"
    law: ACostLaw = parameter("Give the law of the owners' unit costs.")
    valuation: AValuation = parameter("Say what epsilon is worth to the learner.")
    budget: Unlimited = np.inf

    @cached_property
    def rule(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Costs, epsilon and payments at the mesh, (m,) each."""
        nodes, price = virtual_cost(self.law)
        epsilon = np.minimum.accumulate(self.valuation.demand(price))
        area = np.diff(nodes) * (epsilon[1:] + epsilon[:-1]) / 2
        gain = np.append(np.cumsum(area[::-1])[::-1], 0.0)
        return nodes, epsilon, np.maximum.accumulate((nodes * epsilon + gain)[::-1])[::-1]

    def offer(self, report: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The contract for each report, or the nearest of the mesh that ``left`` covers."""
        nodes, sold, paid = self.rule
        covered = len(nodes) - np.searchsorted(paid[::-1], left, side="right")
        cost = np.clip(report, nodes[np.minimum(covered, len(nodes) - 1)], nodes[-1])
        cell = np.clip(np.searchsorted(nodes, cost, side="right") - 1, 0, len(nodes) - 2)
        start, end = nodes[cell], nodes[cell + 1]
        epsilon = sold[cell] + (sold[cell + 1] - sold[cell]) * ((cost - start) / (end - start))
        gain = paid[cell + 1] - end * sold[cell + 1] + (end - cost) * (epsilon + sold[cell + 1]) / 2
        open_ = (report <= nodes[-1]) & (covered < len(nodes))
        return np.where(open_, epsilon, 0.0), np.where(open_, np.minimum(cost * epsilon + gain, left), 0.0)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> VirtualCost:
        """The contracts of a valuation scaled so that they spend the budget."""
        return replace(scaled_to_budget(cls(problem.law, problem.valuation), problem), budget=problem.budget)
