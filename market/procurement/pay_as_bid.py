"""Pay as bid: the cheapest reports sell, and each is paid just what it reports."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.declaration import Count, Positive, parameter
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem, Unlimited, ranks
from market.procurement.offers import most_value


@dataclass(frozen=True)
class PayAsBid(ProcurementMechanism):
    """The ``sellers`` cheapest reports of at most ``reserve`` sell ``epsilon`` each, for the report a unit (discriminatory).

    Not truthful: who reports its cost is left with nothing. Where each owner knows the law of costs F and its own cost c
    alone, the symmetric equilibrium without a reserve is to report what the k-th cheapest of the others is expected to
    cost, given that it is above c; with costs uniform on [0, 1] and one seller of n owners, ``c + (1 - c) / n``.

    Parameters
    ----------
    sellers : int, at least 1, k
    epsilon : float, above 0, what a seller sells
    reserve : float, at least 0, money per unit of epsilon, the highest report that is bought; by default any

    Raises
    ------
    InputError
        A number not finite or out of range.

    Source: Krishna, Auction Theory, chapters 2 and 13; Milgrom, Putting Auction Theory to Work, chapter 4. Theirs sell;
    here costs stand in place of values.

    >>> epsilon, payments = PayAsBid(2, 0.5, reserve=4.0).settle(np.array([3.0, 1.0, 2.0]), np.empty(0))
    >>> epsilon.tolist(), payments.tolist()
    ([0.0, 0.5, 0.5], [0.0, 0.5, 1.0])
    """

    title = "the cheapest owners sell, each paid what it reports (pay as bid)"
    budget = np.inf
    sellers: Count = parameter("Say how many owners sell.")
    epsilon: Positive = parameter("Say how much an owner may sell.")
    reserve: Unlimited = np.inf

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wins = (ranks(reports)[1] < self.sellers) & (reports <= self.reserve)
        return np.where(wins, self.epsilon, 0.0), np.where(wins, reports * self.epsilon, 0.0)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> PayAsBid:
        """The count of sellers that buys the most value where costs are the law's quantiles.

        By revenue equivalence each seller is paid on average what the cheapest owner left out costs.
        """
        count = np.arange(1, max(problem.n_owners, 2))
        price = problem.law.quantile(np.minimum((count + 1) / (problem.n_owners + 1), 1.0))
        best, epsilon = most_value(problem, count, count * np.maximum(price, np.finfo(float).tiny))
        return cls(int(count[best]), epsilon, problem.law.support[1])
