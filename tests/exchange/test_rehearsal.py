"""A whole exchange of a scenario, a process for each party, over a folder."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from exchange.folder import owner_slug
from exchange.rehearsal import rehearsal
from exchange.rehearsal.rehearsal import Places, check_place_of
from learning.privacy.ledger_file import LedgerFile
from scenarios.schema.loading import load

CHANGES = ["validation.runs=40", "market.starts=1"]


def call(*arguments, folder):
    """The command as a user calls it."""
    made = [sys.executable, "-m", "scenarios.command.main", *map(str, arguments)]
    return subprocess.run(made, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Two exchanges of three insurers, and what the command printed."""
    folder = tmp_path_factory.mktemp("rehearsal")
    changes = [part for one in CHANGES for part in ("--set", one)]
    made = call(
        "exchange", "three_insurers", "--out", "played", "--repeat", "2", *changes, folder=folder
    )
    assert made.returncode == 0, made.stderr
    return folder / "played", made.stdout


@pytest.mark.exchange
def test_models_are_as_good_as_the_simulation_of_the_same_plan_says(done):
    facts = json.loads((done[0] / "rehearsal.json").read_text())
    first, second = (one["relative_fitness"] for one in facts["exchanges"])
    assert first != second
    assert abs(facts["z_score"]) < 6
    assert f"z = {facts['z_score']:.2f}" in done[1]


@pytest.mark.exchange
def test_every_owner_answered_all_questions_from_a_ledger_of_its_own_and_is_settled_with(done):
    contract = rehearsal.read_contract(done[0] / "contract.json")
    for exchange in (done[0], done[0] / "again" / "02"):
        places = Places(done[0], exchange)
        for name in contract.names:
            (account,) = LedgerFile(places.kept_by(name, "bank.ledger")).accounts
            assert account.answered == contract.rounds
    settlement = json.loads((done[0] / "shared" / "settlement.json").read_text())
    paid = {one["name"]: one["paid"] for one in settlement["owners"]}
    assert paid == pytest.approx({one.name: one.payment for one in contract.owners})


@pytest.mark.exchange
def test_no_value_of_a_record_is_on_the_wire_and_all_that_was_is_kept(done):
    for one in json.loads((done[0] / "rehearsal.json").read_text())["exchanges"]:
        assert one["wire"]["found"] == [] and one["wire"]["values"] > 5_000
        kept = {path.name for path in (done[0] / one["folder"] / "wire").iterdir()}
        assert kept >= {"round-001.query.json", "model.json"}
        opened = sum(
            name.endswith(".answer.json") for name in kept
        )  # read as they are sealed, and opened
        assert opened and one["wire"]["files"] == len(kept) + opened


@pytest.mark.exchange
def test_again_in_the_same_folder_it_spends_nothing_more_and_another_scenario_is_refused(done):
    folder = done[0]
    before = {path: path.read_bytes() for path in sorted(folder.glob("**/shared/round-*"))}
    ledger = folder / "owners" / owner_slug("Cedar Life") / "bank.ledger"
    spent = ledger.read_bytes()
    changes = [part for one in CHANGES for part in ("--set", one)]
    made = call("exchange", "three_insurers", "--out", folder, *changes, folder=folder.parent)
    assert made.returncode == 0, made.stderr
    assert {path: path.read_bytes() for path in sorted(folder.glob("**/shared/round-*"))} == before
    assert ledger.read_bytes() == spent
    other = call("exchange", "three_insurers", "--out", folder, folder=folder.parent)
    assert (
        other.returncode == 2
        and "a rehearsal of this scenario; found another scenario's" in other.stderr
    )


BANKS = """
title = "Banks"
[data]
path = "{table}"
target = "rate"
names = ["North", "South"]
split = [300, 200]
public_rows = 60
order = "as_is"
[learning]
horizon = 2
[owners]
epsilon = [0.1, 3.0]
[owners.cost]
kind = "quadratic"
price = [300.0, 400.0]
[policy]
kind = "posted"
price = 400.0
[learner]
value = 100000.0
[market]
starts = 1
"""


def loans(rng, n):
    income = rng.lognormal(10, 0.4, n).round()
    home = rng.choice(["rent", "own"], n)
    rate = 9 - np.log(income / 20_000) + (home == "rent") + rng.normal(size=n)
    return pd.DataFrame({"income": income, "home": home, "rate": rate.round(2)})


def test_a_contract_needs_no_record_of_an_owner_but_their_number(tmp_path):
    rng = np.random.default_rng(1)
    made = []
    own = loans(rng, 60)
    scenario = tmp_path / "banks.toml"
    scenario.write_text(BANKS.format(table=(table := tmp_path / "table.csv")))
    for records in (loans(rng, 500), own.sample(500, replace=True, random_state=1)):
        pd.concat([records, own]).to_csv(table, index=False)
        made.append(contract_of_run(scenario, tmp_path / f"market {len(made)}"))
    assert made[0] == made[1]


def contract_of_run(scenario: Path, folder: Path) -> bytes:
    """The bytes of the contract that a scenario's market comes to."""
    from exchange.learner.agreed import contract_from_result
    from scenarios.result import save_result
    from scenarios.runner import run

    save_result(run(load(scenario), training=False), folder, lambda where: None)
    return contract_from_result(folder).raw


def test_a_folder_of_other_things_is_refused_before_anything_is_run(tmp_path):
    check_place_of(tmp_path)
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ValueError, match="must be a new folder"):
        check_place_of(tmp_path)
