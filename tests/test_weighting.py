"""Coalitions and weights: prefix rule against all subsets, weights against a constrained optimiser."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from learning.gaussian import Gaussian
from learning.privacy import Laplace
from learning.weighting import aggregate_noise, best_coalition, precision_weights


def random_market(rng, owners):
    return np.exp(rng.uniform(np.log(1e2), np.log(1e5), owners)), np.exp(rng.uniform(np.log(0.05), np.log(20), owners))


def test_the_best_coalition_is_a_prefix_against_all_subsets():
    """500 random markets of 10 owners, all 1,023 coalitions each, Laplace and Gaussian terms."""
    rng = np.random.default_rng(0)
    subsets = np.array(list(product((False, True), repeat=10)))[1:]
    for trial in range(500):
        sizes, epsilon = random_market(rng, 10)
        term = (Laplace() if trial % 2 else Gaussian(1e-6)).term(epsilon)
        noise = (subsets @ term) / (subsets @ sizes) ** 2
        assert (best_coalition(sizes, term) == subsets[np.argmin(noise)]).all()


def test_more_data_is_not_always_good_but_weighted_it_is():
    """Value of Collaboration, scenario 1: n = 10^5, 10^3, 10^3 and epsilon = 10, 0.1, 0.1. Noise falls 10,000-fold."""
    sizes, epsilon = np.array([1e5, 1e3, 1e3]), np.array([10.0, 0.1, 0.1])
    variance = Laplace().variance(epsilon, sizes, 1.0, 10)
    by_size = aggregate_noise(sizes / sizes.sum(), variance)
    assert by_size / aggregate_noise(precision_weights(variance, sizes), variance) > 10_000
    assert best_coalition(sizes, Laplace().term(epsilon)).tolist() == [True, False, False]


def test_precision_weights_are_never_worse_and_are_optimal():
    rng = np.random.default_rng(1)
    for trial in range(500):
        sizes, epsilon = random_market(rng, 6)
        variance = Laplace().variance(epsilon, sizes, 2.0, 5)
        gain, spread = np.exp(rng.uniform(-3, 3)), np.exp(rng.uniform(-3, 3))

        def cost(q, v=variance, n=sizes, k=gain, c=spread):
            return k * np.sum(q**2 * v) + c * np.sum(q**2 / n)

        best = precision_weights(variance, sizes, gain, spread)
        assert best.sum() == pytest.approx(1) and cost(best) <= cost(sizes / sizes.sum()) * (1 + 1e-12)
        kept = best_coalition(sizes, Laplace().term(epsilon))
        assert cost(best) <= cost(kept * sizes / sizes[kept].sum()) * (1 + 1e-12)
        if trial < 20:
            scale = cost(best)
            found = minimize(
                lambda q, c=cost, s=scale: c(q) / s,
                np.full(6, 1 / 6),
                bounds=[(0, 1)] * 6,
                method="SLSQP",
                constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
                options={"maxiter": 500},
            )
            assert cost(best) <= cost(found.x / found.x.sum()) * (1 + 1e-9)


def test_edges():
    assert best_coalition([5.0], [3.0]).tolist() == [True]
    assert best_coalition([5.0, 5.0], [np.inf, np.inf]).tolist() == [False, False]
    assert best_coalition([5.0, 7.0, 9.0], [0.0, 0.0, 1.0]).tolist()[0]  # without noise: at least one noiseless owner
    assert precision_weights([0.0, 0.0, 1.0], [1, 3, 5]).tolist() == [0.25, 0.75, 0.0]
    with pytest.raises(ValueError, match="share"):
        precision_weights([np.inf], [1.0])
    with pytest.raises(ValueError, match="above 0"):
        best_coalition([0.0], [1.0])
