"""Sweeps: what a cell holds is what a run finds, and no kill, no worker and no full disk changes a byte of the table."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from shared_out import two_threads
from sizes import sized

from learning.errors import InputError
from scenarios import runner
from scenarios.report.study_page import save_study_page
from scenarios.runner import carry_out, run
from scenarios.schema.loading import load
from scenarios.sweeping import cells as cells_module
from scenarios.sweeping import work as workers
from scenarios.sweeping.facts import FACTS, OF_OWNERS, TRAINED, at
from scenarios.sweeping.kept import KEPT
from scenarios.sweeping.sharing import processes, shared_out
from scenarios.sweeping.study import read_study
from scenarios.sweeping.sweep import (
    INDICES,
    OWNERS,
    POINTS,
    STUDY,
    TABLE,
    Interrupted,
    run_sweep,
    sweep,
)

ROOT = Path(__file__).parents[3]
GRID = {"policy": {"budget": [4, 8, 12]}, "learner": {"value": [100, 200]}}


@pytest.fixture
def invented(monkeypatch):
    """Cells that take no time; the list of the changes that were computed."""
    computed = []

    def made(base, cell, wanted):
        computed.append(cell.changes)
        value = float(int(cell.key[:8], 16))
        if "policy.budget=8" in cell.changes:
            return {"failed": "policy.budget: not this one."}
        return {
            "facts": {"learner.surplus": value, "sharing": 2},
            "owners": [{"name": "A", "epsilon": value}],
        }

    monkeypatch.setattr(workers, "outcome", made)
    return computed


def study(write, **tables):
    return {"scenario": str(write()), "grid": GRID} | tables


def contents(folder):
    """Every table of a sweep's folder, as bytes."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != KEPT}


def test_a_cell_holds_what_a_run_of_its_scenario_finds(write, tmp_path):
    """To the last digit, although no other equilibria, intervals and diagnoses were looked for."""
    given = study(
        write,
        training=True,
        owners=True,
        facts=["learner.gain.median"],
        grid={"policy.budget": [4, 8]},
    )
    table = sweep(given, tmp_path / "out", workers=1)
    owners = pd.read_parquet(tmp_path / "out" / OWNERS)
    result = run(load(write(), ["policy.budget=8"])).content
    told = table.iloc[1]
    for name in (*FACTS, *TRAINED, "learner.gain.median"):
        assert told[name] == at(result, name), name
    budgets = [owner["epsilon"] for owner in result["owners"]]
    assert (
        told["epsilon_max"] == max(budgets)
        and told["epsilon_mean"] == np.mean(budgets)
        and told["sharing"] == 2
    )
    assert owners[owners["cell"] == 2]["payment"].tolist() == [
        owner["payment"] for owner in result["owners"]
    ]
    assert list(table)[:3] == ["cell", "replication", "policy.budget"] and set(OF_OWNERS) < set(
        table
    )
    quick = sweep(study(write, grid={"policy.budget": [4, 8]}), tmp_path / "quick", workers=1)
    assert all(quick.iloc[1][name] == told[name] for name in FACTS)


@pytest.mark.parametrize(
    ("changes", "times"),
    [
        ({"policy": {"kind": "proportional", "budget": 8}}, 1),
        ({"policy": {"kind": "marginal", "share": 0.5}}, 3),
        ({"regulation.epsilon_cap": 3.0}, 3),
    ],
)
def test_cells_that_differ_in_worth_alone_are_settled_once_to_the_same_bytes(
    write, tmp_path, monkeypatch, changes, times
):
    """Unless owners are paid by that worth, or a feature may look at it."""
    settled = []

    def watch(*given, **options):
        settled.append(given)
        return carry_out(*given, **options)

    monkeypatch.setattr(runner, "carry_out", watch)
    given = {"scenario": str(write()), "set": changes, "training": True, "owners": True}
    given |= {"grid": {"learner.value": [1e3, 1e5, 1e6]}, "facts": ["welfare.price_of_anarchy"]}
    table = sweep(given, tmp_path / "out", workers=1)
    assert table["failed"].isna().all() and table["learner.gross_value"].nunique() == 3
    once = len(settled)
    monkeypatch.setattr(cells_module, "depends_on_worth", lambda scenario: True)
    sweep(given, tmp_path / "apart", workers=1)
    assert (once, len(settled)) == (times, times + 3)
    assert contents(tmp_path / "out") == contents(tmp_path / "apart")


def test_where_agents_come_to_no_rest_the_sweep_looks_as_far_as_a_run(write, tmp_path):
    few = "market.max_rounds=1"
    table = sweep(
        study(write, grid={"policy.budget": [8]}), tmp_path / "out", workers=1, overrides=[few]
    )
    result = run(load(write(), ["policy.budget=8", few]), training=False).content
    assert [table.iloc[0][name] for name in FACTS] == [at(result, name) for name in FACTS]


def test_rows_are_sorted_and_tell_failures_with_their_reason(invented, write, tmp_path):
    table = sweep(
        study(write, replications=2, owners=True, grid=GRID | {"seed": [3, -1]}),
        tmp_path / "out",
        workers=1,
    )
    assert (
        table["cell"].tolist() == [n for n in range(1, 13) for _ in range(2)]
        and table["replication"].tolist() == [1, 2] * 12
    )
    assert table["policy.budget"].dtype == np.int64 and table["seed"].tolist()[:4] == [3, 3, -1, -1]
    assert set(table[table["policy.budget"] == 8]["failed"]) == {"policy.budget: not this one."} | {
        "seed: must be a whole number of at least 0 and at most 1e+15; found -1."
    }
    assert table["failed"].isna().sum() == 8 == table["learner.surplus"].notna().sum()
    assert len(pd.read_parquet(tmp_path / "out" / OWNERS)) == 8


def test_cells_that_are_alike_are_computed_once_and_each_has_its_row(invented, write, tmp_path):
    given = study(write, grid={"policy.budget": [4, 12], "seed": [0, 1]}, replications=2)
    table = sweep(given, tmp_path / "out", workers=1)
    assert len(table) == 8 and len(invented) == 6  # seed 1 is the second replication of seed 0
    assert table["learner.surplus"][1] == table["learner.surplus"][2]


def test_nothing_is_computed_twice_and_a_changed_study_goes_on_with_the_cells_that_are_the_same(
    invented, write, tmp_path
):
    out = tmp_path / "out"
    sweep(study(write), out, workers=1)
    first = contents(out)
    sweep(study(write), out, workers=1)
    assert contents(out) == first and len(invented) == 6
    wider = GRID | {"policy": {"budget": [4, 8, 12, 16]}}
    table = sweep(study(write, grid=wider), out, workers=1)
    assert len(invented) == 8 and len(table) == 8
    sweep(study(write, grid=wider), tmp_path / "anew", workers=1)
    assert contents(tmp_path / "anew") == contents(out) != first
    sweep(study(write), out, workers=1)
    assert contents(out) == first and len(invented) == 16


def test_cut_off_anywhere_it_goes_on_and_ends_in_the_same_bytes(invented, write, tmp_path):
    """What a kill in the middle of a line leaves, at twenty places; and a line that a disk has spoilt."""
    sweep(study(write, owners=True), tmp_path / "whole", workers=1)
    whole = contents(tmp_path / "whole")
    kept = (tmp_path / "whole" / KEPT).read_bytes()
    for place in np.random.default_rng(1).integers(0, len(kept), 20):
        (tmp_path / "cut").mkdir()
        (tmp_path / "cut" / KEPT).write_bytes(kept[:place])
        before = len(invented)
        lines = kept[:place].count(b"\n")
        sweep(study(write, owners=True), tmp_path / "cut", workers=1)
        assert contents(tmp_path / "cut") == whole and len(invented) - before == 6 - max(
            0, lines - 1
        )
        shutil.rmtree(tmp_path / "cut")
    before = len(invented)
    middle = len(kept) // 2
    (tmp_path / "whole" / KEPT).write_bytes(kept[:middle] + b"#" + kept[middle + 1 :])
    sweep(study(write, owners=True), tmp_path / "whole", workers=1)
    assert contents(tmp_path / "whole") == whole and len(invented) == before + 1


def test_interrupted_it_says_how_to_go_on_and_loses_nothing(
    invented, write, tmp_path, monkeypatch, dpmarket
):
    whole = sweep(study(write), tmp_path / "whole", workers=1)
    made = workers.outcome
    calls = []

    def impatient(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return made(*arguments)

    monkeypatch.setattr(workers, "outcome", impatient)
    monkeypatch.setattr(workers, "AT_ONCE", 0.0)
    with pytest.raises(
        Interrupted, match="3 of 6 cells are kept; the same command goes on from there"
    ):
        sweep(study(write), tmp_path / "out", workers=1)
    assert not (tmp_path / "out" / TABLE).exists()
    (tmp_path / "s.study.toml").write_text(
        'scenario = "s.toml"\n[grid]\npolicy.budget = [1, 2, 3, 4, 5, 6]\n'
    )
    calls.clear()
    status, out, err = dpmarket("sweep", "s.study.toml", "--workers", 1)
    assert (status, out) == (130, "") and err == (
        "interrupted: 3 of 6 cells are kept; the same command goes on from there\n"
    )
    assert sweep(study(write), tmp_path / "out", workers=1).equals(whole)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


def test_a_full_disk_is_one_line_and_breaks_nothing(invented, write, tmp_path, monkeypatch):
    out = tmp_path / "out"
    room = 600
    sweep(study(write), tmp_path / "whole", workers=1)

    class Full(FileIO):
        def write(self, text):
            left = room - self.tell()
            if left <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return super().write(text[:left])

    monkeypatch.setattr(workers, "AT_ONCE", 0.0)
    with monkeypatch.context() as patch, pytest.raises(InputError) as error:
        patch.setattr("scenarios.sweeping.kept.FileIO", Full)
        sweep(study(write), out, workers=1)
    assert "No space left on device\". What is done is kept: free some space" in str(error.value)
    kept = (out / KEPT).read_bytes()
    before = len(invented)
    assert kept.endswith(b"\n") and 2 < kept.count(b"\n") < 6  # whole lines
    sweep(study(write), out, workers=1)
    assert contents(out) == contents(tmp_path / "whole") and len(
        invented
    ) - before == 7 - kept.count(b"\n")


def test_a_second_sweep_in_one_folder_is_refused(invented, write, tmp_path, monkeypatch):
    made = workers.outcome

    def meanwhile(*arguments):
        with pytest.raises(
            InputError,
            match="must be a folder that no other sweep is writing to; found another one at work",
        ):
            sweep(study(write), tmp_path / "out", workers=1)
        return made(*arguments)

    monkeypatch.setattr(workers, "outcome", meanwhile)
    sweep(study(write), tmp_path / "out", workers=1)
    assert len(invented) == 6


@pytest.mark.parametrize("there", ["thesis.txt", KEPT, "a file"])
def test_a_folder_of_somebody_else_is_refused_and_left_alone(invented, write, tmp_path, there):
    out = tmp_path / "out"
    if there == "a file":
        out.write_text("years of work")
    else:
        out.mkdir()
        (out / there).write_text("years of work\n")
    with pytest.raises(
        InputError, match="--out: must be a new folder, an empty one, or that of an earlier sweep"
    ):
        sweep(study(write), out, workers=1)
    assert (out if out.is_file() else out / there).read_text().startswith(
        "years of work"
    ) and not invented


def test_a_bug_in_one_cell_is_a_row_and_a_fault_of_the_machine_ends_the_sweep(
    write, tmp_path, monkeypatch
):
    def broken(run, wanted):
        if run.scenario.policy.budget == 4:
            raise ZeroDivisionError("oops")
        return {"sharing": 1}, []

    monkeypatch.setattr(workers, "facts_of", broken)
    table = sweep(study(write), tmp_path / "out", workers=1)
    assert table["failed"].dropna().tolist() == ["ZeroDivisionError: oops"] * 2 and len(table) == 6

    def full(*arguments):
        raise MemoryError

    monkeypatch.setattr(workers, "facts_of", full)
    with pytest.raises(InputError, match="needs more memory than there is"):
        sweep(study(write), tmp_path / "other", workers=1)


def test_a_worker_with_other_code_is_refused(write):
    with pytest.raises(InputError, match="workers: must run the same version of the program"):
        workers.work(workers.Job(None, None, "other", ()))


def test_work_is_parted_only_where_a_worker_would_be_idle():
    """Four groups for two workers: each goes to one, and the last is halved when the other has nothing left."""
    handed = []
    with ThreadPoolExecutor(2) as pool:

        def submit(items):
            handed.append(list(items))
            return pool.submit(lambda some: some[:2], items)

        done = [
            item
            for some in shared_out([[1, 2], [3, 4], [5, 6], [7, 8, 9, 10]], submit, 2)
            for item in some
        ]
    assert sorted(done) == list(range(1, 11))
    assert handed[:2] == [[1, 2], [3, 4]] and all(
        len({(item - 1) // 2 for item in some}) <= 2 for some in handed
    )
    assert list(shared_out([], submit, 2)) == []


def test_a_worker_that_is_ended_from_outside_is_told_in_one_line():
    with (
        processes(2) as pool,
        pytest.raises(
            InputError, match="workers: must run until their work is done; found one that was"
        ),
    ):
        list(shared_out([[1]], lambda some: pool.submit(os._exit, 1), 2))


def test_threads_give_the_same_table(write, tmp_path):
    given = study(write, grid={"policy.budget": [4, 8]})
    sweep(given, tmp_path / "one", workers=1)
    with ThreadPoolExecutor(2) as pool:
        sweep(given, tmp_path / "two", pool, workers=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_sobol_indices_of_a_product_are_the_known_ones(write, tmp_path, monkeypatch):
    """surplus = 3 a + b with a, b uniform on [0, 1]: variances 9/12 and 1/12, so S1 = ST = 0.9 and 0.1; ab has ST > S1."""

    def made(base, cell, wanted):
        given = dict(change.split("=") for change in cell.changes)
        a = float(given["policy.budget"]) - 1
        b = float(given["learner.value"]) - 1
        seed = float(given.get("seed", 0))
        return {
            "facts": {
                "learner.surplus": 3 * a + b + seed,
                "learner.payments": a * b,
                "welfare.gini": 1.0,
            }
        }

    monkeypatch.setattr(workers, "outcome", made)
    sample = {"samples": 64, "policy.budget": [1, 2], "learner.value": [1, 2]}
    sweep(study(write, grid={}, sobol=sample, replications=2), tmp_path / "out", workers=1)
    found = pd.read_parquet(tmp_path / "out" / INDICES).set_index(["fact", "key"])
    for key, share in (("policy.budget", 0.9), ("learner.value", 0.1)):
        row = found.loc["learner.surplus", key]
        assert abs(row["S1"] - share) < 0.06 and abs(row["ST"] - share) < 0.06
        product = found.loc["learner.payments", key]  # 3/7 alone, 4/7 in all
        assert abs(product["S1"] - 3 / 7) < 0.1 and abs(product["ST"] - 4 / 7) < 0.1
    assert found.loc["welfare.gini"]["S1"].isna().all()


def test_the_command_lists_computes_and_prints(invented, write, tmp_path, dpmarket):
    write()
    (tmp_path / "my.toml").write_text(
        'scenario = "s.toml"\ntitle = "Mine"\n[grid]\npolicy.budget = [4, 8, -1]\n'
    )
    status, out, err = dpmarket("sweep", "my.toml", "--dry-run")
    assert (status, err) == (
        0,
        "",
    ) and "3 cells, 0 done, 1 no scenarios; 2 different ones, which share 1 plans" in out
    assert not (tmp_path / "sweeps").exists() and not invented
    status, out, err = dpmarket("sweep", "my.toml", "--workers", 1, "--set", "learner.value=50")
    assert (
        (status, err) == (0, "")
        and "Mine" in out
        and "2 failed, the first: policy.budget: not this one." in out
    )
    page = tmp_path / "sweeps" / "my,learner.value=50" / "report.html"
    assert (
        "report: sweeps/my,learner.value=50/report.html" in out
        and "not this one" in page.read_text()
    )
    assert (tmp_path / "sweeps" / "my,learner.value=50" / STUDY).read_text() == (
        tmp_path / "my.toml"
    ).read_text()
    assert (
        "value = 50" in (tmp_path / "sweeps" / "my,learner.value=50" / "scenario.toml").read_text()
    )
    assert dpmarket("sweep", "my.toml", "--set", "policy.budget=2")[::2] == (
        2,
        "dpmarket: --set policy.budget: must not set a key that varies in the study; found policy.budget=2. "
        "Change the study.\n",
    )
    assert "must be a study file or a name of the library" in dpmarket("sweep", "none")[2]
    (tmp_path / "bad.toml").write_text('scenario = "s.toml"\n[grid]\npolicy.budget = [8]\n')
    assert dpmarket("sweep", "bad.toml", "--workers", 1)[::2] == (
        2,
        "dpmarket: bad.toml: must have at least one cell that can be computed; found policy.budget: not this one.\n",
    )
    status, _, err = dpmarket("sweep", "my.toml", "--scheduler", "nowhere", "--workers", 2)
    assert status == 2 and "--workers: cannot be used with --scheduler" in err


KILLED = """
import os, random, signal, sys, time
from quick import quickly
from scenarios.sweeping.sweep import sweep
import scenarios.runner, scenarios.sweeping.facts, scenarios.sweeping.tables, scenarios.sweeping.work as workers
draw, kills, rounds = random.Random(7), 0, 0
quickly()
workers.AT_ONCE = 0.0
sweep("my.toml", "whole", workers=1)
while True:
    rounds += 1
    child = os.fork()
    if not child:
        sweep("my.toml", "killed", workers=1)
        os._exit(0)
    if kills < MOST:
        time.sleep(draw.uniform(0, 0.1))
        os.kill(child, signal.SIGKILL)
    if os.waitpid(child, 0)[1] == 0:
        break
    kills += 1
print(kills)
"""


@pytest.fixture
def many(write, tmp_path):
    """A study of twenty or forty cells in two groups."""
    write()
    budgets = f"{{ low = 4, high = 12, points = {sized(10, 20)} }}"
    text = (
        f'scenario = "s.toml"\nowners = true\nreplications = 2\n[grid]\npolicy.budget = {budgets}\n'
    )
    (tmp_path / "my.toml").write_text(text)


@pytest.mark.slow
def test_killed_at_random_moments_and_started_again_it_ends_in_the_same_bytes(many, tmp_path):
    command = [sys.executable, "-c", KILLED.replace("MOST", str(sized(5, 20)))]
    paths = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
        "OPENBLAS_NUM_THREADS": "1",
    }
    found = subprocess.run(command, cwd=tmp_path, env=paths, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert int(found.stdout) >= sized(2, 5)
    assert contents(tmp_path / "killed") == contents(tmp_path / "whole")


@pytest.mark.deep
def test_on_a_dask_cluster_it_is_the_same_table(many, tmp_path, dpmarket):
    """A scheduler and two workers, over TCP."""
    with two_threads() as address:
        status, _, err = dpmarket("sweep", "my.toml", "--out", "cluster", "--scheduler", address)
    assert (status, err) == (0, "")
    assert dpmarket("sweep", "my.toml", "--out", "here", "--workers", 1)[0] == 0
    assert contents(tmp_path / "cluster") == contents(tmp_path / "here")


WORKING = """
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may have it ignored
from scenarios.sweeping.sharing import processes
with processes(2) as pool:
    print(*{pool.submit(os.getpid).result() for _ in range(2)}, flush=True)
    pool.submit(time.sleep, 600)
    time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="tells processes by /proc")
@pytest.mark.parametrize("how", ["SIGKILL", "SIGINT"])
def test_workers_end_with_the_sweep_however_it_ends(how):
    command = [sys.executable, "-c", WORKING]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        workers = [int(one) for one in running.stdout.readline().split()]
        assert workers and all(os.path.exists(f"/proc/{one}") for one in workers)
        running.send_signal(getattr(signal, how))
        try:
            assert "Process" not in running.communicate(timeout=30)[1]  # no worker tells of it
        finally:
            running.kill()
    until = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{one}") for one in workers):
        assert time.monotonic() < until
        time.sleep(0.01)


def test_points_are_means_over_seeds_and_differences_are_of_the_same_seeds(
    write, tmp_path, monkeypatch
):
    """By hand, from the table of cells: Student's t of 2 degrees of freedom is 4.3027 at 97.5 %."""
    draw = {"4": (1.0, 2.0, 6.0), "8": (2.0, 3.0, 7.0), "12": (1.0, 5.0, None)}

    def made(base, cell, wanted):
        given = dict(change.split("=") for change in cell.changes)
        value = draw[given["policy.budget"]][int(given.get("seed", 0))]
        return (
            {"failed": "no luck"}
            if value is None
            else {"facts": {"learner.surplus": value, "sharing": 2}}
        )

    monkeypatch.setattr(workers, "outcome", made)
    budgets = {"policy.budget": [4, 8, 12]}
    sweep(study(write, replications=3, set={"seed": 0}, grid=budgets), tmp_path / "out", workers=1)
    found = pd.read_parquet(tmp_path / "out" / POINTS).set_index(["policy.budget", "fact"])
    first, second, last = (found.loc[budget, "learner.surplus"] for budget in (4, 8, 12))
    assert first["mean"] == 3 and first["high"] - 3 == pytest.approx(
        4.30265 * np.sqrt(7) / np.sqrt(3), rel=1e-5
    )
    assert (
        second["against_first_mean"],
        second["against_first_low"],
        second["against_first_high"],
    ) == (1, 1, 1)
    assert last["n"] == 2 and last["against_first_mean"] == 1.5
    assert (found.loc[(8, "sharing")][["mean", "low", "high"]] == 2).all()


@pytest.mark.parametrize(
    "tables, drawn",
    [
        ({"replications": 3}, "policy.budget"),
        (
            {"grid": {"policy.budget": [4, 12], "market.activation": ["random", "sequential"]}},
            "sequential",
        ),
        ({"grid": {"title": ["One & only", "<b>"]}, "show": ["sharing"]}, "&lt;b&gt;"),
        (
            {"along": "learner.surplus", "grid": [{"seed": [1]}, {"market.starts": [2, 3]}]},
            "gain, money",
        ),
        ({"sobol": {"samples": 2, "learner.value": [1, 2]}, "grid": {}}, "alone and with others"),
        ({"grid": {}}, "One seed"),
        # Nothing to draw: no fact shown varies, or none is known.
        (
            {"sobol": {"samples": 2, "learner.value": [1, 2]}, "grid": {}, "show": ["sharing"]},
            "Point by point",
        ),
        ({"show": ["learner.payments"]}, "Point by point"),
    ],
)
def test_the_page_draws_whatever_varies(invented, write, tmp_path, tables, drawn):
    file = read_study({"scenario": str(write()), "grid": {"policy.budget": [4, 8, 12]}} | tables)
    swept = run_sweep(file, tmp_path / "out", workers=1)
    page = save_study_page(file, swept, tmp_path / "out").read_text()
    assert (
        drawn in page
        and "<script" not in page
        and "http" not in page.replace("http-equiv", "").split("<svg")[0]
    )
