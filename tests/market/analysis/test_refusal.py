"""Owners who hold out at the learner's refusal: closed forms, and what a search for a policy makes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from markets import market, rng
from toys import LinearLaw

from market.analysis.design import evaluate_policy
from market.analysis.policy_search import Family, explore_policies
from market.analysis.unions import solve_united
from market.analysis.welfare import at_refusal
from market.costs.functions import Linear, Quadratic
from market.equilibrium.solver import solve
from market.policies.posted import Posted
from market.policies.proportional import Proportional

GAIN = 0.02


@dataclass(frozen=True)
class Declining(LinearLaw):
    """A learner that asks nothing where its own model is no worse."""

    def asks(self, sums):
        return (sums[..., 1] > 0) & (self.bias + self.gain * sums[..., 0] < self.outside)

    def excess(self, sums):
        return np.where(self.asks(sums), super().excess(sums), self.outside)

    def slopes(self, epsilon, sums):
        return super().slopes(epsilon, sums) * self.asks(sums)


LAW = Declining(0.5, 0.0, GAIN)
EDGE = np.sqrt(
    GAIN / 0.5
)  # epsilon of one owner at which the model is as good as the learner's own


def test_one_seller_of_a_budget_that_is_paid_anyway_sells_as_little_as_it_takes():
    game = market(Linear(1.0), Proportional(10.0), 1, high=5.0, forecast=LAW, value=100.0)
    found = solve(game, rng=rng())
    assert found.converged and found.epsilon[0] == pytest.approx(EDGE, rel=1e-6)
    assert game.payments(found.epsilon).sum() == pytest.approx(10.0, rel=1e-14)
    assert at_refusal(game, found.epsilon)
    assert not at_refusal(game, found.epsilon * 1.01) and not at_refusal(game, found.epsilon * 0.99)
    assert not at_refusal(game, np.zeros(1))


def test_a_union_may_stand_anywhere_on_the_edge():
    """Costs p e^2 / 2 each, and noise c (1/a^2 + 1/b^2) as bad as the outside option: on that line."""
    game = market(Quadratic([1.0, 3.0]), Proportional(10.0), 2, high=5.0, forecast=LAW, value=100.0)
    found = solve_united(game, [(0, 1)], rng=rng(), starts=3)
    for one in (found, *found.others):
        assert one.converged and at_refusal(game, one.epsilon)
        shared = one.epsilon[one.epsilon > 0]
        assert GAIN * np.sum(shared**-2.0) == pytest.approx(LAW.outside, rel=1e-5)


def test_who_is_paid_by_the_unit_does_not_hold_out():
    game = market(Quadratic(1.0), Posted(2.0), 2, high=5.0, forecast=LAW, value=100.0)
    found = solve(game, rng=rng())
    assert found.epsilon == pytest.approx([2.0, 2.0]) and not at_refusal(game, found.epsilon)


def test_no_policy_at_the_edge_is_advice():
    game = market(Linear(1.0), None, 1, high=5.0, forecast=LAW, value=100.0)
    made = evaluate_policy(replace(game, policy=Proportional(10.0)), rng=rng())
    assert (
        made.equilibrium.converged
        and made.at_refusal
        and not made.feasible
        and made.constraint_violation >= 1
    )
    assert replace(made, at_refusal=False).feasible
    family = Family(Proportional, 1.0, 40.0)
    best = explore_policies(game, family, rng=rng(), points=5).best
    assert not best.feasible
