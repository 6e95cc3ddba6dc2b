"""What every entry of LOSSES keeps to: gradients of its own value, clipped records, and a bound no gradient exceeds."""

import numpy as np
import pytest

from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES, make_loss
from learning.losses.network import draw_start

ROWS = 60
P = 3
HIDDEN = 2
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(ROWS, P - 1)), np.ones(ROWS)])
LABELS = np.where(RNG.random(ROWS) < 0.4, 1.0, -1.0)
NUMBERS = 3 * RNG.normal(size=ROWS)


def target_of(loss):
    return LABELS if loss.labels else NUMBERS


def coordinates_of(loss, norm=1, radius=np.inf, theta_max=0.7):
    """A start off the origin and a scale, but for a loss whose parameters are left as they are."""
    centre = np.array([0.2, -0.1, 0.3])
    transform = np.diag([1.0, 0.5, 2.0])
    if loss.clips_gradients:
        centre = draw_start(HIDDEN, P, rng=np.random.default_rng(1))
        transform = np.eye(len(centre))
    return Coordinates(centre, transform, radius, 1.5, theta_max, norm, loss)


@pytest.fixture(params=LOSSES.values(), ids=lambda loss: loss.name)
def loss(request):
    return make_loss(request.param.name, hidden=HIDDEN)


def test_its_mean_gradient_is_that_of_its_mean_value(loss):
    """Records whole; a hinge's records may sit within a step of the kink."""
    coordinates = coordinates_of(loss)
    y = target_of(loss)
    if not loss.labels:
        coordinates = coordinates.bounded(np.inf, np.inf, 1.0)
    held = coordinates.oracle(X, y)
    phi = 0.3 * np.random.default_rng(2).normal(size=(4, held.n_parameters))

    def cost(phi):
        return loss.loss_sum(X, y, coordinates.model(phi)) / ROWS

    steps = 1e-4 * np.eye(held.n_parameters)
    slopes = np.stack([(cost(phi + h) - cost(phi - h)) / 2e-4 for h in steps], axis=1)
    kinked = loss.name == "hinge"
    np.testing.assert_allclose(held.gradient(phi), slopes, atol=0.05 if kinked else 1e-5)


@pytest.mark.parametrize("norm", [1, 2])
def test_no_two_records_gradients_lie_further_apart_than_the_bound(loss, norm):
    """Over random records, most of them beyond the bounds, and points all over the ball."""
    coordinates = coordinates_of(loss, norm, radius=1.2)
    rng = np.random.default_rng(3)
    held = coordinates.oracle(
        5 * X, 5 * target_of(loss) if not loss.labels else LABELS, one_by_one=True
    )
    phi = coordinates.project(
        rng.normal(size=(400, held.n_parameters)) * rng.choice([0.3, 3.0], (400, 1))
    )
    one, two = (held.record_gradient(phi, rng.integers(ROWS, size=400)) for _ in range(2))
    apart = np.linalg.norm(one - two, ord=norm, axis=1)
    assert apart.max() <= 2 * coordinates.gradient_bound * (1 + 1e-6)
    assert apart.max() > 0.3 * coordinates.gradient_bound  # and it is no idle bound


def test_clipping_shortens_the_long_and_leaves_the_short(loss):
    wide, tight = (
        coordinates_of(loss, 2, radius).oracle(X, target_of(loss)) for radius in (1e9, 0.4)
    )
    start = np.zeros((1, wide.n_parameters))
    assert np.linalg.norm(tight.gradient(start)) < np.linalg.norm(wide.gradient(start))
    wider = coordinates_of(loss, 2, 2e9).oracle(X, target_of(loss))
    np.testing.assert_allclose(wider.gradient(start), wide.gradient(start), rtol=1e-6)


def test_its_best_model_costs_less_than_those_around_it(loss):
    y = target_of(loss)
    regularisation = 0.05
    fitness = loss.fitness([(X[:20], y[:20]), (X[20:], y[20:])], regularisation)
    near = fitness.minimiser + 0.05 * np.random.default_rng(4).normal(
        size=(50, len(fitness.minimiser))
    )
    assert (fitness.value(near) >= fitness.optimum * (1 - 1e-9)).mean() > (
        0.999 if loss.certified else 0.9
    )
    assert fitness.relative(fitness.minimiser[None])[0] == pytest.approx(0, abs=1e-8)


def test_a_report_can_name_it(loss):
    assert loss.measure.startswith("mean ") and LOSSES[loss.name].name == loss.name
