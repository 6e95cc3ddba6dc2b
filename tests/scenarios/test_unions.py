"""Unions from a scenario file to the page: what is kept adds up, what is refused is told in a line."""

from __future__ import annotations

import re

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

NORTH = "[[unions]]\nname = 'North'\nmembers = ['Ann', 'Bob']\n"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Three owners of forty records, at costs of 1, 1.5 and 2."""
    folder = tmp_path_factory.mktemp("unions")
    owners = "[40, 40, 40]\nnames = ['Ann', 'Bob', 'Cy']"
    alone = lay(folder, 150, {"[40, 40]": owners, "price = 1.0": "price = [1.0, 1.5, 2.0]"})
    (folder / "u.toml").write_text(alone.read_text() + NORTH)
    return folder


@pytest.fixture(scope="module")
def united(path):
    return run(load(path / "u.toml"))


def test_what_a_union_divides_adds_up(united):
    (union,), owners = united["unions"], united["owners"]
    assert united["equilibrium"]["converged"] and union["regret"] <= 1e-6
    for owner in owners:
        parts = (
            owner["payment"]
            + owner["benefit"]
            - owner["privacy_cost"]
            - owner["tax"]
            + owner["transfer"]
        )
        assert owner["surplus"] == pytest.approx(parts, rel=1e-12)
    assert (
        sum(owner["transfer"] for owner in owners) == pytest.approx(0, abs=1e-9)
        and owners[2]["transfer"] == 0
    )
    assert [one["surplus"] for one in union["members"]] == pytest.approx([union["surplus"] / 2] * 2)
    assert [one["surplus"] for one in union["members"]] == [
        owner["surplus"] for owner in owners[:2]
    ]
    assert united["welfare"]["owners"] == pytest.approx(sum(owner["surplus"] for owner in owners))
    assert [row["surplus"] for row in united["validation"]["money"]["owners"]] == pytest.approx(
        [owner["surplus"] for owner in owners]
    )
    assert united["privileged"].get("unions") is None


def test_a_union_on_page_and_console(united):
    assert not differing("result.json", united.content)[0]  # the reference tells of every field
    page = render(united.content, {}, "")
    lines = "\n".join(summary_lines(united.content))
    for words in (
        "Ann and Bob choose their privacy budgets together, as union North",
        "in equal parts",
    ):
        assert words in page and words in lines
    euros = united.content | {"scenario": united["scenario"] | {"currency": "EUR"}}
    assert re.search(r"ogether they have \S+\sEUR, ", render(euros, {}, ""))
    assert "Who acts together" in page and "no owner, or union, can gain more than" in lines


@pytest.mark.slow
def test_a_union_of_one_changes_no_number(path):
    alone = "unions=[{name='Ann alone',members=['Ann']}]"
    free, one = (run(load(path / "s.toml", changes), training=False) for changes in ([], [alone]))
    assert {k for k in free.content if free[k] != one[k]} == {
        "scenario",
        "scenario_sha256",
        "owners",
        "unions",
    }
    assert [owner | {"transfer": 0.0} for owner in free["owners"]] == one["owners"]
    assert free["unions"] is None and "Who acts together" not in render(free.content, {}, "")
    assert "unions =" not in free.scenario_toml and one["unions"][0]["stable"] is True


def test_a_scenario_with_unions_is_written_and_read_again(path):
    made = load(path / "u.toml")
    (path / "again.toml").write_text(made.to_toml())
    assert (
        load(path / "again.toml").unions == made.unions == load(path / "s.toml", [NORTH_SET]).unions
    )
    assert load(path / "u.toml", ["unions=[]"]).unions is None


NORTH_SET = "unions=[{name='North', members=['Ann', 'Bob']}]"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "unions=[{name='N', members=['Ann', 'Bo']}]",
            'unions.members: must name owners; found "Bo". Did you mean "Bob"',
        ),
        (
            "unions=[{name='N', membrs=['Ann', 'Bob']}]",
            'unions.1.membrs: is not a known key; .* Did you mean "members"',
        ),
        (
            "unions=[{name='N', members=['Ann'], split='fair'}]",
            'unions.1.split: must be "equal", "by_size" or "shapley"',
        ),
        ("unions=[{members=['Ann', 'Bob']}]", "unions.1.name: is required"),
        (
            "unions=[{name='N', members=['Ann']}, {name='N', members=['Bob']}]",
            "unions.name: must differ",
        ),
        (
            "unions=[{name='N', members=['Ann']}, {name='M', members=['Ann']}]",
            "unions.members: must be in one union",
        ),
        ("unions=7", r"unions: must be a list of tables, each \[\[unions\]\]"),
        ("unions=[7]", "unions.1: must be a table"),
        ("market.activation=random", 'market.activation: must be "sequential" with unions'),
    ],
)
def test_unions_that_cannot_be(path, change, message):
    with pytest.raises(InputError, match=message):
        check_scenario(load(path / "u.toml", [change]))


def test_a_search_for_a_policy_refuses_unions(path):
    with pytest.raises(
        InputError,
        match="unions: must be left out of a search for a policy.* Compare policies instead",
    ):
        design_scenario(load(path / "u.toml"))
