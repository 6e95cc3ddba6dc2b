"""Best responses and regret against games solved by hand."""

from __future__ import annotations

import numpy as np
import pytest
from markets import market
from toys import Envelope, LinearLaw

from learning.forecast.fitness import forecast
from learning.forecast.settings import Settings
from learning.privacy.laplace import Laplace
from learning.training.law import Problem
from market.costs.functions import Leakage, Linear, Quadratic
from market.equilibrium.solver import solve
from market.game.game import relative, sums_over_others
from market.game.search import argmax, highest_value, local_maxima, log_grid, refine
from market.policies.base import ProfilePolicy
from market.policies.marginal import Marginal
from market.policies.posted import Posted
from market.policies.proportional import Proportional


def every(value, slope=None):
    """What a search asks for, of functions that are alike for every row: the value and slope of some rows."""
    return lambda rows: (value, slope)


def test_posted_price_with_quadratic_cost():
    """price * e - a e^2/2 is greatest at price / a; the interval [0.5, 3] cuts it off at both ends."""
    slopes = np.array([0.5, 1.0, 2.0, 4.0, 16.0])
    game = market(Quadratic(slopes), Posted(4.0), 5, low=0.5, high=3.0)
    for start in (np.full(5, 0.5), np.full(5, 3.0)):
        assert np.allclose(game.best_responses(start), [3, 3, 2, 1, 0.5], atol=1e-12)


def test_posted_price_per_bit_against_leakage():
    """The same bits are paid and lost: all or nothing, whichever price is higher; at equal prices, nothing."""
    game = market(Leakage([1.0, 2.0, 3.0]), Posted(2.0, "bit"), 3, sizes=100.0)
    assert game.best_responses(np.ones(3)).tolist() == [20.0, 0.0, 0.0]


def test_tullock_response():
    """R x/(x + o) - c x is greatest at sqrt(R o/c) - o, where that is positive."""
    costs, profile = np.array([0.7, 1.3, 2.9, 40.0]), np.array([1.0, 2.0, 0.5, 1.5])
    game = market(Linear(costs), Proportional(30.0, "epsilon"), 4)
    others = profile.sum() - profile
    expected = np.maximum(np.sqrt(30 * others / costs) - others, 0.0)
    assert np.allclose(game.best_responses(profile), expected, atol=1e-11)
    assert np.allclose(game.best_responses(profile, owners=[2, 1]), expected[[2, 1]], atol=1e-11)
    assert expected[3] == 0 and game.best_responses(profile)[3] == 0


def test_marginal_first_order_condition():
    """Interior: c'(e) = 2 V gain / e^3; quadratic cost a e^2/2 gives e = (2 V gain / a)^(1/4), whatever others do."""
    value, gain, slope = 300.0, 0.004, np.array([0.5, 1.0, 3.0, 10.0])
    game = market(Quadratic(slope), Marginal(), 4, low=0.01, forecast=LinearLaw(1.0, 0.1, gain), value=value)
    expected = (2 * value * gain / slope) ** 0.25
    for start in np.random.default_rng(0).uniform(0.01, 20, (5, 4)):
        response = game.best_responses(start)
        assert np.allclose(response, expected, rtol=1e-12)
        assert np.allclose(game.owners.cost.slope(response, game.owners.sizes), 2 * value * gain / response**3)


def test_a_concave_cost_needs_a_global_search():
    """Leakage cost: the surplus falls, then rises. A grid of a million points knows which end wins."""
    rng = np.random.default_rng(3)
    n = 40
    game = market(
        Leakage(10 ** rng.uniform(-2, 1, n), values=10), Posted(rng.uniform(0.1, 2, n)), n, low=0.01, high=8.0
    )
    response = game.best_responses(np.ones(n))
    grid = np.tile(np.linspace(0.01, 8.0, 100_001), (n, 1))
    payoffs = game.deviation_payoffs(np.ones(n), grid)
    assert np.all(game.deviation_payoffs(np.ones(n), response[:, None])[:, 0] >= payoffs.max(axis=1) - 1e-13)
    assert 0 < (response == 0.01).sum() < n and (response == 8.0).any()


def test_a_participation_jump_at_zero():
    """A benefit of 5 * (0.9 - psi) comes with any epsilon > 0, at a cost: one owner takes it, the dear one stays out."""
    law = LinearLaw(1.0, 0.1, 0.02)
    game = market(Quadratic([1.0, 400.0]), Posted(0.0), 2, forecast=law, value=0.0, benefit=5.0, isolated=0.9)
    response = game.best_responses(np.array([0.0, 0.0]))
    alone = (2 * 5 * 0.02 / 1.0) ** 0.25  # c'(e) = 2 * benefit * gain / e^3
    assert response[0] == pytest.approx(alone, rel=1e-12)
    # surplus of the dear one at its own best: 5 (0.8 - 0.02/e^2) - 200 e^2 < 0
    assert response[1] == 0.0
    both = market(Quadratic([1.0, 4.0]), Posted(0.0), 2, forecast=law, benefit=5.0, isolated=0.9)
    assert both.best_responses(np.zeros(2))[1] == pytest.approx((0.2 / 4) ** 0.25, rel=1e-12)


def test_ties_go_to_the_smaller_epsilon():
    game = market(Linear(2.0), Posted(2.0), 3, low=[0.0, 0.1, 5.0])
    assert game.best_responses(np.full(3, 7.0)).tolist() == [0.0, 0.1, 5.0]
    low, high = np.array([0.5]), np.array([3.5])  # three peaks of one height, at 1, 2 and 3
    waves = every(lambda x: np.cos(2 * np.pi * x), lambda x: -2 * np.pi * np.sin(2 * np.pi * x))
    assert argmax(*local_maxima(waves, low, high)) == pytest.approx([1.0], abs=1e-12)


def test_an_interval_of_one_point_and_an_owner_that_may_not_share():
    game = market(Quadratic(1.0), Posted(1.0), 3, low=[0.0, 2.0, 0.0], high=[0.0, 2.0, 5.0])
    assert game.best_responses(np.array([0.0, 2.0, 1.0])) == pytest.approx([0.0, 2.0, 1.0], abs=1e-12)
    regret, scale = game.certificate(np.array([0.0, 2.0, 0.0]))
    assert regret == pytest.approx([0, 0, 0.5]) and scale[:2].tolist() == [0, 0]
    assert relative(regret, scale)[:2].tolist() == [0, 0]


def test_regret_of_a_wrong_profile_is_the_gain_forgone():
    """Posted price p, cost a e^2/2: at e the owner forgoes (p - a e)^2 / (2 a)."""
    slopes, price, wrong = np.array([1.0, 2.0, 5.0]), 3.0, np.array([1.0, 4.0, 0.6])
    game = market(Quadratic(slopes), Posted(price), 3)
    gain = (price - slopes * wrong) ** 2 / (2 * slopes)
    assert np.allclose(game.regret(wrong), gain, rtol=1e-12, atol=1e-13)
    worst_end = np.minimum(0.0, price * 20 - slopes * 200)
    assert np.allclose(game.certificate(wrong)[1], price**2 / (2 * slopes) - worst_end, rtol=1e-12)


@pytest.mark.parametrize("cost", [Leakage(0.05), Linear(1.0), Quadratic(0.5)], ids=["leakage", "linear", "quadratic"])
@pytest.mark.parametrize("policy", [Posted(0.8), Proportional(9.0, "epsilon"), Marginal(0.7)])
@pytest.mark.parametrize("law", [LinearLaw(1.0, 0.1, 0.02), Envelope(1.0, (0.5, 0.2, 0.05), (1e-3, 0.01, 0.1))])
def test_the_certificate_agrees_with_the_response(cost, policy, law):
    """Regret is the gain of moving to the best response, to 1e-8 of what is at stake, though found another way."""
    game = market(cost, policy, 3, low=0.05, forecast=law, value=30.0, sizes=40.0, benefit=2.0, isolated=0.5)
    profile = np.array([0.05, 1.0, 6.0])
    regret, scale = game.certificate(profile)
    gain = game.deviation_payoffs(profile, game.best_responses(profile)[:, None])[:, 0] - game.payoffs(profile)
    assert np.all(np.abs(regret - gain) <= 1e-8 * scale)
    assert regret.max() > 1e-3 * scale.max()


def test_others_do_not_cancel():
    """One owner's term is 1e18 times the others': what is left for it must not be rounding."""
    terms = np.array([[1.0, 5.0], [1e18, 2.0], [3.0, 0.0]])
    assert sums_over_others(terms).tolist() == [[1e18, 2.0], [4.0, 5.0], [1e18, 7.0]]
    assert sums_over_others(np.array([[4.0]])).tolist() == [[0.0]]


def test_the_two_searches_share_nothing():
    """Neither grid nor refinement: the two find the same peak of a function with many."""
    low, high = np.array([0.1, 0.0]), np.array([10.0, 3.0])

    def value(x):
        return np.sin(3 * x) - (x - 2) ** 2 / 9

    def slope(x):
        return 3 * np.cos(3 * x) - 2 * (x - 2) / 9

    fine = value(np.linspace(0, 10, 2_000_001)).max()
    found = argmax(*local_maxima(every(value, slope), low, high))
    assert np.allclose(value(found), fine, rtol=1e-11) and np.allclose(slope(found), 0, atol=1e-12)
    for claim in (low, high, found):
        assert np.allclose(highest_value(every(value), low, high, (claim, value(claim))), fine, rtol=1e-10)
    ours, theirs = log_grid(low, high, 48), log_grid(low, high, 34, shift=0.37)
    shared = [np.intersect1d(a, b) for a, b in zip(ours, theirs, strict=True)]
    assert [len(s) for s in shared] == [2, 2]  # the ends


@pytest.mark.parametrize("claimed", [0.55, 2.6, 4.7])
def test_a_claim_that_is_not_the_highest_is_beaten(claimed):
    """Three peaks near 0.55, 2.6 and 4.7, the second highest: whichever is claimed, the best value is that of the second."""
    low, high = np.array([0.1]), np.array([6.0])

    def value(x):
        return np.sin(3 * x) - (x - 2) ** 2 / 9

    fine = np.linspace(0.1, 6, 2_000_001)
    around = every(value, lambda x: 3 * np.cos(3 * x) - 2 * (x - 2) / 9)
    top = argmax(*local_maxima(around, np.array([claimed - 0.3]), np.array([claimed + 0.3])))
    asked = []
    found = highest_value(every(lambda x: asked.append(x) or value(x)), low, high, (top, value(top)))
    assert (len(asked) == 1) == (claimed == 2.6)  # a claim that holds needs no more than the grid
    assert found == pytest.approx(value(fine).max(), rel=1e-10)
    assert (found - value(top) > 0.1) == (claimed != 2.6)


def test_a_claim_close_to_the_highest_is_beaten_by_what_it_misses():
    """1 - (x - 2)^2 claimed at 2 (1 + d) forgoes 4 d^2, for d far below the steps of any grid."""
    low, high = np.array([0.0, 0.5]), np.array([6.0, 4.0])
    for miss in (1e-2, 1e-3, 3e-4, 1e-4):
        claim = np.full(2, 2 * (1 + miss))
        found = highest_value(every(lambda x: 1 - (x - 2) ** 2), low, high, (claim, 1 - (claim - 2) ** 2))
        assert np.allclose(found, 1, rtol=0, atol=1e-3 * 4 * miss**2 + 1e-12)


def test_a_search_that_climbs_follows_maxima_that_move():
    """Peaks of sin(3 x) + s x: from those of s = 0.1 to those of s = -0.2, and from 0 where that is no maximum any more."""
    low, high = np.array([0.5, 0.0]), np.array([6.0, 2.0])

    def functions(s):
        return every(lambda x: np.sin(3 * x) + s * x, lambda x: 3 * np.cos(3 * x) + s)

    places, _ = local_maxima(functions(0.1), low, high)
    found, heights = refine(functions(-0.2), low, high, places)
    anew, tops = local_maxima(functions(-0.2), low, high)
    assert np.allclose(heights.max(axis=1), tops.max(axis=1), rtol=1e-14)
    assert np.allclose(found[np.arange(2), heights.argmax(axis=1)], anew[:, 0], rtol=1e-9)
    at_zero = np.zeros((2, 1))  # x (s - x): at 0 while s < 0, at s/2 after
    found, heights = refine(every(lambda x: x * (1.5 - x), lambda x: 1.5 - 2 * x), np.zeros(2), high, at_zero)
    assert np.allclose(found[np.arange(2), heights.argmax(axis=1)], 0.75, rtol=1e-9)


def test_a_maximum_known_twice_is_climbed_to_once():
    """A row with one maximum names it twice; neither name may be left behind at where it was."""
    low, high = (
        np.array([0.1, 0.1]),
        np.array([1.6, 3.0]),
    )  # sin 3x has one maximum in the first interval, two in the second
    places, heights = local_maxima(every(lambda x: np.sin(3 * x), lambda x: 3 * np.cos(3 * x)), low, high)
    assert places[0, 1] == places[0, 0] and heights[0, 1] == heights[0, 0] and places[1, 1] != places[1, 0]
    known = np.full((1, 2), 2 - 1e-8)
    found = refine(every(lambda x: 1 - (x - 2) ** 2, lambda x: 4 - 2 * x), np.zeros(1), np.full(1, 6.0), known)
    assert argmax(*found) == pytest.approx([2], rel=0, abs=1e-12)


def real_forecast(sizes):
    rows = ([[0.5, 2.0]], [np.eye(2)], [np.diag([0.5, 2.0])], [[0.5, 0.5]], [np.zeros(2)], [1.0])
    problem = Problem(*(np.array(row, dtype=float).reshape(np.shape(row)) for row in rows))
    given = {"gradient_bound": 20.0, "dispersion": 2.5, "basis": "oracle"}
    return forecast(problem, Settings("averaged"), sizes=sizes, mechanism=Laplace(), **given)


def large_markets(n=60):
    draw = np.random.default_rng(4)
    sizes, price = draw.integers(50, 200, n).astype(float), draw.uniform(0.5, 2, n)
    yield market(Leakage(price), Proportional(4.0 * n), n, sizes=sizes / 100)
    yield market(Leakage(1e-3 * price), Marginal(price), n, low=0.05, high=10.0, forecast=real_forecast(sizes),
                 value=5e3, sizes=sizes, benefit=draw.uniform(0, 9, n), isolated=0.2)  # fmt: skip
    yield market(Quadratic(price), Marginal(), n, low=0.05, forecast=LinearLaw(1.0, 0.1, 0.02), value=30.0)


@pytest.mark.parametrize("which", range(3), ids=["no forecast", "real forecast", "forecast of all rows only"])
def test_owners_in_blocks_choose_as_they_do_together(which, monkeypatch):
    """60 owners in blocks of 7: responses, regret and solver as without blocks, where the forecast has parts."""
    whole = list(large_markets())[which]
    profile = np.random.default_rng(1).uniform(0.05, 10, 60)
    expected = whole.best_responses(profile), *whole.certificate(profile)
    settled = solve(whole, rng=np.random.default_rng(0), starts=1)
    monkeypatch.setattr("market.game.game.BLOCK_OWNERS", 7)
    monkeypatch.setattr("market.equilibrium.aggregative.BLOCK_OWNERS", 7)
    cut = list(large_markets())[which]
    assert len(cut.blocks(profile, cut.others(profile))) == (1 if which == 2 else 9)
    assert all(map(np.array_equal, (cut.best_responses(profile), *cut.certificate(profile)), expected))
    again = solve(cut, rng=np.random.default_rng(0), starts=1)
    assert settled.converged and again.converged
    assert np.allclose(again.epsilon, settled.epsilon, rtol=0, atol=1e-7)


def test_some_owners_see_what_all_see():
    """The moves of some, in any order, are the rows of everybody's moves, also under a forecast that knows sizes."""
    game = list(large_markets(9))[1]
    profile, order = np.linspace(0.1, 9, 9), np.array([4, 0, 7])
    candidates = np.tile([0.05, 1.0, 8.0], (9, 1))
    everyone, some = game.deviations(profile), game.deviations(profile, order)
    assert np.array_equal(some.payoffs(candidates[order]), everyone.payoffs(candidates)[order])
    assert np.array_equal(some.slopes(candidates[order]), everyone.slopes(candidates)[order])
    part, sums = game.forecast.part(order), np.array([[30.0, 300.0], [4.0, 200.0], [900.0, 100.0]])
    assert np.array_equal(part.excess(sums), game.forecast.excess(sums))
    backwards = np.arange(9)[::-1]
    assert np.array_equal(game.deviations(profile, backwards).payoffs(candidates), everyone.payoffs(candidates)[::-1])


class Doubled(ProfilePolicy):
    """A policy that is not additive: pays 2 sqrt(e) to each, and 1 more to whoever sells most."""

    def settle(self, epsilon, game):
        return 2 * np.sqrt(epsilon) + (epsilon == epsilon.max())


def test_a_policy_of_whole_profiles():
    """2 sqrt(e) - e is greatest at 1, where nothing is to be won by outselling 9 at a loss of 4."""
    game = market(Linear(1.0), Doubled(), 3, low=0.2, high=9.0)
    assert not game.additive
    profile = np.array([9.0, 0.5, 0.5])
    assert np.allclose(game.payments(profile), 2 * np.sqrt(profile) + [1, 0, 0])
    assert np.allclose(game.best_responses(profile)[1:], 1.0, atol=1e-9)
    assert np.allclose(game.regret(profile)[1:], 1 - (2 * np.sqrt(0.5) - 0.5), rtol=1e-8)
