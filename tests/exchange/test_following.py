"""The learner's program that follows a folder: until the model is there, whatever happens to the folder meanwhile."""

import time
from datetime import UTC, datetime, timedelta

from collecting import give, laid  # noqa: F401
from commands import dpmarket  # noqa: F401
from exchanges import Owners

from exchange.folder import CONTRACT, MODEL, answer_name, latest_query, query_name
from exchange.learner import collecting as following
from scenarios.model_file import from_json

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def test_it_follows_the_folder_until_the_model_is_there(laid, dpmarket, monkeypatch):  # noqa: F811
    """Each pause is an owner's turn; Ctrl-C leaves whole files, and it goes on from them."""
    contract, folder = laid(rounds=2)
    owners = Owners(contract)
    turns = []

    def pause(seconds):
        turns.append(seconds)
        if len(turns) == 3:
            raise KeyboardInterrupt
        asked = latest_query(folder, contract)
        came = [name for name in asked.asked if (folder / answer_name(asked.round, name)).exists()]
        give(folder, owners.answer(asked, asked.asked[len(came)]))

    monkeypatch.setattr(time, "sleep", pause)
    status, out, err = dpmarket("collect", folder / CONTRACT, "--follow", "--every", "0.25")
    assert status == 130 and err == "interrupted\n" and turns == [0.25] * 3
    assert "waiting for Gamma" in out and not (folder / query_name(2)).exists()
    status, out, _ = dpmarket("collect", folder / CONTRACT, "--follow")
    assert status == 0 and "The model is in" in out and len(turns) == 3 + 1 + 3
    assert out.count("waiting for Beta, Gamma") == 1


def test_it_follows_on_when_the_folder_was_away_for_a_moment(laid, dpmarket, monkeypatch):  # noqa: F811
    """Renamed, and an empty one in its place, as where a disk is not mounted; and a question half copied."""
    contract, folder = laid(rounds=1)
    owners = Owners(contract)
    turns = []
    away = folder.with_name("away")

    def pause(seconds):
        turns.append(sorted(path.name for path in folder.iterdir()) if folder.exists() else None)
        asked = folder / query_name(1)
        if len(turns) == 1:
            folder.rename(away)
        elif len(turns) == 2:
            folder.mkdir()
        elif len(turns) == 3:
            folder.rmdir()
            away.rename(folder)
            asked.rename(asked.with_suffix(".whole"))
            asked.write_bytes(asked.with_suffix(".whole").read_bytes()[:-9])
        else:
            assert len(turns) == 4
            asked.with_suffix(".whole").rename(asked)
            give(folder, *owners.all(latest_query(folder, contract)))

    monkeypatch.setattr(time, "sleep", pause)
    status, out, err = dpmarket("collect", folder / CONTRACT, "--follow")
    assert status == 0 and "The model is in" in out and turns[1:3] == [None, []], (
        "nothing is written elsewhere"
    )
    assert out.count("The folder is read again") == 3 and not err


def test_a_folder_that_stays_away_ends_it(laid, dpmarket, monkeypatch):  # noqa: F811
    _, folder = laid()
    monkeypatch.setattr(
        time, "sleep", lambda seconds: folder.exists() and folder.rename(folder.with_name("away"))
    )
    monkeypatch.setattr(following, "PATIENCE", 0.0)
    status, _, err = dpmarket("collect", folder / CONTRACT, "--follow")
    assert status == 2 and err.count("\n") == 1 and "No such file" in err


def test_with_hours_it_goes_on_without_whoever_let_them_pass(laid, dpmarket, monkeypatch):  # noqa: F811
    contract, folder = laid(rounds=1, rule="without", hours=2.5, missing={"at_least": 2})
    owners = Owners(contract)
    hour = [0]

    class Clock(datetime):
        @classmethod
        def now(cls, zone=None):
            return NOW + timedelta(hours=hour[0])

    def pause(seconds):
        asked, hour[0] = latest_query(folder, contract), hour[0] + 1
        give(folder, *(owners.answer(asked, name) for name in ("Alpha", "Beta")[: hour[0]]))
        assert hour[0] < 5

    monkeypatch.setattr(time, "sleep", pause)
    for module in ("exchange.command.collect", "exchange.learner.collecting"):
        monkeypatch.setattr(f"{module}.datetime", Clock)
    status, out, _ = dpmarket("collect", folder / CONTRACT, "--follow", "--close")
    assert (
        status == 0
        and "Left out: Gamma" in out
        and from_json(folder / MODEL).asked == ("Alpha", "Beta")
    )
    assert hour[0] == 3
