"""The closed form of what collaboration is worth, against trainings and against models fitted to parts of the records."""

import numpy as np
import pytest

from learning.forecast.collaboration import Collaboration
from learning.losses.coordinates import Coordinates
from learning.losses.squared import Fitness, squared_statistics
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.engine import make_clients, train
from learning.training.plan import Plan
from learning.training.task import Task

RNG = np.random.default_rng(4)
X = RNG.normal(size=(3000, 3))
Y = X @ np.array([1.0, -0.5, 0.2]) + RNG.normal(size=3000)
SIZES, BOUND, HORIZON = np.array([500, 1000, 1500]), 6.0, 8
FITNESS = Fitness(squared_statistics(X, Y))
MARKET = Collaboration.of_quadratic(X, Y, BOUND, HORIZON, 0.4)


def test_together_is_what_training_comes_to():
    epsilon, bounds = np.array([0.2, 0.1, 0.4]), Coordinates(np.zeros(3), np.eye(3))
    parts = np.split(np.arange(3000), np.cumsum(SIZES)[:-1])
    oracles = [bounds.oracle(X[rows], Y[rows]) for rows in parts]
    clients = make_clients("abc", oracles, epsilon, Laplace(), BOUND, HORIZON)
    done = train(Task(clients, bounds, Plan("averaged", "averaged", HORIZON, 0.4), Laplace(), 2000, Streams(1, "test")))
    found = FITNESS.relative(done.theta)
    assert MARKET.together(epsilon, SIZES) == pytest.approx(found.mean(), abs=4 * found.std() / np.sqrt(2000))


def test_alone_is_what_models_of_parts_come_to():
    """1,000 draws of 500 of the records without replacement: C (1/500 - 1/3000) above the best, 1/n and all."""
    found = []
    for _ in range(1000):
        rows = RNG.permutation(3000)[:500]
        found.append(FITNESS.relative(Fitness(squared_statistics(X[rows], Y[rows])).minimiser))
    assert MARKET.alone(SIZES)[0] == pytest.approx(np.mean(found), rel=0.1)


def test_the_least_budget_is_where_it_starts_to_pay():
    market = Collaboration.of_quadratic(X, Y, BOUND, 30, 0.4, returned="last")
    least = market.least_epsilon(SIZES)
    for factor, pays in ((1.001, True), (0.999, False)):
        assert market.pays(np.full(3, factor * least), SIZES)[0] == pays
    assert not market.pays(np.full(3, 1.001 * least), SIZES)[2]  # who holds most needs a better model
    assert market.least_epsilon([1e9, 1e9]) == np.inf  # what is left to optimise is more than they lack
