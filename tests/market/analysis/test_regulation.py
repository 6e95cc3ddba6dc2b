"""Rules against markets solved by hand, accounts that balance with a treasury in them, and the Gini coefficient."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from commands import INSURERS
from markets import market
from scipy.optimize import brentq
from toys import Envelope, LinearLaw

from learning.errors import InputError
from market.analysis.assessment import remove_owners, stay_or_leave, welfare_groups
from market.analysis.design import evaluate_policy
from market.analysis.optimum import Optimum, social_optimum
from market.analysis.regulation import Taxed, cap_epsilon, floor_prices, tax_leakage
from market.analysis.unions import unite_owners
from market.analysis.welfare import gini, learner_surplus, welfare
from market.columns import finite_difference
from market.costs.functions import Leakage, Linear, Quadratic
from market.costs.leakage import leakage_bits
from market.equilibrium.solver import solve
from market.policies.base import ProfilePolicy
from market.policies.contributions import Marginal, Shapley
from market.policies.posted import Posted
from market.policies.proportional import Proportional
from scenarios.command.console import summary_lines
from scenarios.report.phrases import render_phrase
from scenarios.runner import run
from scenarios.schema.loading import load

LAW = LinearLaw(1.0, 0.1, 0.004)
CURVE = Envelope(1.0, (0.5, 0.2, 0.05), (1e-3, 0.01, 0.1))
SLOPES = np.array([0.5, 1.0, 3.0])
SIZES = np.array([10.0, 40.0, 20.0])


def rng(seed=0):
    return np.random.default_rng(seed)


def three(policy, *, cost=None, forecast=LAW, low=0.01, high=10.0, **more):
    return market(
        cost or Quadratic(SLOPES),
        policy,
        3,
        low=low,
        high=high,
        forecast=forecast,
        value=300.0,
        sizes=SIZES,
        **more,
    )


@dataclass(frozen=True)
class Split(ProfilePolicy):
    """A policy that only settles whole profiles: the budget by epsilon^2."""

    budget: float

    def settle(self, epsilon, game):
        total = (epsilon**2).sum()
        return self.budget * epsilon**2 / total if total > 0 else np.zeros(len(epsilon))


def test_a_cap():
    """A price p against a e^2/2 sells p/a, or the cap; an owner bound to more is bound to the cap."""
    game = three(Posted(2.0), low=[0.01, 2.5, 0.01])
    capped = cap_epsilon(game, 1.5)
    assert np.allclose(solve(game, rng=rng()).epsilon, [4, 2.5, 2 / 3])
    assert np.allclose(solve(capped, rng=rng()).epsilon, [1.5, 1.5, 2 / 3])
    assert np.array_equal(cap_epsilon(game, [9, 3, 0]).owners.epsilon_max, [9, 3, 0])
    assert np.array_equal(cap_epsilon(game, 100.0).owners.epsilon_max, game.owners.epsilon_max)
    with pytest.raises(
        InputError, match="regulation.epsilon_cap: must be a number of at least 0, .*; found -1"
    ):
        cap_epsilon(game, -1.0)


def test_a_tax_on_leakage():
    """p = a e + t n L'(e) at every best response, L' = 9/(9 + exp e)/ln 2, found by a general root finder."""
    rate = 0.05
    taxed = tax_leakage(three(Posted(6.0)), rate)
    found = solve(taxed, rng=rng())
    for owner in range(3):

        def rest(e, owner=owner):
            return 6 - SLOPES[owner] * e - rate * SIZES[owner] * 9 / (9 + np.exp(e)) / np.log(2)

        assert found.epsilon[owner] == pytest.approx(min(brentq(rest, 1.0, 13), 10), rel=1e-9)
    due = rate * SIZES * np.log2(10 * np.exp(found.epsilon) / (9 + np.exp(found.epsilon)))
    assert np.allclose(taxed.taxes(found.epsilon), due, rtol=1e-12)
    assert np.allclose(
        taxed.costs(found.epsilon) - three(Posted(6.0)).costs(found.epsilon), due, rtol=1e-12
    )


@pytest.mark.parametrize("rate", [0.05, [0.01, 0.0, 0.2]])
def test_a_tax_is_a_cost_like_any_other(rate):
    """Slopes are derivatives, columns are cut with the owners, nothing is due for nothing, and taxes add up."""
    cost = Taxed(Leakage(SLOPES, values=[4, 10, 100]), rate, values=[4, 10, 100])
    at = np.tile(np.geomspace(1e-3, 8, 30), (3, 1))
    assert np.allclose(
        cost.marginal_cost(at, SIZES),
        finite_difference(lambda e: cost.value(e, SIZES), at),
        rtol=1e-9,
    )
    assert np.all(cost.value(np.zeros(3), SIZES) == 0) and np.all(cost.tax(np.zeros(3), SIZES) == 0)
    assert np.isfinite(cost.value(np.full(3, np.inf), SIZES)).all()
    game = three(Posted(SLOPES * 3), cost=Taxed(Quadratic(SLOPES), rate))
    everyone = game.best_responses(np.ones(3))
    assert np.allclose(game.best_responses(np.ones(3), owners=[2, 0]), everyone[[2, 0]], rtol=1e-12)
    twice = Taxed(cost, rate, values=[4, 10, 100])
    assert np.allclose(twice.tax(at, SIZES), 2 * cost.tax(at, SIZES)) and twice.untaxed is cost.cost
    with pytest.raises(
        InputError, match="regulation.leakage_tax: must be a number of at least 0, .*; found -1"
    ):
        Taxed(cost, -1.0)


@pytest.mark.parametrize("policy", [Posted(2.0), Proportional(9.0), Marginal(0.5), Shapley(0.5)])
def test_the_accounts_balance_with_a_treasury(policy):
    """Owners + learner + treasury = welfare, which a tax does not change by itself."""
    game = three(policy, benefit=[0.0, 4.0, 8.0], isolated=[0.5, 0.3, 0.9])
    taxed = tax_leakage(floor_prices(cap_epsilon(game, 4.0), 0.7), 0.02)
    for epsilon in (np.array([0.3, 1.0, 4.0]), np.full(3, 0.01)):
        parts = (
            taxed.payoffs(epsilon).sum()
            + learner_surplus(taxed, epsilon)
            + taxed.taxes(epsilon).sum()
        )
        assert welfare(taxed, epsilon) == pytest.approx(parts, rel=1e-12)
        assert welfare(taxed, epsilon) == pytest.approx(welfare(game, epsilon), rel=1e-12)
    found = solve(taxed, rng=rng(), starts=2)
    share = welfare_groups(taxed, found, Optimum(found.epsilon, 1000.0, np.inf))
    assert share.total == pytest.approx(
        share.owners.sum() + share.learner + share.treasury, rel=1e-12
    )
    assert share.treasury > 0 and share.fitness == taxed.fitness(found.epsilon)
    assert share.spending == pytest.approx(found.payments.sum(), rel=1e-12)


def test_a_planner_has_no_use_for_taxes():
    """The best profile is that of the untaxed market, since what the treasury gets is not lost."""
    game = three(Posted(0.0))
    best = social_optimum(game)
    taxed = social_optimum(tax_leakage(game, 0.1))
    assert np.allclose(best.epsilon, taxed.epsilon, rtol=1e-9)
    assert best.welfare == pytest.approx(taxed.welfare, rel=1e-12)


def test_a_tax_can_mend_a_market():
    """A price above what fitness is worth makes owners share too much: a tax brings welfare up, and prices of anarchy
    count from the best without rules."""
    game = three(Posted(8.0), low=0.05)
    best = social_optimum(game)
    before, after = (
        welfare_groups(one, solve(one, rng=rng(), starts=4), best)
        for one in (game, tax_leakage(game, 0.15))
    )
    assert after.total > before.total and after.price_of_anarchy < before.price_of_anarchy
    assert after.treasury > 0 == before.treasury
    assert before.price_of_anarchy == pytest.approx(best.welfare / before.total, rel=1e-9)
    both = before.price_of_anarchy, before.anarchy_at_most
    found = social_optimum(game, start=before.equilibrium.epsilon)
    assert both == pytest.approx(found.price_of_anarchy(before.total), rel=1e-9)
    assert 1 < both[0] <= both[1] <= both[0] * (1 + 2e-6)
    assert before.gini == pytest.approx(gini(before.owners))


def test_a_floor_under_prices():
    """Posted p < floor f: owners sell f/a; p > f: nothing changes. A budget: who would get less than f e, gets f e."""
    assert np.allclose(
        solve(floor_prices(three(Posted(1.0)), 1.5), rng=rng()).epsilon, 1.5 / SLOPES
    )
    assert np.allclose(
        solve(floor_prices(three(Posted(2.0)), 1.5), rng=rng()).epsilon, 2.0 / SLOPES
    )
    per_record = floor_prices(three(Posted(0.0)), 0.01, per="record_epsilon")
    assert np.allclose(
        solve(per_record, rng=rng()).epsilon, np.maximum(0.01 * SIZES / SLOPES, 0.01)
    )
    per_bit = floor_prices(three(Posted(0.0)), 0.01, per="bit", values=4)
    assert np.allclose(per_bit.payments(np.ones(3)), 0.01 * SIZES * leakage_bits(1.0, 4))
    with pytest.raises(
        InputError, match="regulation.price_floor: must be a number of at least 0, .*; found -1"
    ):
        floor_prices(three(Posted(1.0)), -1.0)


@pytest.mark.parametrize("rule", [cap_epsilon, floor_prices, tax_leakage])
def test_a_rule_has_one_number_or_one_per_owner(rule):
    with pytest.raises(InputError, match="needs one number per owner, 3 in all; found 2"):
        rule(three(Posted(1.0)), [1.0, 2.0])
    each = rule(three(Posted(1.0)), [1.0, 1.0, 1.0])
    assert np.array_equal(each.payoffs(SLOPES), rule(three(Posted(1.0)), 1.0).payoffs(SLOPES))


@pytest.mark.parametrize(
    "policy", [Posted(SLOPES * 2), Proportional(9.0), Marginal(SLOPES / 6), Shapley(), Split(9.0)]
)
@pytest.mark.parametrize("law", [LAW, CURVE], ids=["line", "envelope"])
def test_a_floored_policy_is_a_policy(policy, law):
    """A move pays what the changed profile pays, no less than the floor or the policy, and has that slope."""
    game = three(policy, forecast=law)
    floored = floor_prices(game, 0.8)
    profile = np.array([0.3, 1.0, 2.5])
    candidates = np.tile(np.geomspace(0.011, 9, 7), (3, 1))
    fast = floored.deviations(profile).payments(candidates)
    for owner in range(3):
        for at, candidate in enumerate(candidates[owner]):
            changed = profile.copy()
            changed[owner] = candidate
            least = max(0.8 * candidate, game.payments(changed)[owner])
            assert fast[owner, at] == pytest.approx(least, rel=1e-12)
            assert floored.payments(changed)[owner] == pytest.approx(least, rel=1e-12)
    assert np.allclose(
        floored.deviation_payoffs(profile, candidates[[2]], [2]),
        floored.deviation_payoffs(profile, candidates)[[2]],
    )
    deviations = floored.deviations(profile)
    step = 1e-6 * candidates
    slope = (deviations.payments(candidates + step) - deviations.payments(candidates - step)) / (
        2 * step
    )
    assert np.allclose(
        deviations.policy.marginal_payments(candidates, deviations),
        slope,
        rtol=1e-5,
        atol=1e-6 * np.abs(slope).max(),
    )


@pytest.mark.parametrize("policy", [Posted(0.001), Shapley(1e-6), Split(1e-6)])
def test_a_floor_of_its_own_for_each_owner(policy):
    """A price and a number of values per owner: each sees its own, whoever else is asked with it."""
    floored = floor_prices(three(policy), SLOPES, per="bit", values=[2, 10, 100])
    profile = np.ones(3)
    candidates = np.tile([0.5, 3.0], (3, 1))
    paid = SLOPES[:, None] * SIZES[:, None] * leakage_bits(candidates, np.array([[2], [10], [100]]))
    assert np.allclose(floored.deviations(profile).payments(candidates), paid, rtol=1e-12)
    for owner in range(3):
        assert np.allclose(
            floored.deviations(profile, [owner]).payments(candidates[[owner]]),
            paid[[owner]],
            rtol=1e-12,
        )
        slope = floored.deviations(profile, [owner]).policy.marginal_payments(
            candidates[[owner]], floored.deviations(profile, [owner])
        )
        assert np.allclose(
            slope,
            floored.policy.marginal_payments(candidates, floored.deviations(profile))[[owner]],
            rtol=1e-10,
        )


def test_a_floored_policy_keeps_its_jumps():
    class Step(Posted):
        def payment_jumps(self, owners):
            return np.full((len(owners), 1), 2.0)

    floored = floor_prices(three(Step(0.0)), 0.001)
    assert floored.policy.payment_jumps(floored.owners).tolist() == [[2.0]] * 3
    assert floor_prices(three(Posted(0.0)), 1.0).policy.payment_jumps(floored.owners).shape == (
        3,
        0,
    )


@pytest.mark.slow
def test_a_union_in_a_contest():
    """N equal owners with cost c e share R by e. M of them as one are a contest of k = N - M + 1: efforts add up to (k-1)
    R/(k c), and the union sells R (k-1)/(k^2 c), like any one outside it."""
    game = market(Linear(2.0), Proportional(30.0, "epsilon"), 5, low=0.0, high=20.0)
    free = solve(game, rng=rng(), starts=4)
    assert np.allclose(free.epsilon, 30 * 4 / (25 * 2))
    found = solve(unite_owners(game, [0, 1, 4]), rng=rng(), starts=1)
    each = 30 * 2 / (9 * 2)
    assert found.converged and found.epsilon[[0, 1, 4]].sum() == pytest.approx(each, rel=1e-7)
    assert np.allclose(found.epsilon[[2, 3]], each, rtol=1e-7)
    before, after = (game.payoffs(one.epsilon) for one in (free, found))
    assert after[[0, 1, 4]].sum() == pytest.approx(30 / 9, rel=1e-6)  # R/k^2, as for any of k
    assert after[[0, 1, 4]].sum() < before[[0, 1, 4]].sum()  # the others respond
    assert after[[2, 3]].min() > before[[2, 3]].max()


def test_a_union_of_all_is_a_planner_where_the_learner_gains_nothing():
    """Benefits of one model to all: each alone shares too little, all as one share as a planner would have them."""
    people = {"benefit": [20.0, 40.0, 80.0], "isolated": [0.5, 0.3, 0.9]}
    game = replace(three(Posted(0.0), **people), value=0.0)
    free = solve(game, rng=rng())
    united = solve(unite_owners(game, range(3)), rng=rng(), starts=4)
    best = social_optimum(game)
    assert np.allclose(united.epsilon, best.epsilon, rtol=1e-7) and np.all(
        free.epsilon < best.epsilon
    )
    assert welfare(game, united.epsilon) == pytest.approx(best.welfare, rel=1e-12)


@pytest.mark.parametrize("policy", [Proportional(9.0), Marginal(SLOPES / 6), Shapley(), Split(9.0)])
@pytest.mark.parametrize("law", [LAW, CURVE], ids=["line", "envelope"])
def test_a_member_sees_the_others_surplus(policy, law):
    """Second route: change the profile, compute everybody's surplus afresh and add it up."""
    game = three(
        policy,
        forecast=law,
        benefit=[0.0, 4.0, 8.0],
        isolated=[0.5, 0.3, 0.9],
        fixed_cost=[0.1, 0.0, 0.3],
    )
    united = unite_owners(tax_leakage(game, 0.01), [0, 2])
    profile = np.array([0.3, 1.0, 0.0])
    candidates = np.tile([0.0, 0.05, 0.7, 9.0], (3, 1))
    seen = united.deviation_payoffs(profile, candidates)
    for owner in range(3):
        for at, candidate in enumerate(candidates[owner]):
            changed = profile.copy()
            changed[owner] = candidate
            surplus = tax_leakage(game, 0.01).payoffs(changed)
            expected = surplus[[0, 2]].sum() if owner != 1 else surplus[1]
            assert seen[owner, at] == pytest.approx(expected, rel=1e-10, abs=1e-12)
            assert united.payoffs(changed)[owner] == pytest.approx(expected, rel=1e-10, abs=1e-12)
    assert np.allclose(
        united.deviation_payoffs(profile, candidates[[2]], [2]), seen[[2]], rtol=1e-12
    )


def test_unions_that_cannot_be():
    for members in ([0], [0, 0], [0, 3], [-1, 1]):
        with pytest.raises(
            ValueError, match="at least two different owners of 0 to 2, each in one union; found"
        ):
            unite_owners(three(Posted(1.0)), members)


def settle_with_exit(game):
    return stay_or_leave(game, lambda now: solve(now, rng=rng(), starts=4))


def test_owners_leave_one_by_one():
    """A budget of 6 for one unit each, at costs 1, 2.2, 2.5: each gets 2, so two lose. When the dearest has left, both
    who stay get 3, and nobody loses any more."""
    game = market(Linear([1.0, 2.2, 2.5]), Proportional(6.0, "epsilon"), 3, low=1.0, high=1.0)
    assert game.payoffs(np.ones(3)) == pytest.approx([1.0, -0.2, -0.5])
    found, gone = settle_with_exit(game)
    stayed = remove_owners(game, gone)
    assert gone == (2,) and found.epsilon.tolist() == [1.0, 1.0, 0.0] and found.converged
    assert stayed.payoffs(found.epsilon) == pytest.approx([2.0, 0.8, 0.0])
    assert welfare(game, np.ones(3)) == pytest.approx(-5.7)
    assert welfare(stayed, found.epsilon) == pytest.approx(-3.2)


def test_everybody_may_leave_and_nobody_has_to():
    dear = market(Linear([2.0, 3.0]), Posted(1.0), 2, low=1.0, high=2.0)
    assert settle_with_exit(dear)[1] == (1, 0)
    assert settle_with_exit(replace(dear, policy=Posted(4.0)))[1] == ()
    assert remove_owners(dear, []).owners.epsilon_max.tolist() == [2, 2]
    assert remove_owners(dear, [0]).owners.epsilon_max.tolist() == [0, 2]


def test_rules_compose():
    """A floor of 2 and a tax under a cap: f = a e + t n L'(e) or the cap."""
    game = three(Posted(0.5))
    ruled = tax_leakage(floor_prices(cap_epsilon(game, 3.0), 6.0), 0.05)
    other = cap_epsilon(floor_prices(tax_leakage(game, 0.05), 6.0), 3.0)
    one = solve(ruled, rng=rng())
    two = solve(other, rng=rng())
    assert np.allclose(one.epsilon, two.epsilon, rtol=1e-10) and np.allclose(
        one.payments, two.payments
    )
    capped = tax_leakage(cap_epsilon(game, 3.0), 0.05)
    posted = evaluate_policy(replace(capped, policy=Posted(6.0)), rng=rng())
    assert np.allclose(posted.equilibrium.epsilon, one.epsilon, rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_gini_is_half_the_mean_difference_over_the_mean(seed):
    values = np.random.default_rng(seed).lognormal(0, 1, 30) - (0.2 if seed == 2 else 0.0)
    pairs = np.abs(values[:, None] - values).mean() / (2 * values.mean())
    assert gini(values) == pytest.approx(pairs, rel=1e-12)
    assert gini(10 * values) == pytest.approx(pairs, rel=1e-12)


def test_gini_at_its_ends():
    assert gini(np.ones(5)) == 0 and gini(np.zeros(3)) == 0 and gini(np.array([7.0])) == 0
    assert gini(np.eye(10)[0]) == pytest.approx(0.9)
    assert np.isnan(gini(np.array([1.0, -3.0])))
    with pytest.raises(ValueError, match="at least one number"):
        gini(np.array([]))


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "s.toml").write_text(INSURERS.replace("[owners]", "[owners]\nbenefit = 10.0"))
    return tmp_path / "s.toml"


@pytest.mark.slow
def test_rules_of_a_scenario(scenario, tmp_path):
    """Every rule shows in what owners do and in who has what; without any, nothing of them shows."""
    free = run(load(scenario), training=False)
    rules = [
        "regulation.epsilon_cap=1.1",
        "regulation.leakage_tax=0.002",
        "regulation.price_floor=30.0",
    ]
    ruled = run(load(scenario, rules), training=False)
    assert free["regulation"] is None and max(o["epsilon"] for o in free["owners"]) > 1.1
    for result in (free, ruled):
        w = result["welfare"]
        assert w["owners"] + w["learner"] + w["treasury"] == pytest.approx(w["total"], rel=1e-12)
        assert w["owners"] == pytest.approx(sum(o["surplus"] for o in result["owners"]), rel=1e-12)
        assert w["treasury"] == pytest.approx(
            sum(o["tax"] for o in result["owners"]), rel=1e-12, abs=0
        )
        for o in result["owners"]:
            assert o["surplus"] == pytest.approx(
                o["payment"] + o["benefit"] - o["privacy_cost"] - o["tax"], rel=1e-12
            )
    for o, price in zip(ruled["owners"], (3.0, 4.0), strict=True):
        assert 0 < o["epsilon"] <= 1.1 and o["payment"] >= 30 * o["epsilon"] * (1 - 1e-12)
        assert o["tax"] == pytest.approx(
            0.002 * o["records"] * leakage_bits(o["epsilon"]), rel=1e-12
        )
        assert o["privacy_cost"] == pytest.approx(price * o["epsilon"], rel=1e-12)
    part = ruled["regulation"]
    assert part["before"]["total"] == pytest.approx(free["welfare"]["total"], rel=1e-6)
    assert part["before"]["epsilon"] == pytest.approx(
        [o["epsilon"] for o in free["owners"]], rel=1e-6
    )
    assert part["after"]["total"] == pytest.approx(ruled["welfare"]["total"], rel=1e-12)
    assert part["after"]["treasury"] > 0 == part["before"]["treasury"]
    assert part["epsilon_cap"] == 1.1 and part["price_floor_per"] == "epsilon"
    words = render_phrase("regulation", "effect_of_rules", ruled.content)
    assert (
        "nobody may share more than ε = 1.1" in words
        and "no owner is paid less than 30 per unit of ε" in words
    )
    assert (
        "for the treasury" in words
        and render_phrase("regulation", "effect_of_rules", free.content) == ""
    )
    assert any(line.startswith("rules ") for line in summary_lines(ruled.content))
    again = tmp_path / "again.toml"
    again.write_text(ruled.scenario_toml)
    assert run(load(again), training=False)["owners"] == ruled["owners"]


@pytest.mark.slow
def test_who_would_rather_leave_and_a_budget_that_is_too_small(scenario):
    """Bound to share, at a price below their cost: owners lose, and the result, the summary and the report say so."""
    posted = [
        "policy.kind=posted",
        "policy.price=1.0",
        "owners.epsilon=[2.0, 3.0]",
        "owners.benefit=0.0",
    ]
    poor = run(load(scenario, [*posted, "learner.budget=3.9"]), training=False)
    assert [o["rational"] for o in poor["owners"]] == [False, False]
    assert [o["surplus"] for o in poor["owners"]] == pytest.approx([2 - 6, 2 - 8])
    assert [o["outside_option"] for o in poor["owners"]] == [0.0, 0.0]
    assert poor["learner"]["payments"] == 4.0 and poor["learner"]["within_budget"] is False
    lines = "\n".join(summary_lines(poor.content))
    for words in (
        render_phrase("market", "unwilling", poor.content),
        render_phrase("buying", "over_budget", poor.content),
    ):
        assert words in lines
    assert (
        "are worse off than without the market" in lines and "has 3.9 to spend and owes 4" in lines
    )
    fair = run(load(scenario, [*posted, "policy.price=9.0", "learner.budget=1000"]), training=False)
    assert (
        fair["learner"]["within_budget"] is True
        and render_phrase("market", "unwilling", fair.content)
        == render_phrase("buying", "over_budget", fair.content)
        == ""
    )


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("regulation.epsilon_cap=0", "regulation.epsilon_cap: must be a number above 0; found 0"),
        (
            "regulation.leakage_tax=-1",
            "regulation.leakage_tax: must be a number of at least 0; found -1",
        ),
        ("regulation.price_floor=dear", "regulation.price_floor: must be a number of at least 0"),
        (
            "regulation.price_floor_per=year",
            'regulation.price_floor_per: must be "epsilon", "record_epsilon" or "bit"',
        ),
        ("regulation.tax=1", "regulation.tax: is not a known key"),
    ],
)
def test_rules_that_cannot_be(scenario, rule, message):
    with pytest.raises(InputError, match=message):
        load(scenario, [rule])


def test_who_would_gain_by_coming_back_does():
    """9 for three heads leaves each of them something; who left while the others sold four times as much comes back."""
    game = market(Linear([1.0, 2.2, 2.5]), Proportional(9.0, "epsilon"), 3, low=1.0, high=1.0)
    assert stay_or_leave(game, lambda now: solve(now, rng=rng(), starts=1))[1] == ()
    steps = [solve(game, rng=rng(), starts=1)]
    steps[0] = replace(steps[0], epsilon=np.array([4.0, 4.0, 1.0]))

    def settle(now):
        return steps.pop() if steps else solve(now, rng=rng(), starts=1)

    found, gone = stay_or_leave(game, settle)
    assert gone == () and found.converged and found.epsilon.tolist() == [1, 1, 1]


def test_comings_and_goings_without_end_are_told():
    """Whoever stays is paid by how many have left: with all there the second loses, and gains by coming back alone."""

    class Paradox(Posted):
        def payments(self, epsilon, deviations):
            return np.where(deviations.profile.sum() < 1.5, 5.0, 1.0) * (epsilon > 0)

    game = market(Linear([0.5, 2.0]), Paradox(0.0), 2, low=1.0, high=1.0)
    found, gone = stay_or_leave(game, lambda now: solve(now, rng=rng(), starts=1))
    assert (
        gone == (1,)
        and not found.converged
        and found.reason == "cycle found"
        and found.regret[1] == 3.0
    )
