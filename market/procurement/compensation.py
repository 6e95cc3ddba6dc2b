"""Compensations: owners ask for money that grows exponentially with epsilon; a broker takes what a budget buys (Dealer)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from learning.declaration import NonNegative, Positive, PositivePerOwner, parameter
from market.procurement.mechanism import ProcurementMechanism, ProcurementProblem

STEEPEST = 700.0  # exponents beyond are as good as no offer
PLANS = 200  # epsilons tried where one is chosen for a law of costs
EPSILON_MAX = 10.0  # the largest of them


def compensation(base: Any, sensitivity: Any, epsilon: Any) -> np.ndarray:
    """What an owner asks for its records in a model of this budget: ``base exp(sensitivity epsilon)``.

    Parameters
    ----------
    base : any shape, money, b_i, in proportion to the Shapley value of the owner's records
    sensitivity : any shape, per unit of epsilon, rho_i
    epsilon : any shape, of the model

    Source: Liu, Lou, Liu, Xiong, Pei and Sun, Dealer (2021), section 3, with the sensitivity of its experiments.

    >>> compensation([4000.0, 3500.0, 2500.0], [0.8, 1.2, 2.0], 0.5).round().tolist()
    [5967.0, 6377.0, 6796.0]
    """
    exponent = np.minimum(np.asarray(sensitivity, dtype=float) * epsilon, STEEPEST)
    return np.asarray(base, dtype=float) * np.exp(exponent)


def revenue_shares(revenue: float, asked: Any) -> np.ndarray:
    """Revenue that a neutral broker passes on, all of it, in proportion to what each owner asked: fair compensation.

    Parameters
    ----------
    revenue : float, money, from all who bought the model
    asked : (n_owners,), money, the compensations asked by those whose records made it

    Source: Dealer, section 3: equal ratios of what is received to what was asked, and a broker that keeps nothing.

    >>> revenue_shares(6000.0, [800.0, 600.0, 400.0]).round(2).tolist()
    [2666.67, 2000.0, 1333.33]
    """
    asked = np.asarray(asked, dtype=float)
    return revenue * asked / asked.sum()


def greedy(worth: np.ndarray, cost: np.ndarray, budget: float) -> np.ndarray:
    """Which owners a budget takes (..., n), those of most worth for their cost first; who does not fit is passed over.

    Where no cost is above a part z of the budget, at least 1 - z of the largest worth is taken.

    Parameters
    ----------
    worth, cost : (..., n_owners), cost in money
    budget : float, money

    Source: Dealer, Algorithm 6 and Theorem 5.9.

    >>> greedy(np.array([0.30, 0.20, 0.25, 0.15]), np.array([150.0, 100.0, 120.0, 80.0]), 300.0).tolist()
    [True, False, True, False]
    """
    order = np.argsort(cost / worth, axis=-1, kind="stable")
    takes = np.zeros(cost.shape, dtype=bool)
    left = np.full((*cost.shape[:-1], 1), float(budget))
    for turn in range(cost.shape[-1]):
        who = order[..., turn : turn + 1]
        price = np.take_along_axis(cost, who, axis=-1)
        fits = price <= left
        np.put_along_axis(takes, who, fits, axis=-1)
        left = np.where(fits, left - price, left)
    return takes


@dataclass(frozen=True)
class Compensated(ProcurementMechanism):
    """Each owner is paid what it asks, ``b_i exp(c_i epsilon / b_i)``; the broker takes the most Shapley value it can afford.

    All who are taken sell ``epsilon``, that of the model. The paper leaves open how an owner comes by its sensitivity rho;
    here a reported cost makes it ``c_i / b_i``, so that what is asked grows by c_i for a first unit of epsilon. The
    exponential lies above its tangent: what is asked covers the cost, and the base price on top of it.

    Not truthful, nor said to be: who asks for more gets more until the money goes to others.

    Parameters
    ----------
    budget : float, at least 0, money, the manufacturing budget, never exceeded
    epsilon : float, above 0, of the model, what everybody taken sells
    base : scalar or (n_owners,), above 0, money, in proportion to the Shapley value of the owner's records

    Raises
    ------
    InputError
        A number not finite or out of range.

    Source: Liu, Lou, Liu, Xiong, Pei and Sun, Dealer: An End-to-End Model Marketplace with Differential Privacy (2021):
    compensation functions and Algorithm 6 (greedy). The trusted broker sees all records there, and its model alone is
    noisy; its prices to buyers are in `market.analysis.versions`.

    Asked are exp(1/2) = 1.65, e = 2.72 and e^2 = 7.39; a budget of 5 takes the first two.

    >>> epsilon, payments = Compensated(5.0, 1.0, 1.0).settle(np.array([0.5, 1.0, 2.0]), np.empty(0))
    >>> epsilon.tolist(), payments.round(2).tolist()
    ([1.0, 1.0, 0.0], [1.65, 2.72, 0.0])
    """

    title = "what owners ask, exponential in epsilon, by most Shapley value for the money (Dealer)"
    budget: NonNegative = parameter("Give the money to spend.")
    epsilon: Positive = parameter("Give the privacy budget of the model.")
    base: PositivePerOwner = parameter("Give the money in proportion to each owner's Shapley value.")

    def settle(self, reports: np.ndarray, chances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        base = np.broadcast_to(np.asarray(self.base, dtype=float), reports.shape)
        asked = compensation(base, reports / base, self.epsilon)
        takes = greedy(base, asked, self.budget)
        return np.where(takes, self.epsilon, 0.0), np.where(takes, asked, 0.0)

    @classmethod
    def for_budget(cls, problem: ProcurementProblem) -> Compensated:
        """The model that is worth most where costs are the law's quantiles; the base price is the mean cost of it.

        At that base price owners of mean cost ask for the least there is, e times their cost.
        """
        costs = problem.law.quantile(np.arange(1, problem.n_owners + 1) / (problem.n_owners + 1))
        mean = max(float(problem.typical_costs.mean()), np.finfo(float).tiny)
        plans = [
            cls(problem.budget, float(one), mean * float(one)) for one in np.geomspace(1e-6, 1, PLANS) * EPSILON_MAX
        ]
        bought = [plan.settle(costs, np.empty(0))[0] for plan in plans]
        return plans[int(np.argmax([problem.valuation.value(epsilon).sum() for epsilon in bought]))]
