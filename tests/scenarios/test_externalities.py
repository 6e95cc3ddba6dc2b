"""Owners with something in common from a scenario file to the page."""

from __future__ import annotations

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
from scenarios.studies.design import design_scenario

__all__ = ["quick_module"]  # a fixture of every test
pytestmark = pytest.mark.designed  # as the fixtures of this module

HALF = "externalities.correlation=0.5"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return lay(tmp_path_factory.mktemp("common"), 110)


@pytest.fixture(scope="module")
def common(path):
    return run(load(path, [HALF]))


def test_what_owners_have_in_common_is_counted_once(common):
    part = common["externalities"]
    owners = common["owners"]
    welfare = common["welfare"]
    for owner, row, left in zip(
        owners, part["owners"], common["validation"]["money"]["owners"], strict=True
    ):
        own = owner["payment"] + owner["benefit"] - owner["privacy_cost"] - owner["tax"]
        assert (
            owner["surplus"]
            == pytest.approx(own - owner["spillover"], rel=1e-12)
            == left["surplus"]
        )
        assert owner["privacy_cost"] == pytest.approx(
            owner["epsilon"] - row["spared"]
        )  # at a price of 1
        assert (
            owner["outside_option"] == -owner["spillover"] == -row["spillover"] < 0
            and owner["rational"]
        )
        assert 0 < row["told_by_others"] < row["told"] < 1
    assert (
        welfare["total"] == pytest.approx(welfare["owners"] + welfare["learner"])
        and welfare["optimum"] is None
    )
    assert common["learner"]["payments"] == pytest.approx(sum(owner["payment"] for owner in owners))
    assert common["equilibrium"]["converged"] and part["apart"]["total"] > welfare["total"]
    (fact,) = (one for one in common["warnings"] if one["cause"] == "told_by_others")
    assert fact["part"] == max(row["told_by_others"] for row in part["owners"])


def test_what_owners_have_in_common_on_page_and_console(common):
    assert not differing("result.json", common.content)[0]  # the reference tells of every field
    page = render(common.content, {}, "")
    lines = "\n".join(summary_lines(common.content))
    for words in (
        "data are correlated",
        "Without correlation",
        "privacy claim covers this",
    ):
        assert words in page and words in lines
    assert "What others&#39; sales reveal" in page or "What others' sales reveal" in page


@pytest.mark.slow
def test_a_correlation_of_nothing_changes_no_number(path):
    alone, none = (
        run(load(path, changes), training=False)
        for changes in ([], ["externalities.correlation=0.0"])
    )
    assert [owner | {"spillover": 0.0} for owner in alone["owners"]] == none["owners"]
    assert alone["learner"] == none["learner"] and alone["warnings"] == none["warnings"]
    assert alone["externalities"] is None and "in common" not in render(alone.content, {}, "")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["externalities.noise=1.0"], "externalities.correlation: is required"),
        (
            ["externalities.corelation=1.0"],
            'externalities.corelation: is not a known key; .* Did you mean "correlation"',
        ),
        (
            ["externalities.correlation=[[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]]"],
            "externalities.correlation: must be a number",
        ),
        (
            [HALF, "policy={kind='shapley', share=0.1}"],
            'policy.kind: must be one under .* with .externalities.*found "shapley"',
        ),
        (
            [HALF, "unions=[{name='N', members=['owner 1']}]"],
            "unions: must be left out in a scenario with .externalities.",
        ),
        (
            [HALF, "learners=[{name='R', value=1.0}]"],
            "learners: must be left out in a scenario with .externalities.",
        ),
    ],
)
def test_what_cannot_be_in_common(path, changes, message):
    with pytest.raises(InputError, match=message):
        check_scenario(load(path, changes))
    with pytest.raises(
        InputError, match="externalities: must be left out of a search for a policy"
    ):
        design_scenario(load(path, [HALF]))


def test_a_scenario_with_externalities_is_written_and_read_again(path):
    made = load(
        path, ["externalities.correlation=[[1.0, 0.5], [0.5, 1.0]]", "externalities.share=0.5"]
    )
    again = path.with_name("again.toml")
    again.write_text(made.to_toml())
    assert load(again).externalities == made.externalities
