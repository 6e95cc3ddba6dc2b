"""A budget shared by expected contributions: against brute force, slopes by differences, certified equilibria."""

import numpy as np
import pytest

from learning.errors import InputError
from market.costs.functions import Linear
from market.equilibrium.solver import solve
from market.game.game import Game
from market.game.owners import Owners
from market.policies.brought import Contribution
from market.policies.contributions import Shapley

SIZES = np.array([100.0, 300.0, 250.0])
PROFILE = np.array([0.7, 0.2, 1.3])


class Law:
    """One step's law of shape: an error of noise and of few records, capped by the learner's own."""

    outside = 1.0

    def terms(self, epsilon):
        sizes = SIZES[: len(epsilon)].reshape(-1, *[1] * (epsilon.ndim - 1))
        safe = np.where(epsilon > 0, epsilon, 1.0)
        noise = np.where(epsilon > 0, 1 / safe**2, 0.0)
        return np.stack([noise, sizes * (epsilon > 0)], axis=-1)

    def excess(self, sums):
        records = np.maximum(sums[..., 1], 1.0)
        error = 0.01 + 2e3 * sums[..., 0] / records**2 + 20 / records
        return np.where(sums[..., 1] > 0, np.minimum(error, 1.0), 1.0)


def game(budget=10.0, cost=1.0, **fields):
    owners = Owners(("A", "B", "C"), SIZES, 0.0, 5.0, Linear(cost))
    return Game(owners, Contribution(budget, **fields), Law(), 1.0)


def shapley_payments(profile):
    """What `Shapley` pays for the same forecast, by another route: one owner at a time."""
    owners = Owners(("A", "B", "C"), SIZES, 0.0, 5.0, Linear(1.0))
    return Game(owners, Shapley(), Law(), 1.0).payments(profile)


def test_the_budget_is_shared_by_shapley_values():
    values = shapley_payments(PROFILE)
    assert np.all(values > 0)
    assert game().payments(PROFILE) == pytest.approx(10 * values / values.sum())


def test_who_would_harm_the_model_is_paid_nothing_and_the_rest_is_shared_out():
    harmful = np.array([0.06, 1.0, 1.3])  # its noise outweighs its records
    values = shapley_payments(harmful)
    assert values[0] < 0
    paid = game().payments(harmful)
    assert paid[0] == 0
    assert paid.sum() == pytest.approx(10)
    assert paid[1:] == pytest.approx(10 * values[1:] / values[1:].sum())
    assert not game().payments(np.zeros(3)).any()


def test_payments_of_candidates_are_those_of_whole_profiles_and_slopes_their_differences():
    market = game()
    candidates = np.tile(np.array([0.01, 0.3, 0.9, 4.0]), (3, 1))
    moves = market.deviations(PROFILE)
    found = market.policy.payments(candidates, moves)
    for owner, row in enumerate(candidates):
        for number, epsilon in enumerate(row):
            profile = PROFILE.copy()
            profile[owner] = epsilon
            assert found[owner, number] == pytest.approx(market.payments(profile)[owner])
    step = 1e-6 * candidates
    above, below = (market.policy.payments(candidates + way * step, moves) for way in (1, -1))
    slopes = market.policy.marginal_payments(candidates, moves)
    assert slopes == pytest.approx((above - below) / (2 * step), rel=1e-4, abs=1e-7)


def test_an_equilibrium_is_certified_and_no_move_on_a_fine_grid_gains():
    market = game(cost=[2.0, 1.0, 1.5])
    found = solve(market, rng=np.random.default_rng(0), starts=4)
    assert found.converged
    assert found.max_relative_regret < 1e-8
    assert np.all(found.epsilon > 0)
    have = market.payoffs(found.epsilon)
    grid = np.tile(np.linspace(0, 5, 2001), (3, 1))
    assert np.all(market.deviation_payoffs(found.epsilon, grid).max(axis=1) <= have + 1e-9)


def test_drawn_orders_pay_nearly_the_same(monkeypatch):
    from learning.training import coalitions

    exact = game().payments(PROFILE)
    monkeypatch.setattr(coalitions, "EXACT_OWNERS", 2)
    coalitions.list_coalitions.cache_clear()
    drawn = game(samples=400, seed=3)
    assert drawn.payments(PROFILE) == pytest.approx(exact, rel=0.02)
    moves = drawn.deviations(PROFILE)
    assert drawn.policy.payments(PROFILE[:, None], moves)[:, 0] == pytest.approx(
        drawn.payments(PROFILE)
    )
    coalitions.list_coalitions.cache_clear()


def test_more_owners_than_sets_are_compared_of_are_refused():
    names = tuple(f"o{k}" for k in range(41))
    with pytest.raises(InputError, match=r"policy.kind: must be left out with more than 40 owners"):
        Contribution(1.0).check_owners(Owners(names, 10.0, 0.0, 1.0, Linear(1.0)))
