"""Nothing is charged for nothing: payoffs, best responses and certificates where the learner asks only if that is a gain."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from markets import market, rng
from toys import Envelope

from market.analysis.optimum import social_optimum
from market.analysis.regulation import cap_epsilon, floor_prices, tax_leakage
from market.analysis.welfare import learner_surplus, participation, welfare
from market.costs.functions import Linear, Quadratic
from market.equilibrium.solver import solve
from market.game.game import Game, relative_regret
from market.policies.contributions import Marginal
from market.policies.posted import Posted
from market.policies.proportional import Proportional

TRIED = np.concatenate([[0.0], np.geomspace(1e-3, 20, 20001)])


@dataclass(frozen=True)
class Choosy(Envelope):
    """psi = 0.1 + 0.05 sum 1/epsilon^2; the learner asks only where that is less than 1: sum 1/epsilon^2 < 18."""

    outside: float = 1.0
    biases: tuple = (0.1,)
    gains: tuple = (0.05,)

    def asks(self, sums):
        return self.excess(sums) < self.outside


@dataclass(frozen=True)
class Retainer(Posted):
    """A posted price that is paid to whoever stands ready."""

    paid_unasked = True


@dataclass(frozen=True)
class Charged(Posted):
    """A posted price less a charge to whoever sells: payments jump at 0."""

    def payments(self, epsilon, deviations):
        return super().payments(epsilon, deviations) - 6.0 * (epsilon > 0)


def pair(policy, low=0.01, cost=None, **more):
    return market(
        cost or Linear([3.0, 5.0]), policy, 2, low=low, forecast=Choosy(), value=100.0, **more
    )


def test_where_nothing_is_asked_nobody_is_paid_loses_or_is_taxed():
    low = np.array([0.1, 0.2])
    game = tax_leakage(pair(Proportional(40.0), benefit=7.0, isolated=2.0, fixed_cost=1.0), 0.5)
    assert not game.asks(low) and game.promised(low).sum() == 40
    for money in (
        game.payments(low),
        game.costs(low),
        game.benefits(low),
        game.payoffs(low),
        game.taxes(low),
    ):
        np.testing.assert_array_equal(money, 0)
    assert (
        learner_surplus(game, low) == welfare(game, low) == 0
        and participation(game, low).rational.all()
    )
    high = np.array([1.0, 2.0])
    assert (
        game.asks(high)
        and game.payments(high).sum() == pytest.approx(40)
        and (game.costs(high) > 3).all()
    )


def test_a_policy_says_whether_it_pays_where_nothing_is_asked():
    low = np.array([0.1, 0.2])
    np.testing.assert_allclose(pair(Retainer(4.0)).payoffs(low), [0.4, 0.8])
    floored = floor_prices(pair(Retainer(4.0)), 6.0)
    np.testing.assert_allclose(floored.payoffs(low), [0.6, 1.2])
    assert not floor_prices(pair(Posted(4.0)), 6.0).payoffs(low).any()


def test_without_a_say_a_learner_always_asks():
    low = np.array([0.1, 0.2])
    plain = market(Linear([3.0, 5.0]), Proportional(40.0), 2, value=100.0)
    assert plain.asks(low) and plain.payments(low).sum() == pytest.approx(40)
    bound = Game(plain.owners, plain.policy, Choosy(), 100.0, unconditional=True)
    np.testing.assert_array_equal(bound.payoffs(low), plain.payoffs(low))


@pytest.mark.parametrize("profile", [(0.1, 0.2), (1.0, 2.0), (0.1, 6.0)])
@pytest.mark.parametrize("policy", [Proportional(40.0), Retainer(4.0), Marginal(0.5)], ids=str)
def test_what_owners_weigh_at_a_profile_is_what_they_weigh_as_a_move(policy, profile):
    game = pair(policy, benefit=7.0, isolated=0.5)
    at = np.array(profile)
    np.testing.assert_allclose(
        game.weighed_payoffs(at), game.deviation_payoffs(at, at[:, None])[:, 0]
    )


POLICIES = [
    Proportional(40.0),
    Proportional(4.0, "records_epsilon2"),
    Posted(4.0),
    Marginal(0.5),
    Retainer(2.0),
]
PROFILES = [(0.1, 0.2), (0.1, 3.0), (0.3, 0.3), (2.0, 3.0), (0.25, 12.0)]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("low", [0.0, 0.01])
def test_responses_and_regret_are_those_of_a_dense_search(policy, low):
    """20,001 candidates, whether anything is asked found from each whole profile: no shortcut of the search is shared."""
    game = pair(policy, low, Quadratic([0.5, 2.0]))
    for profile in map(np.array, PROFILES):
        regret = game.regret(profile)
        response = game.best_responses(profile)
        for owner in range(2):
            tried = np.concatenate([TRIED[low <= TRIED], profile[[owner]], response[[owner]]])
            moved = np.tile(profile, (len(tried), 1))
            moved[:, owner] = tried
            due = game.forecast.asks(game.forecast.terms(moved.T).sum(axis=0)) | policy.paid_unasked
            promised = game.deviations(profile, np.array([owner])).promises(tried[None])[0]
            *payoffs, have, reached = np.where(due, promised, np.minimum(promised, 0.0))
            scale = 1e-6 * (1 + abs(max(payoffs)))
            assert reached >= max(payoffs) - scale
            assert regret[owner] == pytest.approx(max(*payoffs, reached) - have, abs=20 * scale)


@pytest.mark.parametrize("fixed_cost", [0.0, 6.0])
@pytest.mark.parametrize("policy", [Posted(4.0), Marginal(0.5), Retainer(2.0), Charged(4.0)])
@pytest.mark.parametrize("profile", [(3.0, 1.0), (3.0, 0.3), (3.0, 0.1), (0.1, 3.0)])
def test_an_owner_may_leave_to_a_learner_that_buys_without_it(policy, profile, fixed_cost):
    """The model goes to all; where sharing at all is costly or charged, payoffs jump at 0 and may be highest there."""
    public = {"benefit": 20.0, "isolated": 0.9, "model_for_all": True}
    game = pair(policy, 0.0, Quadratic([0.5, 2.0]), fixed_cost=fixed_cost, **public)
    at = np.array(profile)
    payoffs = game.deviation_payoffs(at, np.tile(TRIED, (2, 1)))
    have = game.weighed_payoffs(at)
    np.testing.assert_allclose(
        game.regret(at), np.maximum(payoffs.max(axis=1) - have, 0), rtol=1e-5, atol=1e-5
    )
    reached = game.deviation_payoffs(at, game.best_responses(at)[:, None])[:, 0]
    assert np.all(reached >= payoffs.max(axis=1) - 1e-5)


def test_nobody_drowns_everything_to_be_spared_a_loss():
    """A charge for harm makes the second lose wherever it stands; at its floor nothing would be asked, and it stays."""
    game = pair(Marginal(0.05), low=0.2, cost=Linear([0.1, 9.0]))
    found = solve(game, rng=rng(), starts=4)
    assert found.converged and game.asks(found.epsilon) and game.payoffs(found.epsilon)[1] < 0
    assert not game.asks(np.array([found.epsilon[0], 0.2]))


def test_an_owner_alone_sells_the_least_that_is_of_use():
    """A budget goes to the only owner for any epsilon at which it is asked: 1/epsilon^2 < 18, so epsilon = 18^(-1/2)."""
    game = market(Linear(3.0), Proportional(40.0), 1, low=0.01, forecast=Choosy(), value=100.0)
    found = solve(game, rng=rng(), starts=4)
    assert (
        found.converged
        and found.epsilon[0] == pytest.approx(18**-0.5, rel=1e-8)
        and game.asks(found.epsilon)
    )
    assert found.payments[0] == pytest.approx(40)


def test_owners_whom_nobody_can_make_use_of_rest_where_nothing_is_due():
    game = cap_epsilon(pair(Proportional(40.0)), 0.2)
    found = solve(game, rng=rng(), starts=4)
    assert (
        found.converged
        and not found.payments.any()
        and relative_regret(*game.certificate(found.epsilon)).max() == 0
    )


def test_equilibria_at_which_the_learner_asks_stay_what_they_were():
    game = pair(Proportional(40.0))
    bound = Game(game.owners, game.policy, game.forecast, game.value, unconditional=True)
    found, before = (solve(one, rng=rng(), starts=4) for one in (game, bound))
    assert found.converged and game.asks(found.epsilon)
    np.testing.assert_allclose(found.epsilon, before.epsilon, rtol=1e-9)


def test_no_planner_does_worse_than_asking_nothing():
    game = pair(Posted(4.0), low=1.0, cost=Linear([300.0, 500.0]))
    assert welfare(game, np.ones(2)) < 0
    best = social_optimum(pair(Posted(4.0), cost=Linear([300.0, 500.0])))
    assert best.at_most >= best.welfare >= 0


def test_where_nobody_may_share_nothing_is_the_optimum():
    best = social_optimum(
        cap_epsilon(market(Linear([3.0, 5.0]), Posted(4.0), 2, forecast=Choosy(), value=100.0), 0.0)
    )
    assert best.welfare == best.at_most == 0 and not best.epsilon.any()
