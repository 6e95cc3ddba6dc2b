"""Prices of a model's versions: known answers, the best of a fine grid, and what combining versions would cost."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from market.analysis.versions import best_prices, price_points


def income(prices, offers):
    return sum(
        price * np.sum(np.asarray(paid) >= price * (1 - 1e-12))
        for price, paid in zip(prices, offers, strict=True)
    )


def cheapest(epsilon, prices, target, left=6):
    """The least money for versions whose budgets add up to at least a target, six at most."""
    if target <= 1e-12:
        return 0.0
    if not left:
        return np.inf
    return min(
        price + cheapest(epsilon, prices, target - one, left - 1)
        for one, price in zip(epsilon, prices, strict=True)
    )


@pytest.mark.parametrize("seed", range(3))
def test_nobody_saves_by_combining_versions_and_no_grid_does_better(seed):
    """Three versions, eight buyers: all lists of prices on a grid of 41 levels of what is offered, where unit prices fall,
    bring in no more; and buying noisier versions together never undercuts a version."""
    rng = np.random.default_rng(seed)
    epsilon = np.sort(rng.uniform(0.3, 3.0, 3))
    offers = [np.round(rng.uniform(5, 20, 1 + rng.integers(4)) * one**0.7, 1) for one in epsilon]
    best = best_prices(epsilon, offers)
    assert best.revenue == pytest.approx(income(best.prices, offers), rel=1e-12)
    assert np.all(np.diff(best.prices) >= -1e-9) and np.all(np.diff(best.prices / epsilon) <= 1e-9)
    for one, price in zip(epsilon, best.prices, strict=True):
        assert price <= cheapest(epsilon, best.prices, one) + 1e-9
    levels = np.linspace(0.1, max(paid.max() for paid in offers), 41)
    tried = [
        p
        for p in product(levels, repeat=3)
        if p[0] <= p[1] <= p[2] and np.all(np.diff(p / epsilon) <= 0)
    ]
    assert max(income(prices, offers) for prices in tried) <= best.revenue + 1e-9


def test_at_least_half_of_what_subadditive_prices_bring_in():
    """Theorem 5.1: against all prices among the offers that rise and that no sum of two versions undercuts."""
    rng = np.random.default_rng(7)
    ratios = []
    for _ in range(20):
        epsilon = np.array([1.0, 2.0, 3.0])
        offers = [rng.uniform(1, 20, 3) for _ in epsilon]
        levels = np.unique(
            np.concatenate([*price_points(epsilon, offers), *(2 * one for one in offers)])
        )
        each = [levels * (paid[:, None] >= levels).sum(axis=0) for paid in offers]
        one = levels[:, None, None]
        two = levels[None, :, None]
        three = levels
        kept = (one <= two) & (two <= three) & (two <= 2 * one) & (three <= one + two)
        freest = np.where(
            kept, each[0][:, None, None] + each[1][None, :, None] + each[2], 0.0
        ).max()
        ratios.append(best_prices(epsilon, offers).revenue / freest)
    assert min(ratios) >= 0.5
    assert best_prices([2.0, 3.0], [[4.0], [8.0]]).revenue == pytest.approx(
        4 + 6
    )  # subadditive alone: 4 + 8


def test_the_price_space_holds_what_constraints_lead_to():
    """Surveyed, of the same unit price above, of the same price below."""
    points = price_points([1.0, 2.0], [[3.0, 5.0], [4.0]])
    assert points[0].tolist() == [3, 4, 5] and points[1].tolist() == [4, 6, 10]
