"""Accounts that must balance."""

from __future__ import annotations

import numpy as np
import pytest
from markets import LAW, linear_market, market

from market.analysis.welfare import learner_surplus, welfare
from market.costs.functions import Quadratic
from market.policies.contributions import Marginal
from market.policies.posted import Posted
from market.policies.proportional import Proportional


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
    stay_out = market(
        Quadratic(1.0), Posted(1.0), 3, forecast=LAW, value=300.0, benefit=4.0, isolated=2.0
    )
    assert welfare(stay_out, np.zeros(3)) == 0
