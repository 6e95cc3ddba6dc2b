"""What a terminal shows of how far the work is, and that nothing of it is left, or goes where no terminal is."""

import io
import os
import pty
import select
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from commands import SCENARIO

from learning.display import show_stages
from scenarios.runner import run
from scenarios.schema.loading import load

ESCAPE = "\x1b"


@contextmanager
def terminal(monkeypatch, kind="xterm"):
    """stderr is a terminal of 40 columns; gives a function that reads what was written to it."""
    ours, theirs = pty.openpty()
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", kind)

    def shown():
        stream.flush()
        told = b""
        while select.select([ours], [], [], 0.2)[
            0
        ]:  # a pty hands on what was written when the machine has time
            told += os.read(ours, 100_000)
        return told.decode()

    with open(theirs, "w", encoding="utf-8") as stream, monkeypatch.context() as patched:
        patched.setattr(
            sys, "stderr", stream
        )  # here, since pytest puts its own back between fixture and test
        yield shown
    os.close(ours)


@pytest.mark.parametrize("variable", ["FORCE_COLOR", "TTY_COMPATIBLE"])
def test_nothing_goes_to_a_file_whatever_the_environment_says(monkeypatch, variable):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stderr", file)
    monkeypatch.setenv(variable, "1")
    with show_stages() as progress:
        progress("forecasting")
        progress("forecasting", 0.5)
    assert file.getvalue() == ""


def test_a_terminal_that_knows_no_escapes_gets_none(monkeypatch):
    with terminal(monkeypatch, "dumb") as shown:
        with show_stages() as progress:
            progress("forecasting")
        assert sys.stderr.isatty() and shown() == ""


def test_an_interrupt_leaves_the_terminal_clean(monkeypatch):
    with terminal(monkeypatch) as shown:
        with pytest.raises(KeyboardInterrupt), show_stages() as progress:
            progress("a stage whose name is longer than any line of such a narrow terminal")
            time.sleep(0.3)
            raise KeyboardInterrupt
        told = shown()
    assert "a stage whose name" in told and "…" in told  # one line, cut off
    assert told.rindex(f"{ESCAPE}[?25h") > told.rindex(f"{ESCAPE}[?25l")  # the cursor is back
    assert told.endswith(f"{ESCAPE}[2K")  # and the line wiped


# What a calibrated forecast goes through, and each algorithm that walks in its own way.
@pytest.mark.parametrize(
    "algorithm", ["weighted", pytest.param("asynchronous", marks=pytest.mark.slow)]
)
def test_every_stage_rises_to_its_end(tmp_path, algorithm):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(110, 2)), rng.integers(0, 2, 110)])
    table = tmp_path / "t.csv"
    np.savetxt(table, rows, delimiter=",", header="x1,x2,y", comments="", fmt="%.6g")
    learning = f'[learning]\nloss = "logistic"\nregularisation = 0.1\nalgorithm = "{algorithm}"'
    text = SCENARIO.format(table=table).replace("[learning]", learning)
    file = tmp_path / "s.toml"
    file.write_text(text, encoding="utf-8")
    told: dict[str, list[float]] = {}

    run(load(str(file)), progress=lambda stage, share=0.0: told.setdefault(stage, []).append(share))
    counted = {stage: shares for stage, shares in told.items() if len(shares) > 1}
    assert {
        "training at the equilibrium",
        "forecasting: trying plans",
        "forecasting: measuring the best plans",
    } <= set(counted)
    for stage, shares in counted.items():
        assert shares[0] == 0 and shares[-1] == pytest.approx(1), stage
        assert np.all(np.diff(shares) >= 0), stage
