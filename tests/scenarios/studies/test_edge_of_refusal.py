"""Owners who sell just enough to be asked: `run`, `compare` and `design` name that edge, and advise none of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import INSURERS
from quick import quick_module
from sizes import sized

from scenarios.schema.loading import load
from scenarios.studies.design import design_scenario
from scenarios.studies.design_part import design_part

__all__ = ["quick_module"]  # a fixture of every test

UNION = '[[unions]]\nname = "All"\nmembers = ["owner 1", "owner 2"]\n'
EDGE = "is on the edge of refusing: it pays 40 for a model forecast to be no better than its own"
pytestmark = [pytest.mark.slow, pytest.mark.designed]


@pytest.fixture
def union(tmp_path):
    """All owners as one seller, paid a budget whatever they sell."""
    file = tmp_path / "union.toml"
    file.write_text(INSURERS + UNION, encoding="utf-8")
    return file


@pytest.fixture
def alone(tmp_path):
    """The same of a single owner, which a search for a policy settles too."""
    file = tmp_path / "alone.toml"
    text = INSURERS.replace("split = [500, 300]", "split = [500]").replace(
        "price = [3.0, 4.0]", "price = [3.0]"
    )
    file.write_text(text, encoding="utf-8")
    return file


def test_a_run_warns_of_it(dpmarket, union):
    status, out, err = dpmarket("run", union, "--no-train", "--out", "r")
    assert (status, err) == (0, "") and EDGE in out and "IT DOES NOT PAY" in out
    content = json.loads(Path("r/result.json").read_text(encoding="utf-8"))
    outside = content["outside_option"]["relative_fitness"]
    assert content["forecast"]["relative_fitness"] == pytest.approx(outside, rel=1e-6)
    (edge,) = [told for told in content["warnings"] if told["cause"] == "edge_of_refusal"]
    assert (edge["payments"], edge["sellers"]) == (pytest.approx(40), 2)
    assert EDGE in Path("r/report.html").read_text(encoding="utf-8")


def test_a_comparison_warns_of_it_and_says_that_buying_does_not_pay(dpmarket, union):
    varied = ("--vary", "policy.kind=marginal", "--set", "market.starts=1")
    status, out, err = dpmarket("compare", union, *varied, "--no-train", "--out", "c")
    assert (status, err) == (0, "") and EDGE in out
    first, other = json.loads(Path("c/comparison.json").read_text(encoding="utf-8"))["alternatives"]
    assert first["edge_of_refusal"] and not first["buying_pays"]
    assert other["edge_of_refusal"] is None and EDGE not in out.replace(EDGE, "", 1)


def test_a_design_never_advises_it(dpmarket, alone, union):
    status, out, err = dpmarket("design", alone, "--policies", "proportional", "--out", "d")
    assert (
        (status, err) == (0, "")
        and "The design recommends no offer" in out
        and not Path("d/chosen.toml").exists()
    )
    content = json.loads(Path("d/design.json").read_text(encoding="utf-8"))
    (row,) = content["policies"]
    assert row["reason"] == "the model is no better than the learner's own" and not content["buys"]
    assert "the model is no better than the learner" in Path("d/report.html").read_text(encoding="utf-8")
    status, out, err = dpmarket("design", union, "--policies", "proportional")
    assert (status, out) == (2, "") and "unions: must be left out" in err and err.count("\n") == 1


@pytest.mark.designed  # another price is best if fewer bounds are tried
def test_a_price_per_bit_is_found_where_it_is_best(tmp_path, monkeypatch):
    """By a price per bit one owner sells a little; by the other units it sells all, or next to nothing.

    What is sold at a posted price does not depend on what the model is worth, so that the gain
    rises with that.
    """
    for module in ("design", "money"):
        monkeypatch.setattr(f"scenarios.studies.{module}.POINTS", sized(5, 9))
    gains = []
    for value in ("100.0", "200.0")[: sized(1, 2)]:
        file = tmp_path / "bits.toml"
        file.write_text(INSURERS.replace("value = 1000.0", f"value = {value}"), encoding="utf-8")
        content = design_part(design_scenario(load(file, ["market.starts=1"]), kinds=["posted"]))
        best, *others = content["policies"]
        assert (
            best["name"] == "posted, per bit"
            and content["chosen"]["scenario"]["policy"]["per"] == "bit"
        )
        assert content["buys"] and content["chosen"]["owners"][1]["epsilon"] == 0
        gains.append(best["gain"])
        if value == "100.0":
            assert best["gain"] > 1 and [row["reason"] for row in others] == ["the learner would gain nothing"] * 2
    assert gains == sorted(gains)
