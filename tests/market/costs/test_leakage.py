"""Bounds on leakage, utility, belief and harm: known answers, a second route for each, and the ends of epsilon."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from toys import LinearLaw

from learning.errors import InputError
from learning.privacy.published_noise import PublishedNoise
from market.columns import column, finite_difference
from market.costs.functions import Belief, ExpectedHarm, Exponential, Leakage, Linear, OnClaim
from market.costs.leakage import (
    belief_bound,
    belief_rise,
    belief_slope,
    expected_harm,
    leakage_bits,
    leakage_slope,
    utility_bound,
    utility_slope,
)
from market.game.game import Game
from market.game.owners import Owners
from market.policies.posted import CostPlus, Posted
from market.policies.proportional import Proportional

EPSILON = np.geomspace(1e-3, 20, 60)


def test_lee_and_clifton_known_caps():
    """The belief is r at ln((m-1) r / (1-r)): m = 4, r = 1/3: ln 1.5 = 0.405465; m = 100, r = 0.05: ln(99/19)."""
    assert belief_bound(0.405465, 4) == pytest.approx(1 / 3, abs=5e-7)
    assert belief_bound(1.650681, 100) == pytest.approx(0.05, abs=5e-8)
    assert belief_bound(np.log(99 / 19) / 4, 100, ratio=4) == pytest.approx(0.05, rel=1e-14)


def test_belief_is_what_bayes_rule_allows_at_most():
    """Second route: worlds whose answers have odds e^epsilon : 1 : 1 ..., the worst that epsilon allows."""
    for worlds in (2, 5, 50):
        odds = np.concatenate([[np.exp(1.7)], np.ones(worlds - 1)])
        assert belief_bound(1.7, worlds) == pytest.approx(odds[0] / odds.sum(), rel=1e-14)
    assert belief_bound(0.0, 5) == pytest.approx(0.2) and belief_bound(np.inf, 5) == 1
    assert belief_rise(0.0, 5) == 0 and belief_rise(np.inf, 5) == pytest.approx(0.8)
    assert np.allclose(
        belief_rise(EPSILON, 5, 2.0), belief_bound(EPSILON, 5, 2.0) - 0.2, atol=1e-15
    )
    assert belief_rise(1e-12, 2) == pytest.approx(
        0.25e-12, rel=1e-9
    )  # where the difference would have no digits


def test_hsu_known_study():
    """30,000 pay 22,820 individuals the harm of epsilon = 0.1, (e^0.1 - 1) E = 0.105171 * 12.5 = 1.3146 each."""
    assert round(float(30_000 / expected_harm(0.1, 12.5))) == 22_820
    assert expected_harm(np.log(3), 12.5) == pytest.approx(25)
    assert expected_harm(0.0, 12.5) == 0
    assert (
        expected_harm(np.inf, 12.5) == np.inf
        and expected_harm(np.inf, 0.0) == 0
        and expected_harm(1e4, 1) == np.inf
    )


@pytest.mark.parametrize(("distance", "border"), [(1, 1), (1, 9), (5, 2), (12, 0.5)])
def test_the_utility_bound_is_the_printed_one(distance, border):
    """Second route: ``z^d (1-z) / (z^d (1-z) + c (1 - z^d))`` as the thesis prints it, where it neither fails nor
    overflows; at 0 it is 1 of 1 + c d equally likely answers."""
    z = np.exp(EPSILON)
    printed = z**distance * (1 - z) / (z**distance * (1 - z) + border * (1 - z**distance))
    assert np.allclose(utility_bound(EPSILON, distance, border), printed, rtol=1e-11)
    assert utility_bound(0.0, distance, border) == pytest.approx(
        1 / (1 + border * distance), rel=1e-15
    )
    assert (
        utility_bound(np.inf, distance, border) == 1
        and utility_slope(np.inf, distance, border) == 0
    )
    assert utility_bound(1e4, distance, border) == 1


@pytest.mark.parametrize("distance", [0, 2.5, -1])
def test_a_distance_is_a_whole_number(distance):
    with pytest.raises(ValueError, match="distance must be a whole number of at least 1"):
        utility_bound(1.0, distance)


@pytest.mark.parametrize(
    ("value", "slope"),
    [
        (lambda e: leakage_bits(e, 7), lambda e: leakage_slope(e, 7)),
        (lambda e: utility_bound(e, 5, 2), lambda e: utility_slope(e, 5, 2)),
        (lambda e: utility_bound(e, 1, 9), lambda e: utility_slope(e, 1, 9)),
        (lambda e: belief_bound(e, 40, 0.7), lambda e: belief_slope(e, 40, 0.7)),
        (lambda e: belief_rise(e, 3), lambda e: belief_slope(e, 3)),
    ],
    ids=["leakage", "utility", "utility on a complete graph", "belief", "rise"],
)
def test_slopes_are_derivatives(value, slope):
    at = EPSILON[EPSILON < 8]
    assert np.allclose(slope(at), finite_difference(value, at), rtol=1e-7, atol=1e-11)


def test_on_a_complete_graph_utility_leakage_and_belief_are_one_bound():
    """One step between any two of v values: the right guess has odds e^e/(v-1+e^e), and log2 of v times it leaks."""
    assert np.allclose(utility_bound(EPSILON, 1, 9), belief_bound(EPSILON, 10), rtol=1e-14)
    assert np.allclose(
        leakage_bits(EPSILON, 10), np.log2(10 * belief_bound(EPSILON, 10)), rtol=1e-10
    )


def test_leakage_to_its_last_digits():
    """``log2(v e^epsilon / (v - 1 + e^epsilon))`` in 40 digits, down to next to nothing."""
    for values in (2, 10, 500):
        for epsilon in (1e-300, 1e-12, 1e-3, 0.7, 5.0, 40.0, 700.0):
            with mpmath.workdps(40):
                grown = mpmath.expm1(epsilon)
                exact = mpmath.log1p((values - 1) * grown / (values + grown)) / mpmath.log(2)
            assert leakage_bits(epsilon, values) == pytest.approx(
                float(exact), rel=2e-16 * values + 1e-15
            )


@pytest.mark.parametrize("values", [2, 10, 500])
def test_leakage_of_approximate_privacy_is_that_of_the_worst_channel(values):
    """Which tells the value with chance delta, and else by randomised response: right with odds that meet the bound."""
    epsilon = EPSILON[EPSILON < 30]
    delta = 0.01
    guessed = delta + (1 - delta) * np.exp(epsilon) / (values - 1 + np.exp(epsilon))
    assert np.allclose(leakage_bits(epsilon, values, delta), np.log2(values * guessed), rtol=1e-10)
    assert leakage_bits(np.inf, values, delta) == pytest.approx(np.log2(values))


def test_a_cost_is_counted_on_what_is_claimed():
    """WD-DP's formula: sold 0.25, one of 32 equal owners spends 5.32, and its bits are 3.26 and not 0.32."""
    mechanism = PublishedNoise("weighted", 1e-3, (100,) * 32)
    sizes = np.full(2, 100.0)
    claimed = OnClaim(
        Leakage(0.1, values=10), lambda e, n: mechanism.claimed_epsilon(e, column(n, e), 1000)
    )
    sold = np.array([[0.0, 0.25, 1.0], [0.0, 0.1, 20.0]])
    (spent,) = {claim.epsilon for claim in mechanism.claims("A", 0.25, 1000, size=100)}
    found = claimed.value(sold, sizes)
    assert found[0, 1] == pytest.approx(0.1 * 100 * leakage_bits(spent, 10), rel=1e-6)
    assert (
        leakage_bits(spent, 10) == pytest.approx(3.26, abs=0.005) and leakage_bits(0.25, 10) < 0.33
    )
    assert np.array_equal(found[:, 0], [0, 0]) and np.all(np.diff(found, axis=1) > 0)
    at = np.array([[0.1, 0.25], [0.05, 1.0]])
    assert np.allclose(
        claimed.marginal_cost(at, sizes), finite_difference(lambda e: claimed.value(e, sizes), at)
    )
    owners = Owners(
        ("A", "B"), sizes, 0.01, 0.5, OnClaim(Leakage([0.1, 0.2], [3, 4]), lambda e, n: 2 * e)
    )
    cut = owners.take(np.array([1])).cost
    assert cut.values.tolist() == [4] and cut.value(
        np.array([0.5]), np.array([10.0])
    ) == pytest.approx(0.2 * 10 * leakage_bits(1.0, 4))


def test_costs_without_privacy():
    """epsilon = inf: harm has no limit, discovery is certain, and who has nothing to lose loses nothing."""
    none = np.array([np.inf, np.inf])
    sizes = np.array([10.0, 20.0])
    assert ExpectedHarm([1.0, 0.0]).value(none, sizes).tolist() == [np.inf, 0]
    assert Exponential([1.0, 0.0]).value(none, sizes).tolist() == [np.inf, 0]
    assert np.allclose(Belief(3.0, worlds=[2, 4]).value(none, sizes), [3 * 10 / 2, 3 * 20 * 3 / 4])
    assert np.array_equal(Belief(3.0).marginal_cost(none, sizes), [0, 0])


def test_harm_is_per_record_and_the_thesis_cost_is_not():
    epsilon = np.array([1.0, 1.0])
    sizes = np.array([10.0, 20.0])
    assert np.allclose(ExpectedHarm(2.0).value(epsilon, sizes), 2 * sizes * (np.e - 1))
    assert np.allclose(Exponential(2.0).value(epsilon, sizes), 2 * (np.e - 1))
    with pytest.raises(
        InputError,
        match="owners.cost.worlds: must be a whole number of at least 2, or a list .*; found 1",
    ):
        Belief(1.0, worlds=1)
    with pytest.raises(
        InputError, match="owners.cost.ratio: must be a number above 0, or a list .*; found 0"
    ):
        Belief(1.0, ratio=0)


def test_an_owner_paid_per_epsilon_weighs_price_against_harm():
    """Paid p per epsilon against E n (e^e - 1): e = ln(p / (E n))."""
    owners = Owners(("A", "B"), [10, 20], 0.0, 5.0, ExpectedHarm(0.5))
    game = Game(owners, Posted(40.0), None, 0.0)
    assert np.allclose(game.best_responses(np.zeros(2)), [np.log(8), np.log(4)], rtol=1e-10)


def people(fixed_cost, **changes):
    return Owners(
        tuple("ABC"), 1000, 0.0, 10.0, Linear([1.0, 2.0, 4.0]), fixed_cost=fixed_cost, **changes
    )


def test_a_fixed_cost_is_paid_only_by_who_shares():
    game = Game(people([5.0, 0.0, 7.0]), Posted(3.0), None, 0.0)
    assert game.costs(np.array([0.0, 2.0, 2.0])).tolist() == [0, 4, 15]
    assert game.payoffs(np.array([1.0, 1.0, 0.0])).tolist() == [3 - 1 - 5, 3 - 2, 0]
    candidates = np.tile([0.0, 1e-12, 2.0], (3, 1))
    paid = game.deviations(np.zeros(3)).payments(candidates)
    assert np.allclose(
        paid - game.deviation_payoffs(np.zeros(3), candidates),
        game.deviations(np.zeros(3)).costs(candidates),
    )
    assert np.allclose(game.deviations(np.zeros(3)).costs(candidates)[:, 1], [5, 0, 7])
    deviations = game.deviations(np.ones(3))
    at = np.tile(EPSILON[:30], (3, 1))
    assert np.allclose(
        deviations.marginal_surplus(at), finite_difference(deviations.payoffs, at), rtol=1e-9
    )  # above 0 it moves nothing


def test_a_fixed_cost_keeps_out_who_gains_less_than_it():
    """Posted 3 against cost 1 and 2 per epsilon, up to 10: gains of 20 and 10. A fixed cost of 15 keeps out the second;
    the third loses by any epsilon."""
    game = Game(people(15.0), Posted(3.0), None, 0.0)
    assert game.best_responses(np.zeros(3)).tolist() == [10, 0, 0]
    assert np.array_equal(game.regret(np.array([10.0, 10, 0])), [0, 5, 0])
    assert Game(people(0.0), Posted(3.0), None, 0.0).best_responses(np.zeros(3)).tolist() == [
        10,
        10,
        0,
    ]


def test_fixed_costs_belong_to_welfare_take_and_cost_plus():
    owners = people([5.0, 6.0, 7.0])
    assert owners.take(np.array([2, 0])).costs(np.array([1.0, 1.0])).tolist() == [4 + 7, 1 + 5]
    game = Game(owners, CostPlus(0.5), LinearLaw(1.0, 0.1, 0.02), 20.0)
    assert np.allclose(game.payments(np.ones(3)), 1.5 * np.array([6, 8, 11]))
    assert np.array_equal(
        Game(owners, Proportional(9.0), None, 0.0).payoffs(np.ones(3)), 3.0 - np.array([6, 8, 11])
    )
    with pytest.raises(
        InputError, match="owners.fixed_cost: must be a number of at least 0, .*; found -1"
    ):
        people(-1.0)
