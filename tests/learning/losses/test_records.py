"""Records under any loss: gradients, precision, and blocks that change nothing."""

import numpy as np
import pytest

import learning.losses.records
from learning.losses.coordinates import Coordinates
from learning.losses.losses import LOSSES
from learning.losses.records import LinearRecords, in_batches
from learning.losses.statistics import squared_statistics

LINEAR = [loss for loss in LOSSES.values() if not loss.clips_gradients]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(500, 4))
LABELS = np.where(RNG.random(500) < 0.4, 1.0, -1.0)


def records(loss):
    """Records of labels, or of numbers, as lines t = a'phi + b with a centre of (0.1, ..)."""
    offset = X @ np.full(4, 0.1)
    if loss.labels:
        return LinearRecords.of(loss, LABELS[:, None] * X, LABELS * offset)
    return LinearRecords.of(loss, X, offset - LABELS)


@pytest.mark.parametrize("loss", [LOSSES["squared"], LOSSES["logistic"]])
def test_the_derivative_by_finite_differences(loss):
    t = np.linspace(-40, 40, 301)
    h = 1e-5
    assert np.allclose(
        loss.derivative(t), (loss.value(t + h) - loss.value(t - h)) / (2 * h), atol=1e-6
    )


def test_hinge_is_a_subgradient_everywhere():
    t = np.array([-3.0, 0.999, 1.0, 1.001, 5.0])
    slope = LOSSES["hinge"].derivative(t)
    assert slope.tolist() == [-1, -1, 0, 0, 0]
    others = np.linspace(-4, 6, 41)
    assert np.all(
        LOSSES["hinge"].value(others)[:, None]
        >= LOSSES["hinge"].value(t) + slope * (others[:, None] - t) - 1e-12
    )


def test_logistic_neither_overflows_nor_cancels():
    t = np.array([-1e4, -50.0, 0.0, 50.0, 1e4])
    assert np.allclose(LOSSES["logistic"].value(t), [1e4, 50, np.log(2), np.exp(-50), 0])
    assert np.allclose(LOSSES["logistic"].derivative(t), [-1, -1, -0.5, -np.exp(-50), 0])
    far = LinearRecords.of(LOSSES["logistic"], np.array([[1e4]]), np.zeros(1)).gradient(
        np.array([[1.0], [-1.0]])
    )
    assert far.tolist() == [[0.0], [-1e4]]


@pytest.mark.parametrize("loss", LINEAR, ids=str)
def test_the_mean_gradient_is_that_of_the_mean_loss(loss):
    phi = RNG.normal(size=(3, 4))
    h = 1e-4
    held = records(loss)
    offset = X @ np.full(4, 0.1)

    def cost(phi):
        t = phi @ X.T + offset
        return loss.value(LABELS * t if loss.labels else t - LABELS).mean(axis=1)

    steps = np.stack([(cost(phi + h * e) - cost(phi - h * e)) / (2 * h) for e in np.eye(4)], axis=1)
    width = 0.02 if loss is LOSSES["hinge"] else 1e-5  # a record may sit within h of the kink
    assert np.allclose(held.gradient(phi), steps, atol=width)
    one_by_one = np.mean([held.record_gradient(phi, np.full(3, row)) for row in range(500)], axis=0)
    assert np.allclose(held.gradient(phi), one_by_one, atol=1e-5)


@pytest.mark.parametrize("loss", LINEAR, ids=str)
def test_blocks_and_runs_change_nothing(loss, monkeypatch):
    phi = RNG.normal(size=(7, 4))
    held = records(loss)
    whole = held.gradient(phi)
    monkeypatch.setattr(learning.losses.records, "NUMBERS_IN_A_BLOCK", 1)
    assert np.allclose(held.gradient(phi), whole, atol=1e-6)
    assert np.allclose(np.vstack([held.gradient(phi[[i]]) for i in range(7)]), whole, atol=1e-6)


def test_squared_records_agree_with_their_statistics():
    phi = RNG.normal(size=(5, 4))
    statistics = squared_statistics(X, LABELS - X @ np.full(4, 0.1))
    assert np.allclose(
        records(LOSSES["squared"]).gradient(phi), statistics.gradient(phi), atol=1e-5
    )
    assert np.allclose(LOSSES["squared"].scores(X, LABELS, phi), phi @ X.T - LABELS)


def test_a_smoothed_hinge_is_the_mean_over_logistic_errors():
    """By midpoints of the errors' distribution; slopes by differences; single precision as training uses it."""
    smooth = LOSSES["hinge"].smooth_kinks(0.3, 0.05)
    t = np.linspace(-1, 3, 41)
    chance = (np.arange(20_000) + 0.5) / 20_000
    errors = 0.3 * np.sqrt(3) / np.pi * np.log(chance / (1 - chance))
    assert errors.std() == pytest.approx(0.3, rel=1e-3)
    means = LOSSES["hinge"].value(t[:, None] + errors).mean(axis=1) - 0.05
    np.testing.assert_allclose(smooth.value(t), means, atol=1e-4)
    np.testing.assert_allclose(
        smooth.derivative(t), (smooth.value(t + 1e-5) - smooth.value(t - 1e-5)) / 2e-5, atol=1e-6
    )
    slopes = (smooth.derivative(t + 1e-5) - smooth.derivative(t - 1e-5)) / 2e-5
    np.testing.assert_allclose(smooth.second_derivative(t), slopes, atol=1e-5)
    np.testing.assert_allclose(
        smooth.negative_slopes(t.astype(np.float32)), -smooth.derivative(t), atol=1e-5
    )
    assert LOSSES["logistic"].smooth_kinks(0.3) is LOSSES["logistic"]


def test_the_penalty_in_phi_is_that_of_the_model():
    """Its gradient, phi P - pull, against differences of r/2 |theta|^2; the scale is not diagonal."""
    rng = np.random.default_rng(11)
    root = rng.normal(size=(3, 3))
    at = Coordinates(rng.normal(size=3), root + root.T, 1.0, 1.0, 1.0)
    penalty, pull = at.penalty(0.7)
    phi = rng.normal(size=3)

    def cost(point):
        return 0.35 * float(at.model(point) @ at.model(point))

    steps = 1e-6 * np.eye(3)
    slopes = [(cost(phi + step) - cost(phi - step)) / 2e-6 for step in steps]
    assert phi @ penalty - pull == pytest.approx(np.array(slopes), rel=1e-7)


def test_parts_are_read_in_batches_of_no_more_than_so_many_rows(monkeypatch):
    monkeypatch.setattr(learning.losses.records, "ROWS", 5)
    sizes = (2, 3, 1, 4, 7, 1)  # a part alone may be larger
    parts = [(np.full(size, place),) for place, size in enumerate(sizes)]
    batches = [x for (x,) in in_batches(parts)]
    assert [len(x) for x in batches] == [5, 5, 7, 1]
    assert np.array_equal(np.concatenate(batches), np.concatenate([x for (x,) in parts]))
