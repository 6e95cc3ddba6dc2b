"""One purchase by a procurement mechanism from owners who report their costs truly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from market.procurement.mechanism import check_costs, surplus_of


@dataclass(frozen=True)
class Purchase:
    """Budgets and payments (n_owners,), and the fitness of the model forecast at these budgets."""

    epsilon: np.ndarray
    payments: np.ndarray
    fitness: float | None = None

    @property
    def spend(self):
        return float(self.payments.sum())

    def surplus(self, costs):
        return surplus_of(self.epsilon, self.payments, np.asarray(costs, dtype=float))


def buy(mechanism, costs, *, rng, forecast=None):
    costs = check_costs(costs)
    epsilon, payments = mechanism.settle(costs, mechanism.draw(len(costs), rng=rng))
    fitness = None
    if forecast is not None:
        fitness = float(forecast.excess(forecast.terms(epsilon).sum(axis=0)))
    return Purchase(epsilon, payments, fitness)
