"""Procurement mechanisms: rules from reported unit costs to sales and payments.

Owner i loses ``c_i epsilon_i``; c_i is its private information.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge
from pydantic import AllowInfNan

from learning.arrays import LARGEST, SMALLEST
from learning.declaration import Count, Declaration, NonNegative, Positive, parameter
from learning.errors import InputError
from market.columns import Array, Pair
from market.procurement.cost_laws import ACostLaw, CostLaw
from market.procurement.valuation import AValuation

Unlimited = Annotated[float, Ge(0), AllowInfNan(True)]
NONE = np.empty(0)
# Costs that represent a law where spending is averaged over it.
QUANTILES = 2000
# Epsilons tried where a mechanism chooses one for a law of costs.
PLANS = np.geomspace(1e-6, 1, 200) * 10.0
# Bisections of a range of 140 in the logarithm of a scale: to 1e-10.
HALVINGS = 40
# Part of a budget that is planned, so that rounding does not cost the last owner its contract.
ROUNDED = 1 - 1e-9


@dataclass(frozen=True)
class ProcurementProblem(Declaration):
    """A learner's information when it sets up a mechanism, without the owners' reports.

    Parameters
    ----------
    budget : float, money, above 0
    n_owners : int
    law : CostLaw, the public law of the owners' unit costs
    valuation : Valuation; a mechanism that needs a scale in place of a budget scales it so that the
        budget is spent
    forecast : market.game.Forecast of identical owners

    Raises
    ------
    InputError
        No owner, or a budget that is not above 0.
    """

    budget: Positive
    n_owners: Count
    law: ACostLaw
    valuation: AValuation
    forecast: Any

    @property
    def typical_costs(self) -> Array:
        """Costs (QUANTILES,) that represent the law: the middles of equally likely parts."""
        return typical_costs(self.law)

    @property
    def ranked_costs(self) -> Array:
        """Quantiles (n_owners,) at which the ranked owners' costs are expected."""
        return self.law.quantile(np.arange(1, self.n_owners + 1) / (self.n_owners + 1))


@lru_cache(maxsize=64)
def typical_costs(law: CostLaw) -> Array:
    """Middles of QUANTILES equally likely parts of the owners (QUANTILES,), read only."""
    costs = law.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    costs.flags.writeable = False
    return costs


class ProcurementMechanism(Declaration, ABC):
    """Base of mechanisms: a frozen dataclass whose fields are its parameters.

    Attributes
    ----------
    title : str, a description in a few words
    truthful : bool, whether it is proved incentive compatible
    budget : float, money that is never exceeded; inf where none is kept
    """

    where = "mechanism"
    title: ClassVar[str] = ""
    truthful: ClassVar[bool] = False
    budget: float

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """Mechanism that spends a budget on average over the law of costs."""
        return cls(budget=problem.budget)  # type: ignore[call-arg]

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> Array:
        """Chances of the mechanism (d,), independent of the reports; by default none."""
        return NONE

    @abstractmethod
    def settle(self, reports: Array, chances: Array) -> Pair:
        """Sales and payments.

        Parameters
        ----------
        reports : (..., n_owners), money per unit of epsilon
        chances : (..., d), as drawn

        Returns
        -------
        epsilon, payments : (..., n_owners) each
        """


@dataclass(frozen=True)
class Budgeted(ProcurementMechanism):
    """Base of mechanisms whose first parameter is the money to spend."""

    budget: NonNegative = parameter("Give the money to spend.")


class SequentialOffers(ProcurementMechanism):
    """Base of mechanisms that serve owners in random order, while the rest of the budget lasts.

    An owner's offer does not depend on its own report, so the mechanism is truthful; earlier
    owners only lower the budget of later ones.
    """

    truthful = True

    @abstractmethod
    def make_offer(self, report: Array, left: Array) -> Pair:
        """Epsilon and payment, at most ``left``, that an owner with this report takes, (...)."""

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> Array:
        """Order of the owners: (n_owners,)."""
        return rng.random(n_owners)

    def settle(self, reports: Array, chances: Array) -> Pair:
        """Serve owners by rising ``chances`` (..., n_owners)."""
        if self.budget == np.inf:
            return self.make_offer(reports, np.full(reports.shape, np.inf))
        order = np.broadcast_to(np.argsort(chances, axis=-1, kind="stable"), reports.shape)
        epsilon = np.zeros(reports.shape)
        payments = np.zeros(reports.shape)
        left = np.full((*reports.shape[:-1], 1), self.budget)
        for turn in range(reports.shape[-1]):
            who = order[..., turn : turn + 1]
            sold, paid = self.make_offer(np.take_along_axis(reports, who, axis=-1), left)
            np.put_along_axis(epsilon, who, sold, axis=-1)
            np.put_along_axis(payments, who, paid, axis=-1)
            left = left - paid
        return epsilon, payments


def draw_chances(
    mechanism: ProcurementMechanism, count: int, n_owners: int, *, rng: np.random.Generator
) -> Array:
    """Chances of ``count`` markets (count, d)."""
    return np.stack([mechanism.draw(n_owners, rng=rng) for _ in range(count)])


def sell_where(wins: Array, epsilon: Array | float, payments: Array | float) -> Pair:
    """Sales and payments of those who win (..., n_owners), and nothing of the others."""
    return np.where(wins, epsilon, 0.0), np.where(wins, payments, 0.0)


def report_ranks(reports: Array) -> Pair:
    """Reports (..., n_owners) in rising order, and each owner's rank; ties go to the first."""
    order = np.argsort(reports, axis=-1, kind="stable")
    rank = np.argsort(order, axis=-1, kind="stable")
    return np.take_along_axis(reports, order, axis=-1), rank


def scaled_to_budget(mechanism: Any, problem: ProcurementProblem) -> Any:
    """Mechanism with its valuation scaled to spend the budget on average over the law, or less.

    By bisection in the logarithm of the scale: spending grows with it, though it may jump.
    """
    costs = problem.typical_costs
    each = ROUNDED * problem.budget / problem.n_owners

    def scaled_by(logarithm: float) -> Any:
        valuation = replace(mechanism.valuation, scale=float(np.exp(logarithm)))
        return replace(mechanism, valuation=valuation)

    # The range of a number.
    low, high = np.log([10 * SMALLEST, LARGEST / 10])
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if scaled_by(middle).settle(costs, NONE)[1].mean() <= each:
            low = middle
        else:
            high = middle
    return scaled_by(low)


def surplus_of(epsilon: Array, payments: Array, costs: Array) -> Array:
    """Surplus of owners, any shape: payments less unit costs times epsilon."""
    # At no cost, selling without noise loses nothing.
    with np.errstate(invalid="ignore"):
        return payments - np.where(costs > 0, costs * epsilon, 0.0)


def check_costs(costs: Any) -> Array:
    """Refuse unit costs (n_owners,) or (n_markets, n_owners) that are negative or not finite."""
    array = np.asarray(costs, dtype=float)
    if array.size == 0 or array.ndim == 0:
        raise InputError("costs", "a market needs at least one owner", "none")
    bad = ~(np.isfinite(array) & (array >= 0))
    if bad.any():
        raise InputError("costs", "must be finite and at least 0", f"{array[bad][0]:g}")
    return array
