"""Squared loss against finite differences, naive sums, and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from populations import generated, randhie
from sklearn.linear_model import LinearRegression, Ridge

from learning.losses.loss import Loss
from learning.losses.slopes import squared_gradient_bound
from learning.losses.squared import Fitness
from learning.losses.statistics import SquaredStatistics, squared_statistics


def naive_cost(x, y, theta, regularisation=0.0):
    return (
        sum((yi - xi @ theta) ** 2 for xi, yi in zip(x, y, strict=True)) / len(y)
        + regularisation / 2 * theta @ theta
    )


@pytest.fixture
def records():
    return generated(60, 4, np.random.default_rng(1))


def test_statistics_hold_all_that_the_loss_needs(records):
    x, y = records
    theta = np.array([0.3, -1.0, 2.0, 0.1])
    statistics = squared_statistics(x, y)
    assert statistics.mean_loss(theta) == pytest.approx(naive_cost(x, y, theta), rel=1e-12)
    steps = 1e-5 * np.eye(4)
    differences = [
        (naive_cost(x, y, theta + h) - naive_cost(x, y, theta - h)) / 2e-5 for h in steps
    ]
    assert statistics.gradient(theta) == pytest.approx(differences, rel=1e-7)
    gradients = statistics.gradient(theta + steps) - statistics.gradient(theta - steps)
    assert statistics.hessian == pytest.approx(gradients / 2e-5, rel=1e-7)


def test_adding_statistics_adds_records(records):
    x, y = records
    both = squared_statistics(x[:13], y[:13]) + squared_statistics(x[13:], y[13:])
    whole = squared_statistics(x, y)
    assert isinstance(both, SquaredStatistics) and both.n_records == 60
    assert (
        both.xx == pytest.approx(whole.xx)
        and both.xy == pytest.approx(whole.xy)
        and both.yy == pytest.approx(whole.yy)
    )


@pytest.mark.parametrize("regularisation", [0.0, 0.5])
def test_relative_fitness_is_the_relative_cost(records, regularisation):
    x, y = records
    fitness = Fitness(squared_statistics(x, y), regularisation)
    thetas = np.random.default_rng(2).normal(size=(5, 4))
    best = naive_cost(x, y, fitness.minimiser, regularisation)
    expected = [naive_cost(x, y, theta, regularisation) / best - 1 for theta in thetas]
    assert fitness.relative(thetas) == pytest.approx(expected, rel=1e-10)
    assert fitness.relative(fitness.minimiser) == 0
    assert fitness.optimum == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("source", ["generated", "randhie"])
def test_optimum_meets_scikit_learn(source):
    x, y = randhie() if source == "randhie" else generated(5000, 6, np.random.default_rng(3))
    plain = LinearRegression(fit_intercept=False).fit(x, y)
    fitness = Fitness(squared_statistics(x, y))
    assert fitness.minimiser == pytest.approx(plain.coef_, rel=1e-7, abs=1e-8)
    assert fitness.optimum == pytest.approx(np.mean((y - plain.predict(x)) ** 2), rel=1e-10)
    ridge = Ridge(alpha=len(y) * 0.3 / 2, fit_intercept=False).fit(
        x, y
    )  # r/2 |theta|^2 beside the mean loss
    assert Fitness(squared_statistics(x, y), 0.3).minimiser == pytest.approx(
        ridge.coef_, rel=1e-6, abs=1e-8
    )


def test_optimum_of_collinear_columns_is_still_the_best_fit(records):
    x, y = records
    doubled = np.column_stack([x, x[:, 0] - x[:, 1]])
    assert Fitness(squared_statistics(doubled, y)).optimum == pytest.approx(
        Fitness(squared_statistics(x, y)).optimum
    )


def gradient(x, y, theta):
    return 2 * (x @ theta - y) * x


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    arrays(float, 4, elements=st.floats(-1, 1)),
    st.floats(-1, 1),
    arrays(float, 4, elements=st.floats(-1, 1)),
    st.floats(0.01, 50),
    st.floats(0.01, 50),
    st.floats(0.01, 50),
)
def test_no_gradient_exceeds_the_bound(direction, target, place, radius, target_bound, theta_max):
    x = radius * direction / max(np.abs(direction).sum(), 1.0)
    largest = np.abs(gradient(x, target_bound * target, theta_max * place)).sum()
    assert largest <= squared_gradient_bound(radius, target_bound, theta_max) * (1 + 1e-12)


def test_the_bound_is_attained():
    x = np.array([0.0, 3.0, 0.0])
    theta = np.array([0.1, 0.5, -0.5])
    assert np.abs(gradient(x, -2.0, theta)).sum() == squared_gradient_bound(3.0, 2.0, 0.5) == 21.0


def furthest_gradients(radius, target_bound, theta_max, width, rng, starts=30, steps=1500):
    """Half the furthest that projected ascent, from many starts, drives two records' gradients apart in 2-norm."""
    limits = np.array([radius, radius, theta_max])[:, None, None]
    place = limits * rng.normal(size=(3, starts, width))  # x, z and the query
    targets = target_bound * rng.choice([-1.0, 1.0], size=(2, starts))
    most = 0.0
    for step in np.geomspace(0.3, 0.001, steps):
        place *= np.minimum(
            1, limits / np.maximum(np.linalg.norm(place, axis=2, keepdims=True), 1e-300)
        )
        x, z, phi = place
        misses = [
            np.sum(phi * one, axis=1) - target for one, target in zip((x, z), targets, strict=True)
        ]
        apart = misses[0][:, None] * x - misses[1][:, None] * z
        length = np.linalg.norm(apart, axis=1)
        most = max(most, float(length.max()))
        along = apart / np.maximum(length, 1e-300)[:, None]
        shadows = np.sum(along * x, axis=1)[:, None], np.sum(along * z, axis=1)[:, None]
        uphill = np.stack(
            [
                misses[0][:, None] * along + shadows[0] * phi,
                -misses[1][:, None] * along - shadows[1] * phi,
                shadows[0] * x - shadows[1] * z,
            ]
        )
        # a target counts by the sign of what it adds
        targets = target_bound * np.stack([-np.sign(shadows[0][:, 0]), np.sign(shadows[1][:, 0])])
        place = place + step * limits * uphill / np.maximum(
            np.linalg.norm(uphill, axis=2, keepdims=True), 1e-300
        )
    return most


@pytest.mark.slow
@pytest.mark.parametrize(
    "bounds",
    [
        (1.0, 1.0, 1.0),
        (1.3, 0.7, 2.0),
        (2.0, 3.0, 0.1),
        (0.5, 0.1, 5.0),
        (3.0, 2.0, 0.5),
        (1.0, 1.0, 0.0),
    ],
)
def test_the_bound_in_2_norm_is_the_joint_supremum(bounds):
    """Ascent from many starts comes within a millionth of it, and never beyond."""
    radius, target_bound, theta_max = bounds
    bound = float(squared_gradient_bound(*bounds, norm=2))
    parts = (theta_max * radius + 2 * target_bound) * radius
    assert np.sqrt(3) / 2 * (1 - 1e-12) <= bound / parts <= 1 + 1e-12
    for width in (2, 4):
        found = furthest_gradients(*bounds, width, np.random.default_rng(width))
        assert bound * (1 - 1e-6) <= found <= bound * (1 + 1e-12)


def test_the_bound_in_2_norm_takes_arrays_and_ends():
    many = squared_gradient_bound([1.0, 2.0], 1.0, [[0.0], [0.5], [1e9]], norm=2)
    assert many.shape == (3, 2) and many[1, 1] == squared_gradient_bound(2.0, 1.0, 0.5, norm=2)
    assert np.allclose(many[0], [2.0, 4.0]) and np.allclose(many[2], [1e9, 4e9])  # sums of parts
    assert squared_gradient_bound(1.0, 0.0, 0.0, norm=2) == 0
    for endless in ((np.inf, np.inf, np.inf), (1.0, 1.0, np.inf), (1.0, np.inf, 1.0)):
        assert squared_gradient_bound(*endless, norm=2) == np.inf


class Quadratic(Loss):
    """Half a square of 1 - t: with labels its optimum is that of ridge regression."""

    name = "quadratic"

    def value(self, t):
        return 0.5 * (1 - t) ** 2

    def derivative(self, t):
        return t - 1


def test_the_fit_that_losses_inherit_meets_a_closed_form():
    rng = np.random.default_rng(5)
    x = np.column_stack([rng.normal(size=(200, 3)), np.ones(200)])
    y = np.where(rng.random(200) < 0.4, 1.0, -1.0)
    theta, cost = Quadratic().fit(x, y, 0.3)
    ridge = np.linalg.solve(x.T @ x / 200 + 0.3 * np.eye(4), x.T @ y / 200)
    assert theta == pytest.approx(ridge, abs=1e-7)
    assert cost == pytest.approx(np.mean((y - x @ ridge) ** 2) / 2 + 0.15 * ridge @ ridge)
