"""Where errors go: to standard error and nowhere else, whatever is closed; and what is needed is looked for first."""

import subprocess
import sys

import pytest

from learning import extras
from scenarios.dashboard import serve


def run_closed(folder, closing, *arguments):
    """(status, standard output, standard error) of the command, started by a shell that closes streams."""
    line = f'exec "$@" {closing}'
    command = ["sh", "-c", line, "sh", sys.executable, "-m", "scenarios.command.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_an_error_goes_nowhere_where_standard_error_is_closed(tmp_path):
    assert run_closed(tmp_path, "2>&-", "check", "nosuch") == (2, "", "")
    assert run_closed(tmp_path, ">&- 2>&-", "check", "nosuch") == (2, "", "")
    status, out, err = run_closed(tmp_path, ">&-", "check", "nosuch")
    assert (status, out) == (2, "") and err.startswith("dpmarket: nosuch: must be a scenario file")
    assert list(tmp_path.iterdir()) == []


EXTRAS = [
    (
        ("exchange", "three_insurers", "--flower"),
        "--flower: needs the extra federated; found no flwr.",
    ),
    (
        ("dashboard", "three_insurers", "--no-browser"),
        "dashboard: needs the extra app; found no solara.",
    ),
    (
        ("sweep", "study.toml", "--scheduler", "tcp://here:1"),
        "--scheduler: needs the extra cluster; found no distributed.",
    ),
]


@pytest.mark.parametrize(("line", "words"), EXTRAS)
def test_an_extra_that_is_missing_is_told_before_any_work(
    dpmarket, tmp_path, monkeypatch, line, words
):
    (tmp_path / "study.toml").write_text(
        'scenario = "three_insurers"\n[grid]\npolicy.budget = [1.0, 2.0]\n'
    )

    def work(*_, **__):
        raise AssertionError("work began")

    for place in (
        "exchange.rehearsal.rehearsal.rehearse_exchange",
        "scenarios.planning.prepare",
        "scenarios.sweeping.sweep.run_sweep",
    ):
        monkeypatch.setattr(place, work)
    monkeypatch.setattr(serve, "listening", work)
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    status, out, err = dpmarket(*line)
    assert (
        status == 2
        and out == ""
        and err.count("\n") == 1
        and words in err
        and 'pip install ".[' in err
    )
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_owners_tables_are_for_their_owners_eyes(tmp_path):
    from exchange.rehearsal.division import write_party_files
    from scenarios.schema.loading import load

    made = write_party_files(load("three_insurers"), tmp_path / "x")
    for path in (*made.owners.values(), made.public):
        assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
