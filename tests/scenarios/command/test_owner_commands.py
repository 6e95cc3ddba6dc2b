"""`dpmarket accept` and `dpmarket answer`, as an owner types them."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from commands import dpmarket  # noqa: F401
from exchanges import small_contract, table

from exchange.folder import CLOSING, MODEL, answer_name, query_name
from exchange.messages import Closing, Query, read_answer
from learning.canonical import sha256_digest

NAME = "Alpha"
OWN = ("--data", "own.csv", "--owner", NAME, "--ledger", "bank.ledger")


@pytest.fixture
def house(tmp_path, monkeypatch):
    """The owner's folder, with the exchange's in it, where the first question lies."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    contract = small_contract(2, title="Small [exchange]", currency="EUR")
    (tmp_path / "contract.json").write_bytes(contract.raw)
    (tmp_path / "own.csv").write_text(table(contract, NAME))
    (tmp_path / "shared").mkdir()
    ask(contract, tmp_path / "shared", 1)
    return tmp_path, contract


def ask(contract, folder, number, **change):
    told = {}
    if number > 1:
        before = read_answer(folder / answer_name(number - 1, NAME), contract)
        told = {
            "previous": before.query,
            "answers": dict.fromkeys(contract.names, "0" * 64) | {NAME: before.digest},
        }
    query = Query(
        contract.digest, number, **{"point": np.zeros(4), "asked": contract.names} | told | change
    )
    (folder / query_name(number)).write_bytes(query.raw)


def test_from_looking_to_the_last_answer(house, dpmarket):  # noqa: F811
    folder, contract = house
    status, out, err = dpmarket("answer", "contract.json", "shared", *OWN, "--dry-run")
    assert (
        (status, err) == (0, "")
        and "no account yet" in out
        and not (folder / "bank.ledger").exists()
    )
    status, out, err = dpmarket("accept", "contract.json", *OWN)
    assert (status, err) == (0, "") and contract.digest in out and "Small [exchange]" in out
    for said in (
        "40 records",
        "shortened",
        "5.00 EUR for all answers",
        "epsilon = 2 in all answers together",
        "no answer given yet",
    ):
        assert said in out
    status, out, err = dpmarket("answer", "contract.json", "shared", *OWN, "--dry-run")
    assert (
        "This is question 1" in out
        and "2 remains for 2 answers" in out
        and not list(folder.glob("shared/*answer*"))
    )
    status, out, err = dpmarket("answer", "contract.json", "shared", *OWN)
    assert (status, err) == (0, "") and len(out.splitlines()) == 1
    assert "1 of its epsilon of 2 spent, 1 remains for 1 answer" in out
    assert re.search(
        r"Alpha answered question 1 of 2 with 4 numbers and noise of standard deviation [\d.]+", out
    )
    status, out, err = dpmarket("answer", "contract.json", "shared", *OWN)
    assert status == 2 and "is answered once, and Alpha has answered it" in err
    ask(contract, folder / "shared", 2)
    question = f"shared/{query_name(2)}"
    status, out, err = dpmarket("answer", "contract.json", question, *OWN, "--out", "mine.json")
    assert (status, err) == (0, "") and "nothing remains" in out
    assert read_answer(folder / "mine.json", contract).round == 2
    status, out, err = dpmarket("answer", "contract.json", question, *OWN)
    assert status == 0 and "The same answer is again in" in out and "nothing more was spent" in out
    assert (folder / "shared" / answer_name(2, NAME)).read_bytes() == (
        folder / "mine.json"
    ).read_bytes()


def test_follow_answers_and_ends_with_the_model(house, dpmarket):  # noqa: F811
    folder, contract = house
    dpmarket("accept", "contract.json", *OWN)
    dpmarket("answer", "contract.json", "shared", *OWN)
    ask(contract, folder / "shared", 2)
    status, out, err = dpmarket("answer", "contract.json", "shared", *OWN, "--follow")
    assert (
        (status, err) == (0, "")
        and "answered question 2 of 2" in out
        and "last question of the contract" in out
    )
    (folder / "shared" / MODEL).write_text("{}")
    closing = Closing(contract.digest, "0" * 64, {}, sha256_digest(b"{}"))
    (folder / "shared" / CLOSING).write_bytes(closing.raw)
    assert "The model exists" in dpmarket("answer", "contract.json", "shared", *OWN, "--follow")[1]


def test_faults_are_one_line_and_charge_nothing(house, dpmarket):  # noqa: F811
    folder, contract = house
    assert "dpmarket accept makes one" in dpmarket("answer", "contract.json", "shared", *OWN)[2]
    assert dpmarket("accept", "contract.json", *OWN)[0] == 0
    ledger = (folder / "bank.ledger").read_bytes()
    own = (folder / "own.csv").read_text()
    unknown = (
        (folder / "shared" / query_name(1))
        .read_text()
        .replace(' "answers"', ' "also": "your records",\n "answers"')
    )
    (folder / "unknown.json").write_text(unknown)
    other = small_contract(2, title="Other")
    (folder / "other.json").write_bytes(other.raw)
    (folder / "edited.json").write_bytes(contract.raw.replace(b'"radius": 2.0', b'"radius": 2.00'))
    for arguments, said in (
        (("contract.json", "unknown.json", *OWN), "also: is no key that is known"),
        (("other.json", f"shared/{query_name(1)}", *OWN), "holds the account of Alpha"),
        (("other.json", "shared", *OWN), "holds the account of Alpha"),
        (("edited.json", "shared", *OWN), "must be unchanged, byte for byte"),
        (("contract.json", "shared", *OWN[:3], "Eve", *OWN[4:]), "owner"),
        (("contract.json", "nothing.json", *OWN), "No such file"),
        (("contract.json", "shared", *OWN, "--follow", "--dry-run"), "cannot be used with"),
        (
            ("contract.json", f"shared/{query_name(1)}", *OWN, "--follow"),
            "must be the exchange's folder",
        ),
        (("contract.json", str(folder), *OWN), "must hold a question"),
        (("contract.json", "shared", *OWN[:-1], "own.csv"), "must be a whole ledger"),
    ):
        status, out, err = dpmarket("answer", *arguments)
        assert status == 2 and said in err and len(err.splitlines()) == 1, (arguments, out, err)
    for rows, said in (
        (own.splitlines()[:-1], "39 rows"),
        ([*own.splitlines(), own.splitlines()[-1]], "41 rows"),
    ):
        (folder / "own.csv").write_text("\n".join(rows) + "\n")
        status, _, err = dpmarket("answer", "contract.json", "shared", *OWN)
        assert status == 2 and said in err
    assert (folder / "bank.ledger").read_bytes() == ledger and not list(
        folder.glob("shared/*answer*")
    )


@pytest.mark.exchange
def test_two_programs_at_once_give_one_answer(house, dpmarket):  # noqa: F811
    folder, contract = house
    dpmarket("accept", "contract.json", *OWN)
    line = [
        sys.executable,
        "-c",
        "from scenarios.command.main import main; main()",
        "answer",
        "contract.json",
        "shared",
    ]
    programs = [
        subprocess.Popen([*line, *OWN, "--out", f"{i}.json"], stdout=subprocess.PIPE)
        for i in range(2)
    ]
    said = [program.communicate()[0].decode() for program in programs]
    assert [program.returncode for program in programs] == [0, 0], said
    assert (folder / "0.json").read_bytes() == (folder / "1.json").read_bytes()
    assert sum("nothing more was spent" in one for one in said) == 1 and all(
        "1 remains for 1 answer" in one for one in said
    )


def second(*more):
    return ("--data", "own.csv", "--owner", NAME, "--ledger", "second.ledger", *more)


def test_a_second_clerk_with_a_ledger_of_its_own_is_refused_unless_it_says_so(house, dpmarket):  # noqa: F811
    folder, contract = house
    assert dpmarket("accept", "contract.json", *OWN)[0] == 0
    lines = (folder / "own.csv").read_text().splitlines()
    (folder / "own.csv").write_text(
        "\n".join([lines[0], *lines[:0:-1]]) + "\n"
    )  # rows in another order
    status, out, err = dpmarket("accept", "contract.json", *second())
    assert (
        (status, out) == (2, "")
        and len(err.splitlines()) == 1
        and "must hold the only account of these" in err
    )
    assert not list(folder.glob("second.ledger*"))
    status, _, err = dpmarket("answer", "contract.json", "shared", *second("--out", "two.json"))
    assert status == 2 and "must be a ledger" in err and not (folder / "two.json").exists()
    status, _, err = dpmarket("accept", "contract.json", *second("--sold-before"))
    assert (
        status == 2
        and "--max-epsilon: allows at most epsilon = 3 for the same records; found 4" in err
    )
    status, out, _ = dpmarket(
        "accept", "contract.json", *second("--sold-before", "--max-epsilon", "4")
    )
    assert (
        status == 0
        and "adds up" in out
        and "epsilon 4 and delta 0 together" in " ".join(out.split())
    )
    assert dpmarket("answer", "contract.json", "shared", *OWN)[0] == 0
    assert dpmarket("answer", "contract.json", "shared", *second("--out", "two.json"))[0] == 0


def test_the_same_file_under_a_contract_with_other_columns_is_recognised(house, dpmarket):  # noqa: F811
    folder, contract = house
    assert dpmarket("accept", "contract.json", *OWN)[0] == 0
    other = small_contract(
        2, columns={"numbers": contract.columns.numbers.model_dump() | {"high": [90.0, 250.0]}}
    )
    (folder / "other.json").write_bytes(other.raw)
    status, _, err = dpmarket("accept", "other.json", *second())
    assert status == 2 and "must hold the only account" in err


def test_beyond_the_owners_limits_nothing_is_accepted_or_answered(house, dpmarket):  # noqa: F811
    folder, contract = house
    for name, value, said in (
        ("--max-epsilon", "1.5", "allows at most epsilon = 1.5"),
        ("--max-epsilon", "nan", "must be a finite number above 0"),
        ("--max-delta", "-1", "must be a number from 0 to below 1"),
    ):
        status, out, err = dpmarket("accept", "contract.json", *OWN, name, value)
        assert (status, out) == (2, "") and said in err and len(err.splitlines()) == 1
    assert dpmarket("accept", "contract.json", *OWN, "--max-epsilon", "2")[0] == 0
    status, _, err = dpmarket("answer", "contract.json", "shared", *OWN, "--max-epsilon", "1")
    assert (
        status == 2
        and "--max-epsilon: allows at most epsilon = 1" in err
        and not list(folder.glob("shared/*answer*"))
    )
    assert dpmarket("answer", "contract.json", "shared", *OWN)[0] == 0


def test_another_table_is_refused_before_the_question_is_looked_at(house, dpmarket):  # noqa: F811
    folder, contract = house
    assert dpmarket("accept", "contract.json", *OWN)[0] == 0
    (folder / "own.csv").write_text(table(contract, NAME, seed=1))
    for question in ("shared", "nothing.json"):
        status, _, err = dpmarket("answer", "contract.json", question, *OWN)
        assert status == 2 and "must be the records that Alpha accepted the contract for" in err


@pytest.mark.parametrize("place", ["file", "damaged"])
def test_without_a_registry_nothing_is_accepted(house, dpmarket, monkeypatch, place):  # noqa: F811
    folder, _ = house
    (folder / "data").mkdir()
    (folder / "data" / "registry").write_text("no registry\n")
    (folder / "file").write_text("")
    monkeypatch.setenv(
        "DPMARKET_REGISTRY", str(folder / ("data" if place == "damaged" else "file"))
    )
    status, out, err = dpmarket("accept", "contract.json", *OWN)
    assert (status, out) == (2, "") and len(err.splitlines()) == 1 and "registry" in err
