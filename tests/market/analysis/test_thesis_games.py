"""The thesis's two games: reference equilibria, the two equilibria of one, the collapse of another, said in words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from learning.errors import InputError
from market.analysis.thesis_games import thesis_game
from market.columns import finite_difference
from market.costs.functions import Linear, Quadratic
from market.costs.leakage import leakage_bits, utility_bound
from market.equilibrium.diagnostics import equilibrium_remarks
from market.equilibrium.solver import certify, solve
from market.game.game import Game
from market.game.owners import Owners
from market.policies.posted import CostPlus, Posted
from market.policies.thesis import ThesisLeakage, ThesisUtility
from market.policies.thesis_loss import ThesisLoss

GOLDEN = json.loads((Path(__file__).parent / "golden_thesis_games.json").read_text())["games"]
UNEQUAL = [1e3, 1e4, 2e4, 1e5]


def rng(seed=0):
    return np.random.default_rng(seed)


def game_of(case):
    kind = {
        "leakage": {"individuals": "u", "values": "v"},
        "utility": {"distance": "d", "border": "c_border"},
    }
    parameters = {name: case[key] for name, key in kind[case["game"]].items()}
    exponent = float(case["exponent_c"])
    weight = case["weight"]
    epsilon = case["interval"]
    return thesis_game(
        case["game"], case["sizes"], epsilon=epsilon, weight=weight, exponent=exponent, **parameters
    )


def profiles(found):
    return sorted(
        (one.epsilon.tolist() for one in (found, *found.others)), key=lambda profile: profile[0]
    )


def name_of(case):
    return f"{case['game']}-{case['weight']}-{'equal' if len(set(case['sizes'])) == 1 else 'unequal'}-{case['interval'][1]}"


@pytest.mark.slow
@pytest.mark.parametrize("case", GOLDEN, ids=name_of)
def test_reference_equilibria(case):
    """Every equilibrium of the project's reference file ``golden/thesis_games.json``, from an independent program."""
    found = solve(game_of(case), rng=rng())
    assert found.converged and found.max_relative_regret <= 1e-8
    for expected in case["equilibria_found"]:
        assert min(np.max(np.abs(np.array(one) - expected)) for one in profiles(found)) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "weight", "sizes", "expected"),
    [
        ("leakage", "normalised", 1e4, [2.50943] * 4),
        ("leakage", "normalised", UNEQUAL, [2.98669, 2.77478, 2.55741, 1.42312]),
        ("leakage", "printed", 1e4, [3.23286] * 4),
        ("leakage", "printed", UNEQUAL, [3.85853, 3.58904, 3.31882, 1.97036]),
        ("utility", "normalised", UNEQUAL, [2.76503, 2.52267, 2.28974, 1.25654]),
    ],
)
def test_the_equilibria_stated_for_four_owners(kind, weight, sizes, expected):
    """u = 100, v = 10, c = 1, d = 5, border 2, interval [0.001, 5]; larger owners settle lower."""
    found = profiles(solve(thesis_game(kind, sizes, weight=weight), rng=rng()))
    assert np.allclose(found[-1], expected, atol=1e-5)
    if kind == "leakage":
        assert len(found) == 1


@pytest.mark.parametrize(("high", "upper"), [(5.0, 2.24253), (2.0, 0.74553)])
def test_the_normalised_utility_game_with_equal_sizes_has_two_equilibria(high, upper):
    game = thesis_game("utility", 1e4, epsilon=(0.001, high))
    found = solve(game, rng=rng())
    assert found.reason == "several" and len(found.others) == 1
    assert np.allclose(profiles(found), [[0.001] * 4, [upper] * 4], atol=1e-5)
    (fact,) = equilibrium_remarks(game, found)
    assert (
        fact["cause"] == "several_equilibria"
        and [place["at_lowest"] for place in fact["places"]].count(True) == 1
    )
    places = sorted(place["epsilon"] for place in fact["places"])
    assert np.allclose(places, [[0.001] * 2, [upper] * 2], atol=1e-5) and len(places) == 2


def test_the_floor_is_an_equilibrium_of_the_normalised_utility_game_whatever_the_sizes():
    """Beyond the reference numbers, which list one. Where all others stand at the floor, an owner that gives 1,000 times
    as much shrinks its own share by as much: no move on a grid of 20,001 pays."""
    game = thesis_game("utility", UNEQUAL)
    floor = np.full(4, 0.001)
    grid = np.tile(np.geomspace(0.001, 5, 20_001), (4, 1))
    assert np.all(game.deviation_payoffs(floor, grid).max(axis=1) <= game.payoffs(floor))
    assert solve(game, rng=rng()).reason == "several"


@pytest.mark.parametrize("sizes", [1e4, UNEQUAL])
def test_the_printed_utility_game_collapses_to_the_floor_and_says_so(sizes):
    game = thesis_game("utility", sizes, weight="printed")
    found = solve(game, rng=rng())
    assert found.reason == "corner" and np.array_equal(found.epsilon, np.full(4, 0.001))
    collapse, weight = equilibrium_remarks(game, found)
    assert collapse == {"cause": "all_at_lowest", "epsilon": [0.001, 0.001]}
    assert weight["cause"] == "printed_weight" and f"{weight['largest_payment']:.2g}" == "0.0066"
    assert weight["largest_cost"] == pytest.approx(148, abs=0.5)  # e^5
    assert game.payments(np.array([5.0, 0.01, 0.01, 0.01])).max() < 0.0066


@pytest.mark.parametrize("weight", ["normalised", "printed"])
@pytest.mark.parametrize("kind", ["leakage", "utility"])
def test_payoffs_are_the_thesis_formulas(kind, weight):
    """Second route: equations 4.1 and 4.2 written out for one owner at a time."""
    game = thesis_game(kind, UNEQUAL, weight=weight, exponent=0.7)
    profile = np.array([0.3, 1.2, 2.0, 4.5])
    for owner in range(4):
        part = [e * n**0.7 for e, n in zip(profile, UNEQUAL, strict=True)]
        share = (sum(part) - part[owner]) / sum(part)

        def gain(e):
            return (
                100 * np.log2(10 * np.exp(e) / (9 + np.exp(e)))
                if kind == "leakage"
                else utility_bound(e, 5, 2)
            )

        scale = np.exp(5) / gain(5) if weight == "normalised" else gain(5) / np.exp(5)
        payoff = share * scale * gain(profile[owner]) - np.exp(profile[owner])
        assert game.payoffs(profile)[owner] == pytest.approx(payoff, rel=1e-12)


@pytest.mark.parametrize(
    "policy", [ThesisLeakage(3.0, values=[2, 5, 9]), ThesisUtility(2.0, 3, 0.5, 0.4, "printed")]
)
def test_payoff_slopes_are_derivatives(policy):
    game = Game(
        Owners(tuple("ABC"), [1, 50, 900], 0.01, [4, 5, 6], Quadratic(0.1), fixed_cost=2.0),
        policy,
        None,
        0.0,
    )
    deviations = game.deviations(np.array([0.5, 1.0, 0.02]))
    at = np.tile(np.geomspace(0.01, 3.9, 25), (3, 1))
    assert np.allclose(
        deviations.marginal_surplus(at),
        finite_difference(deviations.payoffs, at),
        rtol=1e-8,
        atol=1e-9,
    )


def test_weights_are_each_owners_own():
    owners = Owners(tuple("AB"), 10, 0.0, [2.0, 3.0], Linear(1.0))
    high = np.array([2.0, 3.0])
    assert np.allclose(
        ThesisLeakage().owner_weights(owners), np.exp(high) / (100 * leakage_bits(high))
    )
    assert np.allclose(
        ThesisUtility(weight="printed").owner_weights(owners), utility_bound(high) / np.exp(high)
    )
    closed = Owners(tuple("AB"), 10, 0.0, [0.0, 3.0], Linear(1.0))
    assert ThesisLeakage().owner_weights(closed)[0] == 0
    with pytest.raises(InputError, match="owners.epsilon: must end at 700 or below .*; found 800"):
        ThesisLeakage().owner_weights(Owners(("A",), 1, 0.0, 800.0, Linear(1.0)))


@pytest.mark.parametrize("policy", [ThesisLeakage(), ThesisUtility()])
def test_who_shares_nothing_or_shares_alone_is_paid_nothing(policy):
    game = Game(Owners(tuple("ABC"), 10, 0.0, 5.0, Linear(1.0)), policy, None, 0.0)
    assert game.payments(np.zeros(3)).tolist() == [0, 0, 0]
    assert game.payments(np.array([0.0, 2.0, 0.0])).tolist() == [
        0,
        0,
        0,
    ]  # the others' part is nothing
    paid = game.payments(np.array([np.inf, np.inf, 1.0]))
    assert np.isfinite(paid).all() and paid[0] == pytest.approx(paid[1]) and paid[0] > 0


def test_the_size_weighs_by_its_exponent():
    """With c = 0 sizes do not count, so unequal owners settle as equal ones do."""
    same = solve(thesis_game("leakage", UNEQUAL, exponent=0.0), rng=rng(), starts=4).epsilon
    assert np.allclose(same, 2.509433, atol=1e-6)
    epsilon = solve(thesis_game("leakage", UNEQUAL, exponent=0.3), rng=rng(), starts=4).epsilon
    assert np.all(np.diff(epsilon) < 0)


def test_remarks_say_what_is_seen_and_nothing_else():
    owners = Owners(tuple("AB"), 10, [0.5, 1.0], 3.0, Linear([1.0, 2.0]))
    plain = Game(owners, Posted(1.5), None, 0.0)
    assert equilibrium_remarks(plain, certify(plain, np.array([3.0, 1.0]))) == []
    low = Game(owners, Posted(0.5), None, 0.0)
    assert equilibrium_remarks(low, certify(low, np.array([0.5, 1.0]))) == [
        {"cause": "all_at_lowest", "epsilon": [0.5, 1.0]}
    ]
    high = Game(owners, CostPlus(0.1), None, 0.0)
    assert equilibrium_remarks(high, certify(high, np.array([3.0, 3.0]))) == [
        {"cause": "all_at_highest", "epsilon": [3.0, 3.0]}
    ]
    assert (
        equilibrium_remarks(high, certify(high, np.array([0.5, 1.0]))) == []
    )  # no equilibrium: nothing to say about it
    fixed = Game(Owners(("A",), 10, 2.0, 2.0, Linear(1.0)), Posted(0.5), None, 0.0)
    assert equilibrium_remarks(fixed, certify(fixed, np.array([2.0]))) == []  # it has no choice


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: ThesisLeakage(weight="upside down"),
            'policy.weight: must be "normalised" or "printed"; found "up',
        ),
        (
            lambda: ThesisLeakage(individuals=0),
            "policy.individuals: must be a number above 0; found 0",
        ),
        (
            lambda: ThesisLeakage(exponent=[1, 2]),
            "policy.exponent: must be a number of at least 0; found \\[1, 2\\]",
        ),
        (
            lambda: ThesisLeakage(values=1),
            "policy.values: must be a whole number of at least 2, or a list .*; found 1",
        ),
        (
            lambda: ThesisUtility(distance=2.5),
            "policy.distance: must be a whole number of at least 1; found 2.5",
        ),
        (lambda: ThesisUtility(border=0), "policy.border: must be a number above 0; found 0"),
        (
            lambda: ThesisUtility(price=-1),
            "policy.price: must be a number of at least 0, or a list .*; found -1",
        ),
    ],
)
def test_games_that_cannot_be(make, message):
    with pytest.raises(InputError, match=f"^{message}"):
        make()


def test_a_game_has_a_known_kind():
    with pytest.raises(
        ValueError, match="kind must be one of leakage, utility, gain, loss; found 'fitness'"
    ):
        thesis_game("fitness", 1e4)


def loss_cost(profile, owner, floors, high, leakage, weight=1.0):
    """Second route: wf U - L of section 4.2, or wf U + L, written out for one owner."""

    def bits(e):
        return 100 * np.log2(10 * np.exp(e) / (9 + np.exp(e)))

    scale = weight * bits(high) / sum(e**-2.0 for e in floors)
    loss = scale * sum(e**-2.0 for e in profile)
    return loss - bits(profile[owner]) if leakage == "paid" else loss + bits(profile[owner])


@pytest.mark.parametrize(("leakage", "weight"), [("paid", 1.0), ("lost", 1.0), ("lost", 4.0)])
def test_the_game_of_section_4_2_settles_where_a_loop_over_a_grid_does(leakage, weight):
    """From each start every owner in turn takes the least cost on a grid, until nobody moves."""
    floors = [0.1, 0.1, 0.3, 0.2]
    owners = Owners(tuple("ABCD"), UNEQUAL, floors, 5.0, Linear(0.0))
    game = Game(owners, ThesisLoss(leakage=leakage, weight=weight), None, 0.0)
    for profile in (np.array(floors), np.array([0.2, 1.0, 3.0, 5.0])):
        costs = [loss_cost(profile, k, floors, 5.0, leakage, weight) for k in range(4)]
        assert np.allclose(game.payoffs(profile), -np.array(costs), rtol=1e-12)
        settled = profile.copy()
        for owner in [0, 1, 2, 3] * 2:
            grid = np.geomspace(floors[owner], 5.0, 20_001)
            moves = np.tile(settled, (len(grid), 1))
            moves[:, owner] = grid
            settled[owner] = grid[
                np.argmin(loss_cost(moves.T, owner, floors, 5.0, leakage, weight))
            ]
        found = solve(game, rng=rng(), start=profile, starts=2)
        assert found.max_relative_regret <= 1e-8
        assert np.allclose(found.epsilon, settled, rtol=3e-4)


def test_what_leaks_and_what_the_model_loses_trade_off_at_the_root():
    """L' = w 2/epsilon^3, and for all together N times the right side: the public good is short."""
    game = thesis_game("loss", 1e4, epsilon=(0.1, 5.0), leakage="lost")
    scale = 100 * np.log2(10 * np.exp(5) / (9 + np.exp(5))) * 0.1**2 / 4

    def slope(e, owners):
        return 100 / np.log(2) * 9 / (9 + np.exp(e)) - owners * scale * 2 / e**3

    alone, together = (brentq(slope, 0.1, 5, args=(owners,)) for owners in (1, 4))
    for start in (0.1, 1.0, 5.0):
        assert np.allclose(
            solve(game, rng=rng(), start=np.full(4, start)).epsilon, alone, rtol=1e-7
        )
    assert game.payoffs(np.full(4, together)).sum() > game.payoffs(np.full(4, alone)).sum()
    assert (round(alone, 4), round(together, 4)) == (0.2339, 0.3735)


def test_a_predicted_loss_without_end_is_refused():
    owners = Owners(tuple("AB"), 10, [0.0, 0.1], 5.0, Linear(0.0))
    with pytest.raises(InputError, match="owners.epsilon: must begin above 0, .*; found 0"):
        ThesisLoss().check_owners(owners)
