"""Compensations exponential in epsilon, which a broker buys within a budget (Dealer)."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from learning.declaration import Positive, PositivePerOwner, parameter
from market.columns import Array, Pair
from market.procurement.mechanism import NONE, PLANS, Budgeted, ProcurementProblem, sell_where

# Exponents beyond are as good as no offer.
STEEPEST = 700.0


def asked_compensation(base: Any, sensitivity: Any, epsilon: Any) -> Array:
    """Compensation that an owner asks for its records: ``base exp(sensitivity epsilon)``.

    Parameters
    ----------
    base : any shape, money, b_i, in proportion to the Shapley value of the owner's records
    sensitivity : any shape, per unit of epsilon, rho_i
    epsilon : any shape, of the model

    Source: Liu, Lou, Liu, Xiong, Pei and Sun, Dealer (2021), section 3, with the sensitivity of its
        experiments.

    >>> asked_compensation([4000.0, 3500.0, 2500.0], [0.8, 1.2, 2.0], 0.5).round().tolist()
    [5967.0, 6377.0, 6796.0]
    """
    exponent = np.minimum(np.asarray(sensitivity, dtype=float) * epsilon, STEEPEST)
    return np.asarray(base, dtype=float) * np.exp(exponent)


def greedy_selection(worth: Array, cost: Array, budget: float) -> Array:
    """Owners that a budget takes (..., n), by falling worth per cost, if they still fit.

    Where no cost is above a part z of the budget, at least 1 - z of the largest worth is taken.

    Parameters
    ----------
    worth, cost : (..., n_owners), cost in money
    budget : float, money

    Source: Dealer, Algorithm 6 and Theorem 5.9.

    >>> worth, cost = np.array([0.30, 0.20, 0.25, 0.15]), np.array([150.0, 100.0, 120.0, 80.0])
    >>> greedy_selection(worth, cost, 300.0).tolist()
    [True, False, True, False]
    """
    order = np.argsort(cost / worth, axis=-1, kind="stable")
    takes = np.zeros(cost.shape, dtype=bool)
    left = np.full((*cost.shape[:-1], 1), float(budget))
    for turn in range(cost.shape[-1]):
        who = order[..., turn : turn + 1]
        price = np.take_along_axis(cost, who, axis=-1)
        np.put_along_axis(takes, who, price <= left, axis=-1)
        left = np.where(price <= left, left - price, left)
    return takes


@dataclass(frozen=True)
class Compensated(Budgeted):
    """Each owner asks ``b_i exp(c_i epsilon / b_i)``; the broker takes the most Shapley value.

    All owners taken sell ``epsilon``, that of the model. The paper leaves the sensitivity rho open;
    here it is ``c_i / b_i`` for a reported cost, so that the compensation grows by c_i for a first
    unit of epsilon. The exponential lies above its tangent: the compensation covers the cost, and
    the base price on top of it.

    Not truthful: an owner that asks for more gets more until the money goes to others.

    Parameters
    ----------
    budget : float, at least 0, money, the manufacturing budget, never exceeded
    epsilon : float, above 0, of the model, what everybody taken sells
    base : scalar or (n_owners,), above 0, money, in proportion to the Shapley value of the owner's
        records

    Source: Liu, Lou, Liu, Xiong, Pei and Sun, Dealer: An End-to-End Model Marketplace with
        Differential Privacy (2021): compensation functions and Algorithm 6 (greedy). The trusted
        broker sees all records there, and its model alone is noisy; its prices to buyers are in
        `market.analysis.versions`.

    Asked are exp(1/2) = 1.65, e = 2.72 and e^2 = 7.39; a budget of 5 takes the first two.

    >>> rule = Compensated(5.0, 1.0, 1.0)
    >>> epsilon, payments = rule.settle(np.array([0.5, 1.0, 2.0]), np.empty(0))
    >>> epsilon.tolist(), payments.round(2).tolist()
    ([1.0, 1.0, 0.0], [1.65, 2.72, 0.0])
    """

    title = "what owners ask, exponential in epsilon, by most Shapley value for the money (Dealer)"
    epsilon: Positive = parameter("Give the privacy budget of the model.")
    base: PositivePerOwner = parameter(
        "Give the money in proportion to each owner's Shapley value."
    )

    def settle(self, reports: Array, chances: Array) -> Pair:
        base = np.broadcast_to(np.asarray(self.base, dtype=float), reports.shape)
        asked = asked_compensation(base, reports / base, self.epsilon)
        takes = greedy_selection(base, asked, self.budget)
        return sell_where(takes, self.epsilon, asked)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Self:
        """The most valuable model at the law's quantiles, at the base price of its mean cost.

        At that base price owners of mean cost ask for the least possible, e times their cost.
        """
        mean = max(float(problem.typical_costs.mean()), np.finfo(float).tiny)
        plans = [cls(problem.budget, float(one), mean * float(one)) for one in PLANS]
        bought = [plan.settle(problem.ranked_costs, NONE)[0] for plan in plans]
        return plans[int(np.argmax([problem.valuation.value(epsilon).sum() for epsilon in bought]))]
