"""The gain that released sums show, against what records say."""

from dataclasses import replace

import numpy as np
import pytest
from populations import generated
from releases import BOUNDED, WHOLE, P, market
from sizes import sized

from learning.forecast.gain_seen import pool_release, see_gain
from learning.forecast.public_sample import PublicSample
from learning.privacy.l2 import L2
from learning.training.engine import train
from learning.training.sums import released_sums


def sample():
    return PublicSample(*generated(80, P, np.random.default_rng(3)))


def fall_of_cost(task, statistics, theta):
    """Fall of the mean cost of clipped records, with the penalty, from the start to models."""
    coordinates = task.coordinates
    phi = np.linalg.solve(coordinates.transform, (theta - coordinates.centre).T).T

    def cost(points):
        models = coordinates.model(points)
        charge = task.regularisation / 2 * np.sum(models**2, axis=-1)
        return statistics.mean_loss(points) + charge

    return cost(np.zeros(P)) - cost(phi)


@pytest.mark.parametrize("regularisation", [0.0, 0.2])
def test_without_noise_the_gain_is_that_of_the_records(regularisation):
    task, pooled = market(coordinates=WHOLE, regularisation=regularisation)
    theta = train(task).theta
    found = see_gain(task, theta, sample())
    assert found.cost == pytest.approx(fall_of_cost(task, pooled, theta))
    assert not found.std_error.any()


@pytest.mark.parametrize("mechanism", [None, L2(width=P).with_moments(0.4)])
def test_the_gain_is_unbiased_and_its_error_known(mechanism):
    runs = sized(2000, 20_000)
    task, pooled = market(20.0, BOUNDED, runs=runs, mechanism=mechanism)
    theta = train(task).theta
    found = see_gain(task, theta, long_sample(task))
    error = found.cost - fall_of_cost(task, pooled, theta)
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(runs)
    assert error.std() < 0.05 * found.cost.mean()  # small enough for an expansion
    assert found.std_error.mean() == pytest.approx(error.std(), rel=0.1)


def long_sample(task):
    """Public rows too short to be clipped, so that gains are those of clipped records."""
    short = sample()
    return replace(short, x=1e-3 * short.x, y=1e-3 * short.y)


def test_shortened_records_count_as_long_as_public_rows_are():
    task, _ = market(coordinates=BOUNDED)
    theta = train(task).theta
    rows = sample()
    whole = see_gain(task, theta, rows).cost / see_gain(task, theta, long_sample(task)).cost
    x, y = rows.population()
    phi = np.linalg.solve(BOUNDED.transform, (theta - BOUNDED.centre).T).T
    short, _ = BOUNDED.records(x, y)
    expected = np.var(x @ BOUNDED.transform @ phi.T, axis=0) / np.var(short @ phi.T, axis=0)
    assert whole == pytest.approx(expected, rel=0.2) and (whole > 1.02).all()


def test_pooled_releases_are_the_sums_of_each_owner():
    task, _ = market(2.0, runs=3)
    matrix, vector, on_matrix, on_vector = pool_release(task, [0, 2])
    for place, run in enumerate([0, 2]):
        sums = released_sums(task, run)
        expected_matrix, expected_vector, deviation = sums.pool()
        assert matrix[place] == pytest.approx(expected_matrix)
        assert vector[place] == pytest.approx(expected_vector)
        assert on_matrix[place] == pytest.approx(deviation)
        noise = np.linalg.norm(sums.vector_deviation) / sums.sizes.sum()
        assert on_vector[place] == pytest.approx(noise)


def test_trainings_without_sums_show_no_gain():
    task, _ = market()
    with pytest.raises(ValueError, match="asks owners for no moments and scores"):
        see_gain(replace(task, coordinates=replace(WHOLE, scores=None)), np.ones((3, P)), sample())
