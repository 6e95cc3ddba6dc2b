"""Owners who may leave a market, from a scenario file to the page, against a market of those who stay."""

from __future__ import annotations

import numpy as np
import pytest
from commands import lay
from quick import quick_module
from told import differing

from learning.errors import InputError
from scenarios.command.console import summary_lines
from scenarios.planning import prepare
from scenarios.report.page import render
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.settling.game import market_game

__all__ = ["quick_module"]  # a fixture of every test
pytestmark = pytest.mark.designed  # as the fixtures of this module

FREE = "market.participation=free"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Two owners bound to sell at least 2, at costs of 1 and 4, who share 10."""
    changes = {"price = 1.0": "price = [1.0, 4.0]", "epsilon = [0.1, 5.0]": "epsilon = [2.0, 5.0]"}
    return lay(tmp_path_factory.mktemp("leaving"), 110, changes)


@pytest.fixture(scope="module")
def free(path):
    return run(load(path, [FREE]))


@pytest.fixture(scope="module")
def bound(path):
    return run(load(path), training=False)


@pytest.fixture(scope="module")
def alone(path):
    """What the first owner sells where the other sells nothing: the least that makes the learner ask."""
    game = market_game(load(path), *prepare(load(path)))
    return game.best_responses(np.array([2.0, 0.0]), np.array([0]))[0]


@pytest.mark.slow
def test_who_loses_leaves_and_who_stays_settles_anew(bound, free, alone):
    assert [owner["rational"] for owner in bound["owners"]] == [True, False] and bound[
        "participation"
    ] is None
    stays, gone = free["owners"]
    assert (gone["epsilon"], gone["payment"], gone["surplus"], gone["claimed_epsilon"]) == (
        0,
        0,
        0,
        0,
    )
    assert stays["payment"] == pytest.approx(10) and stays["epsilon"] == pytest.approx(
        alone, rel=1e-9
    )
    (left,) = free["participation"]["left"]
    assert left["name"] == gone["name"] and left["by_coming_back"] == pytest.approx(
        10 * 2 / (2 + stays["epsilon"]) - 4 * 2
    )
    assert free["equilibrium"]["converged"] and free["equilibrium"]["max_regret"] == 0
    told = free["participation"]["bound"]
    assert (
        told["owners"] == pytest.approx(bound["welfare"]["owners"])
        and told["total"] < free["welfare"]["total"]
    )
    assert {claim["party"] for claim in free["claims"]} == {stays["name"]}


@pytest.mark.slow
def test_who_has_left_on_page_and_console(free):
    assert not differing("result.json", free.content)[0]  # the reference tells of every field
    page = render(free.content, {}, "")
    lines = "\n".join(summary_lines(free.content))
    for words in (
        "owner 2 has left, and would lose",
        "by coming back",
        "If all owners had to stay",
    ):
        assert words in page and words in lines


@pytest.mark.slow
def test_where_nobody_loses_nobody_leaves(path):
    cheap = ["owners.cost.price=1.0"]
    bound, free = (run(load(path, [*cheap, *changes]), training=False) for changes in ([], [FREE]))
    assert bound["owners"] == free["owners"] and free["participation"]["left"] == []
    assert "nobody does" in render(free.content, {}, "")


@pytest.mark.parametrize(
    "change",
    [
        "unions=[{name='N', members=['owner 1']}]",
        "learners=[{name='R', value=1.0}]",
        "externalities.correlation=0.5",
    ],
)
def test_markets_that_owners_cannot_leave(path, change):
    with pytest.raises(InputError, match=r'market.participation: must be "bound" in a scenario with'):
        load(path, [FREE, change])
