"""The gain that released sums show, against what records say."""

from dataclasses import replace

import numpy as np
import pytest
from populations import generated
from releases import BOUNDED, WHOLE, P, market
from sizes import sized

from learning.forecast.gain_seen import (
    pool_release,
    see_gain,
    see_gain_ahead,
    see_gain_of_sums,
)
from learning.forecast.public_sample import PublicSample
from learning.losses.moment_bounds import Scores
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.training.client import make_clients
from learning.training.engine import train
from learning.training.noisy_statistics import release_statistics
from learning.training.sums import released_runs, released_sums

MECHANISM = Gaussian(1e-6, "pld")


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
    """Over trainings, with bounds that shorten no record."""
    runs = sized(2000, 20_000)
    wide = replace(WHOLE, radius=2.6, scores=Scores(8.0, 0.4))
    task, pooled = market(100.0, wide, runs=runs, mechanism=mechanism)
    theta = train(task).theta
    found = see_gain(task, theta, sample())
    error = found.cost - fall_of_cost(task, pooled, theta)
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(runs)
    assert found.std_error.mean() == pytest.approx(error.std(), rel=0.1)
    assert error.std() < 0.1 * found.cost.mean()  # small enough for an expansion


def test_sums_alone_show_the_gain_of_shortened_records_to_anybody():
    """Unbiased over releases, with the stated error; without noise, exactly the fall of the cost."""
    task, pooled = market(runs=1)
    exact = see_gain_of_sums(released_sums(task))
    assert exact.cost == pytest.approx(fall_of_cost(task, pooled, train(task).theta))
    assert exact.std_error == exact.noise == pytest.approx(0)
    runs = sized(600, 10_000)
    wide = replace(WHOLE, radius=2.6, scores=Scores(8.0, 0.4))
    task, pooled = market(100.0, wide, runs=runs)
    found = [see_gain_of_sums(sums) for sums in released_runs(task, range(runs))]
    cost, std_error = (
        np.array([getattr(one, name)[0] for one in found]) for name in ("cost", "std_error")
    )
    error = cost - fall_of_cost(task, pooled, train(task).theta)
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(runs)
    assert std_error.mean() == pytest.approx(error.std(), rel=0.15)


@pytest.mark.parametrize("mechanism", [None, L2(width=P).with_moments(0.4)])
def test_a_pilot_shows_the_gain_of_the_later_answers(mechanism):
    """Over trainings: the mean is the later models' gain, and the error is known."""
    runs = sized(1200, 20_000)
    wide = replace(WHOLE, radius=2.6, scores=Scores(8.0, 0.4))
    task, pooled = market(20.0, wide, runs=runs, mechanism=mechanism)
    true = fall_of_cost(task, pooled, train(task).theta)
    found = see_gain_ahead(task, sample(), 0.4)
    error = found.cost - true.mean()
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(runs)
    assert found.std_error.mean() == pytest.approx(error.std(), rel=0.1)
    later = see_gain(task, train(task).theta, sample())
    assert found.std_error.mean() > 1.8 * later.std_error.mean()


def test_noise_that_hides_everything_shows_no_gain():
    """Fitted to noise alone, a model seems no better than the public one on average."""
    runs = sized(4000, 40_000)
    start = np.linalg.lstsq(*generated(600, P, np.random.default_rng(1)), rcond=None)[0]
    wide = replace(WHOLE, centre=start, radius=2.6, scores=Scores(8.0, 0.4))
    task, pooled = market(100.0, wide, runs=runs)
    theta = train(task).theta
    found = see_gain(task, theta, sample())
    true = fall_of_cost(task, pooled, theta)
    assert true.mean() < 0 and found.cost.mean() == pytest.approx(true.mean(), rel=0.15)


def test_shortened_records_count_in_full_if_they_are_like_the_public_rows():
    """With rows of one kind, without noise, the fall of the whole cost is seen, not that of shortened records."""
    x, y = generated(600, P, np.random.default_rng(1))
    task, pooled = market(coordinates=replace(BOUNDED, theta_max=1e6), runs=1)
    theta = train(task).theta
    model = np.linalg.lstsq(x, y, rcond=None)[0]
    moved = PublicSample(x, y - x @ model + x @ BOUNDED.centre)  # whose own model is the start
    found = float(see_gain(task, theta, moved).cost[0])
    losses = [float(np.mean((y - x @ one) ** 2)) for one in (BOUNDED.centre, theta[0])]
    assert found == pytest.approx(losses[0] - losses[1], rel=0.05)
    assert fall_of_cost(task, pooled, theta)[0] < 0.8 * found


def test_longer_records_count_in_full_whichever_owner_has_them():
    """Owners' features are one and two times as long as the public rows'; none has noise."""
    rng = np.random.default_rng(2)
    truth = np.linspace(1, -1, P)
    parts = []
    for stretch in (1.0, 2.0):
        x = stretch * rng.normal(size=(4000, P))
        parts.append((x, x @ truth + 0.5 * rng.normal(size=4000)))
    bounds = replace(
        BOUNDED, transform=np.eye(P), radius=4.0, scores=Scores(6.0, 0.4), theta_max=9.0
    )
    held = [bounds.oracle(*one) for one in parts]
    owners = make_clients("ab", held, np.full(2, np.inf), MECHANISM, bounds.gradient_bound, 1)
    task, _ = market(coordinates=bounds, runs=1)
    task = replace(task, owners=owners)
    theta = train(task).theta
    x, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    true = np.mean((y - x @ bounds.centre) ** 2) - np.mean((y - x @ theta[0]) ** 2)
    x = rng.normal(size=(400, P))
    y = x @ truth + 0.5 * rng.normal(size=400)
    model = np.linalg.lstsq(x, y, rcond=None)[0]
    public = PublicSample(x, y - x @ model + x @ bounds.centre)  # whose own model is the start
    found = float(see_gain(task, theta, public).cost[0])
    assert found == pytest.approx(true, rel=0.15)
    assert see_gain(task, theta, public).std_error == pytest.approx(0)
    statistics = sum(held[1:], held[0])
    assert fall_of_cost(task, statistics, theta)[0] < 0.6 * true


def test_pooled_releases_are_the_sums_of_each_owner():
    task, _ = market(2.0, runs=3)
    released = [release_statistics(task, owner, [0, 2]) for owner in task.owners]
    matrix, vector, on_matrix, on_vector = pool_release(task, released)
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
