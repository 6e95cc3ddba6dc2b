"""A round of turns as one fixed point: every move is what it would be were the owners to move one by one."""

from __future__ import annotations

import numpy as np
import pytest
from markets import market
from sizes import sized
from toys import COST_PARAMETERS, POLICY_PARAMETERS, Envelope, LinearLaw

from market.costs import COSTS
from market.costs.functions import Leakage, Linear, Quadratic
from market.equilibrium import activation as turns
from market.equilibrium.activation import best_response, in_turn, split_stretches
from market.policies import POLICIES
from market.policies.posted import Tiers
from market.policies.proportional import Proportional

HIGH = 5.0
LAWS = [LinearLaw(1.0, 0.1, 0.02), Envelope(1.0, (0.5, 0.2, 0.05), (1e-3, 0.01, 0.1))]


def one_by_one(game, start, order, respond=best_response):
    """The loop that a round of turns stands for: sums added up over who stays, has moved and has yet to move."""
    profile = np.array(start, dtype=float)
    for place, owner in enumerate(order):
        if game.additive:
            terms = game.terms(profile)
            rest = set(order[place + 1 :].tolist()) - {owner}
            ahead = sorted(rest, key=lambda one: order[place + 1 :].tolist().index(one))
            behind = [one for one in order[:place].tolist() if one != owner and one not in rest]
            still = np.setdiff1d(np.arange(len(profile)), [owner, *ahead, *behind])
            parts = [terms[still], terms[list(dict.fromkeys(behind))], terms[ahead]]
            others = sum(part.sum(axis=0) for part in parts)
            moves = game.deviations_against(
                profile, np.broadcast_to(others, (len(profile), 1, len(others)))
            )
            moves = moves.take(np.array([owner]))
        else:
            moves = game.deviations(profile, np.array([owner]))
        profile[owner] = respond(moves, np.zeros(1, dtype=int))[0]
    return profile


def random_market(cost, policy, seed):
    """Owners of many prices and sizes; two lists of intervals, so that some may stay out; some have a use for the model."""
    draw = np.random.default_rng([seed, *map(ord, cost + policy)])
    n = int(draw.integers(turns.FEW + 1, 18)) if POLICIES[policy].additive else 4
    terms = {name: value * draw.uniform(0.5, 2, n) if name == "price" else value for name, value in
             COST_PARAMETERS[cost].items()}  # fmt: skip
    choices = POLICY_PARAMETERS[policy]
    return market(
        COSTS[cost](**terms),
        POLICIES[policy](**choices[seed % len(choices)]),
        n,
        low=draw.choice([0.0, 0.05], n) if seed % 2 else 0.0,
        high=HIGH,
        forecast=LAWS[seed % 2],
        value=10.0,
        sizes=draw.uniform(0.5, 2, n),
        benefit=draw.choice([0.0, 1.0]),
        isolated=0.6,
    )


def orders(n, draw):
    """In turn, in a drawn order, some only, and with some who move again."""
    return [
        np.arange(n),
        draw.permutation(n),
        draw.permutation(n)[: n // 2],
        draw.integers(n, size=2 * n),
    ]


def same(game, start, order):
    found = in_turn(game, start, order)
    known = one_by_one(game, start, order)
    np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-12 * HIGH)
    return np.abs(found - start).max()


@pytest.mark.parametrize(
    "seeds",
    [(0, 3), pytest.param((4, 5, 1, 2, 6, 7)[: sized(2, 6)], marks=pytest.mark.deep)],
    ids=["few", "many"],
)
@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy in POLICY_PARAMETERS])
def test_moves_are_those_of_the_loop_under_every_policy(policy, seeds):
    costs = list(COST_PARAMETERS)
    moved = 0.0
    for seed in seeds:
        game = random_market(costs[seed % len(costs)], policy, seed)
        draw = np.random.default_rng(seed)
        start = np.clip(
            draw.uniform(0, HIGH, len(game.owners)) ** 2 / HIGH, game.owners.epsilon_min, HIGH
        )
        order = orders(len(start), draw)[seed % 4]
        moved = max(moved, same(game, start, order))
    assert moved > 0.1


COUPLED = {
    "each cost near the next": market(Linear(np.linspace(1, 1.05, 40)), Proportional(200.0, "epsilon"), 40, high=HIGH),
    "all or nothing": market(Leakage(np.linspace(1, 3, 60)), Proportional(90.0, "epsilon"), 60, high=HIGH),
    "smooth": market(Quadratic(np.linspace(0.5, 3, 80)), Proportional(400.0, "epsilon"), 80, high=HIGH),
    "jumps": market(
        Linear(np.linspace(0.5, 3, 14)), Tiers([1.0, 2.0], [1.0, 1.6]), 14, high=HIGH, benefit=2.0, isolated=0.9,
        forecast=LAWS[1],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COUPLED)
@pytest.mark.parametrize("passes", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_strong_coupling_and_jumps_change_nothing(name, passes, monkeypatch):
    """With two passes to a window, windows are narrowed and moved on; the moves are the same."""
    monkeypatch.setattr(turns, "PASSES", passes)
    monkeypatch.setattr(turns, "NARROW", 8)
    game = COUPLED[name]
    draw = np.random.default_rng(2)
    n = len(game.owners)
    profile = np.full(n, 0.3)
    for order in (np.arange(n), draw.permutation(n)):
        assert same(game, profile, order) > 0.1
        profile = in_turn(game, profile, order)


def test_any_choice_row_by_row_is_played_in_turn():
    """Not best responses alone: here each owner goes a drawn part of the way there, another one when it moves again."""
    game = COUPLED["smooth"]
    parts = np.random.default_rng(0).random((3, len(game.owners)))

    def respond(deviations, before):
        own = deviations.profile[deviations.index]
        return own + parts[before, deviations.index] * (deviations.best_responses() - own)

    start = np.full(80, 0.3)
    order = np.concatenate([np.arange(80), [3, 70, 3]])
    known = start.copy()
    for stretch, before in ((order[:80], 0), (order[80:82], 1), (order[82:], 2)):
        known = one_by_one(
            game, known, stretch, lambda moves, _, before=before: respond(moves, np.array([before]))
        )
    np.testing.assert_allclose(in_turn(game, start, order, respond), known, rtol=1e-12)


def test_who_looks_at_single_others_sees_the_profile_as_it_stands():
    """Each copies the owner before it: in turn the first one's choice runs through to the last."""
    game = COUPLED["smooth"]

    def respond(deviations, before):
        return np.array(deviations.profile[deviations.index - 1])

    start = np.linspace(0.1, 4, 80)
    found = in_turn(game, start, np.arange(80), respond, alone=np.ones(80, dtype=bool))
    assert (found == start[-1]).all()


def test_few_passes_take_the_place_of_many_searches(monkeypatch):
    """80 turns: 80 searches one by one; the secants spare about half of the passes that plain iteration takes."""
    game = COUPLED["smooth"]
    calls = []

    def respond(deviations, before):
        calls.append(len(deviations.index))
        return deviations.best_responses()

    in_turn(game, np.full(80, 0.3), np.arange(80), respond)
    assert len(calls) <= 12 and sum(calls) <= 8 * 80
    quick = len(calls)
    calls.clear()
    monkeypatch.setattr(
        turns._Turns, "_extrapolate_terms", lambda self, moves, window: self.adds[window]
    )
    in_turn(game, np.full(80, 0.3), np.arange(80), respond)
    assert len(calls) > 1.5 * quick


def test_an_order_is_cut_where_an_owner_comes_again():
    apart = np.zeros(4, dtype=bool)
    found = [
        (part.tolist(), before.tolist())
        for part, before in split_stretches(np.array([1, 1, 0, 2, 1, 1]), apart)
    ]
    assert found == [([1], [0]), ([1, 0, 2], [1, 0, 0]), ([1], [2]), ([1], [3])]
    assert not list(split_stretches(np.array([], dtype=int), apart))
    assert (
        in_turn(COUPLED["smooth"], np.full(80, 0.3), np.array([], dtype=int)).tolist() == [0.3] * 80
    )
