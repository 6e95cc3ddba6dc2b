"""The same numbers whether the linear-algebra library has one thread or two."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from commands import SCENARIO

ROOT = Path(__file__).parents[2]
COLUMNS = 24
LEARN = {"amount": "", "label": 'loss = "logistic"\nregularisation = 0.01\nstep_size = 0.5\n'}
RUN = """
import sys
from quick import quickly
from scenarios.command.main import main
quickly()
threads, *names = sys.argv[1:]
for name in names:
    sys.argv = ["dpmarket", "run", name + ".toml", "--out", name + threads, "--set", "validation.runs=20", "--set", "market.starts=1"]
    try:
        main()
    except SystemExit as stop:
        if stop.code:
            raise
"""


def tables(folder):
    """Loans made up: many columns and records, an amount and whether it was paid back."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12_000, COLUMNS))
    score = x @ rng.normal(size=COLUMNS) / 3
    targets = {
        "amount": score + rng.normal(size=len(x)),
        "label": np.where(score + rng.logistic(size=len(x)) > 0, 1, 0),
    }
    for name, y in targets.items():
        header = ",".join([*(f"x{i}" for i in range(COLUMNS)), "y"])
        np.savetxt(
            folder / f"{name}.csv", np.column_stack([x, y]), "%.5g", ",", header=header, comments=""
        )
        text = SCENARIO.replace("[40, 40]", "[6500, 5000]").replace(
            "public_rows = 30", "public_rows = 200"
        )
        (folder / f"{name}.toml").write_text(
            text.replace("{table}", f"{name}.csv").replace(
                "[learning]\n", f"[learning]\n{LEARN[name]}"
            )
        )


@pytest.mark.deep
def test_results_are_the_same_bytes_on_one_thread_and_two(tmp_path):
    """Exact forecasts of squared loss, and rehearsed ones of logistic loss; each process with a cache of its own."""
    tables(tmp_path)
    running = {}
    for threads in "12":
        changed = {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
            "DPMARKET_CACHE": str(tmp_path / f"cache {threads}"),
        }
        changed |= dict.fromkeys(
            ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads
        )
        running[threads] = subprocess.Popen(
            [sys.executable, "-c", RUN, threads, *LEARN],
            cwd=tmp_path,
            env=os.environ | changed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    said = {
        threads: process.communicate(timeout=300)[0].decode()
        for threads, process in running.items()
    }
    assert all(process.returncode == 0 for process in running.values()), said
    for name in LEARN:
        one, two = (sorted((tmp_path / f"{name}{threads}").rglob("*")) for threads in "12")
        assert len(one) == len(two) > 5
        for a, b in zip(one, two, strict=True):
            assert a.is_dir() or a.read_bytes() == b.read_bytes(), a.name
