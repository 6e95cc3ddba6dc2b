"""Small markets that many tests play."""

from __future__ import annotations

import numpy as np
from toys import Envelope, LinearLaw

from learning.forecast.fitness import forecast_fitness
from learning.forecast.inputs import Settings
from learning.privacy.laplace import Laplace
from learning.training.law import Problem
from market.costs.functions import Belief, ExpectedHarm, Exponential, Leakage, Linear, Quadratic
from market.game.game import Game
from market.game.owners import Owners
from market.policies.base import Policy
from market.policies.contributions import Marginal

LAW = LinearLaw(1.0, 0.1, 0.004)


def market(cost, policy, n, *, low=0.0, high=20.0, forecast=None, value=0.0, sizes=1.0, **more):
    people = Owners(tuple(f"owner {i}" for i in range(n)), sizes, low, high, cost, **more)
    return Game(people, policy, forecast, value)


def linear_market(policy, **more):
    """Three owners under `LAW`."""
    return market(
        Quadratic([0.5, 1.0, 3.0]),
        policy,
        3,
        low=0.01,
        high=10.0,
        forecast=LAW,
        value=300.0,
        **more,
    )


def rng(seed=0):
    return np.random.default_rng(seed)


def envelope_market(n=3, share=1.0):
    """Horizons 1..40 with bias 0.5/T^2 and gain 1e-4 T^2: nearly a smooth concave psi of the noise."""
    horizons = np.arange(1.0, 41)
    law = Envelope(1.0, tuple(0.5 / horizons**2), tuple(1e-4 * horizons**2))
    return market(
        Quadratic(np.linspace(1, 2, n)),
        Marginal(share),
        n,
        low=0.05,
        forecast=law,
        value=30.0,
        high=10.0,
    )


def exact_law(draw, sizes, weights="size"):
    """An exact law over every plan, of a random problem of two to five parameters."""
    p = int(draw.integers(2, 6))
    curvature = np.geomspace(1, draw.uniform(1, 20), p)
    best = draw.uniform(0.2, 1)
    start = draw.normal(size=p) * draw.uniform(0.1, 1)
    rows = (
        curvature[None],
        np.eye(p)[None],
        np.diag(curvature)[None],
        start[None],
        np.zeros((1, p)),
        np.array([best]),
    )
    made = forecast_fitness(
        Problem(*rows),
        Settings("averaged"),
        sizes=sizes,
        mechanism=Laplace(),
        gradient_bound=draw.uniform(1, 5),
        dispersion=best * p / 2,
        basis="oracle",
        outside=draw.uniform(0.05, 0.5),
    )
    return made.with_weights(weights, np.ones(len(sizes)))


def random_market(seed, n=None, weights="size"):
    """Few owners who may stay out, of costs of any kind at which some of them had better: many local peaks."""
    draw = np.random.default_rng([1000, seed])
    n = n or int(draw.integers(2, 5))
    sizes = 10 ** draw.uniform(2, 4, n)
    high = 10 ** draw.uniform(0, 1.3, n)
    lines = np.sort(draw.uniform(0, 0.9, 5))[::-1]
    gains = np.geomspace(1e-3, 0.3, 5) * draw.uniform(0.5, 2, 5)
    laws = [
        LinearLaw(1.0, draw.uniform(0, 0.5), 10 ** draw.uniform(-3, -1)),
        Envelope(1.0, tuple(lines), tuple(gains)),
    ]
    law = [*laws, exact_law(draw, sizes, weights)][seed % 3 if weights == "size" else 2]
    value = 10 ** draw.uniform(0.5, 3)
    price = 10 ** draw.uniform(-0.7, 0.3, n) * value / 5
    per_record = [Leakage(price / sizes), Belief(4 * price / sizes), ExpectedHarm(price / sizes)]
    cost = [Linear(price), Quadratic(price), *per_record, Exponential(price / 3)][draw.integers(6)]
    more = {"fixed_cost": price * draw.uniform(0, 0.5, n) * (draw.random() < 0.6)}
    if draw.random() < 0.3:
        more |= {
            "benefit": draw.uniform(0, value, n),
            "isolated": draw.uniform(0.1, 1.2, n) * law.outside,
        }
    low = high * 10 ** draw.uniform(-3, -1, n) * (draw.random() < 0.2)
    return market(
        cost, Marginal(0.5), n, low=low, high=high, forecast=law, value=value, sizes=sizes, **more
    )


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
