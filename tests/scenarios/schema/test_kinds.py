"""Every kind of policy and cost that a scenario may name: from the file to a settled market, and told in words."""

from __future__ import annotations

import numpy as np
import pytest
from quick import quick_module

from market.costs import COSTS
from market.policies import POLICIES
from scenarios.planning import prepare
from scenarios.report.phrases import render_lines, render_phrase
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.settling.game import market_game
from scenarios.settling.settle import settle

__all__ = ["quick_module"]  # a fixture of every test

POLICY_KEYS = {
    "posted_channel": [
        "policy.price=0.3",
        "policy.channel=ring_geometric",
        "policy.values=3",
        "policy.prior=[0.5, 0.3, 0.2]",
    ],
    "tiers": ["policy.thresholds=[0.5, 1.0]", "policy.amounts=[300.0, 700.0]"],
    "cost_plus": ["policy.margin=0.1"],
    "thesis_leakage": ["policy.price=10.0", "policy.weight=printed"],
    "thesis_utility": ["policy.price=10.0", "policy.exponent=0.5"],
    "thesis_gain": ["policy.price=10.0", "policy.values=4", "policy.gain=near"],
    "thesis_loss": ["policy.price=10.0", "owners.epsilon=[0.2, 5.0]"],
}
COST_KEYS = {
    "expected_harm": ["owners.cost.price=0.02"],
    "belief": ["owners.cost.price=0.5", "owners.cost.worlds=4"],
    "exponential": ["owners.cost.price=[20.0, 30.0, 40.0]"],
    "channel": ["owners.cost.price=0.05", "owners.cost.unit=guess"],
    "differential_entropy": ["owners.cost.price=0.05"],
}
QUICK = ["market.starts=1"]


@pytest.fixture(scope="module")
def insurers():
    scenario = load("three_insurers", QUICK)
    return prepare(scenario)


def settled_game(insurers, overrides):
    scenario = load("three_insurers", [*QUICK, *overrides])
    game = market_game(scenario, *insurers)
    return scenario, game, settle(scenario, game)


@pytest.mark.parametrize("kind", POLICY_KEYS)
def test_a_policy_of_a_scenario_settles_and_is_told(insurers, kind):
    scenario, game, found = settled_game(insurers, [f"policy.kind={kind}", *POLICY_KEYS[kind]])
    assert type(game.policy) is POLICIES[kind] and found.converged
    assert np.all(game.payments(np.ones(3)) > 0)
    told = render_phrase("offer", "policy_words", scenario.policy.model_dump())
    assert told.startswith("The learner") and kind not in told


@pytest.mark.parametrize("kind", COST_KEYS)
def test_a_cost_of_a_scenario_settles_and_is_told(insurers, kind):
    fixed = "owners.fixed_cost=[0.0, 1.0, 1e6]"
    scenario, game, found = settled_game(
        insurers,
        [f"owners.cost.kind={kind}", *COST_KEYS[kind], fixed, "owners.epsilon=[0.0, 10.0]"],
    )
    assert type(game.owners.cost) is COSTS[kind] and found.converged
    assert np.all(found.epsilon[:2] > 0) and found.epsilon[2] == 0  # a million for sharing at all
    told = render_phrase("offer", "cost_words", scenario.owners.model_dump())
    assert told.startswith("Privacy costs an owner ") and "fixed cost of 0 to 1,000,000" in told


@pytest.mark.slow
def test_a_collapse_is_reported_in_words():
    keys = [
        "policy.kind=thesis_utility",
        "policy.weight=printed",
        "owners.cost.kind=exponential",
        "owners.cost.price=1",
    ]
    result = run(
        load("three_insurers", [*QUICK, *keys, "owners.epsilon=[0.001, 5.0]"]), training=False
    )
    said = render_lines("equilibrium", "remarks", result.content)
    assert "The market collapses: every owner shares its minimum (ε = 0.001)" in said[0]
    assert (
        "With the weight w as printed, no payment exceeds 0.00656, but the cost of sharing goes up to 147."
        in said[1]
    )
