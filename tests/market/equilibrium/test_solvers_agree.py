"""Two solvers, one answer: random markets over every policy and cost there is, certified by brute force.

Each entry of POLICIES and COSTS takes part by being in the dict and having parameters here; one
without is skipped by name.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from sizes import sized
from toys import COST_PARAMETERS, POLICY_PARAMETERS, Envelope, LinearLaw

from market.costs import COSTS
from market.equilibrium.solver import solve
from market.game.game import Game
from market.game.owners import Owners
from market.policies import POLICIES

HIGH = 5.0
LATER = ("thesis_loss",)  # policies that are newer than the numbers of the others' random markets
LONG = ("marginal", "shapley", "contribution")  # policies under which solvers take longest
LAWS = [LinearLaw(1.0, 0.1, 0.02), Envelope(1.0, (0.5, 0.2, 0.05), (1e-3, 0.01, 0.1))]


def random_market(cost: str, policy: str, seed: int) -> Game:
    """Two to four owners with different prices and sizes; some markets with a use for the model, some may stay out."""
    draw = np.random.default_rng([seed, *map(ord, cost + policy)])
    n = int(draw.integers(2, 5))
    terms = {name: value * draw.uniform(0.5, 2, n) if name == "price" else value for name, value in
             COST_PARAMETERS[cost].items()}  # fmt: skip
    choices = POLICY_PARAMETERS[policy]
    owners = Owners(
        tuple(f"owner {i}" for i in range(n)),
        draw.uniform(0.5, 2, n),
        draw.choice([0.0, 0.05]),
        HIGH,
        COSTS[cost](**terms),
        benefit=draw.choice([0.0, 1.0]),
        isolated=0.6,
    )
    return Game(owners, POLICIES[policy](**choices[seed % len(choices)]), LAWS[seed % 2], 10.0)


def brute_force_regret(game: Game, epsilon: np.ndarray) -> np.ndarray:
    """Regret as a part of the surplus range (n_owners,), on 2,001 points of the interval and 201 near the profile."""
    low = game.owners.epsilon_min[:, None]
    high = game.owners.epsilon_max[:, None]
    near = epsilon[:, None] * np.linspace(0.99, 1.01, 201)
    grid = np.clip(np.hstack([low + (high - low) * np.linspace(0, 1, 2001), near]), low, high)
    payoffs = game.deviation_payoffs(epsilon, grid)
    own = game.deviation_payoffs(epsilon, epsilon[:, None])[:, 0]
    stake = np.maximum(payoffs.max(axis=1), own) - payoffs.min(axis=1)
    return np.maximum(payoffs.max(axis=1) - own, 0) / np.where(stake > 0, stake, 1.0)


def check(game: Game, seed: int) -> str:
    """What came of one market: "unique", "several" or "none"; fails where solvers or certificate are wrong."""
    first = "aggregative" if game.additive else "simultaneous"
    second = "sequential"
    one = solve(game, rng=np.random.default_rng(seed), method=first, starts=3, max_rounds=200)
    two = solve(game, rng=np.random.default_rng(seed + 1), method=second, starts=1, max_rounds=100)
    for found in (one, *one.others, two, *two.others):
        assert found.converged == (found.max_relative_regret <= 1e-8)
        if found.converged:
            assert brute_force_regret(game, found.epsilon).max() <= 1e-7
    if not (one.converged and two.converged):
        return "none"
    if one.reason == "several":
        return "several"
    assert np.abs(one.epsilon - two.epsilon).max() <= 1e-7, (one.epsilon, two.epsilon)
    return "unique"


@pytest.mark.parametrize("cost", COSTS)
def test_every_cost_takes_part(cost):
    if cost not in COST_PARAMETERS:
        pytest.skip(f"cost {cost} has no parameters in this test yet")


@pytest.mark.parametrize("policy", POLICIES)
def test_every_policy_takes_part(policy):
    if policy not in POLICY_PARAMETERS:
        pytest.skip(f"policy {policy} has no parameters in this test yet")


@pytest.mark.slow
def test_two_solvers_agree_on_random_markets_of_every_cost_with_every_policy():
    """Every policy with every cost once, or with every fourth one; where the first solver finds one equilibrium, so does
    the other."""
    first = [policy for policy in POLICIES if policy not in LATER]
    pairs = [*product(COSTS, first), *product(COSTS, LATER)]
    every = sized(4, 1)
    tried = {
        k: (cost, policy)
        for k, (cost, policy) in enumerate(pairs)
        if cost in COST_PARAMETERS and policy in POLICY_PARAMETERS
        if policy not in LONG or k // len(first) % every == 0
    }
    found = Counter()
    for k, (cost, policy) in tried.items():
        found[policy, check(random_market(cost, policy, k), k)] += 1
    assert all(found[policy, "unique"] for _, policy in tried.values()), found
    assert sum(count for (_, outcome), count in found.items() if outcome == "unique") >= 0.75 * len(
        tried
    ), found
