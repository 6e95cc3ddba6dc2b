"""Discrete Gaussian noise in parts: sensitivity on the grid in exact fractions, its cost, its distribution."""

from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest
from scipy import stats

from exchange.learner.unmasking import read_total
from learning.losses.clipping import PublicCoordinates
from learning.losses.moment_bounds import Scores
from learning.privacy.distributed import (
    BITS,
    NoisePart,
    SumsPart,
    parts_gap,
)
from learning.privacy.release_sums import joint_bound, joint_distance, joint_weights


def squared_steps(part, first, second):
    """Exact squared distance of two rounded vectors, in steps."""
    pairs = zip(part.round_values(first), part.round_values(second), strict=True)
    return sum((a - b) ** 2 for a, b in pairs)


def exact_distance(first, second):
    """A float that the distance of two vectors does not exceed, to the last bit."""
    square = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(first, second, strict=True))
    distance = sqrt(float(square))
    while Fraction(distance) ** 2 < square:
        distance = np.nextafter(distance, np.inf)
    return float(distance)


@pytest.mark.parametrize("count", [1, 3, 14])
def test_rounded_values_are_no_further_apart_than_proved_in_exact_fractions(count):
    rng = np.random.default_rng(1)
    part = NoisePart(0.25, 100.0, 2)
    beyond = 0
    for scale in (1e-3, 0.2, 1.0, 40.0):
        for _ in range(50):
            first = rng.normal(size=count) * scale
            second = first + rng.normal(size=count) * scale
            apart = exact_distance(first.tolist(), second.tolist())
            square = squared_steps(part, first, second)
            assert square <= part.grid_distance(apart, count) ** 2
            beyond += square > (Fraction(apart) / Fraction(part.step)) ** 2
    assert beyond  # rounding does enlarge distances: without sqrt(m) the bound fails


def test_values_at_the_edge_of_two_steps_nearly_attain_the_bound():
    count = 16
    part = NoisePart(1.0, 100.0, 2)
    first = np.full(count, 0.5 - 2**-40)
    second = np.full(count, 1.5 + 2**-40)
    apart = exact_distance(first.tolist(), second.tolist())
    square = squared_steps(part, first, second)
    bound = part.grid_distance(apart, count) ** 2
    assert square == 4 * count and square <= bound < square * (1 + Fraction(1, 10**9))


def discrete_gaussian(scale, reach=60):
    at = np.arange(-reach, reach + 1)
    weights = np.exp(-(at**2) / (2 * scale**2))
    return weights / weights.sum()


@pytest.mark.parametrize("scale", [0.7, 1.0, 2.5])
@pytest.mark.parametrize("parts", [1, 2, 3])
def test_the_cost_bounds_the_renyi_divergence_of_the_exact_sum(scale, parts):
    """Second route: the sum's own probabilities, by convolution, at many orders and shifts."""
    law = discrete_gaussian(scale)
    total = law
    for _ in range(parts - 1):
        total = np.convolve(total, law)
    part = NoisePart(1.0, scale, parts)
    for shift in (1, 2):
        moved = Fraction(shift) / Fraction(scale)
        tau = parts_gap(Fraction(scale), parts)
        rho = float((moved**2 / parts + 2 * moved * tau + tau**2) / 2)
        first, second = total[shift:], total[:-shift]
        kept = (first > 1e-250) & (second > 1e-250)
        for order in (1.5, 2.0, 4.0, 8.0):
            terms = order * np.log(first[kept]) + (1 - order) * np.log(second[kept])
            divergence = np.logaddexp.reduce(terms) / (order - 1)
            assert divergence <= order * rho * (1 + 1e-9)
            if parts == 1 or scale > 2:  # where tau is small the bound is nearly attained
                assert divergence > 0.99 * order * shift**2 / (2 * parts * scale**2)
        # on the grid rounding costs sqrt(1) more steps
        assert part.rho(float(shift), 1, parts) >= rho


def test_the_gap_of_parts_is_counted_above_its_formula():
    for scale in (0.5, 0.8, 1.3, 3.0, 20.0):
        for parts in (1, 2, 5, 40):
            exponents = [2 * np.pi**2 * scale**2 * k / (k + 1) for k in range(1, parts)]
            tau = 10 * sum(exp(-one) for one in exponents)
            assert float(parts_gap(Fraction(scale), parts)) >= tau
    assert parts_gap(Fraction(10**7), 3) == Fraction(20, 2**1024)


def test_nothing_is_claimed_of_no_parts_or_of_several_that_are_too_narrow():
    assert NoisePart(1.0, 100.0, 2).rho(1.0, 3, 0) == np.inf
    assert NoisePart(1.0, 0.49, 2).rho(1.0, 3, 2) == np.inf
    assert NoisePart(1.0, 0.49, 1).rho(1.0, 3, 1) < np.inf


def bounds(width=3):
    scores = Scores(1.5, 0.4)
    return PublicCoordinates(np.zeros(width), np.eye(width), 2.0, norm=2, scores=scores)


def sums_part(parts=2):
    coordinates = bounds()
    apart = joint_distance(coordinates, 50)
    return SumsPart(NoisePart(2**-20, 2.0**24, parts), joint_weights(coordinates), apart)


def test_totals_are_read_back_within_half_a_step_and_the_parts_alone_are_noise():
    noise = sums_part()
    sums = np.array([1e3, -2e3, 0.1, 5.0, 6.0, 7.0, -1.0, 0.0, 2.5])
    quiet = SumsPart(NoisePart(noise.part.step, 1e-3, 2), noise.weights, noise.distance)
    words = quiet.add(sums)
    assert words.dtype == np.uint64
    near = 0.51 * noise.part.step / noise.weights
    assert (np.abs(read_total(quiet, words) - sums) <= near).all()
    both = quiet.add(sums) + quiet.add(-sums)
    assert (np.abs(read_total(quiet, both)) <= 2 * near).all()
    score, moments = noise.part_scales
    assert moments == pytest.approx(score / noise.weights[-1])


def test_the_sum_of_parts_has_the_distribution_of_gaussian_noise():
    noise = sums_part()
    sums = np.linspace(-9.0, 9.0, 9)
    totals = [noise.add(sums) + noise.add(2 * sums) + noise.add(-3 * sums) for _ in range(150)]
    drawn = np.array([read_total(noise, total) * noise.weights for total in totals])
    drawn /= noise.part.scale * noise.part.step * sqrt(3)
    assert stats.kstest(drawn.ravel(), "norm").pvalue > 1e-3
    assert drawn.var() == pytest.approx(1, abs=5 * sqrt(2 / drawn.size))
    correlations = np.corrcoef(drawn.T) - np.eye(9)
    assert np.abs(correlations).max() < 5 / sqrt(150)


def test_totals_that_could_wrap_around_are_seen():
    noise = sums_part()
    bound = joint_bound(bounds())
    assert noise.fits([10**6, 10**6], bound)
    largest = int(2 ** (BITS - 1) * noise.part.step / bound)
    assert noise.fits([int(largest * 0.99)], bound)
    assert not noise.fits([largest], bound)
