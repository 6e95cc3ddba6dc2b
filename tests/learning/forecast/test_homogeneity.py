"""Are the owners alike? P-values are uniform where they are, small where they are not, under every law of noise."""

import numpy as np
import pytest
from populations import bounded_coordinates, generated
from scipy import stats
from sizes import sized

from learning.forecast.homogeneity import gradients_at, homogeneity_of_records, record_gradients
from learning.forecast.own_check import homogeneity_of_answers
from learning.forecast.public_sample import PublicSample
from learning.losses.losses import LOSSES
from learning.privacy.gaussian import Gaussian
from learning.privacy.laplace import Laplace
from learning.privacy.wrapped import SharedNoise
from learning.randomness import Streams
from learning.training.client import group_owners, make_clients
from learning.training.plan import Plan
from learning.training.task import Task

PLAN = Plan("averaged", "last", 3, 0.2)


def answered(x, y, sizes, public, epsilon, mechanism, seed, groups=None):
    """The two tests on owners of so many records each, the rows after them public."""
    total = sum(sizes)
    norm = mechanism.norm
    rows = x[total : total + public], y[total : total + public]
    coordinates = bounded_coordinates(*rows)
    coordinates = type(coordinates)(**vars(coordinates) | {"norm": norm})
    edges = np.cumsum([0, *sizes])
    records = [
        coordinates.oracle(x[a:b], y[a:b]) for a, b in zip(edges[:-1], edges[1:], strict=True)
    ]
    names = [f"owner {i}" for i in range(len(sizes))]
    owners = make_clients(
        names, records, np.full(len(sizes), epsilon), mechanism, coordinates.gradient_bound, 3
    )
    task = Task(
        group_owners(owners, groups) if groups else owners,
        coordinates,
        PLAN,
        mechanism,
        1,
        Streams(seed, "noise"),
    )
    gradients = record_gradients(coordinates, *PublicSample(*rows).population())
    return homogeneity_of_answers(task, gradients, rng=np.random.default_rng([seed, 7]))


def p_values(seeds, sizes, public, epsilon, mechanism, *, apart=0.0, groups=None):
    """P-values (seeds, 2) among owners and with public rows; records have heavy tails, the owners' slopes lie apart."""
    found = []
    total = sum(sizes)
    for seed in range(seeds):
        x, y = generated(total + public, 5, np.random.default_rng([seed, 1]), tails=3)
        y[:total] += apart * np.repeat(np.arange(len(sizes)), sizes) * x[:total, 0]
        tests = answered(x, y, sizes, public, epsilon, mechanism, seed, groups)
        found.append([tests[among].p_value for among in ("owners", "public")])
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "sizes", "public", "groups"),
    [
        (
            Laplace(),
            0.3,
            (1500,) * 3,
            150,
            None,
        ),  # noise of tails heavier than the normal law's decides
        (Gaussian(1e-6, accounting="zcdp"), 0.3, (3000, 900, 90), 300, None),
        (
            Laplace(),
            np.inf,
            (1500,) * 3,
            60,
            None,
        ),  # chance of the records, told by few rows, decides
        (Laplace(), 3.0, (300,) * 8, 150, [[0, 1], [2, 3], [4], [5], [6], [7]]),
    ],
)
def test_p_values_are_uniform_where_records_are_alike(mechanism, epsilon, sizes, public, groups):
    found = p_values(sized(20, 40), sizes, public, epsilon, mechanism, groups=groups)
    for among in found.T:  # eight of them: by chance one would be below in 25 such tests
        assert stats.kstest(among, "uniform").pvalue > 0.005, np.sort(among)


def test_owners_of_different_kinds_are_told_apart_and_big_noise_hides_them():
    assert p_values(4, (2000,) * 3, 150, 10.0, Laplace(), apart=0.5)[:, 0].max() <= 0.005
    assert p_values(4, (2000,) * 3, 150, 0.01, Laplace(), apart=0.5)[:, 0].min() > 0.01


def test_public_rows_of_another_kind_are_told_from_owners_who_are_alike():
    rng = np.random.default_rng(3)
    x, y = generated(6300, 4, rng)
    y[6000:] += 0.5 * x[6000:, 0]
    found = answered(x, y, (3000, 3000), 300, 10.0, Laplace(), 1)
    assert found["owners"].p_value > 0.05 and found["public"].p_value <= 0.01


def test_of_owners_who_share_a_noise_only_the_sum_is_compared():
    x, y = generated(6300, 4, np.random.default_rng(3))
    shared = SharedNoise(Laplace(), 3)
    found = answered(x, y, (3000, 2000, 1000), 300, 10.0, shared, 1)
    assert set(found) == {"public"} and found["public"].dof == 4 and found["public"].p_value > 0.05
    y[6000:] += 0.5 * x[6000:, 0]
    assert answered(x, y, (3000, 2000, 1000), 300, 10.0, shared, 1)["public"].p_value <= 0.01


def test_dof_counts_the_means_that_are_compared():
    x, y = generated(900, 4, np.random.default_rng(0))
    found = answered(x, y, (300, 300), 300, 1.0, Laplace(), 1)
    assert (found["owners"].dof, found["public"].dof) == (4, 8)
    assert set(answered(x, y, (600,), 300, 1.0, Laplace(), 1)) == {"public"}


def test_record_gradients_average_to_the_owners_answer():
    x, y = generated(200, 4, np.random.default_rng(0))
    coordinates = bounded_coordinates(x, y)
    mean = coordinates.oracle(x, y).gradient(np.zeros((1, 4)))[0]
    np.testing.assert_allclose(
        record_gradients(coordinates, x, y).mean(axis=0), mean, rtol=1e-9, atol=1e-12
    )


def dealt(seed, *, moved=0.0, sizes=(300, 200, 100)):
    """The simulator's p-value for records with Student's t of 2.5 degrees of freedom, those of the last group moved."""
    rng = np.random.default_rng(seed)
    gradients = rng.standard_t(2.5, size=(sum(sizes), 3))
    gradients[-sizes[-1] :] += moved
    return homogeneity_of_records(gradients, sizes, rng=rng)


@pytest.mark.slow
def test_records_of_one_kind_are_taken_for_two_as_often_as_the_level_says():
    """Level 20 % in 100 trials, heavy tails: 8 to 34 is 99.8 % of what chance gives."""
    assert 8 <= sum(dealt(seed) <= 0.2 for seed in range(100)) <= 34


def test_records_of_another_kind_are_found():
    assert dealt(1, moved=1.0) == 1 / 200


@pytest.mark.parametrize("name", ["logistic", "squared", "hinge"])
def test_gradients_of_records_average_to_that_of_the_mean_loss(name):
    rng = np.random.default_rng(0)
    loss = LOSSES[name]
    x = rng.normal(size=(50, 4))
    theta = rng.normal(size=4)
    y = np.sign(rng.normal(size=50))
    cost = loss.fitness([(x, y)], 0.0)
    step = 1e-6 * np.eye(4)
    slopes = (cost.value(theta + step) - cost.value(theta - step)) / 2e-6
    each = gradients_at(loss, x, y, theta)
    np.testing.assert_allclose(each.mean(axis=0), slopes, rtol=1e-4, atol=1e-6)
