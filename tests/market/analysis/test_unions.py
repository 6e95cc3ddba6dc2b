"""Unions against a grid of all that their members could do at once, contests solved by hand, and markets without them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from markets import market, rng

from learning.errors import InputError
from market.analysis.joint_moves import JointMoves
from market.analysis.unions import (
    Coalitions,
    Union,
    divide_surplus,
    prefers_union,
    solve_united,
    unite_owners,
)
from market.costs.functions import Linear, Quadratic
from market.equilibrium.solver import solve
from market.game.game import CERTIFIED, Game
from market.game.owners import Owners
from market.policies.contributions import Marginal, Shapley
from market.policies.posted import Contracts, Posted
from market.policies.proportional import Proportional


class Precise:
    """psi = 1 / (1 + sum of epsilon)."""

    outside = 1.0

    def terms(self, epsilon):
        return np.asarray(epsilon, dtype=float)[..., None]

    def excess(self, sums):
        return 1 / (1 + sums[..., 0])


def of_use_to_two(policy):
    """The model is of use to two owners, and to neither of them unless both share."""
    people = {
        "benefit": [8.0, 8.0, 0.0],
        "isolated": [0.42, 0.42, 1.0],
        "fixed_cost": [0.2, 0.2, 0.0],
    }
    return market(Quadratic(1.0), policy, 3, forecast=Precise(), value=3.0, high=5.0, **people)


GRID = np.linspace(0, 5, 501)
PAID = {  # to two owners together, as functions of their budgets and of the sum of the third's, written out once more
    "posted": lambda a, b, c: 0.0,
    "proportional": lambda a, b, c: 3.0 * (a + b) / np.maximum(a + b + c, 1e-300),
    "marginal": lambda a, b, c: 0.3 * 3 * (1 / (1 + b + c) + 1 / (1 + a + c) - 2 / (1 + a + b + c)),
}
POLICIES = {
    "posted": Posted(0.0),
    "proportional": Proportional(3.0, "epsilon"),
    "marginal": Marginal(0.3),
}


def on_a_grid(kind, third):
    """What the first two have at most on a grid of all pairs of budgets, from the formulas."""
    a, b = np.meshgrid(GRID, GRID)
    gain = 8 * np.maximum(0.42 - 1 / (1 + a + b + third), 0)
    used = gain * (a > 0) + gain * (b > 0)
    lost = (a**2 + b**2) / 2 + 0.2 * (a > 0) + 0.2 * (b > 0)
    return float((PAID[kind](a, b, third) + used - lost).max())


@pytest.mark.parametrize("kind", [pytest.param("posted", marks=pytest.mark.slow), *list(PAID)[1:]])
def test_no_joint_move_on_a_grid_is_better(kind):
    game = of_use_to_two(POLICIES[kind])
    found = solve_united(game, [(0, 1)], rng=rng(), starts=1)
    have = game.payoffs(found.epsilon)[:2].sum()
    most = on_a_grid(kind, found.epsilon[2])
    assert found.converged and most <= have * (1 + 1e-9) and have - most < 1e-3 * have
    assert np.array_equal(found.payments, game.payments(found.epsilon))


def test_a_union_moves_where_no_member_alone_would():
    """Nobody shares: no single member gains by sharing, whoever it looks after, but both together do."""
    game = of_use_to_two(Posted(0.0))
    nobody = np.zeros(3)
    assert solve(
        unite_owners(game, (0, 1)), rng=rng(), start=nobody, starts=1
    ).epsilon.tolist() == [
        0,
        0,
        0,
    ]
    place, gain, scale = JointMoves(game, np.array([0, 1]), nobody).certificate()
    assert gain > CERTIFIED * scale and gain == pytest.approx(on_a_grid("posted", 0.0), rel=1e-3)
    found = solve_united(game, [(0, 1)], rng=rng(), start=nobody, starts=1)
    assert found.converged and game.payoffs(found.epsilon)[:2].sum() == pytest.approx(
        gain, rel=1e-9
    )
    # together they have 16 (0.42 - 1/(1 + s)) - s^2/4 - 0.4: 16/(1 + s)^2 = s/2
    total = found.epsilon[:2].sum()
    assert 16 / (1 + total) ** 2 == pytest.approx(
        total / 2, rel=1e-6
    ) and place.sum() == pytest.approx(total, rel=1e-3)


@pytest.mark.slow
def test_a_policy_of_whole_profiles_has_unions_too():
    game = of_use_to_two(Shapley(0.3))
    found = solve_united(game, [(0, 1)], rng=rng(), starts=1)
    have = game.payoffs(found.epsilon)[:2].sum()
    trials = product(np.linspace(0.5, 2, 16), repeat=2)
    most = max(game.payoffs(np.array([*pair, found.epsilon[2]]))[:2].sum() for pair in trials)
    assert found.converged and most <= have and have - most < 0.01 * have


@pytest.fixture(scope="module")
def contest():
    """30 shared by budgets that cost 1, 1.2 and 2 a unit; the first two as one sell by the cheaper of them."""
    game = market(Linear([1.0, 1.2, 2.0]), Proportional(30.0, "epsilon"), 3)
    return game, solve_united(game, [(0, 1)], rng=rng(), starts=1)


def test_a_union_sells_by_its_cheapest_member(contest):
    """A contest of two at costs 1 and 2: budgets add up to 30/3, and each is total (1 - total cost / 30)."""
    game, found = contest
    assert found.converged
    assert found.epsilon == pytest.approx(
        [10 * (1 - 10 / 30), 0.0, 10 * (1 - 20 / 30)], rel=1e-6, abs=1e-9
    )
    assert found.payments.sum() == pytest.approx(30)


def test_what_members_have_apart_outside_and_by_each_split(contest):
    game, found = contest
    parts = Coalitions(game, [(0, 1)], 0, found.epsilon, 0)
    own = game.payoffs(found.epsilon)[:2]
    apart = game.payoffs(solve(game, rng=rng(), starts=1).epsilon)[:2]
    assert (
        parts.separate_surplus() == pytest.approx(apart, rel=1e-6) == parts.outside_surplus()
    )  # without one, a union of two is none
    even = divide_surplus("equal", own, np.ones(2), parts)
    assert even == pytest.approx([own.sum() / 2] * 2, rel=1e-12)
    assert divide_surplus("by_size", own, np.array([1.0, 3.0]), parts) == pytest.approx(
        own.sum() * np.array([0.25, 0.75])
    )
    fair = divide_surplus(
        "shapley", own, np.ones(2), parts
    )  # of two: half of what they have more together, each
    assert fair == pytest.approx(apart + (own.sum() - apart.sum()) / 2, rel=1e-6)
    # the third answers by selling more, so that this union has less than its members apart: both
    # would leave
    assert (
        own.sum() < apart.sum()
        and not prefers_union(fair, apart, own).any()
        and prefers_union(apart, apart, own).all()
    )


def test_without_unions_or_with_unions_of_one_nothing_changes():
    game = market(Linear([1.0, 1.2, 2.0]), Proportional(30.0, "epsilon"), 3)
    free = solve(game, rng=rng(), starts=2)
    for unions in ([], [(0,)], [(0,), (2,)]):
        found = solve_united(game, unions, rng=rng(), starts=2)
        assert np.array_equal(found.epsilon, free.epsilon) and np.array_equal(
            found.regret, free.regret
        )


def test_two_unions_play_against_each_other():
    """Four equal owners in two unions are a contest of two: each side sells 30/(4 * 2)."""
    game = market(Linear(2.0), Proportional(30.0, "epsilon"), 4)
    found = solve_united(game, [(0, 3), (1, 2)], rng=rng(), starts=1)
    assert found.converged
    assert (
        found.epsilon[[0, 3]].sum() == pytest.approx(3.75, rel=1e-6) == found.epsilon[[1, 2]].sum()
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"members": ("A", "A")}, "unions.members: must name each owner once; found A twice in U"),
        ({"members": ()}, "unions.members: must be a list of owners' names"),
        (
            {"members": ("A",), "split": "fair"},
            'unions.split: must be "equal", "by_size" or "shapley"',
        ),
        (
            {"members": tuple("ABCDEFG"), "split": "shapley"},
            "unions.members: must be at most 6 owners with split",
        ),
        (
            {"members": tuple(map(str, range(51)))},
            "unions.members: must be at most 50 owners; found 51",
        ),
        ({"name": " ", "members": ("A",)}, "unions.name: must be a text in quotes"),
    ],
)
def test_unions_that_cannot_act_as_one(given, message):
    with pytest.raises(InputError, match=message):
        Union(**{"name": "U"} | given)


def test_contracts_of_some_owners_keep_their_own_terms_in_a_union():
    """A search goes on with a few of the owners, while the policy of a union has columns of all."""
    owners = Owners(("A", "B", "C", "D"), 1, 0.0, 10.0, Linear(1.0))
    game = unite_owners(Game(owners, Contracts([1.0, 2.0, 3.0, 4.0], 20.0), None, 0.0), (0, 1))
    assert game.deviations(np.ones(4)).take(np.array([1, 3])).payment_jumps().ravel().tolist() == [
        2.0,
        4.0,
    ]
