"""Noise on second moments: its covariance, its privacy in trace norm, and the pairs that bound two records."""

import numpy as np
import pytest
import scipy
from sizes import sized, thinned

from learning.privacy.wishart import (
    Wishart,
    draw_wishart_difference,
    trace_frontier,
    wishart_deviation,
)

NODES = np.polynomial.laguerre.laggauss(150)


def steps_in_a_ball(count):
    """Symmetric matrices, uniform in the unit ball of the Frobenius norm."""
    rng = np.random.default_rng(6)
    step = rng.standard_normal((count, 3))
    step *= (rng.random(count) ** (1 / 3) / np.linalg.norm(step, axis=1))[:, None]
    aside = step[:, 2] / np.sqrt(2)
    return np.stack([step[:, 0], aside, aside, step[:, 1]], axis=1).reshape(-1, 2, 2)


BALL = steps_in_a_ball(200)


def draws(count, width, freedom, seed=0):
    rng = np.random.default_rng(seed)
    return np.stack([draw_wishart_difference(width, freedom, rng=rng) for _ in range(count)])


def test_covariance_is_that_of_symmetric_gaussian_noise():
    count, width, freedom = 20_000, 4, 5
    made = draws(count, width, freedom)
    deviation = wishart_deviation(freedom)
    rows, columns = np.triu_indices(width)
    numbers = made[:, rows, columns] / np.where(rows == columns, deviation, deviation / np.sqrt(2))
    found = numbers.T @ numbers / count
    assert np.abs(found - np.eye(len(rows))).max() < 6 * np.sqrt(6 / count)
    assert np.array_equal(made, made.swapaxes(1, 2))


def test_one_column_gets_laplace_noise():
    made = draws(4_000, 1, 2)[:, 0, 0] / 2
    assert scipy.stats.kstest(made, scipy.stats.laplace.cdf).pvalue > 0.001


def density(noise):
    """Density of 2 x 2 noise up to a factor, with nu = 3: e^(-tr D/2) int e^(-tr B) over B >= 0, B >= -D.

    For eigenvalues d and -m of D that is e^(-(d + m)/2) times the integral of 2 sqrt(min(a (b + m), (a + d) b))
    e^(-a - b) over a, b > 0: the volume of what may stand off the diagonal of B, with b counted from m.
    """
    low, high = np.linalg.eigvalsh(noise)
    if low >= 0 or high <= 0:
        low, high = 0.0, abs(low) + abs(high)
    a = NODES[0][:, None]
    b = NODES[0]
    room = 2 * np.sqrt(np.minimum(a * (b - low), (a + high) * b))
    return np.exp((low - high) / 2) * (NODES[1] @ room @ NODES[1])


def test_the_density_is_that_of_the_draws():
    """Shares of draws in a few balls around points, against the density there."""
    made = draws(sized(60_000, 400_000), 2, 3, seed=5)
    points = [np.zeros((2, 2)), np.diag([2.0, 0.0]), np.diag([2.0, -2.0]), np.diag([4.0, 2.0])]
    near = [np.mean(np.square(made - one).sum(axis=(1, 2)) < 1.0) for one in points]
    error = 6 / np.sqrt(len(made) * np.array(near))
    law = np.array([np.mean([density(one + step) for step in BALL]) for one in points])
    assert np.all(np.abs(near / law / (near[0] / law[0]) - 1) < error + 0.02)


def test_a_shift_costs_at_most_half_its_trace_norm():
    rng = np.random.default_rng(1)
    largest = []
    for at in draws(200, 2, 3, seed=2):
        x, z = rng.standard_normal((2, 2)) * rng.choice([0.3, 1.0, 3.0])
        shift = np.outer(x, x) - np.outer(z, z)
        bound = np.abs(np.linalg.eigvalsh(shift)).sum() / 2
        largest.append(abs(np.log(density(at + shift) / density(at))) / bound)
    assert 0.95 < max(largest) < 1 + 1e-3  # the bound is attained, and not exceeded


def test_every_two_records_lie_within_a_pair():
    """Random records: lengths, angles and scores of any size and sign, many of them at the bounds."""
    rng = np.random.default_rng(3)
    pairs = trace_frontier(64)
    for width in (1, 2, 3, 6):
        for _ in range(400):
            x, z = rng.standard_normal((2, width))
            if rng.random() < 0.5:
                z = x * rng.choice([-1, 1]) + 10.0 ** rng.uniform(-3, 0) * z
            x, z = (one / np.linalg.norm(one) for one in (x, z))
            scores = rng.choice([-1, 1, rng.uniform(-1, 1)], 2)
            lengths = rng.choice([1.0, 1.0, rng.uniform(0, 1)], 2)
            score = np.linalg.norm(scores[0] * x - scores[1] * z) / 2
            moved = np.outer(lengths[0] * x, lengths[0] * x) - np.outer(
                lengths[1] * z, lengths[1] * z
            )
            trace = np.abs(np.linalg.eigvalsh(moved)).sum() / 2
            assert np.any((score <= pairs[:, 0] + 1e-12) & (trace <= pairs[:, 1] + 1e-12))
    assert (pairs <= 1).all()


def test_the_price_of_scores_and_moments_is_their_ratios_at_the_worst_pair():
    share = 0.3
    width = 10
    mechanism = Wishart(width).with_moments(share)
    score, moments = 2 / np.sqrt(width + 1), share * 2 / np.sqrt(width + 1)
    ratio = np.sqrt(width + 1) * score  # 2 h/b of noise whose deviation is sqrt(p + 1) b
    trace = wishart_deviation(width + 1) * moments  # R^2/b likewise
    worst = max(ratio / 2 * s + trace / 2 * m for s, m in trace_frontier(64))
    assert mechanism.total_ratio == pytest.approx(worst, rel=1e-12)
    persons = Wishart(width).with_moments(share, rows=2)
    assert persons.total_ratio == pytest.approx(1 + trace / 2)
    twice = Wishart(width, overlap=2).with_moments(share).total_ratio
    assert twice == pytest.approx(2 * persons.total_ratio)


def test_a_release_has_variance_one_and_l2_noise_on_its_score():
    width = 3
    mechanism = Wishart(width).with_moments(0.5)
    rng = np.random.default_rng(4)
    made = np.stack([mechanism.draw_release((3, 6), rng=rng) for _ in range(8_000)])
    assert np.abs(made.var(axis=0) - 1).max() < 0.2
    lengths = np.linalg.norm(made[:, :3], axis=1) * np.sqrt(width + 1)
    assert scipy.stats.kstest(lengths, scipy.stats.gamma(width).cdf).pvalue > 0.001


@pytest.mark.parametrize("makers", thinned([2, 3, 7], [3]))
def test_parts_of_several_makers_add_up_to_noise_that_is_priced(makers):
    """As wide as one maker's, with at least p + 1 columns, and no more than the price counts."""
    width = 3
    mechanism = Wishart(width).made_by(makers).with_moments(0.5)
    rng = np.random.default_rng(5)

    def draw_whole():
        parts = [mechanism.draw_release_part(makers, (3, 6), rng=rng) for _ in range(makers)]
        return np.sum(parts, axis=0) / np.sqrt(makers)

    made = np.stack([draw_whole() for _ in range(3_000)])
    assert np.abs(made.var(axis=0) - 1).max() < 0.25
    lengths = np.linalg.norm(made[:, :3], axis=1) * np.sqrt(width + 1)
    assert scipy.stats.kstest(lengths, scipy.stats.gamma(width).cdf).pvalue > 0.001
    columns = makers * mechanism.columns_of(makers)
    assert width + 1 <= columns <= mechanism.freedom
    alone = Wishart(width).with_moments(0.5)
    assert mechanism.total_ratio >= alone.total_ratio
    with pytest.raises(ValueError, match="makers cannot have"):
        alone.draw_release_part(2, (3, 6), rng=rng)
