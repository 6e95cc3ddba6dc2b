"""Small markets that many tests play."""

from __future__ import annotations

import numpy as np
from toys import Envelope

from market.costs.functions import Leakage, Quadratic
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import Policy
from market.policies.marginal import Marginal


def market(cost, policy, n, *, low=0.0, high=20.0, forecast=None, value=0.0, sizes=1.0, **more):
    people = Owners(tuple(f"owner {i}" for i in range(n)), sizes, low, high, cost, **more)
    return Game(people, policy, forecast, value)


def rng(seed=0):
    return np.random.default_rng(seed)


def envelope_market(n=3, share=1.0):
    """Horizons 1..40 with bias 0.5/T^2 and gain 1e-4 T^2: nearly a smooth concave psi of the noise."""
    horizons = np.arange(1.0, 41)
    law = Envelope(1.0, tuple(0.5 / horizons**2), tuple(1e-4 * horizons**2))
    return market(Quadratic(np.linspace(1, 2, n)), Marginal(share), n, low=0.05, forecast=law, value=30.0, high=10.0)


class Pair:
    """A model better than psi = 1 takes two: psi = 0.2 + 0.05 sum 1/e^2 once both share."""

    outside = 1.0

    def terms(self, epsilon):
        shares = epsilon > 0
        noise = np.divide(1.0, epsilon, out=np.zeros_like(epsilon), where=shares) ** 2
        return np.stack([noise, shares.astype(float)], axis=-1)

    def excess(self, sums):
        return np.where(sums[..., 1] > 1, 0.2 + 0.05 * sums[..., 0], 1.0)


class Pennies(Policy):
    """The first is paid for being near the second, the second for being far from the first: no equilibrium."""

    def terms(self, epsilon, owners):
        return epsilon[..., None]

    def payments(self, epsilon, deviations):
        square = (epsilon - deviations.others_policy[..., 0]) ** 2
        first = deviations.index[:, None] == 0
        return np.where(first, -square, square)


N = 4
SIZES = np.array([500.0, 2000.0, 1000.0, 4000.0])
PRICES = np.array([0.5, 1.0, 2.0, 4.0])


def owners(cost=None, **changes):
    given = {"epsilon_min": 0.0, "epsilon_max": 10.0, "benefit": 3.0, "isolated": 0.6} | changes
    return Owners(tuple("abcd"), SIZES, cost=cost or Leakage(PRICES / 1000), **given)
