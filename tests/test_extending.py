"""Add your own: each kind of plug-in in at most twelve lines of docs/reference/extending.md, run to a report that names it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import INSURERS
from extending import BLOCKS, ENTERED, EqualSplit, HeavyBall, enter
from markets import market

from agents import DataMarket
from market.costs import Quadratic
from market.policies import Posted
from scenarios.reference.keys import key_lines
from scenarios.reference.results import field_lines
from scenarios.schema.scenario import scenario_model

LEARNING = """[learning]
loss = "smooth_hinge"
regularisation = 0.05
horizon = 5
step_size = 1.0
"""
NAMED = {  # what a scenario file or the command says -> what the report must say
    "root": (
        ["policy={kind='root', rate=24.0}"],
        "The learner pays each owner 24 times the root of its ε.",
    ),
    "cubic": (["owners.cost={kind='cubic', price=[3.0, 4.0]}"], "per unit of a third of ε cubed"),
    "logistic": (
        ["learning.mechanism=logistic"],
        "Logistic noise, whose budget is split evenly over all answers",
    ),
    "heavy_ball": (
        ["learning.algorithm=heavy_ball", "learning.regularisation=0.01"],
        HeavyBall.says,
    ),
}


def count_lines(block):
    return len([line for line in block.splitlines() if line.strip()])


def test_seven_plug_ins_of_twelve_lines_and_a_feature_of_twenty_five_at_most():
    *plug_ins, feature = BLOCKS
    assert len(BLOCKS) == len(ENTERED) == 8
    assert max(map(count_lines, plug_ins)) <= 12
    assert count_lines(feature) <= 25


def test_a_market_feature_reaches_terminal_report_result_and_reference(
    monkeypatch, dpmarket, tmp_path
):
    enter(monkeypatch, "embargo")
    embargo = '[embargo]\nowners = ["owner 1"]\n'
    (tmp_path / "mine.toml").write_text(INSURERS + embargo)
    assert dpmarket("check", "mine.toml")[0] == 0
    status, printed, errors = dpmarket("run", "mine.toml", "--no-train", "--out", "out")
    assert status == 0, errors
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    sold = [owner["epsilon"] for owner in result["owners"]]
    assert sold[0] == 0 and sold[1] > 0
    records = result["owners"][0]["records"]
    assert result["embargo"] == {"records": records}
    said = f"{records:,} records are under an embargo."
    assert said in printed and said in (tmp_path / "out" / "report.html").read_text()
    assert 'owners = ["owner 1"]' in (tmp_path / "out" / "scenario.toml").read_text()
    assert any("who may sell nothing" in line for line in key_lines(scenario_model()))
    assert any("Records of the owners under" in line for line in field_lines("result.json"))
    status, _, errors = dpmarket("check", "mine.toml", "--set", "time.periods=2")
    assert (
        status == 2
        and "time: must be left out in a scenario with [embargo], whose periods" in errors
    )
    status, _, errors = dpmarket("check", "mine.toml", "--set", 'embargo.owner="a"')
    assert (
        status == 2
        and 'embargo.owner: is not a known key; found "owner". Did you mean "owners"?' in errors
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_named_in_a_scenario_it_runs_to_a_report_that_names_it(
    monkeypatch, dpmarket, tmp_path, name
):
    overrides, words = NAMED[name]
    enter(monkeypatch, name)
    (tmp_path / "mine.toml").write_text(
        INSURERS.replace("[owners]", "[learning]\nhorizon = 3\n[owners]")
    )
    settings = [part for override in overrides for part in ("--set", override)]
    status, _, errors = dpmarket("run", "mine.toml", "--out", "out", *settings)
    assert status == 0, errors
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["validation"]["runs"] == 5 and result["equilibrium"]["converged"]
    assert words in " ".join((tmp_path / "out" / "report.html").read_text().split())


@pytest.mark.slow
def test_a_loss_is_trained_on_labels(monkeypatch, dpmarket, tmp_path):
    enter(monkeypatch, "smooth_hinge")
    labels = INSURERS.replace('target = "mdvis"', 'target = "hlthp"').replace(
        "[data.bounds]\nmdvis = [0, 20]\n", ""
    )
    (tmp_path / "mine.toml").write_text(labels.replace("[owners]", LEARNING + "[owners]"))
    status, _, errors = dpmarket("run", "mine.toml", "--set", "market.starts=1", "--out", "out")
    assert status == 0, errors
    assert "mean smoothed hinge loss" in (tmp_path / "out" / "report.html").read_text()


def test_a_behaviour_settles_a_market(monkeypatch):
    enter(monkeypatch, "gradual")
    model = DataMarket(market(Quadratic([1.0, 2.0]), Posted(6.0), 2), rng=1, behaviour="gradual")
    assert np.allclose(model.run().epsilon, [6.0, 3.0], atol=1e-6)


def test_a_way_to_buy_is_a_row_of_the_command(monkeypatch, dpmarket):
    enter(monkeypatch, "equal_split")
    status, printed, _ = dpmarket(
        "mechanisms", "--only", "equal_split", "--owners", "10", "--markets", "2"
    )
    assert status == 0 and EqualSplit.title in printed
