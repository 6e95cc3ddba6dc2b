"""A model that goes to all owners, from a scenario file to the page."""

from __future__ import annotations

import pytest
from commands import SCENARIO, rows
from quick import quickly
from told import differing

from learning.errors import InputError
from scenarios.command.console import summary_lines
from scenarios.report.page import render
from scenarios.runner import run
from scenarios.schema.loading import load

ALL = ["owners.model_goes_to=all", "owners.benefit=[0.0, 100.0]", "owners.cost.price=[1.0, 1000.0]"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("provision")
    (folder / "t.csv").write_text("\n".join(["x,kind,y", *rows(110)]) + "\n")
    text = (
        SCENARIO.replace("{table}", "t.csv")
        .replace("[40, 40]", "[60, 10]")
        .replace("[0.1, 5.0]", "[0.0, 9.0]")
    )
    (folder / "s.toml").write_text(text)
    return folder / "s.toml"


@pytest.fixture(scope="module")
def given(path):
    with pytest.MonkeyPatch.context() as patch:
        quickly(patch.setattr)
        return run(load(path, ALL))


def test_who_sells_nothing_enjoys_the_model(given):
    part, (sells, rides) = given["public_good"], given["owners"]
    assert sells["epsilon"] > 0 == rides["epsilon"] and part["riding"] == ["owner 2"]
    assert rides["surplus"] == rides["benefit"] == rides["outside_option"] > 0 and rides["rational"]
    assert given["validation"]["money"]["owners"][1]["benefit"] > 0
    assert part["best_relative_fitness"] <= given["forecast"]["relative_fitness"]
    assert [row["share"] for row in part["matching"]["owners"]] == [
        2.0,
        1.0,
    ]  # (100 + 100) / 100, and its own left out
    assert part["matching"]["certified"]


def test_a_public_good_on_page_and_console(given):
    assert not differing("result.json", given.content)[0]  # the reference tells of every field
    page = render(given.content, {}, "")
    lines = "\n".join(summary_lines(given.content))
    for words in (
        "The model goes to all owners, owner 2 without contributing anything",
        "If each owner were paid 100",
    ):
        assert words in page and words in lines
    assert "given to it too" in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["owners.model_goes_to=all"], "owners.model_goes_to: needs owners.benefit"),
        (["owners.model_goes_to=everybody"], 'owners.model_goes_to: must be "sellers" or "all"'),
        (
            [*ALL, "externalities.correlation=0.5"],
            r'owners.model_goes_to: must be "sellers" in a scenario with \[externalities\]',
        ),
        (
            [*ALL, "market.participation=free"],
            'owners.model_goes_to: must be "sellers" in a scenario with market.participation',
        ),
    ],
)
def test_what_cannot_be_a_public_good(path, changes, message):
    with pytest.raises(InputError, match=message):
        load(path, changes)
