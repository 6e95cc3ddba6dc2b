"""The model in plain units: errors of a result, computed anew from model.json and the table's rows."""

import json
import re
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from commands import TRADE

from learning.data.division import divide_rows
from scenarios.command import console
from scenarios.opened import Result
from scenarios.report.facts_errors import kind_matters_more, worse_than_guessing
from scenarios.report.page import render
from scenarios.report.phrases import render_phrase
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.summary import errors as summary
from scenarios.tables.dataset import market_data, row_shuffler

ROWS = 3000
SCENARIO = (
    """
[data]
path = "{table}"
target = "y"
features = ["a", "b"]
split = [1000, 700]
public_rows = 100
holdout = "rest"
[learning]
loss = "%s"
regularisation = 0.01
horizon = 2
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
COST = {"per": "cost", "false_alarm": 5.0, "miss": 1.0, "cases": 100}
VALUE = "learner.value={per='cost', false_alarm=5.0, miss=1.0, cases=100}"


def table(labels=False):
    """Two columns that the market uses, one bent and one of texts that it leaves out, and noise."""
    rng = np.random.default_rng(7)
    a, b, bent = rng.normal(size=(3, ROWS))
    texts = rng.choice(["north", "south"], ROWS)
    names = [f"row {i}" for i in range(ROWS)]
    y = 3 + a - b + 2 * np.abs(bent) + 1.5 * (texts == "north") + 0.5 * rng.normal(size=ROWS)
    frame = pd.DataFrame({"a": a, "b": b, "bent": bent, "place": texts, "name": names})
    frame["y"] = np.where(y > np.quantile(y, 0.7), "yes", "no") if labels else y
    return frame


def settle(tmp_path, labels=False, *changes):
    """The result of a market on the table, its held-out and its public rows."""
    table(labels).to_csv(tmp_path / "t.csv", index=False)
    frame = pd.read_csv(tmp_path / "t.csv")
    text = SCENARIO.replace("{table}", "t.csv") % ("logistic" if labels else "squared")
    (tmp_path / "s.toml").write_text(text, encoding="utf-8")
    scenario = load(tmp_path / "s.toml", list(changes))
    division = divide_rows(
        ROWS,
        rng=row_shuffler(scenario.seed),
        sizes=scenario.data.split,
        public_rows=100,
        holdout=scenario.data.holdout,
    )
    done = Result(run(scenario))
    return done, frame.iloc[division.holdout], frame.iloc[division.public]


@pytest.mark.parametrize("bounds", [(), ("data.bounds={y = [3.0, 6.0]}",)])
def test_a_number_s_errors_follow_from_the_model_file_and_the_held_out_rows(tmp_path, bounds):
    done, held_out, public = settle(tmp_path, False, *bounds)
    found = done["errors"]
    low, high = done["data"]["target_range"]
    cut = held_out["y"].clip(low, high)
    public = public.assign(y=public["y"].clip(low, high))
    said = done.model.predict(held_out[["a", "b"]])
    assert bool(bounds) == bool(said.isin([low, high]).mean() > 0.05)  # held to the range
    assert said.between(low, high).all()
    residuals = said - cut
    raw = said - held_out["y"]
    measured = found["measured"]
    assert (found["per"], measured["on"], measured["rows"]) == ("rmse", "held_out", 1200)
    assert measured["handed_over"] == pytest.approx(np.sqrt(np.mean(residuals**2)), rel=1e-9)
    assert measured["constant"]["answer"] == pytest.approx(public["y"].mean())
    guess = np.sqrt(np.mean((cut - public["y"].mean()) ** 2))
    assert measured["constant"]["error"] == pytest.approx(guess, rel=1e-9)
    beyond = (held_out["y"] < low) | (held_out["y"] > high)
    assert measured["cut"] == pytest.approx(beyond.mean()) and measured["cut"] > 0
    assert measured["uncut"]["handed_over"] == pytest.approx(np.sqrt(np.mean(raw**2)), rel=1e-9)


def test_no_model_is_tried_on_records_whose_target_their_owner_has_filled(tmp_path):
    """Without rows that are held out, errors and the gain in money are counted on the owners' records.

    One of these in ten has no target.
    """
    frame = table()
    frame.loc[np.random.default_rng(3).random(ROWS) < 0.1, "y"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    text = SCENARIO.replace("{table}", "t.csv").replace('holdout = "rest"', 'missing = "drop"')
    (tmp_path / "s.toml").write_text(text % "squared", encoding="utf-8")
    worth = ["learner.value={per='rmse', money=1000.0}", "learning.regularisation=0.0"]
    scenario = load(tmp_path / "s.toml", worth)
    division = divide_rows(
        ROWS, rng=row_shuffler(scenario.seed), sizes=[1000, 700], public_rows=100, holdout=0
    )
    result = run(scenario)
    measured = result["errors"]["measured"]
    terms = result["validation"]["terms"]
    assert terms["trained"]["mean"] == pytest.approx(measured["trained"]["mean"], rel=1e-12)
    assert terms["outside"] == pytest.approx(measured["outside"], rel=1e-12)
    y = frame["y"].iloc[np.concatenate(list(division.owners.values()))].dropna()
    assert (measured["on"], measured["rows"]) == ("owners", len(y)) and len(y) < 1600
    low, high = frame["y"].iloc[division.public].agg(["min", "max"])
    guess = np.sqrt(np.mean((y.clip(low, high) - measured["constant"]["answer"]) ** 2))
    assert measured["constant"]["error"] == pytest.approx(guess, rel=1e-9)


def test_the_interval_of_an_error_contains_its_point_forecast():
    worlds = np.linspace(0.5, 0.65, 200)
    assert summary.error_interval(worlds, 0.684) == pytest.approx([0.504, 0.684], abs=1e-3)
    assert summary.error_interval(worlds, 0.6) == pytest.approx([0.504, 0.646], abs=1e-3)


def test_the_best_of_its_kind_and_every_column_bound_what_is_bought(tmp_path):
    done, held_out, _ = settle(tmp_path)
    measured = done["errors"]["measured"]
    every = measured["every_column"]
    # What the two columns miss: the noise, 2 |bent| and the place.
    missed = np.sqrt(0.25 + 4 * (1 - 2 / np.pi) + 1.5**2 / 4)
    assert measured["best_of_kind"] == pytest.approx(missed, rel=0.08)
    assert every["error"] == pytest.approx(0.5, rel=0.25)
    assert every["columns"] == 4 and every["left_out"] == ["bent", "place"]
    assert 0.98 * measured["best_of_kind"] < measured["trained"]["mean"]
    assert measured["trained"]["mean"] < measured["constant"]["error"]
    assert kind_matters_more(done.raw.content)
    lesson = render_phrase("errors", "lesson", done.raw.content)
    assert "The market's model leaves out bent and place." in lesson


def test_without_held_out_rows_errors_are_of_the_owners_records(tmp_path):
    done, *_ = settle(tmp_path, False, "data.holdout=0.0")
    found = done["errors"]["measured"]
    assert found["on"] == "owners" and found["rows"] == 1700 and found["uncut"] is None
    optimum = done["validation"]["nonprivate_fitness"]
    fitness = 1 + done["outside_option"]["measured"]
    assert found["outside"] == pytest.approx(np.sqrt(optimum * fitness), rel=0.01)
    assert found["every_column"]["rows"] == 1700  # each half by a model of the other
    assert found["every_column"]["error"] == pytest.approx(0.5, rel=0.25)


@pytest.mark.parametrize("labelled", [VALUE, ""])
def test_errors_of_labels_are_wrong_ones_or_what_a_case_costs(tmp_path, labelled):
    done, held_out, public = settle(tmp_path, True, *filter(None, [labelled]))
    found = done["errors"]
    alarm, miss = (5.0, 1.0) if labelled else (1.0, 1.0)
    scores = done.model.decision_function(held_out[["a", "b"]])
    edge = 0.0
    if labelled:  # where the learner's own rows cost least
        own = done.model.decision_function(public[["a", "b"]]).to_numpy()
        edges = np.sort(own)[None, :] + 1e-12
        alarmed = own[:, None] > edges
        no = (public["y"] == "no").to_numpy()[:, None]
        costs = np.where(no, alarm * alarmed, miss * ~alarmed).sum(axis=0)
        edge = edges[0, np.argmin(costs)]
    wrong = np.where(held_out["y"] == "no", alarm * (scores > edge), miss * (scores <= edge))
    assert found["per"] == ("cost" if labelled else "wrong_label")
    assert found["measured"]["handed_over"] == pytest.approx(wrong.mean(), abs=0.004)
    rarer = (held_out["y"] == "yes").mean()
    assert found["measured"]["constant"] == {"answer": "no", "error": pytest.approx(rarer)}
    assert found["measured"]["every_column"]["error"] < found["measured"]["best_of_kind"]
    assert found["forecast"]["interval"][0] <= found["forecast"]["trained"]


def test_terminal_and_page_show_the_measured_errors_first(tmp_path, monkeypatch):
    done, *_ = settle(tmp_path)
    content = json.loads(json.dumps(done.raw.content))
    shown = StringIO()
    terminal = console.Terminal()
    terminal.file = shown
    monkeypatch.setattr(console, "Terminal", lambda: terminal)
    console.print_result(content, tmp_path)
    measured = content["errors"]["measured"]
    first = shown.getvalue().split("owner ")[0].replace("\u00a0", " ")
    page = render(content, {}, "").split("<h2>")[0]
    expected = [
        f"{error:.4g}".rstrip("0").rstrip(".")
        for error in (
            measured["trained"]["mean"],
            measured["outside"],
            measured["constant"]["error"],
            measured["best_of_kind"],
            measured["every_column"]["error"],
        )
    ]
    rows = re.findall(r'<tr[^>]*><th scope="row">.*?</th><td class="n">([\d.]+)', page)
    assert rows == expected
    assert re.findall(r"^\S.*?  +([\d.]+)\b", first, re.MULTILINE)[:5] == expected
    assert "measured on 1,200 held-out rows, which nobody trained on" in first


def test_a_model_that_guessing_beats_is_called_so(tmp_path):
    done, *_ = settle(tmp_path)
    content = json.loads(json.dumps(done.raw.content))
    content["errors"]["measured"]["constant"]["error"] = 0.1
    assert worse_than_guessing(content)
    assert "One answer for every row would do better." in render_phrase(
        "errors", "headline", content
    )
    assert "ONE ANSWER FOR EVERY ROW DOES BETTER" in " ".join(console.summary_lines(content))


def test_sums_of_records_tell_the_same_errors_as_the_records(tmp_path):
    from learning.losses.loss import FreshRecords, FreshSums
    from learning.losses.statistics import squared_statistics

    done, *_ = settle(tmp_path)
    data = market_data(load(tmp_path / "s.toml"))
    fresh = data.holdout
    assert isinstance(fresh, FreshRecords)
    sums = FreshSums(lambda: squared_statistics(fresh.x, fresh.y))

    class Like:
        """What the functions look at of a run."""

    like = Like()
    like.data = data
    models = np.random.default_rng(1).normal(size=(3, data.encoder.n_parameters))
    both = [summary.count_errors(like, models, [one], None) for one in (fresh, sums)]
    np.testing.assert_allclose(*both, rtol=1e-9)
    constants = [summary.number_constant(like, 0.3, [one])["error"] for one in (fresh, sums)]
    assert constants[0] == pytest.approx(constants[1], rel=1e-9)
