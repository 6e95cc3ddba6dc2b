"""Parties' programs beside one another: all end well, or all are ended and the one at fault is told."""

import os
import sys

import pytest

from exchange.rehearsal import processes
from exchange.rehearsal.processes import Program, run_all, run_processes
from learning.errors import InputError

WAITS = "import signal; signal.pause()"


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """Programs are lines of Python here."""
    monkeypatch.setattr(processes, "COMMAND", (sys.executable, "-I", "-S", "-c"))


def program(tmp_path, who, line):
    return Program(who, (line,), tmp_path / f"{who}.txt")


def test_programs_run_side_by_side_and_what_they_say_is_kept(tmp_path):
    ends = tmp_path / "pipe"
    os.mkfifo(ends)  # each waits for the other
    writes = program(
        tmp_path, "learner", f"open({str(ends)!r}, 'w').write('query'); print('asked')"
    )
    reads = program(tmp_path, "North", f"print(open({str(ends)!r}).read())")
    looked = []
    run_all([writes, reads], lambda: looked.append(1))
    assert (writes.log.read_text(), reads.log.read_text()) == ("asked\n", "query\n")
    assert looked


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (
            "import sys; print('dpmarket: own.csv: too short.', file=sys.stderr); sys.exit(2)",
            "status 2: own.csv: too",
        ),
        ("import os; os.kill(os.getpid(), 9)", "killed by signal 9"),
        ("import sys; sys.exit(130)", "status 130"),
    ],
)
def test_one_that_fails_is_told_in_a_line_with_its_log_and_the_others_are_ended(
    tmp_path, monkeypatch, line, told
):
    kept = []
    monkeypatch.setattr(
        processes,
        "end_processes",
        lambda running, end=processes.end_processes: (kept.extend(running), end(running)),
    )
    with pytest.raises(InputError) as error:
        run_all([program(tmp_path, "learner", WAITS), program(tmp_path, "North", line)])
    assert str(error.value).startswith("North: must finish without an error; found " + told)
    assert str(tmp_path / "North.txt") in str(error.value) and "\n" not in str(error.value)
    assert len(kept) == 2 and all(process.returncode is not None for process in kept)


def test_an_interrupt_ends_them_all_and_one_that_will_not_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "PATIENCE", 0.2)
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    deaf = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); open({str(ready)!r}, 'w').close(); {WAITS}"
    with (
        pytest.raises(KeyboardInterrupt),
        run_processes([program(tmp_path, "North", deaf)]) as running,
    ):
        ready.read_text()  # it is deaf from here on
        raise KeyboardInterrupt
    assert [process.returncode for process in running] == [-9]
