"""Tiers, whose payments jump, and cost-plus: exact best responses, and what each makes owners do."""

from __future__ import annotations

import numpy as np
import pytest
from sizes import sized
from toys import LinearLaw

from agents.model import DataMarket
from learning.errors import InputError
from market.costs.channels import CHANNELS
from market.costs.functions import (
    Belief,
    ChannelCost,
    ExpectedHarm,
    Exponential,
    Leakage,
    Linear,
    Quadratic,
)
from market.equilibrium.solver import PATHS, solve
from market.game.game import Game
from market.game.owners import Owners
from market.policies.posted import CostPlus, Tiers

COSTS = [
    Linear([30.0, 8.0, 2.0]),
    Quadratic([30.0, 8.0, 2.0]),
    Leakage([0.3, 0.1, 0.02]),
    ExpectedHarm([0.02, 0.01, 0.1]),
    Belief([1.0, 0.5, 0.1], worlds=4),
    Exponential([8.0, 3.0, 1.0]),
    *(ChannelCost([0.3, 0.1, 0.02], channel, 5) for channel in CHANNELS),
]


def rng(seed=0):
    return np.random.default_rng(seed)


def market(cost, policy, forecast=None, value=0.0, **changes):
    given = {
        "sizes": [100, 50, 200],
        "epsilon_min": 0.0,
        "epsilon_max": 10.0,
        "cost": cost,
    } | changes
    return Game(Owners(tuple("ABC"), **given), policy, forecast, value)


def test_a_menu_pays_by_the_largest_threshold_reached():
    plan_set = Tiers([0.5, 1.0, 2.0], [10.0, 30.0, 40.0])
    game = market(Linear(1.0), plan_set)
    candidates = np.array([[0.0, 0.499999, 0.5, 0.75, 1.0, 2.0, np.inf]] * 3)
    assert game.deviations(np.zeros(3)).payments(candidates)[0].tolist() == [
        0,
        0,
        10,
        10,
        30,
        40,
        40,
    ]
    each = market(Linear(1.0), Tiers([0.5, 1.0, 2.0], [10.0, 30.0, 40.0], "record"))
    assert each.payments(np.array([0.5, 1.0, 3.0])).tolist() == [1000, 1500, 8000]


def test_a_menu_known_by_hand():
    """Amounts 10, 30, 40 at 0.5, 1, 2; costs 30, 8, 2 per epsilon. A: -5, 0, -20: nothing, and 0 by the tie. B: 6, 22,
    24. C: 9, 28, 36."""
    game = market(Linear([30.0, 8.0, 2.0]), Tiers([0.5, 1.0, 2.0], [10.0, 30.0, 40.0]))
    assert game.best_responses(np.zeros(3)).tolist() == [0, 2, 2]
    assert game.payoffs(np.array([0.0, 2, 2])).tolist() == [0, 24, 36]
    assert np.array_equal(game.regret(np.array([0.0, 1, 2])), [0, 2, 0])


def by_hand(game, thresholds):
    """The best of the menu without a forecast: thresholds inside the interval and its lower end; the smaller by tie."""
    low = game.owners.epsilon_min
    high = game.owners.epsilon_max
    best = np.empty(len(low))
    for owner in range(len(low)):
        options = [low[owner], *(t for t in thresholds if low[owner] < t <= high[owner])]
        surplus = [
            game.deviation_payoffs(low, np.full((len(low), 1), option))[owner, 0]
            for option in options
        ]
        best[owner] = options[int(np.argmax(surplus))]
    return best


@pytest.mark.slow
@pytest.mark.parametrize(
    "cost", COSTS, ids=lambda cost: type(cost).__name__ + getattr(cost, "channel", "")
)
def test_best_responses_are_exact_at_thresholds(cost):
    """Every threshold is met to the last digit, wherever it lies; one epsilon less and the payment is lost."""
    draw = rng(5)
    for _ in range(sized(6, 20)):
        thresholds = np.sort(draw.uniform(0.01, 12, 5))
        amounts = np.sort(draw.uniform(1, 60, 5))
        low = draw.choice([0.0, 0.3, 1.0], 3)
        game = market(cost, Tiers(thresholds, amounts), epsilon_min=low)
        chosen = game.best_responses(low)
        assert np.array_equal(chosen, by_hand(game, thresholds))
        assert np.array_equal(game.regret(chosen), np.zeros(3))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", *PATHS])
def test_every_path_settles_on_the_menu(method):
    game = market(Linear([30.0, 8.0, 2.0]), Tiers([0.5, 1.0, 2.0], [10.0, 30.0, 40.0]))
    found = solve(game, rng=rng(), method=method, starts=4, damping=1.0)
    assert found.converged and found.reason == "certified" and found.epsilon.tolist() == [0, 2, 2]
    assert found.max_regret == 0


@pytest.mark.parametrize("activation", ["sequential", "simultaneous", "random"])
def test_agents_settle_on_the_menu(activation):
    game = market(Linear([30.0, 8.0, 2.0]), Tiers([0.5, 1.0, 2.0], [10.0, 30.0, 40.0]))
    outcome = DataMarket(game, rng=rng(), activation=activation, damping=1.0).run()
    assert outcome.converged and outcome.epsilon.tolist() == [0, 2, 2]


def test_who_uses_the_model_may_choose_between_thresholds():
    """Benefit b (isolated - bias - gain/e^2) against cost c e: e = (2 b gain / c)^(1/3) = 2 for b gain/c = 4, alone. A
    menu whose thresholds lie elsewhere is not worth moving for, one that pays enough is."""
    law = LinearLaw(1.0, 0.0, 0.02)
    alone = {"benefit": [1000.0, 0, 0], "isolated": 0.9, "epsilon_max": [10.0, 0, 0]}
    small = market(Linear(5.0), Tiers([1.0, 3.0], [1.0, 1.5]), law, **alone)
    assert small.best_responses(np.zeros(3))[0] == pytest.approx(2.0, rel=1e-9)
    large = market(Linear(5.0), Tiers([1.0, 3.0], [1.0, 9.0]), law, **alone)
    chosen = large.best_responses(np.zeros(3))
    assert chosen[0] == 3.0 and large.regret(chosen)[0] == 0
    # the certificate sees what the threshold pays: 8 more, for 5 * 1 in cost less 20 (1/4 - 1/9) in
    # benefit
    assert large.regret(np.array([2.0, 0, 0]))[0] == pytest.approx(
        8 - 5 + 1000 * 0.02 * (1 / 4 - 1 / 9), rel=1e-9
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"thresholds": []}, "policy.thresholds: must be a list of privacy budgets; found \\[\\]"),
        (
            {"thresholds": "many"},
            'policy.thresholds: must be a list of privacy budgets; found "many"',
        ),
        (
            {"thresholds": [1, np.inf]},
            "policy.thresholds: must be a list of privacy budgets; found inf in place 2",
        ),
        (
            {"thresholds": [0, 1]},
            "policy.thresholds: must rise, from above 0; found \\[0.0, 1.0\\]",
        ),
        ({"thresholds": [2, 2]}, "policy.thresholds: must rise"),
        ({"amounts": [1]}, "policy.amounts: needs one amount per threshold, 2 in all; found 1"),
        (
            {"amounts": [3, 2]},
            "policy.amounts: must not be negative or fall; found \\[3.0, 2.0\\]. An amount",
        ),
        ({"amounts": [-3, 2]}, "policy.amounts: must not be negative"),
        ({"per": "year"}, 'policy.per: must be "owner" or "record"; found "year"'),
    ],
)
def test_menus_that_cannot_be(changes, message):
    with pytest.raises(InputError, match=f"^{message}"):
        Tiers(**({"thresholds": [1, 2], "amounts": [3, 4]} | changes))


@pytest.mark.parametrize(
    "cost", COSTS, ids=lambda cost: type(cost).__name__ + getattr(cost, "channel", "")
)
def test_under_cost_plus_nobody_loses_and_all_share_as_much_as_they_may(cost):
    """Surplus is margin * cost, fixed costs included, at every budget: never negative, and largest at the upper end."""
    game = market(cost, CostPlus([0.1, 0.5, 2.0]), fixed_cost=[3.0, 0.0, 1.0])
    grid = np.tile(np.concatenate([[0.0], np.geomspace(1e-6, 10, 50)]), (3, 1))
    surplus = game.deviation_payoffs(np.zeros(3), grid)
    assert np.all(surplus >= 0)
    assert np.allclose(
        surplus,
        np.array([[0.1], [0.5], [2.0]]) * game.deviations(np.zeros(3)).costs(grid),
        rtol=1e-12,
    )
    found = solve(game, rng=rng(), starts=4)
    assert found.epsilon.tolist() == [10, 10, 10] and found.reason == "corner"


def test_cost_plus_without_a_margin_leaves_owners_indifferent():
    game = market(Linear([1.0, 2.0, 3.0]), CostPlus(0.0), epsilon_min=[0.0, 0.5, 1.0])
    assert game.best_responses(np.ones(3)).tolist() == [0, 0.5, 1]
    assert np.array_equal(game.regret(np.array([3.0, 4, 5])), np.zeros(3))
    with pytest.raises(
        InputError, match="policy.margin: must be a number of at least 0, or a list .*; found -0.1"
    ):
        CostPlus(-0.1)
