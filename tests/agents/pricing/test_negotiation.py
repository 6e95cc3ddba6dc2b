"""Bargains of the learner with each owner, against closed forms and Rubinstein's division."""

from __future__ import annotations

import numpy as np
import pytest
from markets import market, rng

from agents.pricing.negotiation import AlternatingOffers, nash_in_nash, negotiate, rubinstein_share
from learning.errors import InputError
from market.costs.functions import Linear


class Adding:
    """Each owner adds epsilon / (1 + epsilon), whatever the others sell."""

    outside = 1.0

    def terms(self, epsilon):
        return (epsilon / (1 + epsilon))[..., None]

    def excess(self, sums):
        return 1 - sums[..., 0]


class Crowded:
    """The model gains log(1 + sum of epsilon): owners are substitutes."""

    outside = 1.0

    def terms(self, epsilon):
        return epsilon[..., None]

    def excess(self, sums):
        return 1 - np.log1p(sums[..., 0])


def apart(prices=(1.0, 4.0, 12.0)):
    return market(Linear(list(prices)), None, len(prices), forecast=Adding(), value=9.0)


def test_pairs_apart_agree_on_the_closed_form():
    """V e/(1+e) - c e is largest at e = sqrt(V/c) - 1, where it is (sqrt V - sqrt c)^2; nothing where c > V."""
    found = nash_in_nash(apart(), rng=rng(), power=0.3, starts=2)
    joint = np.array([4.0, 1.0, 0.0])
    np.testing.assert_allclose(found.equilibrium.epsilon, [2.0, 0.5, 0.0], atol=1e-6)
    np.testing.assert_allclose(found.joint, joint, atol=1e-9)
    np.testing.assert_allclose(found.payments, np.array([2.0, 2.0, 0.0]) + 0.3 * joint, atol=1e-5)
    assert found.learner == pytest.approx(0.7 * 5, abs=1e-6) and found.equilibrium.converged


def test_substitutes_agree_on_the_closed_form_and_cost_the_learner_less_than_the_sum_of_fees_says():
    """Two alike: V/(1 + 2e) = c, so e = (V/c - 1)/2; each adds V log((1 + 2e)/(1 + e)) given the other."""
    value = 6.0
    cost = 2.0
    found = nash_in_nash(
        market(Linear(cost), None, 2, forecast=Crowded(), value=value), rng=rng(), starts=1
    )
    joint = value * np.log(3 / 2) - cost * 1.0
    np.testing.assert_allclose(found.equilibrium.epsilon, 1.0, atol=1e-6)
    np.testing.assert_allclose(found.payments, cost * 1.0 + joint / 2, atol=1e-6)
    assert (
        found.learner == pytest.approx(value * np.log(3) - 2 * cost - joint)
        and found.learner > joint
    )


def test_no_other_contract_of_a_pair_has_a_larger_nash_product():
    """By a grid over both issues, epsilon and money, the other pair as it is."""
    value = 6.0
    cost = np.array([1.5, 2.5])
    power = 0.4
    game = market(Linear(cost), None, 2, forecast=Crowded(), value=value)
    found = nash_in_nash(game, rng=rng(), power=power, starts=2)
    other = float(found.equilibrium.epsilon[1])
    epsilon = np.linspace(0, 5, 401)[:, None]
    gain = value * (np.log1p(epsilon + other) - np.log1p(other))
    paid = np.linspace(0, 10, 2001)
    learner = np.maximum(gain - paid, 0)
    owner = np.maximum(paid - cost[0] * epsilon, 0)
    product = learner ** (1 - power) * owner**power
    at = np.unravel_index(product.argmax(), product.shape)
    assert epsilon[at[0], 0] == pytest.approx(found.equilibrium.epsilon[0], abs=0.0125)
    assert paid[at[1]] == pytest.approx(found.payments[0], abs=0.03)
    best = (
        found.fees[0] ** (1 - power)
        * (found.payments[0] - cost[0] * found.equilibrium.epsilon[0]) ** power
    )
    assert best >= product.max() * (1 - 1e-9)


@pytest.mark.parametrize(("mine", "yours"), [(0.9, 0.9), (0.5, 0.8), (0.95, 0.3)])
def test_rubinsteins_division_is_that_of_backward_induction(mine, yours):
    """Whoever proposes last takes all; before that, leaves the other what it could have an offer later."""
    part = 1.0
    for number in range(2000):  # offers before the last: of the other side where odd
        part = 1 - (yours if number % 2 else mine) * part
    assert part == pytest.approx(rubinstein_share(mine, yours), abs=1e-9)


@pytest.mark.parametrize(("learner", "owners"), [(0.8, 0.8), (0.5, 0.9), (0.9, 0.5)])
def test_sides_that_know_themselves_alone_learn_rubinsteins_division(learner, owners):
    found = negotiate(
        apart(), AlternatingOffers(learner=learner, owners=owners), rng=rng(), starts=1
    )
    joint = np.array([4.0, 1.0])
    share = rubinstein_share(learner, owners)
    np.testing.assert_allclose(found.bargains.fees[:2], share * joint, rtol=0.02)
    np.testing.assert_allclose(found.offered[-1][:2], learner * share * joint, rtol=0.02)
    assert (
        found.bargains.fees[2] == found.bargains.payments[2] == 0
        and np.isnan(found.agreed[:, 2]).all()
    )


def test_with_equal_patience_the_learner_has_one_part_in_one_plus_delta_and_half_as_delays_cost_less():
    halves = [0.5 * one for one in (4.0, 1.0)]
    off = []
    for delta, periods in ((0.5, 400), (0.8, 400), (0.95, 1600)):
        fees = negotiate(
            apart(), AlternatingOffers(learner=delta, owners=delta, periods=periods), rng=rng()
        ).bargains.fees
        np.testing.assert_allclose(fees[:2], np.array([4.0, 1.0]) / (1 + delta), rtol=0.02)
        off.append(np.abs(fees[:2] - halves).max())
    assert off[0] > 2 * off[1] > 6 * off[2]


def test_what_is_agreed_lies_between_what_the_two_sides_propose():
    """Every deal leaves both no worse than nothing, and late ones are near the division."""
    found = negotiate(apart(), AlternatingOffers(), rng=rng(), starts=1)
    deals = found.agreed[:, :2]
    assert (deals[np.isfinite(deals)] >= 0).all() and (np.nan_to_num(deals) <= [4.0, 1.0]).all()
    late = deals[-50:] / [4.0, 1.0]
    share = rubinstein_share(0.9, 0.9)
    assert np.isfinite(late).mean() > 0.5
    assert 0.9 * share * 0.98 < np.nanmin(late) and np.nanmax(late) < share * 1.02


def test_refused_in_one_line():
    with pytest.raises(
        InputError,
        match=r"^learner.pricing.learner: must be a number above 0 and below 1; found 1.0\.$",
    ):
        AlternatingOffers(learner=1.0)
    with pytest.raises(InputError, match=r"^power: must be from 0 to 1; found 2\.$"):
        nash_in_nash(apart(), rng=rng(), power=2)
    everyone = market(Linear(1.0), None, 2, forecast=Adding(), value=9.0, model_for_all=True)
    with pytest.raises(InputError, match="sellers"):
        nash_in_nash(everyone, rng=rng())
