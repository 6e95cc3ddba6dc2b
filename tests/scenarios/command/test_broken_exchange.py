"""Files of an exchange damaged in every way, under each command that reads them: one line, and no file half written."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from broken import check_refusal, end_of, examples, folder
from damage import damages
from exchanges import small_contract, table
from hypothesis import given
from hypothesis import strategies as st
from settlements import played

__all__ = ["folder"]
OWN = ["--owner", "Alpha", "--data", "x/own.csv", "--ledger", "x/alpha.ledger"]
COMMANDS = [
    ["contract", "show", "x/contract.json"],
    [
        "accept",
        "x/contract.json",
        "--owner",
        "Alpha",
        "--data",
        "x/own.csv",
        "--ledger",
        "x/new.ledger",
    ],
    ["answer", "x/contract.json", "x", *OWN, "--dry-run"],
    ["answer", "x/contract.json", "x/round-001.query.json", *OWN, "--out", "x/mine.json"],
    ["answer", "x/contract.json", "x", *OWN],
    ["collect", "x/contract.json", "x"],
    ["collect", "x/contract.json", "--out", "x"],
    ["settle", "x/contract.json", "x"],
    ["withdraw", "x/contract.json", "x", "--owner", "Alpha"],
    ["settle", "x/contract.json", "--public", "x/own.csv"],
    ["settle", "x/contract.json", "x", "--statement", "x/alpha.statement.json", "--unfinished"],
    [
        "state",
        "x/contract.json",
        "--owner",
        "Alpha",
        "--ledger",
        "x/alpha.ledger",
        "--out",
        "x/s.json",
    ],
]


@pytest.fixture(scope="module")
def exchanged(folder):
    """A whole exchange with an owner's table, ledger, answer and statement, and the same without its last files."""
    contract = small_contract(2)
    played(Path("x"), contract)
    Path("x/own.csv").write_text(table(contract, "Alpha"))
    assert end_of(["accept", "x/contract.json", *OWN])[0] == 0
    assert (
        end_of(
            ["answer", "x/contract.json", "x/round-001.query.json", *OWN, "--out", "x/alpha.json"]
        )[0]
        == 0
    )
    statement = [
        "--owner",
        "Alpha",
        "--ledger",
        "x/alpha.ledger",
        "--out",
        "x/alpha.statement.json",
    ]
    assert end_of(["state", "x/contract.json", *statement])[0] == 0
    shutil.copytree("x", "whole")
    shutil.copytree("x", "open")
    for name in ("model.json", "closing.json"):
        Path("open", name).unlink()
    return folder


@pytest.mark.slow
@examples("exchanges")
@given(data=st.data())
def test_damaged_files_of_an_exchange(exchanged, data):
    shutil.rmtree("x", ignore_errors=True)
    shutil.copytree(data.draw(st.sampled_from(["whole", "open"])), "x")
    names = sorted(
        path.name
        for path in Path("x").iterdir()
        if path.is_file() and path.suffix in (".json", ".csv")
    )
    data.draw(damages(Path("x"), [*names, "alpha.ledger", "contract.json", "contract.json"]))
    status = check_refusal(data.draw(st.sampled_from(COMMANDS)), exchanged)
    assert not list(Path("x").glob(".*.part")) and status in (0, 2, 3, 4)
