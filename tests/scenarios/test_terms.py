"""Money per unit of root mean squared error, per wrong label, by a cost matrix: from the scenario file to the report."""

import json
from functools import cache

import numpy as np
import pytest
from commands import INSURERS, TRADE

from learning.errors import InputError
from scenarios.command.console import summary_lines
from scenarios.planning import prepare
from scenarios.report.page import render
from scenarios.report.phrases import render_phrase
from scenarios.result import to_plain
from scenarios.runner import carry_out, result_of
from scenarios.schema.loading import change_scenario, load
from scenarios.studies.comparison import Alternative, compare, comparison
from scenarios.studies.design import design_scenario
from scenarios.studies.design_part import design_part

pytestmark = pytest.mark.coarse

QUICK = ("market.starts=1", "validation.runs=5", "learning.clip=4.0")
RMSE = "learner.value={per='rmse', money=50000}"
COLUMNS = 8
BENEFIT = "owners.benefit={per='rmse', money=[0, 1000, 2000]}"
WRONG = "learner.value={per='wrong_label', money=50.0, cases=1000}"
COST = "learner.value={per='cost', false_alarm=25.0, miss=100.0, cases=1000}"
LABELLED = (
    """
[data]
path = "{table}"
target = "y"
split = [1500, 1500]
public_rows = 100
holdout = "rest"
[learning]
loss = "logistic"
regularisation = 0.01
horizon = 4
step_size = "optimal"
clip = 2.0
[owners]
epsilon = [0.1, 5.0]
"""
    + TRADE
    + """
[market]
starts = 1
[validation]
runs = 5
"""
)


@cache
def insurers(*changes):
    scenario = load("three_insurers", [*QUICK, RMSE, *changes])
    run = carry_out(scenario, prepare(scenario), others=False)
    return run, result_of(run)


def labelled(write):
    """A scenario of a table with labels that a line tells apart with one error in six."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3400, COLUMNS))
    y = np.where(
        x @ np.geomspace(1, 0.2, COLUMNS) + rng.logistic(scale=0.5, size=3400) > 0, "yes", "no"
    )
    rows = [
        ",".join([*(f"{cell:.6g}" for cell in row), label]) for row, label in zip(x, y, strict=True)
    ]
    return write(rows, ",".join([*"abcdefgh"[:COLUMNS], "y"]), LABELLED)


def test_the_keys_of_a_value_are_kept_and_can_be_changed_one_by_one():
    by_name = "{'Cedar Life'=1, 'Aurora Health'=2, 'Beacon Mutual'=3}"
    made = load("three_insurers", [RMSE, f"owners.benefit={{per='rmse', money={by_name}}}"])
    again = change_scenario(made, ["learner.value.money=7"])
    assert (
        made.learner.per_unit == 50000
        and again.learner.per_unit == 7
        and again.learner.worth.per == "rmse"
    )
    names = ["Aurora Health", "Beacon Mutual", "Cedar Life"]
    assert again.in_order_of(names).owners.benefits(3).tolist() == [2, 3, 1]
    assert load("three_insurers").learner.worth is None and made.owners.wants_model


TOLD = [
    ((WRONG,), 'learner.value.per: must be "rmse" with loss "squared"'),
    (
        ("learner.value={per='rmse', money=1}", "learning.regularisation=0.1"),
        "learning.regularisation: must be 0",
    ),
    (("learner.value={per='rmse'}",), "learner.value.money: is required"),
    (
        ("learner.value={per='rmse', money=1, cases=2}",),
        'learner.value.cases: needs per = "wrong_label" or "cost"',
    ),
    (
        ("learner.value={per='rmse', monney=1}",),
        'monney: is not a known key; found "monney". Did you mean "money"?',
    ),
    (
        ("learner.value={per='rms', money=1}",),
        'must be "rmse", "wrong_label" or "cost"; found "rms". Did you mean "rmse"?',
    ),
    (
        ("learner.value={per='cost', false_alarm=-1, miss=1, cases=9}",),
        "false_alarm: must be a number above 0; found -1",
    ),
    (
        ("learner.value={per='cost', false_alarm=0, miss=0, cases=9}",),
        "false_alarm: must be a number above 0; found 0",
    ),
    (("learner.value.money=5",), "learner.value: must be a table to take keys"),
    ((RMSE, "owners.benefit=5"), 'owners.benefit: must be a table with per = "rmse"'),
    (
        ("owners.benefit={per='rmse', money=1}",),
        "owners.benefit: must be per unit of relative fitness",
    ),
    (
        (RMSE, "owners.benefit={per='rmse', money=[1, 2]}"),
        "owners.benefit.money: must have one entry per owner, 3",
    ),
]


@pytest.mark.parametrize(("changes", "told"), TOLD, ids=[told[:30] for _, told in TOLD])
def test_what_makes_no_sense_is_refused_in_a_line(changes, told):
    with pytest.raises(InputError) as error:
        load("three_insurers", changes)
    assert told in str(error.value) and "\n" not in str(error.value)


def test_numbers_are_worth_nothing_by_labels_nor_labels_by_squared_errors(write):
    with pytest.raises(
        InputError, match=r'learner.value.per: must be "wrong_label" or "cost" with loss "logistic"'
    ):
        load(labelled(write), [RMSE])


def test_root_mean_squared_error_is_promised_measured_and_told():
    run, result = insurers(BENEFIT)
    learner = result["learner"]
    checked = result["validation"]
    terms = learner["terms"]
    found = checked["terms"]
    optimum = result["forecast"]["optimum"]
    psi = result["forecast"]["relative_fitness"]
    own = result["outside_option"]["relative_fitness"]
    left = run.planner.measure().shares
    trained, alone = left.best + left.noise * psi, left.best + left.few * own
    assert terms["trained"] == pytest.approx(np.sqrt(optimum * trained), rel=1e-12)
    assert terms["outside"] == pytest.approx(np.sqrt(optimum * alone), rel=1e-12)
    assert learner["gross_value"] == pytest.approx(
        50000 * (terms["outside"] - terms["trained"]), rel=1e-9
    )
    x, y = (
        np.concatenate([getattr(owner, part) for owner in run.data.owners]) for part in ("x", "y")
    )

    def error(theta):
        return np.sqrt(np.mean((np.clip(x @ theta, *left.ends) - y) ** 2))

    residuals = [error(theta) for theta in run.trained.theta]
    alone = error(run.planner.own_model)
    assert found["trained"]["mean"] == pytest.approx(np.mean(residuals)) and found[
        "outside"
    ] == pytest.approx(alone)
    surplus = 50000 * (alone - np.mean(residuals)) - learner["payments"]
    assert checked["money"]["learner_surplus"]["mean"] == pytest.approx(surplus)
    assert (
        found["translation_held"]
        and learner["gain"]["interval"][0] < learner["surplus"] < learner["gain"]["interval"][1]
    )
    said = render_phrase("buying", "does_buying_pay", result.content).replace("\u00a0", " ")
    assert "because the root mean squared error of" in said and "falls from 3" in said
    assert (
        json.loads(json.dumps(to_plain(result.content)))["scenario"]["learner"]["value"]["per"]
        == "rmse"
    )
    page = render(result.content, {}, result.scenario_toml)
    assert (
        "that is smaller by 1" in page and "is worth 50,000" in page and "The translation" in page
    )
    assert "root mean squared error is forecast at" in page


def test_a_value_that_is_small_beside_the_error_is_a_straight_line_in_relative_fitness():
    """Where f* is large and psi small, sqrt(f*(b + s psi)) falls by about s sqrt(f*/b)/2 per unit: the market settles as with that."""
    scenario = load("three_insurers", [*QUICK, "policy={kind='marginal', share=0.7}", RMSE])
    prepared = prepare(scenario)
    forecast = prepared.planner.forecast
    optimum = prepared.planner.optimum
    curved = carry_out(scenario, prepared, training=False, others=False)
    psi = np.array([forecast.outside, forecast.at(curved.epsilon)])
    left = prepared.planner.measure().shares
    trained = np.sqrt(optimum * (left.best + left.noise * psi[1]))
    alone = np.sqrt(optimum * (left.best + left.few * psi[0]))
    steep = 50000 * optimum * left.noise / (2 * trained)
    straight = carry_out(
        change_scenario(scenario, [f"learner.value={steep}"]),
        prepared,
        training=False,
        others=False,
    )
    np.testing.assert_allclose(curved.epsilon, straight.epsilon, rtol=0.02)
    told = 50000 * (alone - trained)
    assert curved.game.value * (
        curved.game.forecast.outside - curved.game.fitness(curved.epsilon)
    ) == pytest.approx(told)


def test_owners_want_the_same_error_smaller():
    run, result = insurers(BENEFIT)
    own = run.measure.own(np.array([owner["isolated_estimate"] for owner in result["owners"]]))
    gain = np.maximum(own - result["learner"]["terms"]["trained"], 0) * [0, 1000, 2000]
    np.testing.assert_allclose(
        [owner["benefit"] for owner in result["owners"]], gain, rtol=1e-9, atol=1e-9
    )
    assert result["privileged"]["learner"] == "oracle" and "benefit_tells" in str(
        result["warnings"]
    )


@pytest.mark.slow
@pytest.mark.parametrize("value", [WRONG, COST], ids=["wrong_label", "cost"])
def test_labels_are_counted_along_rehearsals_and_measured_on_all_records(write, value):
    scenario = load(labelled(write), [value])
    run = carry_out(scenario, prepare(scenario))
    result = result_of(run)
    learner = result["learner"]
    found = result["validation"]["terms"]
    terms = learner["terms"]
    public = run.data.public
    x, y = (
        np.concatenate([getattr(owner, part) for owner in run.data.owners]) for part in ("x", "y")
    )
    false_alarm, miss = (1, 1) if value is WRONG else (25, 100)

    def costs(theta):
        cut = 0.0
        shown = np.sort(public.x @ theta)
        if value is COST:
            cuts = np.concatenate([[-np.inf], (shown[1:] + shown[:-1]) / 2, [np.inf]])
            cut = min(
                cuts, key=lambda c: decided(public.x @ theta >= c, public.y, false_alarm, miss)
            )
        return decided(x @ theta >= cut, y, false_alarm, miss)

    assert found["outside"] == pytest.approx(costs(run.planner.own_model))
    assert found["trained"]["mean"] == pytest.approx(
        np.mean([costs(theta) for theta in run.trained.theta])
    )
    assert terms["law"] == "rehearsed" and 0 < terms["trained"] <= terms["outside"]
    assert terms["trained"] == pytest.approx(found["trained"]["mean"], rel=0.3)
    assert found["translation_held"] and result["validation"]["agrees_on_money"]
    assert learner["value"] == (50_000 if value is WRONG else 1000)
    assert (
        "wrong labels in 1,000 cases" if value is WRONG else "wrong decisions in 1,000 cases"
    ) in render_phrase("buying", "does_buying_pay", result.content)
    assert result["validation"]["holdout"]["terms"]["trained"] > 0


def decided(alarmed, y, false_alarm, miss):
    """What a case decided so costs on average."""
    return (false_alarm * np.sum(alarmed & (y < 0)) + miss * np.sum(~alarmed & (y > 0))) / len(y)


@pytest.mark.slow
def test_without_public_rows_labels_are_counted_on_all_records_as_is_said(write):
    changes = ["data.public_rows=0", "learning.theta_max=3.0", "learning.horizon=4"]
    bounds = f"data.bounds={{{', '.join(f'{name}=[-4, 4]' for name in 'abcdefgh')}}}"
    scenario = load(labelled(write), [WRONG, *changes, bounds, 'data.labels=["no", "yes"]'])
    result = result_of(carry_out(scenario, prepare(scenario)))
    assert (
        result["learner"]["terms"]["basis"] == "oracle"
        and result["privileged"]["learner"] == "oracle"
    )
    assert "which no learner could see" in render_phrase("terms", "in_terms", result.content)
    assert result["learner"]["terms"]["trained"] == pytest.approx(
        result["validation"]["terms"]["trained"]["mean"], rel=0.2
    )


@pytest.mark.slow
def test_design_and_comparison_tell_the_error_that_counts(write):
    scenario = load(
        write(scenario=INSURERS), ["learner.value={per='rmse', money=2000}", "learning.clip=4.0"]
    )
    found = design_part(design_scenario(scenario, kinds=["proportional"]))
    best = found["policies"][0]
    terms = found["chosen"]["learner"]["terms"]
    worth = 2000 * (terms["outside"] - terms["trained"])
    assert (
        found["chosen"]["learner"]["surplus"] == pytest.approx(worth - best["payments"])
        and terms["trained"] < terms["outside"]
    )
    assert best["gain"] == pytest.approx(found["chosen"]["learner"]["gain"]["mean"])
    rows = comparison(
        compare([Alternative("a", scenario)], [("learner.value.money", "4000")], training=False)
    )
    first, other = rows["alternatives"]
    assert (
        first["terms"]["trained"] == other["terms"]["trained"] and other["terms"]["money"] == 4000
    )
    assert other["gain"] + other["payments"] == pytest.approx(
        2 * (first["gain"] + first["payments"])
    )


def test_one_answer_for_every_case_stands_beside_the_model_that_costs_more(write):
    """Second route: labels are counted in the file: owners' rows first, then those held out, and the public ones."""
    path = labelled(write)
    scenario = load(path, [COST, "learner.value.miss=5000", "data.order='as_is'"])
    content = result_of(carry_out(scenario, prepare(scenario), others=False)).content
    lines = (path.parent / scenario.data.path).read_text().splitlines()[1:]
    costs = np.array([25.0 if line.endswith("no") else 0.0 for line in lines])
    terms = content["learner"]["terms"]
    checked = content["validation"]["terms"]
    held = content["validation"]["holdout"]["terms"]
    assert terms["constant"] == {"label": "yes", "cost": pytest.approx(costs[3300:].mean())}
    assert checked["constant"] == {"label": "yes", "cost": pytest.approx(costs[:3000].mean())}
    assert held["constant"] == {"label": "yes", "cost": pytest.approx(costs[3000:3300].mean())}
    assert checked["constant"]["cost"] < checked["trained"]["mean"]
    said = " ".join(summary_lines(content))
    assert "If every case is called yes" in said and "LESS than with the model" in said
    assert "LESS than with the model" in render(content, {}, "")
