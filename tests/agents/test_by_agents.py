"""Agents who move one by one, each by its own `move`, against the rounds that move all of them in a few searches."""

import numpy as np
import pytest
from markets import market
from sizes import sized
from toys import LinearLaw

from agents import DataMarket
from agents.traders import DataOwner
from market.costs.functions import Exponential, Leakage, Linear, Quadratic
from market.equilibrium.activation import ACTIVATIONS
from market.policies.contributions import Marginal
from market.policies.posted import Posted
from market.policies.proportional import Proportional

PLAYED = [
    (Quadratic, Proportional(9.0, "epsilon")),
    (Linear, Proportional(9.0, "records_epsilon")),
    (Quadratic, Posted(2.0)),
    (Quadratic, Marginal(0.6)),
    (Linear, Marginal(1.0)),
    (Leakage, Proportional(90.0, "epsilon")),
    (Exponential, Marginal(0.5)),
]
SIZES = 2, 3, 5, 9, 16, 40  # beyond twelve, rounds are solved as a fixed point


def drawn_game(seed):
    """A game of 2 to 40 owners of many prices and sizes, under one of seven rules."""
    draw = np.random.default_rng(seed)
    n, (cost, policy) = int(draw.choice(SIZES)), PLAYED[seed % len(PLAYED)]
    return market(
        cost(draw.uniform(0.3, 3, n)), policy, n, low=0.05, high=10.0, sizes=draw.uniform(0.5, 2, n),
        forecast=LinearLaw(1.0, 0.1, 0.02), value=20.0,
    )  # fmt: skip


def played(game, by_agents, **given):
    found = DataMarket(game, by_agents=by_agents, tol=1e-8, max_rounds=30, **given).run()
    return found, np.array([epsilon for _, epsilon, _, _ in found.trajectory])


@pytest.mark.slow
def test_the_path_is_the_same_to_the_last_bit_and_so_is_its_end():
    """In every order; 500 games in `make deep`."""
    for seed in range(sized(20, 500)):
        order = list(ACTIVATIONS)[seed % len(ACTIVATIONS)]
        game = drawn_game(seed)
        vectorised, one_by_one = (
            played(game, by_agents, seed=seed, activation=order) for by_agents in (False, True)
        )
        assert np.array_equal(vectorised[1], one_by_one[1]), (seed, order)
        assert vectorised[0].reason == one_by_one[0].reason
        assert vectorised[0].max_regret == one_by_one[0].max_regret


@pytest.mark.slow
@pytest.mark.parametrize("order", ACTIVATIONS)
def test_so_are_paths_of_owners_who_draw_or_remember(order):
    kinds = ["rational", "logit", "inertial", "fictitious_play", "regret_matching"]
    game = drawn_game(3)
    each = [kinds[number % len(kinds)] for number in range(len(game.owners))]
    paths = [
        played(game, by_agents, seed=1, activation=order, behaviour=each)[1]
        for by_agents in (False, True)
    ]
    assert np.array_equal(*paths) and len(paths[0]) > 3


def test_every_owner_is_called_in_its_turn(monkeypatch):
    game = drawn_game(0)
    called = []
    own_move = DataOwner.move

    def noted(owner):
        called.append(owner.number)
        own_move(owner)

    monkeypatch.setattr(DataOwner, "move", noted)
    DataMarket(game, seed=1).step()
    assert called == []
    DataMarket(game, seed=1, by_agents=True).step()
    assert called == list(range(len(game.owners)))


def test_moves_outside_of_any_round_lead_to_the_same_equilibrium():
    """Each owner then adds up what the others sell anew: equal but for rounding."""
    for seed in range(sized(3, 50)):
        game = drawn_game(5 * seed + seed // 7)
        agents = DataMarket(game, seed=seed)
        for _ in range(40):
            for owner in agents.owners:
                owner.move()
        end = DataMarket(game, seed=seed, tol=1e-12, max_rounds=40).run()
        if end.converged:
            np.testing.assert_allclose(agents.epsilon, end.epsilon, rtol=0, atol=1e-7)
