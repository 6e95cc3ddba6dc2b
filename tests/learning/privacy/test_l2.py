"""L2 noise: its law and pure accounting by second routes; vectors as they are drawn."""

import numpy as np
import pytest
from scipy.stats import gamma, kstest

from learning.privacy.l2 import L2
from learning.privacy.laplace import Laplace
from learning.training.adassp import AdaSSP
from learning.training.noisy_solving import FAILURE, adaptive_damping

SIZES = np.array([50, 30])
BOUND = 2.7


@pytest.mark.parametrize("width", [1, 2, 10])
def test_the_radius_is_a_gamma_variable_and_the_direction_uniform(width):
    drawn = L2(width).draw(1.5, (20_000, width), rng=np.random.default_rng(width))
    radius = np.linalg.norm(drawn, axis=1)
    assert kstest(radius / 1.5, gamma(width).cdf).pvalue > 1e-3
    towards = drawn / radius[:, None]
    spread = (
        towards.T @ towards / len(drawn)
    )  # of fourth moments 3/(p (p + 2)): five standard errors
    np.testing.assert_allclose(spread, np.eye(width) / width, atol=5 / np.sqrt(len(drawn)) / width)
    assert np.abs(np.corrcoef(radius, towards[:, 0])[0, 1]) < 5 / np.sqrt(len(drawn))


def test_it_is_drawn_alike_in_pieces():
    whole = L2(3).draw(1.0, (5, 2, 3), rng=np.random.default_rng(0))
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(whole, [L2(3).draw(1.0, (2, 3), rng=rng) for _ in range(5)])


def test_one_number_of_it_is_laplace_noise():
    at = ([0.3, 2.0], SIZES, BOUND, 4)
    np.testing.assert_allclose(L2(1, 2).variance(*at), Laplace(2).variance(*at), rtol=1e-12)
    np.testing.assert_allclose(L2(1).epsilon(L2(1).variance(*at), *at[1:]), at[0], rtol=1e-9)


def test_no_answer_is_likelier_than_the_budget_allows():
    """The loss of T answers at the sensitivity that the scale is made for is at most epsilon, and comes close to it."""
    epsilon = 1.5
    horizon = 3
    width = 4
    rng = np.random.default_rng(5)
    scale = float(L2(width).scale(epsilon, 30, BOUND, horizon))
    shift = np.zeros(width)
    shift[1] = 2 * BOUND / 30
    noise = L2(width).draw(scale, (100_000, horizon, width), rng=rng)
    loss = ((np.linalg.norm(noise + shift, axis=-1) - np.linalg.norm(noise, axis=-1)) / scale).sum(
        axis=1
    )
    assert 0.8 * epsilon < np.abs(loss).max() <= epsilon * (1 + 1e-12)


def test_the_norm_of_noise_that_a_check_allows_for():
    drawn = np.linalg.norm(L2(6).draw(1.0, (40_000, 6), rng=np.random.default_rng(1)), axis=1)
    assert np.mean(drawn > L2(6).length_quantile(6, 0.01)) == pytest.approx(0.01, abs=4 * 0.0005)


def test_damping_allows_for_noise_whose_numbers_swing_together():
    """The largest eigenvalue of the matrix's noise stays below what damping counts with, but for its chance."""
    width = 4
    runs = 4000
    mechanism = L2(AdaSSP().answer_width(width))
    drawn = mechanism.draw(1.0, (runs, mechanism.width), rng=np.random.default_rng(2)) / np.sqrt(
        mechanism.unit_variance
    )
    matrix = np.zeros((runs, width, width))
    rows, columns = np.triu_indices(width, 1)
    matrix[:, rows, columns] = matrix[:, columns, rows] = drawn[:, 2 * width :] / np.sqrt(2)
    matrix[:, range(width), range(width)] = drawn[:, width : 2 * width]
    allowed = adaptive_damping(0.0, mechanism.deviation_quantile(FAILURE), width)
    assert (
        mechanism.deviation_quantile(FAILURE) > 1.1
        and np.mean(np.linalg.eigvalsh(matrix)[:, -1] > allowed) < FAILURE
    )
