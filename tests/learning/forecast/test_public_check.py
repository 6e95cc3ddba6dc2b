"""Trained models held against guessing and the learner's own model on its public rows."""

import numpy as np
import pytest
from populations import generated

from learning.forecast.public_check import CLEAR, check_on_public_rows, losses_left_out
from learning.forecast.public_sample import PublicSample
from learning.losses.losses import make_loss

RNG = np.random.default_rng(31)
X, Y = generated(4000, 4, RNG)


def with_constant(x):
    return np.column_stack([x, np.ones(len(x))])


def numbers(rows=slice(0, 200)):
    return PublicSample(with_constant(X[rows]), Y[rows] + 0.5)


def labels(rows=slice(0, 400)):
    y = np.where(Y[rows] + 0.3 > 0, 1.0, -1.0)
    return PublicSample(with_constant(X[rows]), y, 0.001, make_loss("logistic"))


@pytest.mark.parametrize("draw", [numbers, labels])
def test_each_comparison_sees_the_models_that_are_worse_and_no_others(draw):
    sample = draw()
    best = draw(slice(0, 4000)).model
    theta = np.stack([best, sample.model, np.zeros(5), -3 * best])
    found = check_on_public_rows(sample, theta)
    assert found.records == sample.n_records
    last_two = [False, False, True, True]
    assert found.worse_than_guessing.tolist() == found.worse_than_own.tolist() == last_two
    assert found.failed.tolist() == last_two


def test_the_test_of_guessing_is_that_of_paired_differences_by_hand():
    sample = numbers()
    theta = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    for shift, clear in ((0.05, False), (1.0, True)):
        theta[-1] = sample.y.mean() + shift
        lost = (sample.y - theta[-1]) ** 2 - (sample.y - sample.y.mean()) ** 2
        z = lost.mean() / (lost.std(ddof=1) / np.sqrt(len(lost)))
        assert (z > CLEAR) == clear
        assert check_on_public_rows(sample, theta[None]).worse_than_guessing[0] == clear


def test_the_own_model_is_not_favoured_by_the_rows_it_was_fitted_to():
    """On so few rows the own model's loss is far below that of the best model of all records."""
    best = numbers(slice(0, 4000)).model[None]
    starts = range(100, 3900, 26)
    called = [
        check_on_public_rows(numbers(slice(k, k + 26)), best).worse_than_own[0] for k in starts
    ]
    assert np.mean(called) < 0.01


def test_a_network_is_not_compared():
    x, y = generated(200, 2, RNG)
    sample = PublicSample(with_constant(x), np.sign(y), 0.001, make_loss("network"))
    assert check_on_public_rows(sample, np.zeros((1, 33))) is None


def test_losses_left_out_are_of_models_that_never_saw_the_row():
    sample = numbers(slice(0, 30))
    expected = np.empty(30)
    for row in range(30):
        others = np.arange(30) % 5 != row % 5
        model = np.linalg.lstsq(sample.x[others], sample.y[others], rcond=None)[0]
        expected[row] = (sample.x[row] @ model - sample.y[row]) ** 2
    np.testing.assert_allclose(losses_left_out(sample), expected, rtol=1e-9)
