"""`dpmarket mechanisms --played`: mechanisms by what owners learn to report."""

from __future__ import annotations

import pandas as pd
import pytest

from market.procurement import manipulation

SMALL = (
    "mechanisms",
    "--played",
    "--only",
    "pay_as_bid,posted",
    "--owners",
    "3",
    "--budget",
    "2",
    "--markets",
    "3",
)


@pytest.fixture
def quickly(monkeypatch):
    """Learning and certificates from fewer markets."""
    play = manipulation.play_reporting_game
    monkeypatch.setattr(
        manipulation,
        "play_reporting_game",
        lambda game, **how: play(game, **{**how, "rounds": 3, "searched": 10**4}),
    )


@pytest.mark.slow
def test_it_says_where_lies_pay_and_writes_all_columns(dpmarket, tmp_path, quickly):
    status, printed, errors = dpmarket(*SMALL, "--out", "t.csv")
    assert status == 0 and errors == ""
    posted, paid = (
        next(line for line in printed.splitlines() if line.startswith(name))
        for name in ("posted", "pay_as")
    )
    assert "true" in posted and "!" not in posted and "!" in paid and "%" in paid
    assert "0 would be a Bayes-Nash equilibrium" in " ".join(printed.split())
    table = pd.read_csv(tmp_path / "t.csv").set_index("name")
    assert list(table["manipulable"]) == [False, True] and list(table["honest"]) == [True, False]
    assert table.loc["posted", "spend"] == table.loc["posted", "truth_spend"]
    at = table.loc["pay_as_bid"]
    assert at["truth_surplus"] == pytest.approx(0) and at["surplus"] > 0 and at["loss"] < at["lie"]
    assert at["welfare"] == pytest.approx(at["net_gain"] + at["surplus"])
    assert at["lost"] == pytest.approx(at["truth_welfare"] - at["welfare"])
    first = (tmp_path / "t.csv").read_bytes()
    assert (
        dpmarket(*SMALL, "--out", "t.csv")[1] == printed
        and (tmp_path / "t.csv").read_bytes() == first
    )


def test_too_many_owners_to_learn_are_refused_in_one_line(dpmarket):
    status, printed, errors = dpmarket("mechanisms", "--played", "--owners", "201")
    assert (
        status == 2
        and printed == ""
        and errors == ("dpmarket: --owners: must be at most 200 with --played; found 201.\n")
    )
