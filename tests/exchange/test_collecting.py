"""The learner's program: files in, questions and the model out; nothing written twice, nothing lost, faults by name."""

import errno
import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from collecting import give, laid, play  # noqa: F401
from commands import dpmarket  # noqa: F401
from exchanges import Owners, records, small_contract, table, training

from exchange.command.collect import StepPrinter
from exchange.folder import CLOSING, CONTRACT, MODEL, answer_name, latest_query, query_name
from exchange.learner.collecting import take_step
from exchange.messages import Closing, Gradient, read_closing
from learning.canonical import lock_file, sha256_digest
from learning.errors import InputError
from learning.training import train
from scenarios.model_file import from_json
from scenarios.trained_model import TrainedModel

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def test_questions_are_written_and_answered_until_the_model_is_there(laid, dpmarket):  # noqa: F811
    contract, folder = laid(rounds=2)
    said = play(contract, folder, lambda: dpmarket("collect", folder / CONTRACT))
    assert [status for status, _, _ in said] == [0, 0, 0] and not any(err for _, _, err in said)
    assert (
        "Question 1 of 2 is in" in said[0][1] and "Alpha, Beta, Gamma may answer it" in said[0][1]
    )
    assert "Round 1: answers of Alpha, Beta, Gamma; noise of" in said[1][1]
    assert "epsilon 2 (Alpha), 3 (Beta), 4 (Gamma). This is not a simulation" in said[2][1]
    made = from_json(folder / MODEL)
    assert made.model.theta.tobytes() == train(training(contract)).theta[0].tobytes()
    assert made.asked == contract.names and made.basis == "public" and not made.unprotected
    assert not any(claim["simulation"] for claim in made.claims)
    closing = read_closing(folder / CLOSING, contract)
    assert closing.model == sha256_digest((folder / MODEL).read_bytes()) and set(
        closing.answers
    ) == set(contract.names)
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    status, out, _ = dpmarket("collect", folder / CONTRACT)
    assert status == 0 and "the exchange has ended" in out
    assert files == {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_model_predicts_of_a_table(laid, loss):  # noqa: F811
    contract, folder = laid(rounds=1, loss=loss, clipping="record")
    play(contract, folder, lambda: take_step(contract, folder, now=NOW))
    model = TrainedModel.read(folder / MODEL)
    frame = pd.read_csv(StringIO(table(contract, "Beta")))
    x, _ = records(contract, "Beta")
    scores = x @ model.made.model.theta
    said = model.predict(frame.drop(columns="claims"))
    if loss == "squared":
        np.testing.assert_allclose(said, scores + 4.0)
    else:
        assert said.tolist() == np.where(scores >= 0, "yes", "no").tolist() and len(set(said)) == 2
    assert not model.claims["simulation"].any() and "3 owners, 3 of them under noise" in repr(model)


def test_answers_come_by_mail_and_are_laid_under_their_names(laid, dpmarket, tmp_path):  # noqa: F811
    contract, folder = laid(rounds=1)
    shared = tmp_path / "shared"
    mail = tmp_path / "mail"
    mail.mkdir()
    assert dpmarket("collect", folder / CONTRACT, "--out", shared)[0] == 0
    owners = Owners(contract)
    asked = latest_query(shared, contract)
    for number, name in enumerate(contract.names):
        (mail / f"{number}.json").write_bytes(owners.answer(asked, name).raw)
    status, out, _ = dpmarket("collect", folder / CONTRACT, mail / "1.json", "--out", shared)
    assert (
        status == 4
        and "1 of 3 answers; waiting for Alpha, Gamma. The contract waits for everybody" in out
    )
    status, out, _ = dpmarket(
        "collect", folder / CONTRACT, shared, mail / "0.json", mail / "1.json", mail / "2.json"
    )
    assert (
        status == 0
        and "The model is in" in out
        and {p.name for p in folder.iterdir()} == {CONTRACT}
    )
    assert (shared / answer_name(1, "Beta")).read_bytes() == (mail / "1.json").read_bytes()


def test_another_answer_of_the_same_owner_is_refused_and_lies_nowhere(laid, dpmarket, tmp_path):  # noqa: F811
    contract, folder = laid()
    dpmarket("collect", folder / CONTRACT)
    asked = latest_query(folder, contract)
    owners = Owners(contract)
    give(folder, owners.answer(asked, "Beta"))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (tmp_path / "b.json").write_bytes(
        Gradient(contract.digest, asked.digest, 1, "Beta", np.ones(4)).raw
    )
    status, _, err = dpmarket("collect", folder / CONTRACT, tmp_path / "b.json")
    assert status == 2 and "must be Beta's one answer to round 1" in err and err.count("\n") == 1
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"1.0", b"NaN", "JSON object"),
        (b'"Beta"', b'"Delta"', "an owner of the contract"),
        (b"", b"", "of this contract"),
    ],
)
def test_what_is_no_answer_is_refused_by_its_file(laid, dpmarket, tmp_path, old, new, said):  # noqa: F811
    contract, folder = laid()
    raw = Gradient(contract.digest if old else "0" * 64, "0" * 64, 1, "Beta", np.ones(4)).raw
    (tmp_path / "b.json").write_bytes(raw.replace(old, new))
    status, _, err = dpmarket("collect", folder / CONTRACT, tmp_path / "b.json")
    assert status == 2 and "b.json" in err or "Delta" in err
    assert said in err and err.count("\n") == 1


def test_a_broken_answer_in_the_folder_is_told_and_the_rest_goes_on(laid, dpmarket):  # noqa: F811
    contract, folder = laid()
    dpmarket("collect", folder / CONTRACT)
    asked = latest_query(folder, contract)
    owners = Owners(contract)
    give(folder, owners.answer(asked, "Alpha"), owners.answer(asked, "Gamma"))
    (folder / answer_name(1, "Beta")).write_bytes(owners.answer(asked, "Beta").raw[:-9])
    status, out, _ = dpmarket("collect", folder / CONTRACT)
    assert status == 3 and f"{answer_name(1, 'Beta')}: must be" in out and "waiting for Beta" in out


def test_the_status_says_whether_answers_are_awaited_or_of_no_use(laid, dpmarket):  # noqa: F811
    contract, folder = laid()
    assert [dpmarket("collect", folder / CONTRACT)[0] for _ in range(2)] == [0, 4]
    answer = Owners(contract).answer(latest_query(folder, contract), "Beta")
    strange = [{"contract": "0" * 64}, {"query": "0" * 64}, {"owner": "Delta"}, {"round": 2}, {}]
    for changes, status in zip(strange, (3, 3, 3, 3, 4), strict=True):
        give(folder, one := replace(answer, **changes))
        assert dpmarket("collect", folder / CONTRACT)[0] == status
        (folder / answer_name(one.round, one.owner)).unlink()


def test_the_name_of_a_stranger_says_nothing_on_a_line_of_its_own(laid, dpmarket):  # noqa: F811
    contract, folder = laid()
    dpmarket("collect", folder / CONTRACT)
    name = "Mallory\nThe model is in /tmp/evil/model.json, made from the answers of Alpha, Beta, Gamma.\nx"
    give(
        folder, replace(Owners(contract).answer(latest_query(folder, contract), "Beta"), owner=name)
    )
    _, out, _ = dpmarket("collect", folder / CONTRACT)
    assert (
        "'Mallory\\nThe model is in" in out
        and "answers of" not in out
        and len(out.splitlines()) == 2
    )


def test_whatever_is_said_is_said_in_one_line(laid, capsys):  # noqa: F811
    StepPrinter(*laid()).print_once("one\nline\x1b[2J")
    assert capsys.readouterr().out == "one\\u000aline\\u001b[2J\n"


def test_suspicious_numbers_hold_it_up_until_they_are_accepted(laid, dpmarket):  # noqa: F811
    contract, folder = laid()
    dpmarket("collect", folder / CONTRACT)
    asked = latest_query(folder, contract)
    owners = Owners(contract)
    give(folder, *owners.all(asked))
    (folder / answer_name(1, "Gamma")).write_bytes(
        Gradient(
            contract.digest, asked.digest, 1, "Gamma", owners.answer(asked, "Alpha").gradient
        ).raw
    )
    status, out, _ = dpmarket("collect", folder / CONTRACT)
    assert status == 3 and "Gamma's answer to round 1 hardly differs from Alpha's to round 1" in out
    assert (
        "Alpha's answer is not used, because its numbers are suspicious" in out
        and not (folder / query_name(2)).exists()
    )
    status, out, _ = dpmarket("collect", folder / CONTRACT, "--accept", "Alpha")
    assert status == 3 and "2 of 3 answers; waiting for Gamma" in out
    status, _, err = dpmarket("collect", folder / CONTRACT, "--accept", "Delta")
    assert status == 2 and "an owner of the contract" in err
    status, out, _ = dpmarket(
        "collect", folder / CONTRACT, "--accept", "Alpha", "--accept", "Gamma"
    )
    assert status == 0 and "Question 2 of 2" in out


def test_without_who_is_missing_it_goes_on_when_it_may(laid, dpmarket, monkeypatch):  # noqa: F811
    contract, folder = laid(rule="without", hours=2.0, missing={"at_least": 2})
    step = take_step(contract, folder, now=NOW)
    assert step.open.until == "2030-01-01T02:00:00+00:00"
    owners = Owners(contract)
    give(folder, owners.answer(step.open, "Alpha"))
    late = NOW + timedelta(hours=3)
    with pytest.raises(
        InputError, match=r"--close: can be used only after the owners. time to answer, which ends later; found 2030-01-01T02"
    ):
        take_step(contract, folder, close=True, now=NOW + timedelta(hours=1))
    assert take_step(contract, folder, close=True, now=late).wrote is None, (
        "one answer, two are needed"
    )
    give(folder, owners.answer(step.open, "Gamma"))
    assert take_step(contract, folder, now=late).found.missing == ("Beta",)
    second = take_step(contract, folder, close=True, now=late)
    assert (
        second.open.asked == ("Alpha", "Gamma") and second.open.until == "2030-01-01T05:00:00+00:00"
    )
    give(folder, owners.answer(step.open, "Beta"))  # too late
    status, out, _ = dpmarket("collect", folder / CONTRACT)
    assert (
        status == 4
        and "Beta's answer to round 1 came when the learner had gone on without it" in out
    )
    give(folder, *owners.all(second.open))
    status, out, _ = dpmarket("collect", folder / CONTRACT)
    assert "Left out: Beta" in out and from_json(folder / MODEL).asked == ("Alpha", "Gamma")
    assert [claim["party"] for claim in from_json(folder / MODEL).claims] == ["Alpha", "Gamma"]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users")
def test_what_another_user_wrote_in_the_learners_name_leaves_nobody_out(laid, monkeypatch):  # noqa: F811
    """A planted question or closing, which names one's own answer alone, is one that could follow."""
    contract, folder = laid(rule="without", rounds=1)
    asked = take_step(contract, folder, now=NOW).open
    owners = Owners(contract)
    give(folder, *owners.all(asked))
    for planted in (query_name(1), CLOSING):
        real = os.stat

        def stat(path, *rest, name=planted, real=real, **named):
            found = real(path, *rest, **named)
            if not str(path).endswith(name):
                return found
            return os.stat_result([*found[:4], found.st_uid + 1, *found[5:10]])

        if planted == CLOSING:
            told = {"Alpha": owners.answer(asked, "Alpha").digest}
            (folder / CLOSING).write_bytes(
                Closing(contract.digest, asked.digest, told, "0" * 64).raw
            )
        with monkeypatch.context() as patched:
            patched.setattr(os, "stat", stat)
            with pytest.raises(
                InputError, match="must be a file of the learner's own; found one of user"
            ):
                take_step(contract, folder, now=NOW)
        assert not (folder / MODEL).exists()


def test_close_is_refused_where_the_contract_waits(laid, dpmarket):  # noqa: F811
    contract, folder = laid()
    dpmarket("collect", folder / CONTRACT)
    for more in ((), ("--follow",)):
        status, _, err = dpmarket("collect", folder / CONTRACT, "--close", *more)
        assert status == 2 and "--close:" in err and err.count("\n") == 1
    assert not (folder / query_name(2)).exists()


def test_altered_files_are_refused_and_left_as_they_are(laid, dpmarket):  # noqa: F811
    contract, folder = laid(rounds=2)
    play(contract, folder, lambda: take_step(contract, folder, now=NOW))
    for name, old, new, said in (
        (
            MODEL,
            b'"basis": "public"',
            b'"basis": "oracle"',
            "must be the one with which the exchange ended",
        ),
        (
            query_name(2),
            b'"round": 2',
            b'"round": 3',
            "must have the name that its content requires",
        ),
        (query_name(1), b"point", b"dot", "must be unchanged, byte for byte"),
        (
            query_name(2),
            latest_query(folder, contract).previous.encode(),
            b"0" * 64,
            "another previous",
        ),
        (CLOSING, b'"contract": "', b'"contract": "0', "contract"),
    ):
        whole = {path.name: path.read_bytes() for path in folder.iterdir()}
        for end in (
            (MODEL, CLOSING) if name.startswith("round") else (MODEL,) if name == CLOSING else ()
        ):
            (folder / end).unlink()
        assert old in whole[name]
        (folder / name).write_bytes(whole[name].replace(old, new))
        status, _, err = dpmarket("collect", folder / CONTRACT)
        assert status == 2 and said in err and err.count("\n") == 1, err
        assert (folder / name).read_bytes() == whole[name].replace(old, new)
        assert (folder / MODEL).exists() == (name == MODEL)
        for place, raw in whole.items():
            (folder / place).write_bytes(raw)
    (folder / CLOSING).unlink()
    assert "closing.json beside it" in dpmarket("collect", folder / CONTRACT)[2]


def test_folders_and_contracts_that_are_none_are_refused(laid, dpmarket, tmp_path):  # noqa: F811
    contract, folder = laid()
    other = tmp_path / "other.json"
    other.write_bytes(small_contract(title="other").raw)
    (tmp_path / "file").write_text("x")
    for arguments, said in (
        ((tmp_path / "none.json",), "No such file"),
        ((folder,), "a folder"),
        ((other, folder), "must be this contract; found another one"),
        ((other, "--out", tmp_path / "file"), "must be a folder"),
        ((other, tmp_path / "gone.json"), "No such file"),
        ((tmp_path / "file",), "JSON object"),
    ):
        status, _, err = dpmarket("collect", *arguments)
        assert status == 2 and said in err and err.count("\n") == 1, (arguments, err)
    assert contract.raw == (folder / CONTRACT).read_bytes()


def test_a_full_disk_is_told_and_leaves_what_was_there(laid, dpmarket, monkeypatch):  # noqa: F811
    contract, folder = laid()
    before = set(folder.iterdir())

    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        status, _, err = dpmarket("collect", folder / CONTRACT)
    assert status == 2 and "No space left on device" in err and set(folder.iterdir()) == before
    assert dpmarket("collect", folder / CONTRACT)[0] == 0


def test_what_killed_programs_left_is_cleared_after_a_while(laid, dpmarket):  # noqa: F811
    contract, folder = laid()
    for name, age in (
        (".model.json.ab12.part", 100),
        (".round-001.query.json.ab.part", 0),
        (".mine.part", 100),
        (".00112233aabbccdd.part", 100),
    ):
        (folder / name).write_text("{")
        os.utime(folder / name, (time.time() - age,) * 2)
    being_written = folder / ".ffeeddccbbaa9988.part"
    with being_written.open("w") as file:
        assert lock_file(file.fileno())
        os.utime(being_written, (time.time() - 100,) * 2)
        dpmarket("collect", folder / CONTRACT)
    assert {path.name for path in folder.glob(".*")} == {
        ".round-001.query.json.ab.part",
        ".mine.part",
        being_written.name,
    }


def test_what_a_killed_program_left_is_cleared_by_the_next_one(laid, dpmarket):  # noqa: F811
    contract, folder = laid()
    left = folder / ".00112233aabbccdd.part"
    left.write_text("{")
    os.utime(left, (time.time() - 2,) * 2)
    dpmarket("collect", folder / CONTRACT)
    assert not list(folder.glob(".*"))
