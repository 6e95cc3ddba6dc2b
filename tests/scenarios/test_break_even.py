"""The worth of a smaller error from which on buying pays; assumed inputs; and answers over ranges."""

import numpy as np
import pandas as pd
import pytest
from quick import shared_plans

from learning.errors import InputError
from scenarios.report.facts_outcome import gains_more
from scenarios.report.phrases import render_phrase
from scenarios.runner import run
from scenarios.schema.loading import load

__all__ = ["shared_plans"]  # a fixture of every test

QUICK = ["validation.runs=10", "market.starts=2"]
NUMBERS = 'per = "rmse"\nmoney = "unknown"'
LABELS = 'per = "wrong_label"\nmoney = "unknown"'
TEXT = """
seed = 3
[data]
path = "t.csv"
target = "{target}"
split = [600, 400]
names = ["North", "South"]
public_rows = 80
[learning]
{learning}
[owners]
epsilon = [0.05, 20.0]
[owners.cost]
kind = "quadratic"
price = 10.0
[policy]
kind = "posted"
price = 20.0
[learner.value]
{value}
"""


@pytest.fixture
def market(tmp_path, monkeypatch):
    """Writes a market and returns its scenario file."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    a, b = rng.uniform(-1, 1, (2, 1100))
    y = a - b + rng.normal(size=1100)
    pd.DataFrame({"a": a, "b": b, "y": y, "high": np.where(y > 0, "yes", "no")}).to_csv(
        "t.csv", index=False
    )

    def write(value=NUMBERS, *, labels=False, more=""):
        learning = 'loss = "logistic"\nregularisation = 0.001' if labels else 'loss = "squared"'
        features = '\nfeatures = ["a", "b"]'
        text = TEXT.format(
            target=("high" if labels else "y") + f'"{features}#', learning=learning, value=value
        ).replace('#"', "")
        path = tmp_path / "m.toml"
        path.write_text(text + more)
        return path

    return write


@pytest.mark.parametrize(("labels", "unit"), [(False, "rmse"), (True, "percentage_point")])
def test_at_the_break_even_the_learner_gains_nothing(market, labels, unit):
    path = market(LABELS if labels else NUMBERS, labels=labels)
    open_run = run(load(path, QUICK), training=False)
    learner = open_run["learner"]
    even = learner["break_even"]
    unknown = ("value", "gross_value", "surplus", "gain", "buying_pays")
    assert even["unit"] == unit and all(learner[key] is None for key in unknown)
    low, high = even["interval"]
    assert low < even["amount"] and (high is None or even["amount"] < high)
    given = [f"learner.value.money={even['amount']!r}"]
    if labels:  # a point of wrong labels in a hundred cases is one label
        given.append("learner.value.cases=100")
    stated = run(load(path, [*QUICK, *given]), training=False)["learner"]
    assert stated["surplus"] == pytest.approx(0.0, abs=1e-9 * stated["payments"])
    assert stated["break_even"]["amount"] == pytest.approx(even["amount"])
    assert stated["payments"] == learner["payments"]


def test_a_cost_of_decisions_breaks_even_at_a_number_of_cases(market):
    path = market('per = "cost"\nfalse_alarm = 1\nmiss = 1\ncases = 1000', labels=True)
    even = run(load(path, QUICK), training=False)["learner"]["break_even"]
    assert even["unit"] == "case"
    cases = [f"learner.value.cases={even['amount']!r}"]
    learner = run(load(path, [*QUICK, *cases]), training=False)["learner"]
    assert learner["surplus"] == pytest.approx(0.0, abs=1e-9 * learner["payments"])


def test_trainings_are_held_against_the_break_even(market):
    result = run(load(market(), QUICK))
    money = result["validation"]["money"]
    found = money["break_even"]
    measured = result["validation"]["terms"]
    fall = measured["outside"] - measured["trained"]["mean"]
    assert found["fall"] == pytest.approx(fall)
    assert found["amount"] == pytest.approx(result["learner"]["payments"] / fall)
    assert money["pays"] is None and money["learner_surplus"] is None
    assert result["welfare"]["total"] is None and result["welfare"]["owners"] > 0
    said = render_phrase("buying", "paying", result.content)
    assert said.startswith(
        "Buying pays if lowering the root mean squared error of y by one is worth"
    )
    assert "Measured over the trainings, it pays if" in said and "None" not in said
    # An error that falls by more than was forecast is a larger gain, whatever it is worth.
    high = result["learner"]["break_even"]["fall_interval"][1]
    for fall in (0.9 * high, 1.1 * high):
        found["fall"] = fall
        assert gains_more(result.content) == (fall > high)


def test_where_the_market_is_no_better_it_pays_at_no_worth(market):
    given = ["owners.epsilon=[0.001, 0.002]", "learning.algorithm=weighted"]
    result = run(load(market(), [*QUICK, *given]), training=False)
    even = result["learner"]["break_even"]
    assert even is None or even["amount"] is None or even["amount"] > 0
    assert "None" not in render_phrase("buying", "paying", result.content)


def test_answers_at_the_ends_are_those_of_the_scenario_with_these_values(market):
    ranges = '[inputs]\nassumed = ["policy.price"]\n[inputs.ranges]\n"owners.cost.price" = [5, 40]\n"learner.value.money" = [10, 100000]\n'
    path = market('per = "rmse"\nmoney = 9000', more=ranges)
    result = run(load(path, QUICK), training=False)
    rows = result["inputs"]["answers"]
    assert [row["key"] for row in rows] == [
        "likely",
        *["owners.cost.price"] * 2,
        *["learner.value.money"] * 2,
        "worst",
        "best",
    ]
    for row in rows:
        given = [f"{key}={value}" for key, value in row["at"].items()]
        alone = load(market('per = "rmse"\nmoney = 9000'), [*QUICK, *given])
        learner = run(alone, training=False)["learner"]
        assert row["surplus"] == pytest.approx(learner["surplus"])
        assert row["buying_pays"] == learner["buying_pays"]
    assert rows[-2]["surplus"] == min(row["surplus"] for row in rows)
    assert rows[-1]["surplus"] == max(row["surplus"] for row in rows)
    said = render_phrase("inputs", "terminal", result.content)
    assert "policy.price is ASSUMED" in said and "depends on what is known" in said


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('assumed = ["policy.cost"]', "inputs.assumed: must name keys that this scenario gives"),
        ('ranges = {"data.seed" = [1, 2]}', "must be of a key under"),
        ('ranges = {"policy.price" = [30, 40]}', "around the value of the key, 20"),
        ('ranges = {"policy.price" = [30]}', "two finite numbers"),
        ('ranges = {"learner.value.money" = [1, 2]}', "must be of a key that holds a number"),
    ],
)
def test_inputs_that_will_not_do_are_refused(market, more, said):
    with pytest.raises(InputError, match="inputs") as caught:
        load(market(more=f"[inputs]\n{more}\n"))
    assert said in str(caught.value)


def test_what_weighs_the_worth_is_refused_where_it_is_unknown(market):
    for given in (["policy={kind='marginal'}"], ["regulation.epsilon_cap=1.0"]):
        with pytest.raises(InputError, match=r"learner\.value\.money"):
            load(market(), given)


def test_where_nobody_is_paid_no_answer_speaks_of_a_loss():
    row = {
        "key": "likely",
        "payments": 0.0,
        "buying_pays": False,
        "surplus": 0.0,
        "chance_pays": 0.0,
    }
    said = render_phrase("inputs", "answer", row | {"break_even": None}, {})
    assert said == "At the likely values: nobody is paid, so nothing is gained or lost."
