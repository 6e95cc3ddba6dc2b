"""Information of an order, by differential entropy, and Hamming distortion, each by a second route."""

import numpy as np
import pytest
from scipy.integrate import quad

from learning.errors import InputError
from market.columns import finite_difference
from market.costs.channels import (
    CHANNELS,
    answered_distance,
    bayes_utility,
    channel_matrix,
    min_entropy_leakage,
)
from market.costs.functions import ChannelCost, DifferentialEntropy, LeakageMeasure
from market.costs.information import (
    hamming_distortion,
    laplace_information,
    order_leakage,
    worst_hamming,
)

EPSILON = np.array([0.0, 1e-6, 0.1, 0.7, 2.0, 9.0, 700.0, np.inf])
PRIOR = (0.1, 0.05, 0.5, 0.2, 0.15)


def entropy(odds):
    kept = odds[odds > 0]
    return float(-(kept * np.log2(kept)).sum())


@pytest.mark.parametrize("prior", [None, PRIOR])
@pytest.mark.parametrize("name", CHANNELS)
def test_mutual_information_is_a_difference_of_entropies(name, prior):
    """H(answer) less the mean entropy of the answer to each value."""
    odds = np.full(5, 0.2) if prior is None else np.array(prior)
    found = LeakageMeasure(name, 5, prior=prior, order=1).told(EPSILON)[0]
    for bits, matrix in zip(found, channel_matrix(name, EPSILON, 5), strict=True):
        known = entropy(odds @ matrix) - sum(
            q * entropy(row) for q, row in zip(odds, matrix, strict=True)
        )
        assert bits == pytest.approx(known, abs=1e-13)
    assert found[0] == 0 and found[-1] == pytest.approx(entropy(odds))


def test_randomised_response_has_closed_forms():
    """log2 v - h(p) - (1-p) log2(v-1); of two values, 1 - h_a(p) for every order a."""
    at = EPSILON[1:-1]
    p = 1 / (1 + 3 * np.exp(-at))
    lies = np.exp(-at) * p
    known = 2 + p * np.log2(p) + 3 * lies * np.log2(np.where(lies > 0, lies, 1))
    assert np.allclose(
        LeakageMeasure("randomised_response", 4, order=1).told(at)[0], known, atol=1e-13
    )
    p = 1 / (1 + np.exp(-at))
    for order in (1.5, 2.0, 7.0, 60.0):
        known = 1 + np.log2(p**order + (1 - p) ** order) / (order - 1)
        found = LeakageMeasure("randomised_response", 2, order=order).told(at)[0]
        assert np.allclose(found, known, atol=1e-12)


@pytest.mark.parametrize("name", CHANNELS)
def test_leakage_grows_with_its_order_from_shannons_to_min_entropy(name):
    matrix = channel_matrix(name, np.array([0.1, 1.0, 5.0]), 5)
    found = np.array([order_leakage(matrix, None, order) for order in (1, 1.0001, 2, 10, 300, 1e6)])
    assert np.all(np.diff(found, axis=0) > 0)
    assert found[1] == pytest.approx(found[0], rel=1e-3)
    assert found[-1] == pytest.approx(min_entropy_leakage(matrix), rel=1e-4)


@pytest.mark.parametrize("order", [1.0, 1.3, 4.0, 40.0])
@pytest.mark.parametrize("prior", [None, PRIOR])
@pytest.mark.parametrize("name", CHANNELS)
def test_slopes_of_an_order_are_derivatives(name, prior, order):
    measure = LeakageMeasure(name, 5, sensitivity=1.7, prior=prior, order=order)
    at = np.geomspace(0.05, 12, 30).reshape(3, 10)
    known = finite_difference(lambda e: measure.told(e)[0], at)
    assert np.allclose(measure.told(at)[1], known, rtol=1e-6, atol=1e-8)
    assert np.isfinite(measure.told(EPSILON)).all()
    assert np.all(np.diff(measure.told(EPSILON)[0]) >= -1e-14)


def by_quadrature(e):
    """h(answer) - h(noise) in bits, with scipy's adaptive quadrature."""

    def inside(z):
        density = 1 - (np.exp(-e * z) + np.exp(-e * (1 - z))) / 2
        return -density * np.log(density)

    def outside(z):
        density = (1 - np.exp(-e)) / 2 * np.exp(-e * z)
        return -density * np.log(density)

    middle = min(0.5, 3 / e)
    ends = quad(inside, 0, middle)[0] + quad(inside, middle, 0.5)[0]
    return 2 * (ends + quad(outside, 0, 60 / e)[0]) / np.log(2) - np.log2(2 * np.e / e)


def test_differential_entropy_is_that_of_the_densities():
    for epsilon in (0.05, 0.5, 1.0, 4.0, 30.0, 1e3):
        assert laplace_information(epsilon)[0] == pytest.approx(by_quadrature(epsilon), rel=1e-7)
    at = np.geomspace(1e-3, 1e3, 60)
    slope = finite_difference(lambda e: laplace_information(e)[0], at)
    assert np.allclose(laplace_information(at)[1], slope, rtol=2e-5)
    edge = laplace_information(np.array([0.02 * (1 - 1e-9), 0.02]))
    assert edge[0][0] == pytest.approx(edge[0][1], rel=1e-7)
    assert edge[1][0] == pytest.approx(edge[1][1], rel=1e-6)


def test_digits_are_told_as_by_drawn_numbers():
    """Mean log ratio of densities over a million draws, within four standard errors."""
    rng = np.random.default_rng(5)
    epsilon, x = 3.0, rng.random(10**6)
    z = x + rng.laplace(scale=1 / epsilon, size=x.size)
    near, far = np.exp(-epsilon * np.abs(z)), np.exp(-epsilon * np.abs(1 - z))
    inside = (z >= 0) & (z <= 1)
    density = np.where(inside, 1 - (near + far) / 2, np.abs(near - far) / 2)
    ratio = np.log2(epsilon / 2 * np.exp(-epsilon * np.abs(z - x)) / density)
    off = ratio.mean() - laplace_information(epsilon)[0]
    assert abs(off) < 4 * ratio.std() / 1e3


def test_a_number_is_the_limit_of_many_values_on_a_line():
    """Of v values from end to end, whose variance is (v+1)/(v-1) times that of the number."""
    at = np.array([0.3, 2.0, 10.0])
    values = LeakageMeasure("discrete_laplace", 128, order=1).told(at)[0]
    assert values == pytest.approx(laplace_information(at)[0], rel=0.02)


def test_hamming_distortion_is_the_chance_of_another_answer():
    for name in ("truncated_geometric", "ring_geometric", "randomised_response"):
        matrix = channel_matrix(name, EPSILON, 5)
        for prior in (None, PRIOR):
            found = hamming_distortion(matrix, prior)
            assert np.allclose(found, answered_distance(matrix, 1 - np.eye(5), prior), atol=1e-15)
            assert np.all(1 - bayes_utility(matrix, prior) <= found + 1e-15)
            assert np.all(worst_hamming(matrix) >= found - 1e-15)
    response = channel_matrix("randomised_response", np.log(3), 4)
    assert hamming_distortion(response) == pytest.approx(0.5) == worst_hamming(response)


def test_costs_are_prices_of_these_bits():
    sizes, epsilon = np.array([100.0, 200.0]), np.array([0.5, 2.0])
    told = LeakageMeasure("truncated_geometric", 5, order=1).told(epsilon)[0]
    cost = ChannelCost([2.0, 3.0], values=5, order=1)
    assert np.allclose(cost.value(epsilon, sizes), [200, 600] * told)
    assert "(mutual information)" in cost.price_unit
    assert "of order 2" in ChannelCost(1.0, order=2).price_unit
    cost = DifferentialEntropy([2.0, 3.0])
    assert np.allclose(cost.value(epsilon, sizes), [200, 600] * laplace_information(epsilon)[0])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"order": 0.5}, "order: must be"),
        ({"order": 2, "unit": "guess"}, 'order: needs unit = "bit"'),
    ],
)
def test_orders_that_cannot_be_are_refused(given, words):
    with pytest.raises(InputError) as error:
        ChannelCost(1.0, **given)
    assert words in str(error.value)
