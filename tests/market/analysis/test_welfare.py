"""Accounts that must balance, and the social optimum."""

from __future__ import annotations

import numpy as np
import pytest
from markets import envelope_market, market, rng
from scipy.optimize import minimize
from toys import Envelope, LinearLaw

from market.analysis.welfare import learner_surplus, price_of_anarchy, social_optimum, welfare
from market.costs.functions import Leakage, Quadratic
from market.equilibrium.solver import solve
from market.policies.marginal import Marginal
from market.policies.posted import Posted
from market.policies.proportional import Proportional

LAW = LinearLaw(1.0, 0.1, 0.004)


def linear_market(policy, **more):
    return market(Quadratic([0.5, 1.0, 3.0]), policy, 3, low=0.01, high=10.0, forecast=LAW, value=300.0, **more)


@pytest.mark.parametrize("policy", [Posted(2.0), Proportional(9.0), Marginal(0.5)])
def test_the_accounts_balance(policy):
    """Learner's surplus + owners' surplus = welfare: payments only change hands."""
    game = linear_market(policy, benefit=[0.0, 4.0, 8.0], isolated=[0.5, 0.3, 0.9])
    for epsilon in (np.array([0.3, 1.0, 5.0]), np.full(3, 0.01)):
        surplus = learner_surplus(game, epsilon) + game.payoffs(epsilon).sum()
        assert welfare(game, epsilon) == pytest.approx(surplus, rel=1e-12)
        expected = game.payments(epsilon) + game.benefits(epsilon) - game.costs(epsilon)
        assert np.allclose(game.payoffs(epsilon), expected, rtol=1e-13)


def test_welfare_by_hand():
    game = linear_market(Posted(2.0), benefit=4.0, isolated=0.5)
    psi = 0.1 + 0.004 * 3
    expected = 300 * (1 - psi) + 3 * 4 * (0.5 - psi) - (0.5 + 1 + 3) / 2
    assert welfare(game, np.ones(3)) == pytest.approx(expected, rel=1e-14)
    stay_out = market(Quadratic(1.0), Posted(1.0), 3, forecast=LAW, value=300.0, benefit=4.0, isolated=2.0)
    assert welfare(stay_out, np.zeros(3)) == 0


def test_marginal_share_one_is_the_social_optimum():
    """Fixed horizon: both are c'(e) = 2 V gain / e^3; the equilibrium loses nothing, share 1/2 loses something."""
    game = linear_market(Marginal())
    equilibrium = solve(game, rng=rng())
    best, total = social_optimum(game, rng=rng())
    by_hand = (2 * 300 * 0.004 / np.array([0.5, 1.0, 3.0])) ** 0.25
    assert np.allclose(best, by_hand, rtol=1e-9) and np.allclose(equilibrium.epsilon, by_hand, rtol=1e-9)
    assert total == pytest.approx(welfare(game, equilibrium.epsilon), rel=1e-14)
    assert price_of_anarchy(game, equilibrium.epsilon, rng=rng()) == pytest.approx(1.0, abs=1e-12)
    half = solve(linear_market(Marginal(0.5)), rng=rng())
    assert price_of_anarchy(linear_market(Marginal(0.5)), half.epsilon, rng=rng()) > 1.001


def test_no_anarchy_with_a_choice_of_horizon():
    game = envelope_market()
    equilibrium = solve(game, rng=rng(), starts=8)
    best = max([equilibrium, *equilibrium.others], key=lambda one: welfare(game, one.epsilon))
    assert price_of_anarchy(game, best.epsilon, rng=rng()) == pytest.approx(1.0, abs=1e-10)


def test_the_social_optimum_counts_other_owners_benefits():
    """Second route: a general optimiser over all epsilon at once."""
    game = linear_market(Posted(0.0), benefit=[0.0, 40.0, 80.0], isolated=[0.5, 0.3, 0.9])
    best, total = social_optimum(game, rng=rng())

    def loss(logs):
        return -welfare(game, np.exp(logs))

    other = minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000})
    assert total == pytest.approx(-other.fun, rel=1e-11) and np.allclose(best, np.exp(other.x), rtol=1e-4)
    alone = linear_market(Posted(0.0))
    assert np.all(best > social_optimum(alone, rng=rng())[0] * 1.05)


@pytest.mark.slow
def test_the_social_optimum_may_leave_an_owner_out():
    """Leakage costs and a choice to stay out: checked against every profile on a grid."""
    law = Envelope(1.0, (0.4, 0.1), (0.01, 0.1))
    game = market(Leakage([0.1, 1.0, 3.0]), Posted(0.0), 3, forecast=law, value=6.0, high=8.0)
    best, total = social_optimum(game, rng=rng())
    choices = np.concatenate([[0.0], np.geomspace(0.05, 8.0, 25)])
    grid = np.stack(np.meshgrid(choices, choices, choices), axis=-1).reshape(-1, 3)
    assert total >= max(welfare(game, profile) for profile in grid) - 1e-12
    assert 0 < (best > 0).sum() < 3


def test_anarchy_without_welfare():
    game = linear_market(Posted(0.0))
    assert price_of_anarchy(game, np.full(3, 0.01), rng=rng()) == np.inf
    worthless = market(Quadratic(1.0), Posted(1.0), 2)
    assert price_of_anarchy(worthless, np.zeros(2), rng=rng()) == 1.0
