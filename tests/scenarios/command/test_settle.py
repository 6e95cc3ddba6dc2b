"""`dpmarket settle`: an exchange settled from its folder, an owner's statement, and what is refused."""

import json
import os
from pathlib import Path

import pytest
from exchanges import small_contract, table
from quick import quick_module
from settlements import played

from exchange.folder import answer_name
from exchange.messages import read_answer
from exchange.owner.answers import ledger_purpose
from learning.privacy.ledger_file import LedgerFile

__all__ = ["quick_module"]  # a fixture of every test


@pytest.fixture(scope="module")
def contract():
    return small_contract(2, rule="without", currency="EUR")


@pytest.fixture
def shared(tmp_path, contract):
    """A whole exchange; Gamma's second answer came too late."""
    return played(tmp_path / "shared", contract, late={("Gamma", 2)})


def ledger_of(shared, contract, name, rounds):
    """The ledger of an owner that charged its answers to some rounds."""
    made = LedgerFile.create(shared.parent / f"{name}.ledger")
    budget = contract.terms(name).budget
    made.open(budget)
    for number in rounds:
        made.charge(
            budget,
            ledger_purpose(read_answer(shared / answer_name(number, name), contract)),
            first=number,
        )
    return made.path


def test_an_exchange_is_settled_from_its_folder(dpmarket, shared):
    status, out, err = dpmarket("settle", shared / "contract.json")
    assert (status, err) == (0, "")
    assert (
        "2 owners of 3 answered all 2 questions: 12.50 EUR of the 15.00 EUR agreed is to be paid."
        in out
    )
    assert f"report: {shared / 'settlement.html'}" in out
    content = json.loads((shared / "settlement.json").read_text())
    assert content["money"]["paid"] == 12.5 and "<h1>" in (shared / "settlement.html").read_text()
    first = (shared / "settlement.json").read_bytes(), (shared / "settlement.html").read_bytes()
    assert dpmarket("settle", shared / "contract.json", shared)[0] == 0
    assert first == (
        (shared / "settlement.json").read_bytes(),
        (shared / "settlement.html").read_bytes(),
    )


def test_statements_are_written_by_owners_and_held_against_their_answers(
    dpmarket, shared, contract, tmp_path
):
    names = [contract.names[0], contract.names[2]]
    for name in names:
        ledger = ledger_of(shared, contract, name, (1, 2))
        status, out, err = dpmarket(
            "state",
            shared / "contract.json",
            "--owner",
            name,
            "--ledger",
            ledger,
            "--out",
            tmp_path / name,
        )
        assert (status, err) == (
            0,
            "",
        ) and f"The ledger of {name} charged 2 of 2 questions under contract" in out
    told = [part for name in names for part in ("--statement", tmp_path / name)]
    status, out, _ = dpmarket("settle", shared / "contract.json", *told)
    assert status == 0 and "The entries in the ledger of Alpha and Gamma agree with what was delivered." in out
    (shared / answer_name(2, "Gamma")).unlink()
    status, out, _ = dpmarket("settle", shared / "contract.json", *told)
    assert status == 0 and "Gamma charged its answer to question 2, which is not here" in out
    (tmp_path / "Alpha").write_bytes(
        (tmp_path / "Alpha").read_bytes().replace(b'"round": 2', b'"round": 9')
    )
    status, out, _ = dpmarket("settle", shared / "contract.json", *told)
    assert status == 3 and "its answer to question 2 was never charged" in out


def test_a_file_that_was_altered_is_named_with_status_3(dpmarket, shared):
    (shared / answer_name(1, "Beta")).unlink()
    status, out, _ = dpmarket("settle", shared / "contract.json")
    assert (
        status == 3
        and "the answer of Beta to question 1, on which question 2 rests: must be there" in out
    )
    assert "Some files contradict the contract" in (shared / "settlement.html").read_text()


def test_an_exchange_without_a_model_is_settled_only_when_asked(dpmarket, tmp_path):
    shared = played(tmp_path / "shared", small_contract(2), missing={("Beta", 2)})
    status, out, err = dpmarket("settle", shared / "contract.json")
    assert (
        status == 2
        and out == ""
        and "question 2 of 2, unanswered by Beta" in err
        and err.count("\n") == 1
    )
    assert not (shared / "settlement.json").exists()
    status, out, _ = dpmarket(
        "settle", shared / "contract.json", "--unfinished", "--public", tmp_path / "none.csv"
    )
    assert status == 0 and "The exchange is not finished. 2 owners of 3 answered" in out


def test_the_model_is_judged_on_the_learners_own_rows(dpmarket, shared, contract, tmp_path):
    (tmp_path / "public.csv").write_text(table(contract, "Gamma", seed=7))
    status, out, err = dpmarket(
        "settle", shared / "contract.json", "--public", tmp_path / "public.csv"
    )
    assert (status, err) == (0, "") and "On the learner's own 80 rows, its error is" in out
    assert json.loads((shared / "settlement.json").read_text())["own_rows"]["start_fits"] is False
    status, out, _ = dpmarket(
        "settle", shared / "contract.json", "--aside", tmp_path / "public.csv"
    )
    assert (
        status == 0
        and "80 rows kept aside" in out
        and "Neither model was fitted to these rows" in out
    )


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--statement", "none"], "none: must be a file that can be read"),
        (["--statement", "shared/contract.json"], "shared/contract.json"),
        (
            ["--public", "a.csv", "--aside", "b.csv"],
            "--aside: must not be given together with --public",
        ),
        (["--public", "none.csv"], "none.csv"),
        (
            ["--aside", "few.csv"],
            "--aside: must hold at least 20 rows, since fewer show nothing; found 9",
        ),
        (["--aside", "other.csv"], "other.csv: --aside: "),
        (["--out", "nowhere"], "--out: must be a folder that exists; found nowhere"),
        (["elsewhere"], "FOLDER: must be a folder that exists; found elsewhere"),
        (
            ["--out", "taken"],
            "--out: must be a folder without other files of these names, or with an earlier settlement",
        ),
    ],
)
def test_what_cannot_be_settled_is_refused_in_one_line(dpmarket, shared, contract, arguments, told):
    ledger_of(shared, contract, "Alpha", ())
    (shared.parent / "taken").mkdir()
    (shared.parent / "taken" / "settlement.html").write_text("somebody's")
    lines = table(contract, "Gamma", seed=7).splitlines(keepends=True)
    (shared.parent / "few.csv").write_text("".join(lines[:10]))
    (shared.parent / "other.csv").write_text("a,b\n1,2\n")
    status, out, err = dpmarket("settle", shared / "contract.json", *arguments)
    assert (shared.parent / "taken" / "settlement.html").read_text() == "somebody's"
    assert status == 2 and told in err and err.count("\n") == 1 and out == ""
    assert not (shared / "settlement.json").exists()


@pytest.mark.parametrize(
    "owner, ledger, told",
    [
        ("Alpha", "none", "none: must be a ledger; found no file"),
        ("Delta", "Alpha.ledger", "owner: must be an owner of the contract; found 'Delta'"),
    ],
)
def test_what_cannot_be_stated_is_refused_in_one_line(
    dpmarket, shared, contract, owner, ledger, told
):
    ledger_of(shared, contract, "Alpha", ())
    ask = ("state", shared / "contract.json", "--owner", owner, "--ledger", ledger)
    status, out, err = dpmarket(*ask)
    assert status == 2 and told in err and err.count("\n") == 1 and out == ""


def test_a_statement_is_written_over_nothing_but_an_earlier_one(
    dpmarket, shared, contract, tmp_path
):
    """It was written over whatever --out named, the owner's own ledger too: what was spent was lost."""
    ledger = ledger_of(shared, contract, "Alpha", (1, 2))
    beta = ledger_of(shared, contract, "Beta", (1, 2))
    (tmp_path / "own.csv").write_text("rows")
    (tmp_path / "folder").mkdir()
    ask = "state", shared / "contract.json", "--owner", "Alpha", "--ledger", ledger, "--out"
    assert (
        dpmarket(
            "state", shared / "contract.json", "--owner", "Beta", "--ledger", beta, "--out", "b"
        )[0]
        == 0
    )
    for name in (ledger, f"{ledger}.lock", "own.csv", "folder", shared / "contract.json", "b"):
        before = Path(name).read_bytes() if Path(name).is_file() else None
        status, _, err = dpmarket(*ask, name)
        assert (
            status == 2
            and "--out: must be a new file, or an earlier statement of Alpha under this contract"
            in err
        )
        assert before is None or Path(name).read_bytes() == before
    assert dpmarket(*ask, "told")[0] == 0 and dpmarket(*ask, "told")[0] == 0
    assert dpmarket(*ask, "nowhere/told")[0] == 2


def test_two_statements_of_one_owner_are_refused(dpmarket, shared, contract, tmp_path):
    ledger = ledger_of(shared, contract, "Alpha", (1, 2))
    assert (
        dpmarket(
            "state", shared / "contract.json", "--owner", "Alpha", "--ledger", ledger, "--out", "a"
        )[0]
        == 0
    )
    status, _, err = dpmarket(
        "settle", shared / "contract.json", "--statement", "a", "--statement", "a"
    )
    assert status == 2 and "--statement: must be one per owner; found two of Alpha" in err


@pytest.mark.parametrize("at", range(4))
def test_on_a_full_disk_both_files_of_a_settlement_are_the_old_ones(
    dpmarket, shared, monkeypatch, at
):
    names = ("settlement.json", "settlement.html")
    assert dpmarket("settle", shared / "contract.json")[0] == 0
    before = [(shared / name).read_bytes() for name in names]
    (shared / answer_name(2, "Gamma")).unlink()  # so that there is something else to write
    calls = []

    def full(*arguments):
        calls.append(arguments)
        if len(calls) == at + 1:
            raise OSError(28, "No space left on device")
        return replace(*arguments)

    replace = os.replace
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        status, out, err = dpmarket("settle", shared / "contract.json")
    assert status == 2 and out == "" and err.count("\n") == 1 and "No space left on device" in err
    assert [(shared / name).read_bytes() for name in names] == before and not list(
        shared.glob(".*")
    )
    assert dpmarket("settle", shared / "contract.json")[0] == 0
    assert all((shared / name).read_bytes() != old for name, old in zip(names, before, strict=True))
