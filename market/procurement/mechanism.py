"""What a procurement mechanism is: a rule from reported unit costs to who sells what for how much.

Owner i loses ``c_i epsilon_i``; c_i is known to it alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge
from pydantic import AllowInfNan

from learning.declaration import LARGEST, SMALLEST, Count, Declaration, Positive
from market.procurement.cost_laws import ACostLaw, CostLaw
from market.procurement.valuation import AValuation

Unlimited = Annotated[float, Ge(0), AllowInfNan(True)]
NONE = np.empty(0)
QUANTILES = 2000  # costs that stand for a law where spending is averaged over it
HALVINGS = 40  # of a range of 140 in the logarithm of a scale: to 1e-10
ROUNDED = 1 - 1e-9  # of a budget is planned, so that rounding does not cost the last owner its contract


@dataclass(frozen=True)
class ProcurementProblem(Declaration):
    """What a learner knows when it sets up a mechanism; owners' own reports are no part of it.

    Parameters
    ----------
    budget : float, money, above 0
    n_owners : int
    law : CostLaw
        The public law of the owners' unit costs.
    valuation : Valuation
        Where a mechanism needs a scale in place of a budget, the valuation is scaled so that the budget is spent.
    forecast : market.game.deviations.Forecast of owners who are alike

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
    def typical_costs(self) -> np.ndarray:
        """Costs (QUANTILES,) that stand for the law: the middles of as many equally likely parts."""
        return typical_costs(self.law)


@lru_cache(maxsize=64)
def typical_costs(law: CostLaw) -> np.ndarray:
    """The middles of QUANTILES equally likely parts of the owners (QUANTILES,), read only."""
    costs = law.quantile((np.arange(QUANTILES) + 0.5) / QUANTILES)
    costs.flags.writeable = False
    return costs


class ProcurementMechanism(Declaration, ABC):
    """Base of mechanisms: a frozen dataclass whose fields are its parameters.

    Attributes
    ----------
    title : str, what it does, in a few words
    truthful : bool, whether misreporting is proved never to help
    budget : float, money that is never exceeded; inf where none is kept
    """

    where = "mechanism"
    title: ClassVar[str] = ""
    truthful: ClassVar[bool] = False
    budget: float

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """The mechanism set up to spend a budget on average over the law of costs; here, given the budget alone."""
        return cls(budget=problem.budget)  # type: ignore[call-arg]

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> np.ndarray:
        """What the mechanism leaves to chance (d,), whatever the reports; here nothing."""
        return NONE

    @abstractmethod
    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Who sells what for how much.

        Parameters
        ----------
        reports : (..., n_owners), money per unit of epsilon
        chances : (..., d), as drawn

        Returns
        -------
        epsilon, payments : (..., n_owners) each
        """


class SequentialOffers(ProcurementMechanism):
    """Base of mechanisms that serve owners in random order: each is made an offer that the rest of the budget covers.

    Nobody's offer depends on its own report, so nobody gains by misreporting; what earlier owners took lowers only what is
    left for later ones.
    """

    truthful = True

    @abstractmethod
    def offer(self, report: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What an owner with this report takes: epsilon and a payment of at most ``left``, (...) each."""

    def draw(self, n_owners: int, *, rng: np.random.Generator) -> np.ndarray:
        """The order owners come in: (n_owners,)."""
        return rng.random(n_owners)

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Owners are served by rising ``chances`` (..., n_owners), each from what those before it have left."""
        if self.budget == np.inf:
            return self.offer(reports, np.full(reports.shape, np.inf))
        order = np.broadcast_to(np.argsort(chances, axis=-1, kind="stable"), reports.shape)
        epsilon, payments = np.zeros(reports.shape), np.zeros(reports.shape)
        left = np.full((*reports.shape[:-1], 1), self.budget)
        for turn in range(reports.shape[-1]):
            who = order[..., turn : turn + 1]
            sold, paid = self.offer(np.take_along_axis(reports, who, axis=-1), left)
            np.put_along_axis(epsilon, who, sold, axis=-1)
            np.put_along_axis(payments, who, paid, axis=-1)
            left = left - paid
        return epsilon, payments


def ranks(reports: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reports (..., n_owners) in rising order, and every owner's place in it; ties go to the first owner."""
    order = np.argsort(reports, axis=-1, kind="stable")
    place = np.argsort(order, axis=-1, kind="stable")
    return np.take_along_axis(reports, order, axis=-1), place


def scaled_to_budget(mechanism: Any, problem: ProcurementProblem) -> Any:
    """The mechanism with its valuation scaled so that owners are paid the budget on average over the law, or just less.

    By bisection in the logarithm of the scale: spending grows with it, though not always without jumps.
    """
    costs, each = problem.typical_costs, ROUNDED * problem.budget / problem.n_owners

    def scaled(logarithm: float) -> Any:
        return replace(mechanism, valuation=replace(mechanism.valuation, scale=float(np.exp(logarithm))))

    low, high = np.log([10 * SMALLEST, LARGEST / 10])  # what a number may be
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        enough = scaled(middle).settle(costs, NONE)[1].mean() <= each
        low, high = (middle, high) if enough else (low, middle)
    return scaled(low)
