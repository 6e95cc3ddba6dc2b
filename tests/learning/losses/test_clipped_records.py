"""Clipped gradients: what each record's gradient is shortened to, at any point, and what replacing one record moves."""

import numpy as np
import pytest

import learning.losses.records
from learning.losses.clipping import RECORD
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.losses.records import ClippedRecords, pool_records

LINEAR = [loss for loss in LOSSES.values() if loss.linear]
RADIUS = 0.8
P = 4
RNG = np.random.default_rng(0)
X = RNG.standard_t(3, size=(300, P))
SIGNS = np.where(RNG.random(300) < 0.4, 1.0, -1.0)
POINTS = RNG.normal(size=(6, P)) * RNG.choice([0.3, 30.0], (6, 1))
CENTRE = np.array([0.2, -0.1, 0.3, 0.0])
SCALE = np.diag([1.0, 0.5, 2.0, 1.0])


def coordinates_of(loss, norm=2, radius=RADIUS, **more):
    return Coordinates(CENTRE, SCALE, radius, norm=norm, loss=loss, clipping=RECORD, **more)


def target_of(loss):
    return SIGNS if loss.labels else 3 * SIGNS + X[:, 0]


def gradients(loss, phi, radius, norm):
    """By the definition: each record's own gradient in phi, in double precision, shortened to the radius."""
    theta = CENTRE + SCALE @ phi
    t = loss.scores(X, target_of(loss), theta)
    each = (loss.derivative(t) * (SIGNS if loss.labels else 1.0))[:, None] * X @ SCALE
    lengths = np.linalg.norm(each, ord=norm, axis=1)
    return each * np.minimum(1.0, radius / np.maximum(lengths, 1e-300))[:, None]


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("loss", LINEAR, ids=lambda loss: loss.name)
def test_the_mean_is_that_of_gradients_shortened_one_by_one(loss, norm, monkeypatch):
    held = coordinates_of(loss, norm).oracle(X, target_of(loss))
    wanted = [gradients(loss, phi, RADIUS, norm).mean(axis=0) for phi in POINTS]
    np.testing.assert_allclose(held.gradient(POINTS), wanted, atol=2e-5)
    singly = held.record_gradient(np.tile(POINTS[1], (len(X), 1)), np.arange(len(X)))
    np.testing.assert_allclose(singly, gradients(loss, POINTS[1], RADIUS, norm), atol=2e-5)
    assert np.linalg.norm(singly, ord=norm, axis=1).max() <= RADIUS
    monkeypatch.setattr(learning.losses.records, "NUMBERS_IN_A_BLOCK", 1)
    np.testing.assert_allclose(held.gradient(POINTS), wanted, atol=2e-5)


@pytest.mark.parametrize("loss", LINEAR, ids=lambda loss: loss.name)
def test_replacing_a_record_moves_the_mean_by_no_more_than_twice_the_radius_over_n(loss):
    """Whatever the record and the point, far outside any ball too; a far record that the start says nothing of attains it."""
    coordinates = coordinates_of(loss, theta_max=0.1)
    count = 20
    far = 1e6 * np.array([1.0, 2.0, 0.0, 5.0])
    moved = []
    for sign in (1.0, -1.0):
        x = X[:count].copy()
        y = target_of(loss)[:count].copy()
        x[0], y[0] = far, sign * (1.0 if loss.labels else 1e9)
        moved.append(coordinates.oracle(x, y).gradient(np.vstack([np.zeros((1, P)), 1e3 * POINTS])))
    apart = np.linalg.norm(moved[0] - moved[1], axis=1) * count
    assert apart.max() <= 2 * coordinates.gradient_bound * (1 + 1e-4)
    assert apart.max() > 2 * coordinates.gradient_bound * (1 - 1e-4)


def test_the_bound_is_the_radius_whatever_record_ball_and_target_are():
    for norm in (1, 2):
        made = coordinates_of(LOSSES["squared"], norm, rows_per_person=3)
        assert made.gradient_bound == pytest.approx(3 * RADIUS) and made.longest_gradient == RADIUS
        assert np.isinf(made.theta_max) and np.isinf(made.target_bound)


@pytest.mark.parametrize("loss", LINEAR, ids=lambda loss: loss.name)
def test_a_radius_that_none_exceeds_clips_nothing(loss):
    y = target_of(loss)
    wide = coordinates_of(loss, radius=1e9).oracle(X, y).gradient(POINTS)
    whole = Coordinates(CENTRE, SCALE, loss=loss).oracle(X, y, one_by_one=True).gradient(POINTS)
    np.testing.assert_allclose(wide, whole, rtol=1e-4, atol=1e-4)


def test_the_lengths_at_the_start_are_those_of_the_gradients():
    for loss in LINEAR:
        wanted = np.linalg.norm(gradients(loss, np.zeros(P), np.inf, 2), axis=1)
        np.testing.assert_allclose(
            coordinates_of(loss).gradient_lengths(X, target_of(loss)), wanted
        )


def test_clipped_records_of_several_owners_are_one_partys():
    loss = LOSSES["squared"]
    held = coordinates_of(loss)
    parts = [held.oracle(X[rows], target_of(loss)[rows]) for rows in (slice(100), slice(100, 300))]
    np.testing.assert_allclose(
        pool_records(parts).gradient(POINTS),
        held.oracle(X, target_of(loss)).gradient(POINTS),
        atol=1e-6,
    )


def test_runs_at_one_point_are_as_each_alone():
    held = coordinates_of(LOSSES["logistic"]).oracle(X, SIGNS)
    same = held.gradient(np.tile(POINTS[0], (5, 1)))
    assert (same == same[0]).all() and (same[0] == held.gradient(POINTS[:1])[0]).all()


@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
@pytest.mark.parametrize("loss", ["squared", "hinge", "logistic"])
def test_a_gradient_is_no_longer_than_the_radius_where_single_precision_ends(loss):
    """A score of inf - inf is NaN; its slope is cut like any other."""
    lines = np.array([[2.0, 2.0, 0.5], [1.0, -3.0, -0.5]], dtype=np.float32)
    for far in (3e38, 1e39, np.inf):
        made = ClippedRecords.within(0.25, LOSSES[loss], lines, norm=2).gradient(
            np.array([[far, -far]])
        )
        assert np.isfinite(made).all() and np.linalg.norm(made) <= 0.25
