"""Kinds of features in a market: chosen, trained, handed over, carried by a contract."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from quick import quickly, shared_plans

from learning.errors import InputError
from scenarios.checking import check_scenario
from scenarios.command.check_printed import print_check
from scenarios.model_file import to_json
from scenarios.planning import prepare
from scenarios.report.page import write_report
from scenarios.result import save_result
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.tables.dataset import market_data
from scenarios.trained_model import TrainedModel

__all__ = ["shared_plans"]  # a fixture of every test

SCENARIO = """
title = "Curves"
seed = 3

[data]
path = "curves.csv"
target = "y"
split = [1200, 1200, 1200]
public_rows = 300
holdout = "rest"

[learning]
features = "best"
{learning}

[owners]
epsilon = [0.5, 5.0]
cost = {{ kind = "linear", price = 1.0 }}

[policy]
kind = "posted"
price = 10.0

[learner]
value = 10000.0

[validation]
runs = 3

[market]
starts = 1
"""


def table(rows=5000, seed=1, labels=False):
    """A table whose target is a curve in one column, of two kinds of records."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, rows)
    z = rng.normal(size=rows)
    kind = rng.choice(["a", "b"], rows)
    y = np.sin(x) + 0.3 * z + rng.normal(0, 0.3, rows)
    if labels:
        y = np.where(y > 0, "yes", "no")
    return pd.DataFrame({"x": x, "z": z, "kind": kind, "y": y})


def written(folder, *changes, frame=None, learning=""):
    """A scenario written with its table, and loaded with changes."""
    (table() if frame is None else frame).to_csv(folder / "curves.csv", index=False)
    file = folder / "curves.toml"
    file.write_text(SCENARIO.format(learning=learning), encoding="utf-8")
    return load(file, changes)


@pytest.fixture
def scenario(tmp_path):
    return partial(written, tmp_path)


@pytest.fixture(scope="module")
def best(tmp_path_factory):
    """The scenario as it stands, and its run."""
    chosen = written(tmp_path_factory.mktemp("best"))
    with pytest.MonkeyPatch.context() as patch:
        quickly(patch.setattr)
        yield chosen, run(chosen)


def mean_square(model, frame):
    return float(np.mean((frame["y"] - model.predict(frame)) ** 2))


def test_the_least_total_error_is_chosen_and_its_model_predicts(best, tmp_path):
    _, result = best
    made = result.content["features"]
    rows = {one["kind"]: one for one in made["kinds"]}
    assert made["kind"] == made["own"] == "splines" and made["best"]
    assert rows["splines"]["total"] < 0.5 * rows["linear"]["total"]
    for one in made["kinds"]:
        parts = ("unexplained", "misses", "records", "noise", "clipping")
        assert one["total"] == pytest.approx(sum(one[part] for part in parts))
        assert one["total"] < one["own_error"] + 4 * one["own_standard_error"]
    assert rows["splines"]["own_wrong"] is None
    fresh = table(seed=99)
    model = TrainedModel(result.model)
    assert mean_square(model, fresh) < 0.14 < 0.4 < fresh["y"].var()
    assert mean_square(model.to_sklearn(), fresh) == pytest.approx(mean_square(model, fresh))
    file = tmp_path / "model.json"
    file.write_text(to_json(model.made), encoding="utf-8")
    again = TrainedModel.read(file)
    assert again.predict(fresh).tolist() == model.predict(fresh).tolist()
    with pytest.raises(AttributeError, match="splines, bins, products or a kernel"):
        _ = again.coef_


def test_a_seed_gives_the_same_choice_and_the_same_numbers(scenario, best):
    again = run(scenario(), training=False).content
    assert json.dumps(again["features"]) == json.dumps(best[1].content["features"])


def test_private_cells_choose_nothing(scenario, best):
    made = best[1].content["features"]
    division = market_data(scenario("learning.features=linear")).division
    frame = table()
    private = np.concatenate([*division.owners.values(), division.holdout])
    frame.loc[private, ["x", "z", "y"]] = np.random.default_rng(5).uniform(
        -9, 90, (len(private), 3)
    )
    moved = market_data(scenario(frame=frame))
    assert moved.features.kind == made["kind"]
    totals = [one["total"] for one in made["kinds"]]
    assert [one.total for one in moved.features.forecasts] == totals


def test_gains_are_counted_over_the_learners_best_kind(scenario):
    straw = run(scenario("learning.features=linear"))
    made = straw.content
    assert made["features"] | {"kinds": 0} == {
        "kind": "linear",
        "best": False,
        "own": "splines",
        "kinds": 0,
    }
    outside = made["outside_option"]
    assert outside["relative_fitness"] < -0.5 and outside["measured"] < -0.5
    assert outside["measured"] == pytest.approx(outside["relative_fitness"], abs=0.1)
    assert outside["interval"][0] <= outside["relative_fitness"] <= outside["interval"][1]
    held = made["validation"]["holdout"]
    assert held["mse_outside"] < 0.5 * held["mse_nonprivate"]
    # nobody is asked, and what is handed over is the learner's own model of the better kind
    assert held["mse_trained"] == held["mse_outside"]
    assert mean_square(TrainedModel(straw.model), table(seed=98)) == pytest.approx(
        held["mse_outside"], rel=0.1
    )
    assert made["validation"]["money"]["learner_surplus"]["mean"] == pytest.approx(0.0)


def test_the_same_kind_without_a_better_one_has_no_alternative(scenario):
    data = market_data(scenario("learning.features=splines"))
    assert data.alternative is None and data.public.other_kind is None


def test_labels_are_told_apart_by_kinds_too(scenario):
    frame = table(labels=True)
    result = run(
        scenario(frame=frame, learning='loss = "logistic"\nregularisation = 0.001'), training=False
    )
    made = result.content["features"]
    rows = {one["kind"]: one for one in made["kinds"]}
    assert made["kind"] in ("splines", "splines_and_products")
    assert rows["splines"]["own_wrong"] < rows["linear"]["own_wrong"] - 0.05
    assert rows["splines"]["total"] < rows["linear"]["total"]


@pytest.mark.parametrize(
    ("changes", "learning", "said"),
    [
        (("data.public_rows=0",), "", "learning.features|public_rows: must be above 0"),
        (("learning.features=spline",), "", "learning.features"),
        (("learning.frequencies=9",), "", 'learning.frequencies: needs features = "kernel"'),
        (("learning.bandwidth=1.0",), "", 'learning.bandwidth: needs features = "kernel"'),
        (
            ("learning.features=kernel", "learning.frequencies=60", "learning.bandwidth=0.2"),
            "",
            "data.public_rows: must be 5 per",
        ),
        ((), 'loss = "network"\nhidden = 3\nregularisation = 0.01', "learning.features: needs"),
        (("data.public_rows=60", "learning.features=bins"), "", "data.public_rows: must be 5 per"),
    ],
)
def test_what_does_not_go_is_refused_in_one_line(scenario, changes, learning, said):
    frame = table(labels="network" in learning)
    with pytest.raises(InputError, match=said) as error:
        market_data(scenario(*changes, frame=frame, learning=learning))
    assert "\n" not in str(error.value)


def test_check_and_report_tell_of_it(best, capsys, tmp_path):
    chosen, result = best
    print_check(chosen, check_scenario(chosen), 1.0)
    assert "features: splines, with the" in capsys.readouterr().out
    save_result(result, tmp_path / "out", write_report)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "kinds of features" in page and "splines (chosen)" in page


def wave(rows=5000, seed=1):
    """A table whose target waves across two columns at once, which no piece of one column tells."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, rows))
    y = np.sin(1.5 * (x + z)) + rng.normal(0, 0.2, rows)
    return pd.DataFrame({"x": x, "z": z, "y": y})


def test_a_kernel_is_bought_where_no_other_kind_tells_the_target(tmp_path):
    changes = ("learning.features=kernel", "learning.bandwidth=1.2", "data.public_rows=400")
    result = run(written(tmp_path, *changes, frame=wave()))
    made = result.content["features"]
    rows = {one["kind"]: one for one in made["kinds"]}
    assert made["kind"] == made["own"] == "kernel" and not made["best"]
    others = [one["own_error"] for kind, one in rows.items() if kind != "kernel"]
    assert rows["kernel"]["own_error"] < 0.5 * min(others)
    fresh = wave(seed=99)
    model = TrainedModel(result.model)
    held = result.content["validation"]["holdout"]
    assert held["mse_trained"] < held["mse_outside"]
    assert mean_square(model, fresh) == pytest.approx(held["mse_trained"], rel=0.15)
    file = tmp_path / "model.json"
    file.write_text(to_json(model.made), encoding="utf-8")
    again = TrainedModel.read(file)
    assert again.predict(fresh).tolist() == model.predict(fresh).tolist()
    assert mean_square(model.to_sklearn(), fresh) == pytest.approx(mean_square(model, fresh))
    with pytest.raises(AttributeError, match="a kernel has no coefficients"):
        _ = again.coef_


COST = "learner.value={per='cost', false_alarm=5.0, miss=1.0, cases=100}"
LABELS = 'loss = "logistic"\nregularisation = 0.001'


def predict_own(result, data, frame):
    """Scores (n,) of the learner's own model of another kind, by its description as a file."""
    own = data.alternative.own
    handed = result.model
    model = replace(handed.model, encoder=own.encoder, theta=own.theta)
    return TrainedModel(replace(handed, model=model)).decision_function(frame).to_numpy()


@pytest.mark.parametrize(
    ("labels", "kind", "holdout"),
    [
        (False, "linear", True),
        pytest.param(False, "linear", False, marks=pytest.mark.deep),
        (False, "bins", True),
        pytest.param(True, "linear", True, marks=pytest.mark.deep),
        (True, "linear", False),
    ],
)
def test_errors_of_the_learners_other_kind_follow_from_the_rows(scenario, labels, kind, holdout):
    frame = table(labels=labels)
    changes = [f"learning.features={kind}"]
    if not holdout:
        changes.append("data.holdout=0.0")
    chosen = scenario(*changes, frame=frame, learning=LABELS if labels else "")
    result = run(chosen)
    data = prepare(chosen).data
    measured = result.content["errors"]["measured"]
    rows = data.division.holdout if holdout else np.concatenate([*data.division.owners.values()])
    said = predict_own(result, data, frame.iloc[rows])
    shown = frame["y"].iloc[rows]
    if labels:
        expected = np.mean((said >= 0) != (shown == "yes"))
    else:
        target = data.encoder.target
        expected = np.sqrt(np.mean((said - shown.clip(target.low, target.high)) ** 2))
    assert measured["on"] == ("held_out" if holdout else "owners")
    assert measured["rows"] == len(rows)
    assert measured["outside"] == pytest.approx(expected, rel=1e-6)
    if kind == "linear":  # nobody is asked, and the learner keeps its own model
        assert measured["handed_over"] == measured["outside"]
        assert measured["trained"]["mean"] == pytest.approx(measured["outside"], rel=1e-12)
        handed = TrainedModel(result.model).decision_function(frame.iloc[rows])
        np.testing.assert_allclose(handed, said)


@pytest.mark.parametrize("worth", [(COST,), ()])
def test_where_decisions_count_the_learners_own_model_is_of_its_best_kind(scenario, worth):
    chosen = scenario("learning.features=linear", *worth, frame=table(labels=True), learning=LABELS)
    made = run(chosen).content
    forecast = made["errors"]["forecast"]
    measured = made["errors"]["measured"]
    assert made["features"]["own"] != "linear"
    assert prepare(chosen).data.alternative is not None
    assert measured["outside"] < 0.75 * measured["best_of_kind"]
    low, high = forecast["outside_interval"]
    assert high < measured["best_of_kind"] and low < forecast["outside"] < high
    share = measured["outside"]
    chance = 0 if worth else 2 * np.sqrt(share * (1 - share) / measured["rows"])  # of few rows
    assert low - chance < share < high
    if worth:
        terms = made["validation"]["holdout"]["terms"]
        assert terms["outside"] == measured["outside"]
        assert terms["trained"] == terms["outside"]  # no purchase of the linear kind pays
