"""Contracts by virtual costs: the cost of an owner and of the information rent it causes.

An owner with unit cost c is bought at ``c + F(c) / f(c)``: the second part is the rent of all
cheaper owners. The payment is ``t(c) = c epsilon(c) + integral of epsilon from c to the largest
cost``.
"""

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar, Self

import numpy as np

from learning.declaration import PerOwner, PositivePerOwner, parameter
from learning.errors import InputError
from market.columns import Array, Pair
from market.procurement.cost_laws import ACostLaw, CostLaw
from market.procurement.mechanism import (
    NONE,
    ProcurementProblem,
    SequentialOffers,
    Unlimited,
    scaled_to_budget,
    sell_where,
)
from market.procurement.valuation import AValuation, Valuation

# Parts of the owners that a menu may be made for.
COVERAGES = np.linspace(0.3, 1.0, 15)
# Costs at which a law's virtual cost is computed, and again as many of its quantiles.
NODES = 1024
# Costs nearer than this part of the support are one: slopes between them would be rounding.
CLOSE = 1e-7


def iron_virtual_costs(virtual: Array, odds: Array) -> Array:
    """Nearest non-decreasing virtual costs (n_types,): neighbours that fall are pooled.

    Source: Myerson, Optimal Auction Design, section 6; for a finite number of types, pool adjacent
        violators.

    >>> iron_virtual_costs(np.array([1.0, 5.0, 3.0, 6.0]), np.full(4, 0.25)).tolist()
    [1.0, 4.0, 4.0, 6.0]
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(virtual.tolist(), odds.tolist(), strict=True):
        count = 1
        while pools and pools[-1][0] >= value:
            other, other_weight, other_count = pools.pop()
            value = (value * weight + other * other_weight) / (weight + other_weight)
            weight = weight + other_weight
            count = count + other_count
        pools.append((value, weight, count))
    return np.repeat([pool[0] for pool in pools], [pool[2] for pool in pools])


def lower_hull(x: Array, y: Array) -> Array:
    """Numbers of the points (m,) on the lower convex hull of (x, y), x rising; first of equal x.

    >>> lower_hull(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 1.0, 3.0])).tolist()
    [0, 2, 3]
    """
    distinct = np.unique(x, return_index=True)[1]
    run = np.diff(x[distinct])
    slopes = iron_virtual_costs(np.diff(y[distinct]) / run, run)
    return distinct[np.append(np.diff(slopes, prepend=-np.inf) > 0, True)]


def _cell_of(nodes: Array, points: Array) -> Array:
    """Number of the cell between rising nodes (m,) that holds each point, any shape."""
    return np.clip(np.searchsorted(nodes, points, side="right") - 1, 0, len(nodes) - 2)


@lru_cache(maxsize=64)
def virtual_cost(law: CostLaw) -> Pair:
    """Ironed virtual cost ``c + F(c) / f(c)`` of a law: costs (m,) over its support, values (m,).

    Where it falls it is replaced by the slope of the lower convex hull of ``c F(c)`` over F, the
    mean virtual cost of the pooled owners.

    Source: Myerson, Optimal Auction Design, section 6, for costs in place of values.
    """
    low, high = law.support
    inner = law.quantile((np.arange(NODES) + 0.5) / NODES)
    nodes = np.unique(np.clip(np.concatenate([np.linspace(low, high, NODES), inner]), low, high))
    nodes = nodes[np.append(np.diff(nodes) > CLOSE * (high - low), True)]
    nodes[0] = low
    part = law.cdf(nodes)
    density = law.pdf(nodes)
    plain = nodes + np.divide(part, density, out=np.where(part > 0, np.inf, 0.0), where=density > 0)
    hull = lower_hull(part, nodes * part)
    cell = _cell_of(hull, np.arange(len(nodes)))
    rise = np.diff((nodes * part)[hull]) / np.diff(part[hull])
    pooled = ~np.isin(np.arange(len(nodes)), hull)
    ironed = np.maximum.accumulate(np.where(pooled | np.isinf(plain), rise[cell], plain))
    nodes.flags.writeable = False
    ironed.flags.writeable = False
    return nodes, ironed


@dataclass(frozen=True)
class Menu(SequentialOffers):
    """A menu of contracts, one for each type of owner, optimal given the odds of the types.

    Types with costs ``c_1 < ... < c_K`` and odds f are bought at ``v_k = c_k + (F_(k-1) / f_k) (c_k
    - c_(k-1))``, ironed; the cheapest is efficient. The dearest is paid its cost, and each cheaper
    one ``t_k = t_(k+1) + c_k (epsilon_k - epsilon_(k+1))``: just enough not to imitate its
    neighbour. An owner takes the contract of the next dearer type, and none beyond c_K. Owners come
    in random order and choose among the contracts within the rest of the budget.

    Parameters
    ----------
    costs : (n_types,), money per unit of epsilon, at least 0 and rising
    odds : (n_types,), above 0; scaled to sum to 1
    valuation : Valuation, V
    budget : float, at least 0, money, never exceeded; without one the contracts are open to all

    Raises
    ------
    InputError
        No type, numbers out of range, costs that do not rise, or another number of odds.

    Source: Laffont and Martimort, The Theory of Incentives, chapters 2 and 3; Myerson for the
        ironing.

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
        """Refuse costs that do not rise, or another number of odds."""
        costs = self.type_costs
        odds = np.atleast_1d(self.odds)
        if not len(costs) or len(costs) != len(odds):
            found = f"{len(odds)} for {len(costs)} types"
            raise InputError("mechanism.odds", "needs one number per type", found)
        if np.any(np.diff(costs) <= 0):
            raise InputError("mechanism.costs", "must rise from type to type", costs.tolist())

    @property
    def type_costs(self) -> Array:
        """Unit cost of each type (n_types,)."""
        return np.atleast_1d(self.costs)

    @property
    def type_odds(self) -> Array:
        """Probability of each type (n_types,)."""
        odds = np.atleast_1d(self.odds)
        return odds / odds.sum()

    @cached_property
    def virtual_costs(self) -> Array:
        """Ironed virtual cost of each type (n_types,)."""
        costs = self.type_costs
        cheaper = np.concatenate([[0.0], np.cumsum(self.type_odds)[:-1]])
        gap = np.diff(costs, prepend=costs[0])
        return iron_virtual_costs(costs + cheaper / self.type_odds * gap, self.type_odds)

    @cached_property
    def epsilon(self) -> Array:
        """Epsilon of each contract (n_types,), never rising."""
        return np.minimum.accumulate(self.valuation.demand(self.virtual_costs))

    @cached_property
    def payments(self) -> Array:
        """Payment of each contract (n_types,)."""
        steps = self.type_costs * (self.epsilon - np.append(self.epsilon[1:], 0.0))
        return np.cumsum(steps[::-1])[::-1]

    def make_offer(self, report: Array, left: Array) -> Pair:
        """The contract for each report, or the nearest that ``left`` covers."""
        costs = self.type_costs
        covered = len(costs) - np.searchsorted(self.payments[::-1], left, side="right")
        at = np.maximum(np.searchsorted(costs, report, side="left"), covered)
        return np.append(self.epsilon, 0.0)[at], np.append(self.payments, 0.0)[at]

    @classmethod
    def from_law(
        cls, law: CostLaw, types: int, valuation: Valuation, *, coverage: float = 1.0
    ) -> Self:
        """Contracts for ``types`` equally likely groups of owners, each for its dearest member.

        The groups are the cheapest part ``coverage`` of the owners, in (0, 1]; the others get no
        offer.
        """
        costs = np.unique(law.quantile(coverage * np.arange(1, types + 1) / types))
        return cls(costs, np.diff(law.cdf(costs), prepend=0.0), valuation)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """The menu for the part of the owners that buys the most value and spends the budget."""
        valuation = problem.valuation
        choices = []
        values = []
        for part in COVERAGES:
            made = cls.from_law(problem.law, cls.types, valuation, coverage=part)
            choices.append(scaled_to_budget(made, problem))
            sold = choices[-1].settle(problem.typical_costs, NONE)[0]
            values.append(valuation.value(sold).sum())
        return replace(choices[int(np.argmax(values))], budget=problem.budget)


class TwoContracts(Menu):
    """A menu with two contracts only."""

    title = "two contracts, one for each half of the owners by cost"
    types = 2


@dataclass(frozen=True)
class VirtualCost(SequentialOffers):
    """Optimal contracts for a known law of costs: each owner is bought at its virtual cost.

    ``epsilon(c)`` maximises ``V(epsilon) - (c + F(c) / f(c)) epsilon``, and the owner is paid ``c
    epsilon(c) + integral of epsilon from c to c_max``. Computed at some thousand costs and linear
    between them, with the integral of that rule: exactly truthful, and optimal to the width of the
    mesh. Owners come in random order; with a budget, each chooses among the contracts within the
    rest of it.

    Parameters
    ----------
    law : CostLaw
    valuation : Valuation, V
    budget : float, at least 0, money, never exceeded; without one the contracts are open to all

    Source: Myerson, Optimal Auction Design; Fallah et al., Optimal and Differentially Private Data
        Acquisition.

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
    def contract_mesh(self) -> tuple[Array, Array, Array]:
        """Costs, epsilon and payments at the mesh, (m,) each."""
        nodes, price = virtual_cost(self.law)
        epsilon = np.minimum.accumulate(self.valuation.demand(price))
        area = np.diff(nodes) * (epsilon[1:] + epsilon[:-1]) / 2
        gain = np.append(np.cumsum(area[::-1])[::-1], 0.0)
        return nodes, epsilon, np.maximum.accumulate((nodes * epsilon + gain)[::-1])[::-1]

    def make_offer(self, report: Array, left: Array) -> Pair:
        """The contract for each report, or the nearest of the mesh that ``left`` covers."""
        nodes, sold, paid = self.contract_mesh
        covered = len(nodes) - np.searchsorted(paid[::-1], left, side="right")
        cost = np.clip(report, nodes[np.minimum(covered, len(nodes) - 1)], nodes[-1])
        cell = _cell_of(nodes, cost)
        start = nodes[cell]
        end = nodes[cell + 1]
        least = sold[cell + 1]
        epsilon = sold[cell] + (least - sold[cell]) * ((cost - start) / (end - start))
        gain = paid[cell + 1] - end * least + (end - cost) * (epsilon + least) / 2
        payment = np.minimum(cost * epsilon + gain, left)
        open_ = (report <= nodes[-1]) & (covered < len(nodes))
        return sell_where(open_, epsilon, payment)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """The contracts of a valuation scaled to spend the budget."""
        made = scaled_to_budget(cls(problem.law, problem.valuation), problem)
        return replace(made, budget=problem.budget)
