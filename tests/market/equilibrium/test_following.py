"""Equilibria followed by Newton's method against those that play ends in."""

import numpy as np
import pytest
from markets import market
from toys import LinearLaw

from market.costs.functions import Quadratic
from market.equilibrium.following import FOLLOWED, follow_equilibrium, solve_quickly
from market.equilibrium.solver import solve
from market.policies.contributions import Shapley

LAW = LinearLaw(1.0, 0.0, 0.004)


def shapley_market(share, slopes=(1.0, 3.0, 0.4), *, high=100.0):
    return market(
        Quadratic(list(slopes)),
        Shapley(share),
        len(slopes),
        low=1e-3,
        high=high,
        forecast=LAW,
        value=300.0,
    )


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("slopes", [(1.0, 3.0, 0.4), (2.0, 2.0), (0.3, 1.0, 1.0, 5.0)])
def test_the_equilibrium_of_a_smaller_share_leads_to_that_of_a_larger_one(slopes):
    played = solve(shapley_market(0.5, slopes), rng=rng(), starts=1)
    before = solve(shapley_market(0.4, slopes), rng=rng(), starts=1)
    found = follow_equilibrium(shapley_market(0.5, slopes), before.epsilon)
    assert played.converged and found is not None and found.method == FOLLOWED
    assert found.epsilon == pytest.approx(played.epsilon, rel=1e-6)
    assert found.payments == pytest.approx(played.payments, rel=1e-6)
    assert not np.allclose(found.epsilon, before.epsilon, rtol=1e-2)


def test_what_is_no_equilibrium_nearby_is_left_to_play():
    """With another owner at the end of its interval than in the equilibrium, nothing is certified."""
    game = shapley_market(0.5)
    there = solve(game, rng=rng(), starts=1).epsilon
    start = there.copy()
    start[0] = 1e-3
    assert follow_equilibrium(game, start) is None
    assert follow_equilibrium(game, there / 20) is None
    found = solve_quickly(game, rng=rng(), start=start)
    assert found.converged and found.epsilon == pytest.approx(there, rel=1e-6)


def test_an_owner_at_the_end_of_its_interval_stays_there():
    game = shapley_market(0.5, high=0.6)
    there = solve(game, rng=rng(), starts=1)
    assert (there.epsilon == 0.6).any() and there.converged
    near = np.where(there.epsilon == 0.6, 0.6, there.epsilon * 0.9)
    found = follow_equilibrium(game, near)
    assert found is not None and found.epsilon == pytest.approx(there.epsilon, rel=1e-6)


def test_play_cut_short_ends_where_play_ends():
    for share in (0.1, 0.5, 0.9):
        game = shapley_market(share)
        assert solve_quickly(game, rng=rng()).epsilon == pytest.approx(
            solve(game, rng=rng(), starts=1).epsilon, rel=1e-6
        )
