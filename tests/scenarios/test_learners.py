"""Several learners from a scenario file to the page, against one learner with all the money and against one alone."""

from __future__ import annotations

import re

import numpy as np
import pytest
from commands import lay
from quick import quick_module
from told import differing

from learning.errors import InputError
from scenarios.checking import check_scenario
from scenarios.command.console import summary_lines
from scenarios.report.page import render
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.studies.audit import audit_scenario
from scenarios.studies.comparison import Aim, Alternative, compare, varied
from scenarios.studies.design import design_scenario
from scenarios.summary.verdict import weaker_than_sold

__all__ = ["quick_module"]  # a fixture of every test
pytestmark = pytest.mark.designed  # as the fixtures of this module

RIVAL = "learners=[{name='Rival', value=50.0, policy={kind='proportional', budget=%s}}]"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Two owners of forty records, whose privacy costs them quadratically."""
    noise = "horizon = 3\nmechanism = 'gaussian'\ndelta = 1e-3"
    changes = {'"linear"': '"quadratic"', "price = 1.0": "price = [1, 2]", "horizon = 3": noise}
    return lay(tmp_path_factory.mktemp("learners"), 110, changes)


@pytest.fixture(scope="module")
def contest(path):
    return run(load(path, [RIVAL % "10.0"]))


def test_two_contests_sell_what_one_of_both_budgets_does(path, contest):
    """Marginal payments are equal where each owner divides its budget as the budgets of the contests are."""
    one = run(load(path, ["policy.budget=20.0"]), training=False)
    for owner, alone in zip(contest["owners"], one["owners"], strict=True):
        for key in ("epsilon", "payment", "privacy_cost", "surplus"):
            assert owner[key] == pytest.approx(alone[key], rel=1e-6)
    assert contest["equilibrium"]["converged"]
    for learner in contest["learners"]:
        assert [owner["epsilon"] for owner in learner["owners"]] == pytest.approx(
            [owner["epsilon"] / 2 for owner in contest["owners"]], rel=1e-6
        )


def test_money_adds_up_over_learners(contest):
    first, rival = contest["learners"]
    for owner, *parts in zip(contest["owners"], first["owners"], rival["owners"], strict=True):
        assert owner["payment"] == pytest.approx(sum(part["payment"] for part in parts), rel=1e-12)
        assert owner["surplus"] == pytest.approx(
            owner["payment"] - owner["privacy_cost"], rel=1e-12
        )
    for key in ("value", "payments", "surplus", "gain"):
        assert first[key] == contest["learner"][key]
    welfare = contest["welfare"]
    assert welfare["learner"] == pytest.approx(first["surplus"] + rival["surplus"])
    assert (
        welfare["total"] == pytest.approx(welfare["learner"] + welfare["owners"])
        and welfare["optimum"] is None
    )
    assert rival["gross_value"] == pytest.approx(
        first["gross_value"] / 2
    )  # at half the value, for as good a model


def test_each_learner_trains_on_its_own_noise(contest):
    """At equal budgets both forecast the same, and what they train differs."""
    first, rival = contest["learners"]
    assert first["relative_fitness"] == pytest.approx(rival["relative_fitness"], rel=1e-6)
    assert (
        first["trained_fitness"]
        == contest["validation"]["relative_fitness"]["mean"]
        != rival["trained_fitness"]
    )


def test_against_all_learners_together_epsilon_and_delta_add_up(contest):
    claims = contest["claims"]
    assert len(claims) == 6 and weaker_than_sold(contest.content) == []
    for owner in contest["owners"]:
        *own, both = [claim for claim in claims if claim["party"] == owner["name"]]
        assert (
            both["epsilon"]
            == pytest.approx(owner["epsilon"])
            == sum(claim["epsilon"] for claim in own)
        )
        assert both["delta"] == 2e-3 and both["rounds"] == sum(claim["rounds"] for claim in own)
        assert both["protects_against"] == "anyone who sees all answers to all learners"
        assert [claim["protects_against"].rpartition(" of ")[2] for claim in own] == [
            "learner",
            "Rival",
        ]
        assert owner["claimed_epsilon"] == both["epsilon"] and owner["leakage_bits"] > 0
    assert {claim["epsilon"] for claim in contest.model.claims} == {
        claim["epsilon"] for claim in claims[:2]
    }


def test_learners_on_page_and_console(contest):
    assert not differing("result.json", contest.content)[0]  # the reference tells of every field
    page = render(contest.content, {}, "")
    lines = "\n".join(summary_lines(contest.content))
    for words in (
        "Two learners buy from the same owners. This page",
        "the other is Rival",
        "against all learners together",
    ):
        assert words in page and words in lines
    euros = contest.content | {"scenario": contest["scenario"] | {"currency": "EUR"}}
    assert re.search(r"Rival (gains|loses) \S+\sEUR after paying", render(euros, {}, ""))
    assert (
        "Who buys" in page and "are not computed for such a market" in page and "20 in all" in page
    )


@pytest.mark.slow
def test_a_learner_that_pays_nothing_changes_nothing(path):
    alone, beside = (run(load(path, changes), training=False) for changes in ([], [RIVAL % "0.0"]))
    for key in ("epsilon", "payment", "surplus", "claimed_epsilon", "leakage_bits"):
        assert [one[key] for one in beside["owners"]] == pytest.approx(
            [one[key] for one in alone["owners"]], rel=1e-6
        )
    assert beside["learner"]["surplus"] == pytest.approx(alone["learner"]["surplus"], rel=1e-6)
    assert beside["learners"][1]["asks"] is False and beside["learners"][1]["payments"] == 0
    assert alone["learners"] is None and len(beside["claims"]) == 2
    assert "asks nothing" in render(beside.content, {}, "")


def test_trajectory_and_curves_are_of_all_that_is_sold(contest):
    last = {row["owner"]: row for row in contest.trajectory}
    for owner in contest["owners"]:
        assert last[owner["name"]]["epsilon"] == pytest.approx(owner["epsilon"])
        assert last[owner["name"]]["payment"] == pytest.approx(owner["payment"])
        curve = [
            (row["payoff"], row["epsilon"])
            for row in contest.payoff_curves
            if row["owner"] == owner["name"]
        ]
        assert max(curve) == pytest.approx((owner["surplus"], owner["epsilon"]), rel=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([RIVAL % "-1"], "learners.1.policy.budget: must be a number of at least 0"),
        (
            ["learners=[{name='R', value=1.0, policy={kind='proportional', budgt=1}}]"],
            "learners.1.policy.budgt: is not a",
        ),
        (
            ["learners=[{name='R', value=1.0, policy={kind='posted', price=[1, 2, 3]}}]"],
            "learners.1.policy.price: must have",
        ),
        (
            ["learners=[{name='R', value=1.0, policy={budget=1}}]"],
            "learners.1.policy.kind: is required",
        ),
        (
            ["learners=[{name='R', vale=1.0}]"],
            'learners.1.vale: is not a known key; .* Did you mean "value"',
        ),
        (
            ["learners=[{name='learner', value=1.0}]"],
            "learners.name: must differ from learner to learner",
        ),
        (["learners=[{name='R', value=1.0}, {name='R', value=1.0}]"], "learners.name: must differ"),
        (
            [RIVAL % 1, "owners.benefit=1.0"],
            "owners.benefit: must be left out in a scenario with several learners",
        ),
        (
            [RIVAL % 1, "unions=[{name='N', members=['owner 1']}]"],
            "unions: must be left out in a scenario with several learners",
        ),
        (
            [RIVAL % 1, "market.activation=poisson"],
            'market.activation: must be "sequential" or "simultaneous" with',
        ),
        (["learners=7"], r"learners: must be a list of tables, each \[\[learners\]\]"),
    ],
)
def test_learners_that_cannot_be(path, changes, message):
    with pytest.raises(InputError, match=message):
        check_scenario(load(path, changes))


def test_what_several_learners_are_refused(path):
    scenario = load(path, [RIVAL % "10.0"])
    for study in (design_scenario, audit_scenario):
        with pytest.raises(InputError, match="learners: must be left out of"):
            study(scenario)
    with pytest.raises(
        InputError, match="learners: must be left out if the money of a policy is set"
    ):
        compare(
            [Alternative("a", scenario), Alternative("b", load(path))],
            aim=Aim(spending=3.0),
            training=False,
        )
    (found,) = varied(Alternative("s", load(path)), [("learners", "[{name='R', value=1.0}]")], None)
    assert found.name == "learners: R" and found.scenario.learners[0].policy is None
    again = path.with_name("again.toml")
    again.write_text(scenario.to_toml())
    assert load(again).learners == scenario.learners and np.isclose(
        scenario.learners[0].policy.budget, 10.0
    )
