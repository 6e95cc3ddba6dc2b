"""All-in: owners sell a whole privacy budget each, or nothing, at one price for all that is sold (FL-Market)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from learning.declaration import NonNegative, PositivePerOwner, parameter
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem
from market.procurement.offers import most_value


@dataclass(frozen=True)
class AllIn(ProcurementMechanism):
    """Owners by rising price per unit, each of whom sells all of ``epsilon_i`` or nothing, share the budget at one price.

    An owner's offer is ``w_i = n_i epsilon_i`` units for ``c_i epsilon_i``. Going up the prices ``c_i / n_i`` an owner is
    taken where all units taken so far and its own, at its price, cost no more than the budget; who does not fit is passed
    over. All that is taken, W units, is paid ``budget / W`` a unit: the budget is spent to the last, and nobody loses.

    Not truthful: a loser who reports less than a winner can throw it out and sell above its own cost, where the money does
    not do for both. ``capped`` pays no more than the first price passed over above all winners', as FairQuery does; among
    owners with equal units lies then gain nothing. That is ours.

    Parameters
    ----------
    budget : float, at least 0, money, spent wherever anybody sells
    epsilon : scalar or (n_owners,), above 0, what each owner sells, all of it or nothing
    sizes : scalar or (n_owners,), above 0, records of each owner
    capped : bool, whether the price stays below that of the first owner passed over

    Raises
    ------
    InputError
        A number not finite or out of range.

    Source: Zheng, Cao, Yoshikawa, Li and Yan, FL-Market: Trading Private Models in Federated Learning (2022), All-in, as
    their public code has it. Their auction that a network learns, and their weights of gradients, are left out.

    Of costs 1, 2 and 4 and a budget of 5, the first two sell: 2 units at 2 cost 4, 3 at 4 would cost 12.

    >>> epsilon, payments = AllIn(5.0, 1.0).settle(np.array([1.0, 2.0, 4.0]), np.empty(0))
    >>> epsilon.tolist(), payments.tolist()
    ([1.0, 1.0, 0.0], [2.5, 2.5, 0.0])
    """

    title = "whole privacy budgets at one price, as many as the money buys (FL-Market)"
    budget: NonNegative = parameter("Give the money to spend.")
    epsilon: PositivePerOwner = parameter("Say how much an owner may sell.")
    sizes: PositivePerOwner = 1.0
    capped: bool = False

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        units = np.broadcast_to(np.asarray(self.epsilon, dtype=float) * self.sizes, reports.shape)
        asked = reports / self.sizes
        order = np.argsort(asked, axis=-1, kind="stable")
        wins, taken = np.zeros(reports.shape, dtype=bool), np.zeros((*reports.shape[:-1], 1))
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
        return np.where(wins, self.epsilon, 0.0), np.where(wins, units * price, 0.0)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> AllIn:
        """The contract that buys the most value where costs are the law's quantiles."""
        count = np.arange(1, problem.n_owners + 1)
        price = np.maximum(problem.law.quantile(count / (problem.n_owners + 1)), np.finfo(float).tiny)
        return cls(problem.budget, most_value(problem, count, count * price)[1])
