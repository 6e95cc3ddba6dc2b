"""The command called in this process, and small scenarios for it: of a table on disk, and of the embedded records."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from scenarios.command import main as cli


def call(*arguments, capsys, monkeypatch):
    """(status, stdout, stderr) of one call of the command, in this process."""
    monkeypatch.setattr(sys, "argv", ["dpmarket", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    out, err = capsys.readouterr()
    return stop.value.code, out, err


@pytest.fixture
def dpmarket(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: call(*arguments, capsys=capsys, monkeypatch=monkeypatch)


TRADE = """\
[owners.cost]
kind = "linear"
price = 1.0
[policy]
kind = "proportional"
budget = 10.0
[learner]
value = 100.0
"""  # what budgets cost their owners, what is paid for them, and what the model is worth
SCENARIO = (
    """
[data]
path = "{table}"
target = "y"
split = [40, 40]
public_rows = 30
[learning]
horizon = 3
clip = 0.9
[owners]
epsilon = [0.1, 5.0]
"""
    + TRADE
    + """\
[market]
starts = 2
[validation]
runs = 5
"""
)
INSURERS = """
[data]
source = "randhie"
target = "mdvis"
split = [500, 300]
public_rows = 60
[data.bounds]
mdvis = [0, 20]
[owners]
epsilon = [0.1, 10.0]
[owners.cost]
kind = "linear"
price = [3.0, 4.0]
[policy]
kind = "proportional"
budget = 40.0
[learner]
value = 1000.0
[market]
starts = 2
[validation]
runs = 5
"""


def rows(count=120, seed=0):
    """A small table with a number, a category and a target."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=count)
    kind = rng.choice(["a", "b"], size=count)
    y = x + (kind == "a") + rng.normal(size=count)
    return [f"{a:.6g},{b},{c:.6g}" for a, b, c in zip(x, kind, y, strict=True)]


def lay(folder, count, changes=None):
    """Lay a table of so many rows and a scenario, SCENARIO with texts changed, into a folder; returns the scenario's path."""
    text = SCENARIO.replace("{table}", "t.csv")
    for old, new in (changes or {}).items():
        assert old in text, old
        text = text.replace(old, new)
    (folder / "t.csv").write_text("\n".join(["x,kind,y", *rows(count)]) + "\n")
    (folder / "s.toml").write_text(text)
    return folder / "s.toml"


@pytest.fixture
def write(tmp_path):
    """Writes a table and a scenario for it; returns the scenario's path."""

    def make(lines=None, header="x,kind,y", scenario=SCENARIO):
        (tmp_path / "t.csv").write_text(
            "\n".join([header, *(rows() if lines is None else lines)]) + "\n"
        )
        path = tmp_path / "s.toml"
        path.write_text(scenario.replace("{table}", "t.csv"))
        return path

    return make
