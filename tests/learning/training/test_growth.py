"""Answers that grow: a training that leaves its start is stopped, and no honest one by chance."""

from dataclasses import replace

import numpy as np
import pytest

from learning.losses.coordinates import Coordinates
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.client import make_clients
from learning.training.descent import GrowthCheck
from learning.training.engine import train
from learning.training.plan import Plan
from learning.training.task import Task

START = np.array([0.5, 0.5, 0.0])


def task_of(curvature, mechanism=None, *, rounds=6, runs=40, epsilon=1.0, growth=1.0):
    """Two owners; the first feature has so many times the second moment that steps suit."""
    mechanism = mechanism or Gaussian(1e-6, "zcdp")
    rng = np.random.default_rng(3)
    x = rng.standard_normal((4000, 3)) * np.sqrt([curvature, 1.0, 1.0])
    y = x @ [1.0, -1.0, 0.5] + rng.standard_normal(4000)
    bounds = Coordinates(START, np.eye(3), 60.0, 60.0, 50.0, norm=mechanism.norm)
    records = [bounds.oracle(x[i::2], y[i::2]) for i in range(2)]
    plan = Plan("sgd2", "last", rounds, 0.4, growth=growth)
    budgets = np.full(2, epsilon)
    bound = bounds.gradient_bound
    made = make_clients(("A", "B"), records, budgets, mechanism, bound, rounds, (), growth)
    return Task(made, bounds, plan, mechanism, runs, Streams(5, "noise"), stops=True)


def test_where_steps_are_too_long_for_the_owners_curvature_the_start_is_kept():
    task = task_of(16.0, epsilon=1e6)
    trained = train(task)
    assert trained.stopped == 1.0 and np.array_equal(trained.theta, np.tile(START, (40, 1)))
    gone_on = train(replace(task, stops=False))
    assert gone_on.stopped == 0.0 and np.abs(gone_on.theta - START).max(axis=1).min() > 20


def test_where_steps_suit_a_training_is_the_same_with_the_check_and_without():
    task = task_of(1.0, epsilon=100.0)
    trained = train(task)
    assert trained.stopped == 0.0
    assert np.array_equal(trained.theta, train(replace(task, stops=False)).theta)


@pytest.mark.parametrize("mechanism", [Laplace(), L2(3), Gaussian(1e-6, "zcdp")])
@pytest.mark.parametrize("growth", [1.0, 1.5])
def test_noise_alone_stops_nobody(mechanism, growth):
    """4,000 trainings of 20 rounds in which gradients are all but noise: none is stopped."""
    task = task_of(1.0, mechanism, rounds=20, runs=4000, epsilon=0.05, growth=growth)
    assert train(task).stopped == 0.0


def test_a_gradient_has_grown_beyond_the_first_and_the_noise_of_both():
    noise = np.array([[0.1], [0.2]])
    limit = 2 * 5.0 + (np.sqrt(4) + 10) * 0.3
    for length, grown in ((limit * 0.999, False), (limit * 1.001, True)):
        check = GrowthCheck(noise)
        assert not check.has_grown(np.array([[3.0, 4.0, 0.0, 0.0]]))[0]
        assert check.has_grown(np.array([[0.0, 0.0, length, 0.0]]))[0] == grown
