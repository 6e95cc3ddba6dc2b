"""The public good of precision: equilibria and optima of every solver against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from public_goods import closed_form, public_good

from market.analysis.optimum import social_optimum
from market.equilibrium.solver import solve


def rng():
    return np.random.default_rng(0)


def loss(game, profile):
    return game.value * game.fitness(profile) + game.costs(profile).sum()


@pytest.mark.parametrize(("n", "c"), [(10, 1.0), (2, 0.3), (50, 7.0), (1, 2.0)])
def test_equal_owners(n, c):
    """Alone: d/dx (c x^2 + 1/((n-1) y + x)) = 0 at x = y gives 2 c x = 1/(n x)^2, x = (2 c n^2)^(-1/3).

    All together lose n c x^2 + n/(n x) = n c x^2 + 1/x, least at x = (2 c n)^(-1/3). In losses that
    is (2 c n^2)^(1/3) (1 + 1/(2n)) against (2 c n)^(1/3) 3/2, a ratio of n^(1/3) (2 + 1/n)/3. n =
    10, c = 1: 0.170998 against 0.368403, and 1.508104.
    """
    game = public_good(np.full(n, c))
    found = solve(game, rng=rng(), starts=4)
    best = social_optimum(game, start=found.epsilon)
    assert found.reason == "certified"
    assert np.allclose(found.epsilon, (2 * c * n**2) ** (-1 / 3), rtol=1e-10, atol=0)
    assert np.allclose(best.epsilon, (2 * c * n) ** (-1 / 3), rtol=1e-10, atol=0)
    assert best.at_most == pytest.approx(best.welfare, rel=2e-6)
    ratio = loss(game, found.epsilon) / loss(game, best.epsilon)
    assert ratio == pytest.approx(n ** (1 / 3) * (2 + 1 / n) / 3, rel=1e-12)
    if (n, c) == (10, 1.0):
        assert found.epsilon[0] == pytest.approx(0.170998, abs=5e-7)
        assert best.epsilon[0] == pytest.approx(0.368403, abs=5e-7)


@pytest.mark.parametrize("prior", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(6))
def test_owners_who_differ(seed, prior):
    draw = np.random.default_rng(seed)
    n = draw.integers(2, 12)
    price = draw.uniform(0.1, 5, n)
    valuation = draw.uniform(0.2, 3, n)
    game = public_good(price, valuation, prior)
    found = solve(game, rng=rng(), starts=4)
    best = social_optimum(game, start=found.epsilon)
    assert found.reason == "certified"
    assert np.allclose(found.epsilon, closed_form(price, valuation, prior), rtol=1e-9, atol=0)
    # together they are one owner of valuation W who pays every price
    together = closed_form(price, np.full(n, valuation.sum()), prior)
    assert np.allclose(best.epsilon, together, rtol=1e-8, atol=0)


@pytest.mark.parametrize("method", ["aggregative", "sequential", "random"])
def test_every_way_to_solve_it(method):
    price = np.linspace(0.5, 3, 8)
    found = solve(public_good(price), rng=rng(), method=method, starts=3)
    assert found.reason == "certified"
    assert np.allclose(found.epsilon, closed_form(price, np.ones(8), 0.0), rtol=1e-7, atol=0)


def test_ten_thousand_owners():
    """The closed form again; a path ends when moves are small beside the intervals, which here are wide."""
    price = np.random.default_rng(0).uniform(0.5, 3, 10**4)
    found = solve(public_good(price, prior=1.0), rng=rng(), starts=1, tol=1e-13)
    known = closed_form(price, np.ones(10**4), 1.0)
    assert found.converged and np.allclose(found.epsilon, known, rtol=1e-8, atol=0)
