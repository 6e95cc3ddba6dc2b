"""What the learner sees of its models in noisy answers: right on average, and as far off as it says."""

import numpy as np
import pytest
from populations import generated

from learning.forecast.own_check import estimate_start
from learning.forecast.public_sample import PublicSample
from learning.losses.coordinates import Coordinates
from learning.losses.squared import Fitness
from learning.losses.statistics import squared_statistics
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.randomness import Streams
from learning.training.baselines import remove_noise
from learning.training.client import make_clients
from learning.training.engine import train, untrained_result
from learning.training.plan import Plan
from learning.training.task import Task

X, Y = generated(1000, 4, np.random.default_rng(8))
SAMPLE = PublicSample(
    X, Y, 0.01
)  # the rows are the population, so that nothing but noise is uncertain
TRUTH = Fitness(squared_statistics(*SAMPLE.population()), 0.01)


def trained(seed, mechanism, plan, theta_max=50.0):
    """One training from a start some way off, without clipping."""
    centre = TRUTH.minimiser + 0.15
    coordinates = Coordinates(
        centre,
        SAMPLE.scale_matrix(X.T @ X / len(X), True),
        50.0,
        50.0,
        theta_max,
        norm=mechanism.norm,
    )
    x, y = SAMPLE.population()
    records = [coordinates.oracle(x[i::2], y[i::2]) for i in range(2)]
    owners = make_clients(
        "ab", records, [900.0, 500.0], mechanism, coordinates.gradient_bound, plan.horizon
    )
    return train(Task(owners, coordinates, plan, mechanism, 1, Streams(seed, "noise"), 0.01))


@pytest.mark.parametrize(
    ("mechanism", "plan"),
    [
        (Laplace(), Plan("averaged", "last", 2, 0.3)),
        (Gaussian(1e-6, accounting="zcdp"), Plan("averaged", "averaged", 5, 0.2)),
    ],
)
def test_what_the_answers_tell_is_right_on_average_and_as_far_off_as_it_says(mechanism, plan):
    runs = [trained(seed, mechanism, plan) for seed in range(80)]
    found = [estimate_start(one, SAMPLE) for one in runs]
    told = np.array([one.relative_fitness for one in found])
    said = np.array([one.std_error for one in found])
    assert abs(told.mean() - TRUTH.relative(runs[0].path[0])) <= 4 * told.std() / np.sqrt(80)
    assert 0.75 <= np.sqrt(np.mean(said**2)) / told.std() <= 1.35


def test_without_noise_the_start_is_seen_exactly():
    plan = Plan("averaged", "last", 2, 0.3)
    task = trained(1, Laplace(), plan).task
    exact = train(remove_noise(task))
    found = estimate_start(exact, SAMPLE)
    assert found.relative_fitness == pytest.approx(float(TRUTH.relative(exact.path[0])), rel=1e-9)
    assert found.std_error == 0


def test_nothing_is_seen_where_nobody_was_asked_or_the_ball_bent_the_step():
    plan = Plan("averaged", "last", 2, 0.3)
    assert estimate_start(untrained_result(TRUTH.minimiser, plan, runs=3), SAMPLE) is None
    assert estimate_start(trained(1, Laplace(), plan, theta_max=1e-3), SAMPLE) is None
