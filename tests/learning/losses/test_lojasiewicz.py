"""The Polyak-Lojasiewicz ratio: gradients of costs against finite differences, known constants, what is no minimum."""

import numpy as np
import pytest

from learning.losses.lojasiewicz import draw_cloud, smallest_ratio
from learning.losses.losses import make_loss

RNG = np.random.default_rng(3)
X = np.column_stack([RNG.normal(size=(90, 2)), np.ones(90)])
Y = np.where(X @ [1.0, -0.5, 0.2] + RNG.logistic(size=90) > 0, 1.0, -1.0)


def cost(name, regularisation=0.05):
    loss = make_loss(name, hidden=2 if name == "network" else None)
    return loss.fitness([(X[:50], Y[:50]), (X[50:], Y[50:])], regularisation)


@pytest.mark.parametrize("name", ["squared", "logistic", "hinge", "network"])
def test_the_gradient_of_a_cost_is_its_slope(name):
    f = cost(name)
    width = 9 if name == "network" else 3
    theta = RNG.normal(size=(2, width))
    step = 1e-6 * np.eye(width)[:, None]
    slopes = (f.value(theta + step) - f.value(theta - step)).T / 2e-6
    np.testing.assert_allclose(f.gradient(theta), slopes, rtol=1e-4, atol=1e-7)
    assert f.gradient(theta[0]).shape == (width,)


def test_under_a_ridge_no_ratio_lies_below_it_and_without_one_they_fall_with_the_distance():
    ridge = cost("logistic", 0.05)
    around = draw_cloud(ridge.minimiser, 30.0, 300, rng=np.random.default_rng(1))
    assert smallest_ratio(ridge, around).mu_at_most > 0.05
    bare = cost("logistic", 1e-6)
    near, far = (smallest_ratio(bare, bare.minimiser + reach * np.eye(3)) for reach in (0.1, 100.0))
    assert far.mu_at_most < 0.05 * near.mu_at_most


def test_a_cost_that_is_not_convex_has_points_where_the_ratio_vanishes():
    """At the origin of a network all units are alike: the gradient is that of the offset alone."""
    f = cost("network", 1e-3)
    saddle = np.zeros((1, 9))
    saddle[0, -1] = np.log(np.mean(Y > 0) / np.mean(Y < 0))
    assert smallest_ratio(f, saddle).mu_at_most < 1e-5


def test_a_better_point_than_the_best_known_lowers_what_is_counted_from():
    class Worse:
        optimum = 2.0
        regularisation = 0.0
        minimiser = np.zeros(1)

        def value(self, theta):
            return 1 + theta[:, 0] ** 2

        def gradient(self, theta):
            return 2 * theta

    found = smallest_ratio(Worse(), np.array([[0.0], [3.0]]))
    assert (found.lowest, found.points, found.mu_at_most) == (1.0, 1, 2.0)
    with pytest.raises(ValueError, match="every point is the optimum"):
        smallest_ratio(Worse(), np.zeros((2, 1)))
