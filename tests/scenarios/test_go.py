"""Go or no-go, and likeness by released sums, from a scenario file to result and page."""

from dataclasses import replace

import numpy as np
import pytest
from told import differing
from toys import POLICY_PARAMETERS, LinearLaw

from learning.errors import InputError
from market.costs.functions import Linear
from market.game.game import Game
from market.game.owners import Owners
from market.policies import POLICIES
from scenarios.command.console import summary_lines
from scenarios.features.go import (
    OTHERWISE,
    Decision,
    decide_to_buy,
    expect_payments,
    spent_by,
)
from scenarios.planning import prepare
from scenarios.report.page import render
from scenarios.runner import carry_out, result_of, run
from scenarios.schema.loading import load
from scenarios.summary.content import mark_privileged
from scenarios.summary.verdict import chance_above

pytestmark = pytest.mark.coarse

ONE_STEP = ["learning.algorithm=one_step", "learning.mechanism=l2", "validation.runs=40"]
RULE = [*ONE_STEP, "learner.go=worth_it"]


def insurers(*changes):
    return load("three_insurers", [*RULE, *changes])


def test_a_model_that_is_worth_it_is_bought():
    result = run(insurers("policy.budget=500", "owners.epsilon=[2.0, 10.0]"))
    go = result["go"]
    assert go["bought"] and go["seen"] > go["payments"] == pytest.approx(500)
    assert go["share_bought"] == 1 and go["surplus"] == go["surplus_always"] > 0
    assert result.model is not None
    assert go["losses_prevented"] is None and go["gains_missed"] == 0
    gained = result["validation"]["money"]["learner_surplus"]["mean"]
    assert go["surplus_always"] == pytest.approx(gained)


def test_a_model_that_costs_more_than_it_brings_is_not_handed_over():
    result = run(insurers("policy.budget=8000"))
    go = result["go"]
    assert not go["bought"] and go["seen"] < go["payments"] and result.model is None
    assert go["share_lost"] == 1 and go["losses_prevented"] > 0.9
    assert go["surplus"] > go["surplus_always"] and go["surplus"] > -100
    lines = "\n".join(summary_lines(result.content))
    page = render(result.content, {}, "")
    for words in ("it does not buy the model, and nobody is paid", "the rule prevents"):
        assert words in lines and words in page
    assert not differing("result.json", result.content)[0]


def test_each_training_is_decided_by_its_own_sums():
    """The decision of a run is that of a learner who knows nothing but that run."""
    scenario = insurers("policy.budget=4000")
    prepared = prepare(scenario)
    done = carry_out(scenario, prepared)
    decision = done.decision
    enough = 1.1 * decision.payments
    assert decision.bought.tolist() == (decision.expected > enough).tolist()
    assert np.ptp(decision.seen) > 0 and 0 < decision.bought.mean() < 1
    unit = done.game.value / prepared.planner.optimum
    assert (decision.std_error / unit > 0).all()
    unmargined = replace(decision, margin=0.0)
    assert ((decision.chance_pays > 0.5) == unmargined.bought).all()
    assert decision.bought.mean() < unmargined.bought.mean()


def test_a_pilot_ends_trainings_before_most_of_the_budget_is_spent():
    scenario = insurers("policy.budget=4500", "learner.pilot=0.2", "validation.runs=100")
    done = carry_out(scenario, prepare(scenario))
    decision = done.decision
    stopped = ~decision.pilot.likely
    assert 0.3 < stopped.mean() < 0.9 and not decision.bought[stopped].any()
    alone = replace(decision, pilot=None)
    assert (decision.bought == (alone.bought & ~stopped)).all()
    assert decision.pilot.std_error.mean() > 2 * decision.std_error.mean()
    without = decide_to_buy(
        replace(done, scenario=insurers("policy.budget=4500", "validation.runs=100"))
    )
    assert (without.seen == decision.seen).all() and without.pilot is None
    content = result_of(done).content
    pilot = content["go"]["pilot"]
    assert pilot["share_stopped"] == pytest.approx(stopped.mean())
    spent = np.where(stopped, 0.2, 1.0)[~decision.bought].mean()
    assert pilot["epsilon_spent"] == pytest.approx(spent)
    assert 0.2 < spent < 0.8
    assert not differing("result.json", content)[0]
    text = "\n".join(summary_lines(content))
    assert "The first answers end" in text and "so the owners answered in full" in text
    charged = [one["epsilon_spent"] for one in content["go"]["owners"]]
    assert charged == pytest.approx((1.0 if pilot["goes_on"] else 0.2) * done.epsilon)
    for first in (np.argmin(stopped), np.argmax(stopped)):
        seen, error = (np.roll(one, -first) for one in (decision.pilot.seen, decision.pilot.std_error))
        turned = replace(done)
        shown = replace(decision.pilot, seen=seen, std_error=error)
        vars(turned)["decision"] = replace(decision, pilot=shown)
        share = 0.2 if stopped[first] else 1.0
        assert spent_by(turned, done.data.names) == pytest.approx(share * done.epsilon)
    content["go"]["pilot"]["goes_on"] = False
    assert "the rest of the ε is not spent" in "\n".join(summary_lines(content))


def test_what_is_expected_is_the_mean_of_both_laws():
    """By brute force: normal prior times normal likelihood on a grid."""
    made = Decision(np.array([3.0, -2.0]), np.array([1.0, 4.0]), (1.0, 9.0), 1.5)
    grid = np.linspace(-60, 60, 200_001)
    for place, (seen, error) in enumerate([(3.0, 1.0), (-2.0, 4.0)]):
        density = np.exp(-((grid - 1) ** 2) / 18 - (grid - seen) ** 2 / (2 * error**2))
        density /= density.sum()
        assert made.expected[place] == pytest.approx(density @ grid, abs=1e-6)
        assert made.chance_pays[place] == pytest.approx(density @ (grid > 1.5), abs=1e-3)
    known = Decision(np.array([3.0, 1.0]), np.zeros(2), (0.0, 0.0), 1.5)
    assert known.chance_pays.tolist() == [1.0, 0.0] and known.bought.tolist() == [True, False]


def test_owners_count_on_payments_by_the_chance_that_they_are_made():
    """Each stands where its expected payment less its cost is highest; the chance is that of their market."""
    done = carry_out(insurers("policy.budget=4000"), prepare(insurers()), training=False)
    chance = done.chance_paid
    assert 0.3 < chance < 0.9
    gains = done.possible_gains(float(done.game.payments(done.epsilon).sum()))
    assert chance_above(gains) == pytest.approx(chance, abs=0.015)
    for owner in range(3):
        tried = np.geomspace(0.05, 10, 4000)
        moves = done.game.deviations(done.epsilon, np.array([owner]))
        hoped = chance * moves.payments(tried[None]) - moves.costs(tried[None])
        assert tried[np.argmax(hoped)] == pytest.approx(done.epsilon[owner], rel=0.01)
    assert done.equilibrium.payments.sum() == pytest.approx(4000)
    always = carry_out(
        load("three_insurers", [*ONE_STEP, "policy.budget=4000"]), prepare(insurers())
    )
    assert (always.epsilon > done.epsilon).all() and always.chance_paid == 1


@pytest.mark.parametrize(
    ("kind", "fields"),
    [(kind, one) for kind, many in POLICY_PARAMETERS.items() for one in many if kind != OTHERWISE],
)
def test_payments_of_every_policy_scale_with_its_money(kind, fields):
    owners = Owners(("A", "B"), 100, 0.1, 3.0, Linear(1.0))
    game = Game(
        owners, POLICIES[kind](**fields).prepared_for(owners), LinearLaw(9.0, 0.5, 0.5), 10.0
    )
    at = np.array([1.0, 2.5])
    assert game.promised(at).all()
    assert expect_payments(game, 0.3).promised(at) == pytest.approx(0.3 * game.promised(at))


def test_money_in_units_of_the_target_is_decided_in_them():
    changes = ["learner.value={per='rmse', money=10000.0}", "owners.epsilon=[2.0, 10.0]"]
    changes.append("policy.budget=300")
    done = run(insurers(*changes))
    go = done["go"]
    seen = done["learner"]["terms"]["outside"] - go["seen"] / 10000.0
    assert go["bought"] and 0 < seen < done["learner"]["terms"]["outside"]


def test_likeness_is_told_of_released_sums():
    result = run(load("three_insurers", [*ONE_STEP, "data.order=as_is"]))
    checked = result["validation"]
    assert [one["name"] for one in checked["likeness"]["owners"]] == [
        "Aurora Health",
        "Beacon Mutual",
        "Cedar Life",
    ]
    assert any(one["unlike"] for one in checked["likeness"]["owners"])
    assert checked["homogeneity"]["owners"]["p_value"] < 0.01
    spread = checked["likeness"]["spread"]
    assert 0 < spread["interval"][0] < spread["relative_fitness"] < spread["interval"][1]
    assert "differ by more than noise and chance" in "\n".join(summary_lines(result.content))
    assert result["go"] is None and result.model is not None
    assert not differing("result.json", result.content)[0]
    assert mark_privileged(load("three_insurers", ONE_STEP), result.content)["go"] == "measured"


def test_a_refusal_is_about_what_sums_show():
    best = load("three_insurers", ["learning.algorithm=best", *RULE[1:]])
    assert {one.algorithm for one in best.ways} == {"one_step"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["learner.go=worth_it"], 'learning.algorithm: must be "one_step" with learner.go'),
        ([*RULE, "data.public_rows=0"], "learner.go: needs public rows"),
        ([*RULE, "trust={aggregation='secure'}"], "trust"),
        ([*RULE, "time={periods=2}"], "time: must be left out in a scenario with learner.go"),
        ([*RULE, "policy={kind='cost_plus',margin=0.1}"], "policy.kind: must pay in proportion"),
        (["learner.margin=0.2"], 'learner.margin: needs learner.go = "worth_it"'),
        ([*RULE, "learner.margin=-0.2"], "learner.margin: must be"),
        (["learner.pilot=0.2"], 'learner.pilot: needs learner.go = "worth_it"'),
        ([*RULE, "learner.pilot=1.0"], "learner.pilot: must be"),
        (
            [
                "learning.algorithm=one_step",
                "learning.mechanism=wishart",
                *RULE[3:],
                "learner.pilot=0.2",
            ],
            'learning.mechanism: must be "gaussian" or "l2" with learner.pilot',
        ),
        (["learner.go=maybe"], 'learner.go: must be "always" or "worth_it"'),
    ],
)
def test_what_cannot_be_decided_by_sums(changes, message):
    with pytest.raises(InputError, match=message):
        load("three_insurers", changes)
