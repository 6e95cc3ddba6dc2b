"""Dishonest owners from the scenario file to the result: what they do to the model, and what an audit does to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from commands import lay
from quick import quick_module
from told import differing

from learning.errors import InputError
from learning.training.aggregation import Observed
from learning.training.engine import train
from market.analysis.regulation import Audit
from scenarios.planning import prepare
from scenarios.report.phrases import render_phrase
from scenarios.runner import carry_out, result_of, run
from scenarios.schema.loading import change_scenario, load
from scenarios.training import training_task

__all__ = ["quick_module"]  # a fixture of every test
pytestmark = pytest.mark.designed  # runs that are compared with those of fixtures, which are

FEW = ("validation.runs=2", "market.starts=1")
FREE = "behaviours=[{kind='free_rider', noise=20.0, owners=['Bob']}]"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Three owners of forty records, at costs of 1, 1.5 and 2."""
    folder = tmp_path_factory.mktemp("answering")
    owners = "[40, 40, 40]\nnames = ['Ann', 'Bob', 'Cy']"
    changes = {"[40, 40]": owners, "price = 1.0": "price = [1.0, 1.5, 2.0]"}
    return lay(folder, 150, changes)


@pytest.fixture(scope="module")
def honest(path):
    return run(load(path))


def cheated(path, *changes):
    return run(load(path, [FREE, *changes]))


@pytest.fixture(scope="module")
def free(path):
    return cheated(path)


def test_a_free_rider_spoils_the_model_and_the_simulator_says_so(free, honest):
    riding, rest = free["behaviours"]
    assert (
        riding["cheats"] == ["Bob"]
        and riding["conduct"]["noise"] == 20
        and riding["exposure"] == 0.05
    )
    assert (
        riding["saved"] == pytest.approx(1.5 * riding["epsilon"] * (1 - 1 / 20), rel=1e-6)
        and rest["saved"] == 0
    )
    assert (
        free["validation"]["homogeneity"]["owners"]["p_value"] < 0.01
    )  # what the learner itself can see
    assert rest["cheats"] == [] and rest["conduct"] is rest["exposure"] is None
    told = free["validation"]["explanation"]
    assert {"cause": "more_noise_than_sold", "owners": ["Bob"], "factor": 20.0} in told
    assert (
        free["validation"]["relative_fitness"]["mean"]
        > 1.5 * honest["validation"]["relative_fitness"]["mean"]
    )
    assert free["audit"] is None and not differing("result.json", free.content)[0]


def test_forecast_market_and_claims_take_everybody_for_honest(free, honest):
    assert free["forecast"] == honest["forecast"] and free["claims"] == honest["claims"]
    sold = [[owner["epsilon"] for owner in result["owners"]] for result in (free, honest)]
    np.testing.assert_allclose(*sold, rtol=1e-6)


def test_an_audit_at_which_cheating_does_not_pay_makes_owners_honest(path, honest):
    deterred = cheated(path, "audit={chance=0.5, penalty=1000.0}")
    (row,) = deterred["audit"]["owners"]
    assert row["name"] == "Bob" and not row["cheats"] and 0 < row["saved"] < row["at_stake"]
    assert (
        deterred["behaviours"][0]["cheats"] == [] and deterred["audit"]["expected_penalties"] == 0
    )
    assert deterred["validation"]["relative_fitness"] == honest["validation"]["relative_fitness"]
    assert not differing("result.json", deterred.content)[0]


@pytest.mark.slow
def test_what_an_audit_takes_back_is_expected_and_drawn_by_the_seed(path):
    found = [
        cheated(path, "audit={chance=0.02, penalty=3.0}", f"seed={seed}", *FEW) for seed in (1, 2)
    ]
    for result in found:
        paid = {owner["name"]: owner["payment"] for owner in result["owners"]}["Bob"]
        told = result["audit"]
        assert told["owners"][0]["cheats"] and told["expected_penalties"] == pytest.approx(0.06)
        assert told["expected_clawed_back"] == pytest.approx(0.02 * paid)
        assert "An audit examines each owner with a chance of 2" in render_phrase(
            "behaviours", "audited", result.content
        )
        assert told["clawed_back"] == (paid if told["owners"][0]["looked_into"] else 0.0)


def test_saved_privacy_is_that_of_the_budget_which_the_noise_really_spends(path):
    """Under Laplace noise k times as wide the budget spent is epsilon/k; here privacy costs 1.5 a unit."""
    result = cheated(path, "audit={chance=0.0}", "validation.runs=2")
    sold = {owner["name"]: owner["epsilon"] for owner in result["owners"]}["Bob"]
    assert result["audit"]["owners"][0]["saved"] == pytest.approx(
        1.5 * sold * (1 - 1 / 20), rel=1e-6
    )


@pytest.mark.parametrize("gain, cheats", [(None, True), (5.0, True), (0.5, False)])
def test_who_sends_wrong_answers_is_deterred_only_where_it_has_a_gain_to_weigh(gain, cheats):
    from agents.behaviours import BEHAVIOURS

    saved = np.zeros(2)
    stake = Audit(0.5, penalty=2.0).at_stake(np.zeros(2))
    for kind in ("poisoner", "junk_seller"):
        assert BEHAVIOURS[kind](gain=gain).dares_to_cheat(saved, stake).tolist() == [cheats] * 2
    assert BEHAVIOURS["free_rider"]().dares_to_cheat(np.array([0.5, 1.5]), stake).tolist() == [
        False,
        True,
    ]


@pytest.mark.slow
def test_made_up_records_belong_to_an_owner_alone(path):
    """What one makes up does not depend on who else cheats; and every kind of conduct is told by its cause."""
    one = "{kind='junk_seller', owners=['Bob']}"
    runs = [
        run(load(path, [f"behaviours=[{given}]", "validation.runs=3"]))["validation"]
        for given in (
            one,
            f"{one}, {{kind='poisoner', factor=1.0, owners=['Cy']}}",
            "{kind='poisoner', owners=['Cy']}",
        )
    ]
    assert runs[0]["relative_fitness"] == runs[1]["relative_fitness"]
    assert [fact["cause"] for fact in runs[0]["explanation"]][-1] == "records_made_up"
    assert runs[2]["explanation"][-1] == {
        "cause": "gradients_changed",
        "owners": ["Cy"],
        "factor": -10.0,
    }


def test_an_audit_with_several_learners_is_refused(path):
    rival = "learners=[{name='B', value=10.0, budget=1.0}]"
    with pytest.raises(InputError, match="audit: must be left out in a scenario with several learners"):
        load(path, [rival, "audit={chance=0.1}"])


@pytest.mark.slow
def test_three_free_riders_of_ten_make_training_disagree_and_what_helps():
    """Three insurers split in ten, three of which add ten times the noise sold: an audit helps, and observed weights do."""
    names = list("ABCDEFGHIJ")
    split = [
        f"data.split={[2004] * 10}",
        f"data.names={names}".replace("'", '"'),
        "owners.cost.price=400.0",
    ]
    scenario = load("three_insurers", [*split, "validation.runs=40", "market.starts=1"])
    prepared = prepare(scenario)
    free = "behaviours=[{kind='free_rider', noise=10.0, share=0.3}]"
    runs = []
    for changes in ([], [free], [free, "audit={chance=0.15, penalty=1000.0}"]):
        runs.append(carry_out(change_scenario(scenario, changes), prepared, others=False))
    honest, spoilt, watched = (result_of(one)["validation"] for one in runs)
    assert honest["agrees"] and watched["agrees"] and not spoilt["agrees"]
    assert watched["relative_fitness"] == honest["relative_fitness"]
    causes = {fact["cause"]: fact for fact in spoilt["explanation"]}
    assert (
        causes["more_noise_than_sold"]["factor"] == 10.0
        and len(causes["more_noise_than_sold"]["owners"]) == 3
    )
    task = training_task(
        scenario, prepared.planner, runs[1].epsilon, conducts=runs[1].answering.conducts
    )
    observed = (
        runs[1].data.fitness.relative(train(replace(task, aggregation=Observed())).theta).mean()
    )
    own, (_, high) = (
        runs[1].data.fitness.relative(prepared.planner.own_model),
        runs[1].prediction.interval(),
    )
    assert (
        observed < min(own, high)
        and spoilt["relative_fitness"]["mean"] > 3 * honest["relative_fitness"]["mean"]
    )


def test_other_aggregations_are_rehearsed_and_named_in_report_and_result(path):
    made = run(load(path, ["learning.aggregation=median", "validation.runs=3"]))
    assert made["forecast"]["kind"] == "calibrated" and made["scenario"]["learning"][
        "aggregation"
    ] == {"kind": "median"}
    assert "the median counts" in render_phrase(
        "learning", "training_words", made
    ) and "median" in render_phrase("learning", "plan_line", made)
    weighed = load(path, ["learning.weights=observed"]).learning.settings
    assert weighed.weights == "precision" and weighed.aggregation == Observed()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            ["learning.aggregation=medan"],
            'must be "mean", "median", "trimmed_mean" or "norm_check"; found "medan"',
        ),
        (
            ["learning.aggregation=3"],
            "must be a name, or a table, \\[learning.aggregation\\]; found 3",
        ),
        (
            ["learning.aggregation={kind='trimmed_mean', share=0.7}"],
            "above 0 and below 0.5; found 0.7",
        ),
        (
            ["learning.aggregation=median", "learning.algorithm=weighted"],
            'needs algorithm = "synchronous", "averaged"',
        ),
        (
            ["learning.weights=observed", "learning.algorithm=weighted"],
            "under which all owners answer in a round",
        ),
        (
            ["learning.aggregation=median", "learning.weights=observed"],
            'must be left out with weights "observed"',
        ),
    ],
)
def test_aggregations_that_do_not_go_are_refused_in_one_line(path, changes, told):
    with pytest.raises(InputError, match=told):
        load(path, changes)
