"""What kind of game a market is, and the potential where there is one, against games worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from markets import Pair, Pennies, envelope_market, market

from market.costs.functions import Leakage, Linear, Quadratic
from market.equilibrium.diagnostics import (
    contraction_modulus,
    diagnose,
    diagonal_concavity,
    four_cycles,
    iterated_dominance,
)
from market.policies.base import ProfilePolicy
from market.policies.posted import Posted
from market.policies.proportional import Proportional


def rng(seed=0):
    return np.random.default_rng(seed)


def contest(low=0.5, high=1.5):
    """Two Tullock players, R = 4, c = 1: b(y) = sqrt(4 y) - y, equilibrium R/(4 c) = 1 each."""
    return market(Linear(1.0), Proportional(4.0, "epsilon"), 2, low=low, high=high)


class Whole(ProfilePolicy):
    """The contest as a policy of whole profiles: the general path."""

    def settle(self, epsilon, game):
        total = epsilon.sum()
        return 4.0 * epsilon / (total if total > 0 else 1.0)


def test_separable_payoffs_have_every_property():
    """p e - a e^2/2 each: one round of bounds; slopes p - a e, so (x - y)(g(x) - g(y)) = -sum a (x - y)^2."""
    slopes = np.array([0.5, 1.0, 2.0])
    found = diagnose(market(Quadratic(slopes), Posted(4.0), 3, low=0.01, high=10.0), rng=rng())
    assert found.dominance.holds and found.dominance.rounds == 1
    assert np.allclose(found.dominance.low, 4 / slopes, rtol=1e-9)
    assert found.potential.holds and found.potential.relative <= 1e-12
    assert found.contraction.holds and found.contraction.largest <= 1e-9
    assert found.concavity.holds and -2.0 < found.concavity.largest <= -0.5


def test_a_contest_near_its_equilibrium():
    """b'(y) = sqrt(1/y) - 1 lies in [-0.184, 0.414] on [0.5, 1.5]: a contraction of modulus sqrt 2 - 1.

    The cross slopes 4 (x - y)/(x + y)^3 have opposite signs for the two, so there is no potential.
    Pairs (x, y) move by (4 y/(x+y)^2, 4 x/(x+y)^2): the own slopes -8 y/(x+y)^3 < 0 fall, and the
    cross slopes cancel: Rosen's condition holds.
    """
    for game in (contest(), market(Linear(1.0), Whole(), 2, low=0.5, high=1.5)):
        found = diagnose(game, rng=rng())
        assert found.dominance.holds and found.dominance.rounds > 3
        assert np.allclose(found.dominance.low, 1, atol=1e-5) and np.allclose(
            found.dominance.high, 1, atol=1e-5
        )
        assert 0.3 < found.contraction.largest <= np.sqrt(2) - 1 + 1e-9 and found.contraction.holds
        assert found.concavity.holds
        assert not found.potential.holds and found.potential.largest > 0.01


def test_a_contest_far_from_its_equilibrium():
    """Near 0, b'(y) = sqrt(1/y) - 1 is as large as one likes: at 0.01 it is 9."""
    found = contraction_modulus(contest(0.01, 4.0), rng=rng(), samples=128)
    assert not found.holds and 1 < found.largest <= 9


def test_evidence_can_be_checked():
    """What a finding shows is what the game says at the profiles it names."""
    game = contest()
    cycle = four_cycles(game, rng=rng())
    first, second = cycle.owners

    def profile(one, two):
        at = cycle.start.copy()
        at[first], at[second] = one, two
        return game.payoffs(at)

    x = cycle.start[first]
    y = cycle.start[second]
    to_x = cycle.end[first]
    to_y = cycle.end[second]
    gains = (
        profile(to_x, y)[first]
        - profile(x, y)[first]
        + profile(to_x, to_y)[second]
        - profile(to_x, y)[second]
    )
    back = (
        profile(x, to_y)[first]
        - profile(to_x, to_y)[first]
        + profile(x, y)[second]
        - profile(x, to_y)[second]
    )
    assert abs(gains + back) == pytest.approx(cycle.largest, rel=1e-9)
    near = contraction_modulus(game, rng=rng())
    moved = np.abs(game.best_responses(near.one) - game.best_responses(near.two)).max()
    assert moved / np.abs(near.one - near.two).max() == pytest.approx(near.largest, rel=1e-9)


def test_a_game_without_equilibrium_has_no_property():
    game = market(Linear(0.0), Pennies(), 2, low=0.0, high=1.0)
    found = diagnose(game, rng=rng())
    assert not found.dominance.holds and found.dominance.low.tolist() == [0, 0]
    assert not found.potential.holds and found.potential.relative > 0.1
    assert not found.contraction.holds and not found.concavity.holds


def test_several_equilibria_refute_what_implies_one():
    game = market(
        Linear(1.0), Posted(0.0), 2, forecast=Pair(), benefit=10.0, isolated=0.9, high=5.0
    )
    found = iterated_dominance(game, rng=rng())
    assert not found.holds and np.all(found.low <= 0) and np.all(found.high >= 1 - 1e-6)
    assert not contraction_modulus(game, rng=rng()).holds


def test_leakage_costs_are_not_concave():
    """A flat price against a concave cost: slopes rise with epsilon, so Rosen's condition fails."""
    assert not diagonal_concavity(
        market(Leakage(1.0), Posted(0.5), 2, low=0.1, high=5.0), rng=rng()
    ).holds


def test_one_owner_plays_a_potential_game():
    found = four_cycles(market(Linear(1.0), Proportional(3.0), 1, low=0.1), rng=rng())
    assert found.holds and found.largest == 0


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_marginal_payments_have_a_potential(share):
    assert four_cycles(envelope_market(share=share), rng=rng()).holds


def test_unequal_shares_have_none():
    assert not four_cycles(envelope_market(share=np.array([0.2, 0.6, 1.0])), rng=rng()).holds
