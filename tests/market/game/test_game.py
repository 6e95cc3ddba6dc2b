"""Best responses and regret against games solved by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from markets import market, random_market
from scipy.optimize import minimize_scalar
from toys import COST_PARAMETERS, POLICY_PARAMETERS, Envelope, LinearLaw

from learning.forecast.fitness import forecast_fitness
from learning.forecast.inputs import Settings
from learning.privacy.laplace import Laplace
from learning.training.law import Problem
from market.costs import COSTS
from market.costs.functions import ExpectedHarm, Leakage, Linear, Quadratic
from market.equilibrium.solver import solve
from market.game.certificate import (
    certifying_grid,
    equal_sections,
    golden_section,
    grid_with_claim,
    highest_point,
)
from market.game.game import CERTIFIED, relative_regret, sums_over_others
from market.game.grids import local_peaks, log_grid
from market.game.search import climb_to_maxima, local_maxima, root_uphill, smallest_maximiser
from market.policies import POLICIES
from market.policies.base import ProfilePolicy
from market.policies.contributions import Marginal
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
    costs = np.array([0.7, 1.3, 2.9, 40.0])
    profile = np.array([1.0, 2.0, 0.5, 1.5])
    game = market(Linear(costs), Proportional(30.0, "epsilon"), 4)
    others = profile.sum() - profile
    expected = np.maximum(np.sqrt(30 * others / costs) - others, 0.0)
    assert np.allclose(game.best_responses(profile), expected, atol=1e-11)
    assert np.allclose(game.best_responses(profile, owners=[2, 1]), expected[[2, 1]], atol=1e-11)
    assert expected[3] == 0 and game.best_responses(profile)[3] == 0


def test_marginal_first_order_condition():
    """Interior: c'(e) = 2 V gain / e^3; quadratic cost a e^2/2 gives e = (2 V gain / a)^(1/4), whatever others do."""
    value = 300.0
    gain = 0.004
    slope = np.array([0.5, 1.0, 3.0, 10.0])
    game = market(
        Quadratic(slope), Marginal(), 4, low=0.01, forecast=LinearLaw(1.0, 0.1, gain), value=value
    )
    expected = (2 * value * gain / slope) ** 0.25
    for start in np.random.default_rng(0).uniform(0.01, 20, (5, 4)):
        response = game.best_responses(start)
        assert np.allclose(response, expected, rtol=1e-12)
        assert np.allclose(
            game.owners.cost.marginal_cost(response, game.owners.sizes),
            2 * value * gain / response**3,
        )


def test_a_concave_cost_needs_a_global_search():
    """Leakage cost: the surplus falls, then rises. A grid of a million points knows which end wins."""
    rng = np.random.default_rng(3)
    n = 40
    game = market(
        Leakage(10 ** rng.uniform(-2, 1, n), values=10),
        Posted(rng.uniform(0.1, 2, n)),
        n,
        low=0.01,
        high=8.0,
    )
    response = game.best_responses(np.ones(n))
    grid = np.tile(np.linspace(0.01, 8.0, 100_001), (n, 1))
    payoffs = game.deviation_payoffs(np.ones(n), grid)
    assert np.all(
        game.deviation_payoffs(np.ones(n), response[:, None])[:, 0] >= payoffs.max(axis=1) - 1e-13
    )
    assert 0 < (response == 0.01).sum() < n and (response == 8.0).any()


def test_a_participation_jump_at_zero():
    """A benefit of 5 * (0.9 - psi) comes with any epsilon > 0, at a cost: one owner takes it, the dear one stays out."""
    law = LinearLaw(1.0, 0.1, 0.02)
    game = market(
        Quadratic([1.0, 400.0]), Posted(0.0), 2, forecast=law, value=0.0, benefit=5.0, isolated=0.9
    )
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
    low = np.array([0.5])  # three peaks of one height, at 1, 2 and 3
    high = np.array([3.5])
    waves = every(lambda x: np.cos(2 * np.pi * x), lambda x: -2 * np.pi * np.sin(2 * np.pi * x))
    assert smallest_maximiser(*local_maxima(waves, low, high)) == pytest.approx([1.0], abs=1e-12)


def test_an_interval_of_one_point_and_an_owner_that_may_not_share():
    game = market(Quadratic(1.0), Posted(1.0), 3, low=[0.0, 2.0, 0.0], high=[0.0, 2.0, 5.0])
    assert game.best_responses(np.array([0.0, 2.0, 1.0])) == pytest.approx(
        [0.0, 2.0, 1.0], abs=1e-12
    )
    regret, scale = game.certificate(np.array([0.0, 2.0, 0.0]))
    assert regret == pytest.approx([0, 0, 0.5]) and relative_regret(regret, scale)[:2].tolist() == [
        0,
        0,
    ]


def test_regret_of_a_wrong_profile_is_the_gain_forgone():
    """Posted price p, cost a e^2/2: at e the owner forgoes (p - a e)^2 / (2 a)."""
    slopes = np.array([1.0, 2.0, 5.0])
    price = 3.0
    wrong = np.array([1.0, 4.0, 0.6])
    game = market(Quadratic(slopes), Posted(price), 3)
    gain = (price - slopes * wrong) ** 2 / (2 * slopes)
    assert np.allclose(game.regret(wrong), gain, rtol=1e-12, atol=1e-13)
    best = price / slopes  # the last half of it earns price best / 2 and costs slope best^2 3/8
    assert np.allclose(
        game.certificate(wrong)[1], gain + price * best / 2 + slopes * best**2 * 3 / 8, rtol=1e-5
    )


@pytest.mark.parametrize("high", [5.0, 20.0, 40.0, 500.0])
def test_what_an_owner_would_never_choose_forgives_no_gain(high):
    """5000 e - 1000 (exp(e) - 1) is greatest at ln 5, however far beyond, at a cost of up to 10^220, the interval goes on."""
    game = market(ExpectedHarm(1.0), Posted(5000.0), 4, low=0.01, high=high, sizes=1000.0)
    wrong = np.array([0.01, 0.5, 1.609, 3.0])
    best = np.log(5)
    gain = 5000 * (best - wrong) - 1000 * (5 - np.exp(wrong))
    moved = 5000 * best / 2 + 1000 * (5 - np.sqrt(5))
    regret, scale = game.certificate(wrong)
    assert np.allclose(regret, gain, rtol=1e-6) and np.allclose(scale, gain + moved, rtol=1e-6)
    assert relative_regret(regret, scale).min() > CERTIFIED and gain[0] == pytest.approx(
        4007.24, abs=0.01
    )


def test_what_is_paid_or_lost_whatever_an_owner_does_forgives_no_gain():
    """A fixed cost that cannot be escaped, and a payment counted from a floor of 1e-6: 1e9 and 1e11 in money."""
    plain = np.array([0.5, 1.3])
    law = LinearLaw(1.0, 0.1, 0.1)
    regrets = []
    for fixed, policy in [(0.0, Marginal()), (1e9, Marginal()), (0.0, Marginal(reference="floor"))]:
        game = market(
            Quadratic(2.0), policy, 2, low=1e-6, forecast=law, value=1.0, fixed_cost=fixed
        )
        regrets.append(relative_regret(*game.certificate(plain)))
    assert np.allclose(regrets, regrets[0], rtol=1e-2) and regrets[0].min() > 0.01


def test_regret_is_a_part_of_what_is_at_stake_in_any_unit_of_money():
    games = [
        market(Quadratic(unit), Proportional(9 * unit, "epsilon"), 2, low=0.05)
        for unit in (1.0, 1e-12, 1e12)
    ]
    parts = [relative_regret(*game.certificate(np.array([0.3, 2.5]))) for game in games]
    assert np.allclose(parts, parts[0], rtol=1e-9) and 0 < parts[0].min() < parts[0].max() < 1
    away = relative_regret(*market(Linear(1.0), Posted(0.5), 1).certificate(np.array([3.0])))
    assert away.tolist() == [1.0]  # best off where nothing is at stake


def dense_search(game, profile, points=1501):
    """The highest surplus of each owner (n,): equal ratios and equal steps, and the best cells searched by SciPy."""
    low = game.owners.epsilon_min[:, None]
    high = game.owners.epsilon_max[:, None]
    start = np.where(low > 0, low, 1e-9 * high)
    part = np.linspace(0, 1, points)
    jumps = game.deviations(profile).payment_jumps()
    grid = np.sort(
        np.hstack([low, start * (high / start) ** part, low + (high - low) * part, jumps]), axis=1
    )
    heights = game.deviation_payoffs(profile, np.clip(grid, low, high))
    best = heights.max(axis=1)
    for row, top in enumerate(heights[:, 1:-1].argmax(axis=1) + 1):
        one = game.deviations(profile, np.array([row]))
        ends = {"bounds": (grid[row, top - 1], grid[row, top + 1]), "options": {"xatol": 1e-12}}
        found = minimize_scalar(
            lambda e, one=one: -one.payoffs(np.full((1, 1), e))[0, 0], method="bounded", **ends
        )
        best[row] = max(best[row], -found.fun)
    return best


LATER = ("thesis_loss",)  # policies that are newer than the numbers of the others' random markets


def wide_market(cost, policy, seed):
    """Two or three owners with prices over four decades, on intervals that end between 1 and 500, and a profile."""
    draw = np.random.default_rng([seed, *map(ord, cost + policy)])
    n = int(draw.integers(2, 4))
    high = 500 ** draw.random()
    low = draw.choice([0.001, 0.05])
    terms = dict(COST_PARAMETERS[cost])
    given = dict(POLICY_PARAMETERS[policy][seed % len(POLICY_PARAMETERS[policy])])
    terms["price"] = terms["price"] * 10 ** draw.uniform(-2, 2) * draw.uniform(0.5, 2, n)
    for name in {"price", "budget"} & set(given):
        scale = max(np.exp(-high), 1e-40) if policy.startswith("thesis") else 1.0
        given[name] = given[name] * scale * 10 ** draw.uniform(-1.5, 1.5)
    law = (
        LinearLaw(1.0, 0.1, 0.02)
        if seed % 2
        else Envelope(1.0, (0.5, 0.2, 0.05), (1e-3, 0.01, 0.1))
    )
    made = market(COSTS[cost](**terms), POLICIES[policy](**given), n, low=low, high=high, forecast=law,
                  value=10 ** draw.uniform(0, 3), sizes=draw.uniform(0.5, 2, n), benefit=draw.choice([0.0, 1.0]),
                  isolated=0.6, fixed_cost=draw.choice([0.0, 0.1]))  # fmt: skip
    return made, np.clip(10 ** draw.uniform(-2, 1.5, n), low, high)


@pytest.mark.slow
def test_no_gain_is_missed_however_wide_the_interval():
    """Every cost with every policy: neither response nor regret falls short of a dense search by 1e-9 of what is at stake."""
    first = [one for one in POLICY_PARAMETERS if one not in LATER]
    pairs = [*product(COST_PARAMETERS, first), *product(COST_PARAMETERS, LATER)]
    for number, (cost, policy) in enumerate(pairs):
        game, profile = wide_market(cost, policy, number)
        best = dense_search(game, profile)
        own = game.payoffs(profile)
        response = game.deviations(profile).payoffs(game.best_responses(profile)[:, None])[:, 0]
        regret, scale = game.certificate(profile)
        slack = 1e-9 * scale + 1e-14 * (np.abs(own) + np.abs(best) + game.value)
        assert np.all(best - response <= slack), (cost, policy)
        assert np.all(best - own - regret <= slack), (cost, policy)


@pytest.mark.parametrize(
    "cost", [Leakage(0.05), Linear(1.0), Quadratic(0.5)], ids=["leakage", "linear", "quadratic"]
)
@pytest.mark.parametrize("policy", [Posted(0.8), Proportional(9.0, "epsilon"), Marginal(0.7)])
@pytest.mark.parametrize(
    "law", [LinearLaw(1.0, 0.1, 0.02), Envelope(1.0, (0.5, 0.2, 0.05), (1e-3, 0.01, 0.1))]
)
def test_the_certificate_agrees_with_the_response(cost, policy, law):
    """Regret is the gain of moving to the best response, to 1e-8 of what is at stake, though found another way."""
    game = market(
        cost, policy, 3, low=0.05, forecast=law, value=30.0, sizes=40.0, benefit=2.0, isolated=0.5
    )
    profile = np.array([0.05, 1.0, 6.0])
    regret, scale = game.certificate(profile)
    gain = game.deviation_payoffs(profile, game.best_responses(profile)[:, None])[
        :, 0
    ] - game.payoffs(profile)
    assert np.all(np.abs(regret - gain) <= 1e-8 * scale)
    assert regret.max() > 1e-3 * scale.max()


def test_others_do_not_cancel():
    """One owner's term is 1e18 times the others': what is left for it must not be rounding."""
    terms = np.array([[1.0, 5.0], [1e18, 2.0], [3.0, 0.0]])
    assert sums_over_others(terms).tolist() == [[1e18, 2.0], [4.0, 5.0], [1e18, 7.0]]
    assert sums_over_others(np.array([[4.0]])).tolist() == [[0.0]]


def test_the_two_searches_share_nothing():
    """Neither grid nor refinement: the two find the same peak of a function with many."""
    low = np.array([0.1, 0.0])
    high = np.array([10.0, 3.0])

    def value(x):
        return np.sin(3 * x) - (x - 2) ** 2 / 9

    def slope(x):
        return 3 * np.cos(3 * x) - 2 * (x - 2) / 9

    fine = value(np.linspace(0, 10, 2_000_001)).max()
    found = smallest_maximiser(*local_maxima(every(value, slope), low, high))
    assert np.allclose(value(found), fine, rtol=1e-11) and np.allclose(slope(found), 0, atol=1e-12)
    for claim in (low, high, found):
        place, best = highest_point(every(value), low, high, (claim, value(claim)), 0.0)
        assert np.allclose(best, fine, rtol=1e-10) and np.allclose(value(place), fine, rtol=1e-10)
    ours = log_grid(low, high, 48)
    theirs = log_grid(low, high, 34, shift=0.37)
    shared = [np.intersect1d(a, b) for a, b in zip(ours, theirs, strict=True)]
    assert [len(s) for s in shared] == [2, 2]  # the ends


@pytest.mark.parametrize("claimed", [0.55, 2.6, 4.7])
def test_a_claim_that_is_not_the_highest_is_beaten(claimed):
    """Three peaks near 0.55, 2.6 and 4.7, the second highest: whichever is claimed, the best value is that of the second."""
    low = np.array([0.1])
    high = np.array([6.0])

    def value(x):
        return np.sin(3 * x) - (x - 2) ** 2 / 9

    fine = np.linspace(0.1, 6, 2_000_001)
    around = every(value, lambda x: 3 * np.cos(3 * x) - 2 * (x - 2) / 9)
    top = smallest_maximiser(
        *local_maxima(around, np.array([claimed - 0.3]), np.array([claimed + 0.3]))
    )
    asked = []
    found = highest_point(
        every(lambda x: asked.append(x) or value(x)), low, high, (top, value(top)), 1e-10
    )[1]
    assert (len(asked) == 1) == (claimed == 2.6)  # a claim that holds needs no more than the grid
    assert found == pytest.approx(value(fine).max(), rel=1e-10)
    assert (found - value(top) > 0.1) == (claimed != 2.6)


def test_a_claim_close_to_the_highest_is_beaten_by_what_it_misses():
    """1 - (x - 2)^2 claimed at 2 (1 + d) forgoes 4 d^2, for d far below the steps of any grid."""
    low = np.array([0.0, 0.5])
    high = np.array([6.0, 4.0])
    for miss in (1e-2, 1e-3, 3e-4, 1e-4):
        claim = np.full(2, 2 * (1 + miss))
        found = highest_point(
            every(lambda x: 1 - (x - 2) ** 2), low, high, (claim, 1 - (claim - 2) ** 2), 1e-10
        )[1]
        assert np.allclose(found, 1, rtol=0, atol=1e-3 * 4 * miss**2 + 1e-12)


def test_few_brackets_cut_at_once_end_where_the_golden_ratio_ends():
    """Peaks of 1 - |x - c|^1.5 anywhere in a bracket, at its ends too: both find them to the same width."""
    peaks = np.linspace(1, 4, 13)
    left = np.full((13, 1), 1.0)
    right = np.full((13, 1), 4.0)
    for section in (golden_section, equal_sections):
        place, height = section(lambda x: 1 - np.abs(x - peaks[:, None]) ** 1.5, left, right)
        assert np.abs(place - peaks).max() < 2 * 3 * 0.618**26 and np.all(height > 1 - 1e-7)


@pytest.mark.parametrize("alike", [True, False])
def test_the_claim_is_looked_at_closely_wherever_it_is(alike):
    """Three points of their own in one gap of the grid: in order, around the claim, also at ends, on and next to points."""
    low = np.full(9, 0.5) if alike else np.linspace(0.0, 0.8, 9)
    high = np.full(9, 4.0) if alike else np.linspace(2.0, 40.0, 9)
    grid = certifying_grid(low[:1], high[:1]) if alike else certifying_grid(low, high)
    fourth = np.broadcast_to(grid[3], 9)
    for claim in (low, high, fourth, fourth * (1 + 1e-4), fourth * (1 - 1e-4), (low + high) / 2):
        made = grid_with_claim(grid, claim, low, high)
        assert made.shape == (9, len(grid) + 3) and (np.diff(made, axis=1) >= 0).all()
        assert np.array_equal(made[:, [0, -1]], np.stack([low, high]).T)
        inside = np.clip(claim, np.where(low > 0, low, 1e-9 * high) * 1.002, high * 0.998)
        close = np.abs(made / inside[:, None] - 1)
        assert (np.sort(close, axis=1)[:, :2] <= [1e-15, 1.01e-3]).all()
    shut = np.array([2.0])
    assert (grid_with_claim(certifying_grid(shut, shut), shut, shut, shut) == 2.0).all()


@pytest.mark.parametrize("points", [5, 48, 300])
def test_peaks_are_those_of_argmax_ties_and_long_grids_included(points):
    """The highest local maxima, first those of lower column; a row with fewer repeats its first."""
    heights = np.random.default_rng(points).integers(0, 9, (400, points)).astype(float)
    heights[:3] = [np.zeros(points), np.arange(points), -np.arange(points)]
    found = local_peaks(np.asfortranarray(heights), 3)
    for row, columns in zip(heights, found, strict=True):
        risen = np.append(True, row[1:] > row[:-1]) & np.append(row[1:] <= row[:-1], True)
        expected = sorted(np.flatnonzero(risen), key=lambda column, row=row: -row[column])[:3]
        assert columns.tolist() == [*expected, *[expected[0]] * 3][: len(columns)]


def test_some_owners_in_a_row_keep_their_names():
    owners = market(Linear(1.0), Posted(1.0), 5).owners
    for rows in ([1, 2, 3], [0], [], [3, 1], [0, 0]):
        assert owners.take(np.array(rows, dtype=int)).names == tuple(
            owners.names[row] for row in rows
        )


def test_chosen_owners_are_looked_at_in_blocks_as_among_all(monkeypatch):
    """10,000 owners of whom some thousands may move: the same owners, sums and payoffs as when all are looked at."""
    game = market(Linear(np.linspace(1, 2, 10_000)), Proportional(9.0), 10_000)
    draw = np.random.default_rng(0)
    profile = draw.uniform(0.1, 5, 10_000)
    chosen = draw.random(10_000) < 0.6
    others = game.others(profile)
    monkeypatch.setattr("market.game.game.BLOCK_OWNERS", 4096)
    parts = game.deviation_blocks(profile, others, chosen)
    assert len(parts) == 2 and np.array_equal(
        np.concatenate([part.index for part in parts]), np.flatnonzero(chosen)
    )
    found = np.concatenate([part.payoffs(profile[part.index, None]) for part in parts])[:, 0]
    np.testing.assert_allclose(found, game.payoffs(profile)[chosen], rtol=1e-12)


def test_sums_over_others_are_those_of_the_profile_asked_for():
    """They are kept for the last profile: another one, or the same changed in place, gets its own."""
    game = market(Linear(1.0), Proportional(9.0), 3)
    profile = np.array([1.0, 2.0, 3.0])
    before = game.others(profile).copy()
    profile[0] = 4.0
    assert not np.array_equal(game.others(profile), before)
    assert np.array_equal(game.others(np.array([1.0, 2.0, 3.0])), before)


def test_a_search_that_climbs_follows_maxima_that_move():
    """Peaks of sin(3 x) + s x: from those of s = 0.1 to those of s = -0.2, and from 0 where that is no maximum any more."""
    low = np.array([0.5, 0.0])
    high = np.array([6.0, 2.0])

    def functions(s):
        return every(lambda x: np.sin(3 * x) + s * x, lambda x: 3 * np.cos(3 * x) + s)

    places, _ = local_maxima(functions(0.1), low, high)
    found, heights = climb_to_maxima(functions(-0.2), low, high, places)
    anew, tops = local_maxima(functions(-0.2), low, high)
    assert np.allclose(heights.max(axis=1), tops.max(axis=1), rtol=1e-14)
    assert np.allclose(found[np.arange(2), heights.argmax(axis=1)], anew[:, 0], rtol=1e-9)
    at_zero = np.zeros((2, 1))  # x (s - x): at 0 while s < 0, at s/2 after
    found, heights = climb_to_maxima(
        every(lambda x: x * (1.5 - x), lambda x: 1.5 - 2 * x), np.zeros(2), high, at_zero
    )
    assert np.allclose(found[np.arange(2), heights.argmax(axis=1)], 0.75, rtol=1e-9)


def test_a_maximum_known_twice_is_climbed_to_once():
    """A row with one maximum names it twice; neither name may be left behind at where it was."""
    low = np.array([0.1, 0.1])  # sin 3x has one maximum in the first interval, two in the second
    high = np.array([1.6, 3.0])
    places, heights = local_maxima(
        every(lambda x: np.sin(3 * x), lambda x: 3 * np.cos(3 * x)), low, high
    )
    assert (
        places[0, 1] == places[0, 0]
        and heights[0, 1] == heights[0, 0]
        and places[1, 1] != places[1, 0]
    )
    known = np.full((1, 2), 2 - 1e-8)
    found = climb_to_maxima(
        every(lambda x: 1 - (x - 2) ** 2, lambda x: 4 - 2 * x), np.zeros(1), np.full(1, 6.0), known
    )
    assert smallest_maximiser(*found) == pytest.approx([2], rel=0, abs=1e-12)


def real_forecast(sizes):
    rows = ([[0.5, 2.0]], [np.eye(2)], [np.diag([0.5, 2.0])], [[0.5, 0.5]], [np.zeros(2)], [1.0])
    problem = Problem(*(np.array(row, dtype=float).reshape(np.shape(row)) for row in rows))
    given = {"gradient_bound": 20.0, "dispersion": 2.5, "basis": "oracle"}
    return forecast_fitness(
        problem, Settings("averaged"), sizes=sizes, mechanism=Laplace(), **given
    )


def large_markets(n=60):
    draw = np.random.default_rng(4)
    sizes = draw.integers(50, 200, n).astype(float)
    price = draw.uniform(0.5, 2, n)
    yield market(Leakage(price), Proportional(4.0 * n), n, sizes=sizes / 100)
    yield market(Leakage(1e-3 * price), Marginal(price), n, low=0.05, high=10.0, forecast=real_forecast(sizes),
                 value=5e3, sizes=sizes, benefit=draw.uniform(0, 9, n), isolated=0.2)  # fmt: skip
    yield market(
        Quadratic(price), Marginal(), n, low=0.05, forecast=LinearLaw(1.0, 0.1, 0.02), value=30.0
    )


@pytest.mark.parametrize(
    "which", range(3), ids=["no forecast", "real forecast", "forecast of all rows only"]
)
def test_many_profiles_are_evaluated_as_each_alone(which):
    game = list(large_markets())[which]
    profiles = np.random.default_rng(2).uniform(0.05, 10, (5, 60))
    each = [game.weighed_payoffs(profile) for profile in profiles]
    np.testing.assert_allclose(game.payoffs_at(profiles), each, rtol=1e-12)
    moves = [(game.deviations(profile), profile[:, None]) for profile in profiles]
    slopes = [deviations.marginal_surplus(own)[:, 0] for deviations, own in moves]
    np.testing.assert_allclose(game.slopes_at(profiles), slopes, rtol=1e-9)
    assert game.meets_in_sums == (which != 2)


@pytest.mark.parametrize(
    "which", range(3), ids=["no forecast", "real forecast", "forecast of all rows only"]
)
def test_owners_in_blocks_choose_as_they_do_together(which, monkeypatch):
    """60 owners in blocks of 7: responses, regret and solver as without blocks, where the forecast has parts."""
    whole = list(large_markets())[which]
    profile = np.random.default_rng(1).uniform(0.05, 10, 60)
    expected = whole.best_responses(profile), *whole.certificate(profile)
    settled = solve(whole, rng=np.random.default_rng(0), starts=1)
    monkeypatch.setattr("market.game.game.BLOCK_OWNERS", 7)
    monkeypatch.setattr("market.equilibrium.aggregative.LARGE", 7)
    cut = list(large_markets())[which]
    assert len(cut.deviation_blocks(profile, cut.others(profile))) == (1 if which == 2 else 9)
    assert all(
        map(np.array_equal, (cut.best_responses(profile), *cut.certificate(profile)), expected)
    )
    again = solve(cut, rng=np.random.default_rng(0), starts=1)
    assert settled.converged and again.converged
    assert np.allclose(again.epsilon, settled.epsilon, rtol=0, atol=1e-7)


def test_some_owners_see_what_all_see():
    """The moves of some, in any order, are the rows of everybody's moves, also under a forecast that knows sizes."""
    game = list(large_markets(9))[1]
    profile = np.linspace(0.1, 9, 9)
    order = np.array([4, 0, 7])
    candidates = np.tile([0.05, 1.0, 8.0], (9, 1))
    everyone = game.deviations(profile)
    some = game.deviations(profile, order)
    assert np.array_equal(some.payoffs(candidates[order]), everyone.payoffs(candidates)[order])
    assert np.array_equal(
        some.marginal_surplus(candidates[order]), everyone.marginal_surplus(candidates)[order]
    )
    part = game.forecast.part(order)
    sums = np.array([[30.0, 300.0], [4.0, 200.0], [900.0, 100.0]])
    assert np.array_equal(part.excess(sums), game.forecast.excess(sums))
    backwards = np.arange(9)[::-1]
    assert np.array_equal(
        game.deviations(profile, backwards).payoffs(candidates), everyone.payoffs(candidates)[::-1]
    )


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


@pytest.mark.parametrize("weights", ["size", "precision"])
def test_regret_of_some_owners_is_that_of_all(weights):
    game = random_market(3, weights=weights)
    epsilon = np.random.default_rng(3).uniform(game.owners.epsilon_min, game.owners.epsilon_max)
    chosen = np.arange(len(epsilon))[1:]
    for order in (chosen, np.arange(len(epsilon))[::-1]):
        np.testing.assert_allclose(
            game.regret(epsilon, order), game.regret(epsilon)[order], rtol=1e-9, atol=1e-12
        )


def test_the_root_of_a_single_row_is_that_of_many_to_the_last_bit():
    """A row alone is searched in plain numbers: slopes that fall smoothly, steeply, at a jump, and to what is no number."""
    draw = np.random.default_rng(4)
    for power in (1.0, 0.3, 3.0, 0.0, -1.0):
        root, width = 10 ** draw.uniform(-3, 2, 12), 10 ** draw.uniform(-6, -0.1, 12)
        left, right = root * (1 - width), root * (1 + 2 * width)

        def slope(x, root=root[:, None], power=power):
            with np.errstate(invalid="ignore"):
                if power < 0:
                    return np.log(root / x)
                return np.sign(root - x) * np.abs(root - x) ** power

        for ends in ((left, right), (right, left)):
            steepness = slope(ends[0][:, None])[:, 0]
            together = root_uphill(slope, *ends, steepness)
            for k in range(12):
                one = slice(k, k + 1)
                of_one = partial(slope, root=root[one, None])
                alone = root_uphill(of_one, ends[0][one], ends[1][one], steepness[one])
                assert alone == together[one]
            assert together == pytest.approx(root, rel=1e-9 if power <= 1 else 1e-2)


@pytest.mark.parametrize("policy", [Posted(9.0), Proportional(100.0), Marginal()])
def test_choices_that_hang_on_nobody_else_are_searched_once(policy):
    game = market(Quadratic(4.0), policy, 3, forecast=LinearLaw(1.0, 0.1, 0.05), value=50.0)
    if not policy.own_choice:
        assert game.own_choices is None
        return
    at = game.owners.epsilon_max / 3
    peaks = smallest_maximiser(*game.deviations(at).surplus_peaks())
    assert np.array_equal(game.own_choices, peaks)
    assert np.array_equal(game.best_responses(at), game.best_responses(at / 7))
    assert replace(game, owners=replace(game.owners, benefit=1.0)).own_choices is None
