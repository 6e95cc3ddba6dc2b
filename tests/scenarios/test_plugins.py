"""Plug-ins named on the command line: run once, in workers too, and refused in one line."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from commands import INSURERS, SCENARIO

from market.policies import POLICIES
from scenarios import plugins
from scenarios.output.names import LONGEST, name_folder

ROOT = """
from dataclasses import dataclass
import numpy as np
from learning.declaration import PerOwner, parameter
from market.columns import column
from market.policies import POLICIES, Policy

@dataclass(frozen=True)
class Root(Policy):
    rate: PerOwner = parameter("Give the money for an epsilon of 1.")

    def payments(self, epsilon, deviations):
        return column(self.rate, epsilon) * np.sqrt(epsilon)

    def sentence(self, write):
        return f"The learner pays {write.amount(self.rate)} times the root of each epsilon."

POLICIES["root_of_epsilon"] = Root
"""
STUDY = """
scenario = "mine.toml"
show = ["learner.payments"]
[grid]
"policy.rate" = [12.0, 24.0]
"""


@pytest.fixture
def mine(tmp_path):
    """A plug-in and a scenario of it; what the plug-in enters is taken out again."""
    (tmp_path / "root.py").write_text(ROOT)
    changed = INSURERS.replace(
        'kind = "proportional"\nbudget = 40.0', 'kind = "root_of_epsilon"\nrate = 24.0'
    )
    assert "root_of_epsilon" in changed
    (tmp_path / "mine.toml").write_text(changed)
    yield tmp_path
    plugins.LOADED.clear()
    POLICIES.pop("root_of_epsilon", None)
    sys.modules.pop("dpmarket_plugin_root", None)


def test_a_plug_in_of_the_command_line_reaches_the_report(mine, dpmarket):
    assert dpmarket("check", "mine.toml")[0] == 2
    status, printed, errors = dpmarket(
        "--plugin", "root.py", "run", "mine.toml", "--no-train", "--out", "out"
    )
    assert status == 0, errors
    assert "times the root of each epsilon" in (mine / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    "text, said",
    [
        ("1 / 0", "must run without an error; found bad.py: ZeroDivisionError: division by zero"),
        ("x = (", "must run without an error; found bad.py: SyntaxError in line 1"),
        (None, "must name a Python file that can be read; found"),
    ],
)
def test_a_plug_in_that_fails_is_one_line(dpmarket, tmp_path, text, said):
    if text is not None:
        (tmp_path / "bad.py").write_text(text)
    status, _, errors = dpmarket("--plugin", "bad.py", "scenarios")
    assert status == 2 and errors.count("\n") == 1
    assert f"--plugin: {said}" in errors


def test_a_file_that_is_no_python_is_refused(dpmarket, tmp_path):
    (tmp_path / "notes.txt").write_text("words")
    status, _, errors = dpmarket("--plugin", "notes.txt", "scenarios")
    assert status == 2 and "whose name ends in .py" in errors


def test_workers_of_a_sweep_have_the_plug_in_and_its_text_is_in_each_cells_key(mine, dpmarket):
    (mine / "rates.toml").write_text(STUDY)
    status, printed, errors = dpmarket(
        "--plugin", "root.py", "sweep", "rates.toml", "--workers", "2"
    )
    assert status == 0, errors
    assert "2 cells, 2 computed now" in printed
    status, _, errors = dpmarket(
        "--plugin", "root.py", "sweep", "rates.toml", "--scheduler", "tcp://127.0.0.1:9"
    )
    assert status == 2 and "must be left out with --scheduler" in errors


def test_names_of_folders_say_what_was_asked_and_fit_a_file_system():
    asked = ["policy.budget=[1, 2]", "title='a/b: c'", "é=" + "x" * 300]
    names = {name_folder("a/b.toml", asked[:n]) for n in range(4)}
    assert len(names) == 4
    assert all(len(name.encode()) <= LONGEST and "/" not in name for name in names)
    assert name_folder("b", ["x=" + "y" * 300]) != name_folder("b", ["x=" + "y" * 301])


def test_a_comparison_does_not_replace_one_of_another_question(dpmarket, tmp_path):
    (tmp_path / "mine.toml").write_text(INSURERS)
    for budget in ("40,60", "40,80"):
        status, _, errors = dpmarket(
            "compare", "mine.toml", "--vary", f"policy.budget={budget}", "--no-train"
        )
        assert status == 0, errors
    found = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert found == ["compare-mine,policy.budget=40_60", "compare-mine,policy.budget=40_80"]


def test_files_are_named_from_the_folder_that_names_them(dpmarket, tmp_path):
    (tmp_path / "tables").mkdir()
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(110, 2))
    pd.DataFrame({"x": rows[:, 0], "y": rows.sum(axis=1)}).to_csv(
        tmp_path / "tables" / "t.csv", index=False
    )
    (tmp_path / "mine.toml").write_text(SCENARIO.format(table="tables/t.csv"))
    assert dpmarket("run", "mine.toml", "--no-train", "--out", "out/first")[0] == 0
    written = tmp_path / "out" / "first" / "scenario.toml"
    assert 'path = "../../tables/t.csv"' in written.read_text()
    (tmp_path / "out" / "first" / "deeper").mkdir()
    assert dpmarket("run", written, "--no-train", "--out", "again")[0] == 0
    assert 'path = "../tables/t.csv"' in (tmp_path / "again" / "scenario.toml").read_text()
