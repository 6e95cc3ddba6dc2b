"""Games from a file that needs no table: where they settle, what leads there, what is written, what is refused."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from commands import call
from quick import quick_module
from told import differing

from learning.errors import InputError
from scenarios.games.settling import game_of, settle_game, starts_of
from scenarios.report.game_page import FILES, draw_game, load_game, save_game
from scenarios.report.phrases import render_lines, render_phrase
from scenarios.schema.game import read_game
from scenarios.schema.loading import is_game_file, library_games, load

__all__ = ["quick_module"]  # a fixture of every test

QUICK = ["market.starts=[0.05, [0.5, 1.5, 3.0, 4.5]]", "market.search=2"]
SHORT = [
    "policy.kind=thesis_utility",
    "owners.names=['A', 'B', 'C']",
    "owners.records=10000",
    "owners.epsilon=[0.001, 2.4]",
]


TWO = [
    "policy.kind=thesis_utility",
    "owners.names=['A', 'B']",
    "owners.records=10000",
    "owners.epsilon=[0.001, 3.7]",
]
TWO += ["market.starts=[0.05, [0.5, 3.0]]", "market.search=2"]


@pytest.fixture(scope="module")
def utility():
    return settle_game(read_game("thesis_game", TWO))


@pytest.mark.parametrize("name", library_games())
def test_a_game_of_the_library_is_whole(name):
    assert is_game_file(name) and not is_game_file("three_insurers")
    file = read_game(name)
    assert read_game(name).to_toml() == file.to_toml() and len(starts_of(file, game_of(file))) >= 3


def test_the_contest_of_two_hospitals_is_that_solved_by_hand():
    found = settle_game(read_game("two_hospitals", ["market.search=1"])).content
    (only,) = found["equilibria"]
    assert np.allclose(only["epsilon"], [8 / 3, 4 / 3]) and np.allclose(only["payment"], [8, 4])
    assert (
        only["starts"] == [1, 2, 3]
        and only["stable"]
        and found["turns"] == []
        and not found["trained"]
    )
    assert [owner["name"] for owner in found["owners"]] == ["A", "B"]


@pytest.mark.parametrize(("leakage", "settled"), [("paid", 5.0), ("lost", 0.233882)])
def test_the_game_of_section_4_2_is_a_file(leakage, settled):
    """As printed everybody sells the most; where leakage is lost, the root of its slope."""
    file = read_game("thesis_loss_game", [f"policy.leakage={leakage}", "market.search=1"])
    found = settle_game(file).content
    (only,) = found["equilibria"]
    assert np.allclose(only["epsilon"], settled, rtol=1e-5) and only["starts"] == [1, 2, 3]


def test_every_equilibrium_is_told_with_the_starts_that_lead_there(utility):
    low, high = utility.content["equilibria"]
    assert low["at_lowest"] and low["starts"] == [1] and high["starts"] == [2]
    game = game_of(read_game("thesis_game", TWO))
    assert (
        np.allclose(game.best_responses(np.array(high["epsilon"])), high["epsilon"])
        and high["epsilon"][0] > 1
    )
    assert high["max_relative_regret"] <= 1e-8
    (turn,) = utility.content["turns"]
    assert (
        turn["between"] == [1, 2]
        and turn["equilibrium"] is None
        and 0.05 < turn["epsilon"][0] < 0.5
    )
    assert render_phrase("game", "answer", utility.content).startswith(
        "2 equilibria were found: 1 start leads to ε = 0.001 each; 1 start leads to"
    )
    assert (
        "where best responses jump: from below, play ends in 1; from above, in 2"
        in render_lines("game", "turns", utility.content)[0]
    )


def test_paths_and_curves_are_those_of_the_game(utility):
    """Each path begins at its start and ends in its equilibrium; at an equilibrium no curve is above the surplus."""
    paths, curves, owners = map(
        pd.DataFrame, (utility.trajectory, utility.payoff_curves, utility.owners)
    )
    for number, start in enumerate(utility.content["starts"], 1):
        path = (
            paths[paths["start"] == number]
            .pivot(index="round", columns="owner", values="epsilon")
            .to_numpy()
        )
        assert np.array_equal(path[0], start["epsilon"]) and len(path) == start["rounds"] + 1
        assert np.allclose(
            path[-1], utility.content["equilibria"][start["equilibrium"] - 1]["epsilon"], atol=1e-6
        )
    best = curves.groupby(["equilibrium", "owner"])["payoff"].max()
    settled = owners.set_index(["equilibrium", "owner"])["surplus"]
    assert np.allclose(best, settled.loc[best.index], rtol=1e-9)
    assert np.allclose(owners["payment"] - owners["privacy_cost"], owners["surplus"])


@pytest.mark.slow
def test_an_equilibrium_that_no_play_rests_in_is_told_as_such():
    found = settle_game(
        read_game("thesis_game", [*SHORT, "market.starts=[0.2, 0.5]", "market.search=2"])
    ).content
    assert [one["stable"] for one in found["equilibria"]] == [True, False, True]
    assert found["equilibria"][1]["starts"] == [] and found["turns"][0]["equilibrium"] == 2
    assert "no start leads to ε = 0.2862 each (unstable: play moves away from it)" in render_phrase(
        "game", "answer", found
    )


def test_the_folder_is_drawn_again_to_the_same_bytes(utility, tmp_path):
    save_game(utility, tmp_path / "out")
    there = {name: (tmp_path / "out" / name).read_bytes() for name in FILES}
    content = load_game(tmp_path / "out")
    assert content == json.loads(json.dumps(utility.content)) and differing(
        "game.json", content
    ) == (
        set(),
        set(),
    )
    draw_game(tmp_path / "out", content)
    assert {name: (tmp_path / "out" / name).read_bytes() for name in FILES} == there
    page = there["report.html"].decode()
    assert "No model is trained, no noise is drawn" in page and page.count("<svg") == 2


@pytest.mark.slow
def test_the_command_settles_checks_and_draws_a_game(capsys, monkeypatch, tmp_path):
    def typed(*arguments):
        return call(*arguments, capsys=capsys, monkeypatch=monkeypatch)

    out = tmp_path / "out"
    changes = [part for change in QUICK for part in ("--set", change)]
    status, said, _ = typed("run", "thesis_game", *changes, "--out", out, "--strict")
    assert (
        status == 0
        and "One equilibrium was found, and every start leads to it: epsilon = 2.509 each." in said
    )
    assert (
        typed(
            "run", "thesis_game", *changes, "--set", "market.max_rounds=1", "--out", out, "--strict"
        )[0]
        == 3
    )
    assert typed("report", out)[:2] == (0, f"{out}/report.html\n")
    assert typed("check", "thesis_game")[1].startswith(
        "Four owners in the thesis's game: good. 4 owners play from 6 starts"
    )
    status, said, errors = typed("check", "thesis_game", "--set", "owners.epsilon=[5, 1]")
    assert (
        status == 2
        and errors.count("\n") == 1
        and "is reversed" in errors
        and errors.count("--set") == 1
    )


@pytest.mark.parametrize(
    "command",
    [["forecast", "--epsilon", "1"], ["design"], ["audit"], ["compare", "three_insurers"]],
)
def test_a_command_that_needs_records_refuses_a_game_in_one_line(
    command, capsys, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    status, _, errors = call(
        command[0], "thesis_game", *command[1:], capsys=capsys, monkeypatch=monkeypatch
    )
    assert status == 2 and errors.count("\n") == 1
    assert errors.endswith("must be a market with records, under [data], for this command; found a game without a table. "
                           "Use dpmarket run.\n")  # fmt: skip


def test_a_scenario_file_that_lacks_its_data_is_none(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text("[owners]\nepsilon = [0.1, 1.0]\n", encoding="utf-8")
    assert not is_game_file(file)
    with pytest.raises(InputError, match="data: is required"):
        load(file)
    file.write_text("[data]\n[owners]\nrecords = [1, 2]\nepsilon = [0.1, 1.0]\n", encoding="utf-8")
    assert not is_game_file(file)


def test_a_start_that_leads_nowhere_is_told_and_fails_a_strict_run(capsys, monkeypatch, tmp_path):
    settled = f"market.starts=[[{8 / 3!r}, {4 / 3!r}], 9.0]"
    changes = [
        "--set",
        settled,
        "--set",
        "market.max_rounds=1",
        "--set",
        "market.search=1",
        "--out",
        tmp_path / "out",
    ]
    status, said, _ = call(
        "run", "two_hospitals", *changes, "--strict", capsys=capsys, monkeypatch=monkeypatch
    )
    assert (
        status == 3
        and "1 of 2 starts lead to it" in said
        and "From start 2 play led to no equilibrium." in said
    )


def test_equal_starts_that_lead_nowhere_are_told_by_their_own_numbers():
    lost = {"epsilon": [1.0], "ended": "cycle", "equilibrium": None, "rounds": 9}
    said = render_phrase("game", "unsettled", {"starts": [lost | {"equilibrium": 1}, lost, lost]})
    assert said == "From starts 2 and 3 play led to no equilibrium."


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "policy.kind=marginal",
            "policy.kind: must not depend on a model, because without a table none can be forecast",
        ),
        (
            "market.starts=[9.0]",
            'market.starts: must lie in the owners\' intervals; found 9 for "A" in place 1',
        ),
        (
            "market.starts=[[1.0, 2.0]]",
            "market.starts: must have one entry per owner, 4; found 2 entries.",
        ),
        (
            "market.starts=2",
            "market.starts: must be a list of starts; found 2. Each is one epsilon",
        ),
        (
            "owners.record=5",
            'owners.record: is not a known key; found "record". Did you mean "records"?',
        ),
        (
            "policy.vales=5",
            'policy.vales: is not a known key; found "vales". Did you mean "values"?',
        ),
        (
            "owners.cost.kind=linear",
            "owners.cost.price: is required; found nothing. Give the money per unit of epsilon.",
        ),
        ("market=3", "market: must be a table, [market]; found 3."),
        (
            "owners.names=['A', 'B']",
            "owners.records: must have one entry per owner, 2; found 4 entries.",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(change, said):
    with pytest.raises(InputError) as error:
        read_game("thesis_game", [change])
    assert said in str(error.value) and "\n" not in str(error.value)


def test_budgets_that_privacy_costs_too_much_at_are_refused():
    changes = ["owners.epsilon=[0.1, 600.0]", "market.starts=[1.0]"]
    with pytest.raises(InputError, match="owners.cost: must be at most 1e"):
        game_of(read_game("thesis_game", changes))


def test_prices_by_the_owners_names_are_told_like_a_list(dpmarket, tmp_path):
    """The report says what sharing costs in words, however the file gives one price per owner."""
    assert dpmarket("run", "two_hospitals", "--out", "out")[0] == 0
    report = (tmp_path / "out" / "report.html").read_text()
    assert (
        "Privacy costs an owner 1 to 2 (each owner its own) per unit" in report
        and "{" not in report.split("</style>")[-1]
    )
