"""One contract for all, whose sellers share a part of the budget by their Shapley values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Gt
from pydantic import AllowInfNan

from learning.declaration import NonNegative, parameter
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem, ranks

BUDGETS = 200  # epsilons tried where one is chosen for a law of costs
EPSILON_MAX = 10.0  # the largest of them


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
        """epsilon and payments (..., n_owners) at reports (..., n_owners), money per unit of epsilon."""
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
