"""The command as a user meets it: every fault is one line and status 2, and leaves no folder behind."""

import gzip
import json
import os
from pathlib import Path

import pytest
from commands import SCENARIO, rows

from scenarios.opened import open_result
from scenarios.schema.loading import library_scenarios
from scenarios.tables.paths import bundled_table


def refused(result, tmp_path, *words):
    status, out, err = result
    assert status == 2 and out == ""
    assert err.count("\n") == 1 and err.startswith("dpmarket: ") and "Traceback" not in err
    for word in words:
        assert word in err, f"{word!r} not in {err!r}"
    assert sorted(p.name for p in tmp_path.iterdir()) in (["s.toml", "t.csv"], ["s.toml"], [])


def test_run_writes_a_whole_folder_and_prints_where(dpmarket, write, tmp_path):
    status, out, err = dpmarket("run", write(), "--out", "r")
    assert status == 0 and err == ""
    assert "report.html" in out and "verdict" in out
    made = {str(p.relative_to(tmp_path / "r")) for p in (tmp_path / "r").rglob("*") if p.is_file()}
    assert made == {
        "model.json",
        "protocol.json",
        "result.json",
        "owners.csv",
        "trajectory.csv",
        "validation.csv",
        "payoff_curves.csv",
        "report.html",
        "memo.html",
        "scenario.toml",
        "manifest.json",
        "figures/sales.svg",
        "figures/promised.svg",
        "figures/epsilon_paths.svg",
        "figures/payoff_curves.svg",
        "figures/forecast.svg",
    }


@pytest.mark.slow
def test_paths_and_talks_are_written_and_read_where_they_are_asked_for(dpmarket, write, tmp_path):
    clocks = ("--set", "learning.algorithm=asynchronous", "--set", "learning.regularisation=1e-3")
    plan = (
        "--set",
        "learning.horizon=30",
        "--set",
        "learning.step_size=60",
        "--set",
        "validation.paths=true",
    )
    status, _, err = dpmarket("run", write(), "--out", "r", *clocks, *plan)
    assert status == 0 and err == ""
    found = open_result(tmp_path / "r")
    assert found.paths["round"].tolist() == list(range(31)) and set(found.paths["point"]) == {
        "last"
    }
    assert (found.paths["q25"] <= found.paths["median"]).all() and (
        found.paths["median"] <= found.paths["q75"]
    ).all()
    assert found.paths["median"].iloc[-1] == pytest.approx(
        found["validation"]["relative_fitness"]["median"]
    )
    assert (
        found.talks["tick"].tolist() == list(range(1, 31))
        and found.talks["time"].is_monotonic_increasing
    )
    assert set(found.talks["owner"]) <= {*found.owners.index, ""}


@pytest.mark.slow
def test_a_resolved_scenario_runs_again_to_the_same_numbers(dpmarket, write, tmp_path):
    dpmarket("run", write(), "--out", "r")
    dpmarket("run", tmp_path / "r" / "scenario.toml", "--out", "again")
    first, second = (
        json.loads((tmp_path / name / "result.json").read_text()) for name in ("r", "again")
    )
    for part in ("owners", "equilibrium", "forecast", "validation"):
        assert first[part] == second[part]


@pytest.mark.slow
def test_same_seed_same_bytes_and_another_seed_other_ones(dpmarket, write, tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        dpmarket("run", write(), "--out", name, "--seed", seed)
    read = {
        n: {p.name: p.read_bytes() for p in sorted((tmp_path / n).rglob("*")) if p.is_file()}
        for n in "abc"
    }
    assert read["a"] == read["b"]
    assert read["a"]["validation.csv"] != read["c"]["validation.csv"]


@pytest.mark.slow
def test_a_result_is_replaced_but_nothing_else_is(dpmarket, write, tmp_path):
    scenario = write()
    assert dpmarket("run", scenario, "--out", "r")[0] == 0
    assert dpmarket("run", scenario, "--out", "r", "--no-train")[0] == 0
    assert json.loads((tmp_path / "r" / "result.json").read_text())["validation"] is None
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    status, _, err = dpmarket("run", scenario, "--out", "mine")
    assert status == 2 and "--out" in err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


@pytest.mark.parametrize(
    "change, words",
    [
        ("policy.budgt=1", ("policy.budgt", "budget")),
        ("seed=text", ("seed", "text")),
        ("owners.epsilon=[5.0, 0.1]", ("owners.epsilon", "5")),
        ("owners.epsilon=[-1.0, 0.1]", ("owners.epsilon", "-1")),
        ("owners.epsilon=[nan, 0.1]", ("owners.epsilon", "nan")),
        ("data.split=[4000, 40]", ("data.split", "4,070")),
        ("data.public_rows=3", ("data.public_rows", "3")),
        ("data.target=yy", ("data.target", "yy", "y")),
        ("data.target=kind", ("data.target", "kind", "text")),
        ("data.path=none.csv", ("data.path", "none.csv")),
        ("data.components=9", ("data.components", "9")),
        ("learning.loss=hinge", ("learning.regularisation", "above 0", "hinge")),
        ("learning.horizon=1000000000", ("learning.horizon", "1000000000")),
        ("owners.benefit=[1.0, 2.0, 3.0]", ("owners.benefit", "3")),
    ],
)
def test_bad_values_are_refused_in_one_line(dpmarket, write, tmp_path, change, words):
    refused(dpmarket("run", write(), "--out", "r", "--set", change), tmp_path, *words)


def test_no_such_scenario(dpmarket, tmp_path):
    refused(
        dpmarket("run", "three_insurer", "--out", "r"), tmp_path, "three_insurer", "three_insurers"
    )


def test_no_toml(dpmarket, write, tmp_path):
    refused(
        dpmarket("run", write(scenario="title = = 3"), "--out", "r"), tmp_path, "s.toml", "TOML"
    )


def test_missing_cells_are_counted_and_the_remedy_named(dpmarket, write, tmp_path):
    lines = rows()
    lines[6], lines[96], lines[99] = ",a,1.0", ",a,1.0", "inf,b,2.0"  # the last 30 are public
    as_is = ("--set", "data.order=as_is")
    refused(
        dpmarket("run", write(lines), "--out", "r", *as_is),
        tmp_path,
        "data.missing",
        "2",
        "row 97",
        "drop",
        "fill",
    )
    status, out, _ = dpmarket("check", write(lines), "--set", "data.missing=drop", *as_is)
    assert (
        status == 0
        and "public rows dropped for missing cells: 2" in out
        and "1 cell of the owners' records was filled" in out
    )


def test_an_empty_table(dpmarket, write, tmp_path):
    refused(dpmarket("run", write([]), "--out", "r"), tmp_path, "t.csv", "row")


def test_an_owner_without_a_record(dpmarket, write, tmp_path):
    scenario = SCENARIO.replace("split = [40, 40]", 'owner = "kind"')
    lines = [*rows(), "0,c,1.0", "0,c,2.0"]
    refused(
        dpmarket("run", write(lines, scenario=scenario), "--out", "r", "--set", "data.order=as_is"),
        tmp_path,
        "data.owner",
        "'c'",
    )
    lines = [
        *rows(),
        "1.0,c,2.0",
    ]  # with the order as it is, the last rows are public: nothing is left of c
    refused(
        dpmarket("run", write(lines, scenario=scenario), "--out", "r", "--set", "data.order=as_is"),
        tmp_path,
        "data.owner",
        "'c'",
    )


def test_a_target_that_is_predicted_without_error(dpmarket, write, tmp_path):
    lines = [f"{v},a,{2 * v}" for v in range(120)]
    refused(dpmarket("run", write(lines), "--out", "r"), tmp_path, "data.target", "f* > 0")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_output_folder_that_cannot_be_written_to_by_mode(dpmarket, write, tmp_path):
    scenario = write()
    tmp_path.chmod(0o500)
    try:
        status, _, err = dpmarket("run", scenario, "--out", "r")
    finally:
        tmp_path.chmod(0o700)
    assert status == 2 and "--out" in err


def test_an_output_folder_that_cannot_be_written_to(dpmarket, write, tmp_path):
    refused(dpmarket("run", write(), "--out", "t.csv/r"), tmp_path, "--out", "t.csv")


@pytest.mark.slow
def test_a_disk_that_fills_up_leaves_nothing_behind(dpmarket, write, tmp_path, monkeypatch):
    from scenarios.report import figures

    def full(folder, *_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figures, "draw_figures", full)
    refused(dpmarket("run", write(), "--out", "deep/er/r"), tmp_path, "--out", "No space left")


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_keeps_an_earlier_result(dpmarket, write, tmp_path, monkeypatch):
    from scenarios.report import page as report

    scenario = write()
    dpmarket("run", scenario, "--out", "r")
    before = (tmp_path / "r" / "result.json").read_bytes()

    def stop(folder, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "write_report", stop)
    status, _, err = dpmarket("run", scenario, "--out", "r", "--seed", 9)
    assert status == 130 and err == "interrupted\n"
    assert (tmp_path / "r" / "result.json").read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r", "s.toml", "t.csv"]


def test_a_constant_column_is_dropped_and_named(dpmarket, write):
    lines = [f"{line},7" for line in rows()]
    status, out, err = dpmarket("check", write(lines, header="x,kind,y,c"))
    assert (
        status == 0
        and err == ""
        and "columns that add nothing in the public rows, left out: c" in out
    )


@pytest.mark.slow
def test_forecast_takes_one_budget_for_all_and_the_limits(dpmarket, write):
    scenario = write()
    values = {}
    for budgets in ("1", "1,1", "inf", "0", "0,1"):
        status, out, _ = dpmarket("forecast", scenario, "--epsilon", budgets)
        assert status == 0
        _, value, *_ = filter(None, out.splitlines()[1].split("  "))
        values[budgets] = value.strip().removesuffix(" %")
    assert values["1"] == values["1,1"]
    assert float(values["inf"]) < float(values["1"]) <= float(values["0"])


@pytest.mark.parametrize("budgets", ["1,2,3", "one", "-1", "nan", ""])
def test_forecast_refuses_bad_budgets(dpmarket, write, budgets):
    status, _, err = dpmarket("forecast", write(), f"--epsilon={budgets}")
    assert status == 2 and err.count("\n") == 1 and "--epsilon" in err


@pytest.mark.slow
def test_strict_tells_a_missed_forecast_by_status_3(dpmarket, tmp_path):
    """An insurer that multiplies its gradients by 10 spoils the model: the forecast misses, and the result says why."""
    poisoner = "\n[[behaviours]]\nkind = 'poisoner'\nfactor = 10.0\nowners = ['Aurora Health']\n"
    (tmp_path / "s.toml").write_text(library_scenarios()["three_insurers"].read_text() + poisoner)
    arguments = (
        "run",
        "s.toml",
        "--set",
        "market.starts=2",
        "--set",
        "validation.runs=20",
        "--out",
        "r",
    )
    assert dpmarket(*arguments)[0] == 0
    status, out, _ = dpmarket(*arguments, "--strict")
    assert status == 3 and "DISAGREE" in out
    result = json.loads((tmp_path / "r" / "result.json").read_text())
    assert not result["validation"]["agrees"]
    assert {"outside_interval", "gradients_changed"} <= {
        fact["cause"] for fact in result["validation"]["explanation"]
    }
    assert "sent gradients times 10" in " ".join(out.split())


@pytest.mark.slow
def test_gz_and_delimiters_read_alike(dpmarket, write, tmp_path):
    scenario = write()
    reference = dpmarket("forecast", scenario, "--epsilon", "1")[1]
    text = (tmp_path / "t.csv").read_text()
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "u.csv").write_text(text.replace(",", ";"))
    for name in ("t.csv.gz", "u.csv"):
        assert (
            dpmarket("forecast", scenario, "--epsilon", "1", "--set", f"data.path={name}")[1]
            == reference
        )


def test_unknown_command_and_option(dpmarket, tmp_path):
    for arguments in (("rum", "x"), ("run", "three_insurers", "--sed", "1"), ("run",)):
        status, _, err = dpmarket(*arguments)
        assert status == 2 and err.count("\n") == 1


def test_scenarios_lists_the_library(dpmarket):
    status, out, _ = dpmarket("scenarios")
    assert status == 0 and "three_insurers" in out and "lending_banks" in out


@pytest.mark.slow
def test_report_is_rebuilt_from_a_saved_result(dpmarket, write, tmp_path):
    dpmarket("run", write(), "--out", "r")
    before = (tmp_path / "r" / "report.html").read_bytes()
    (tmp_path / "r" / "report.html").unlink()
    assert dpmarket("report", "r")[0] == 0
    assert (tmp_path / "r" / "report.html").read_bytes() == before
    status, _, err = dpmarket("report", "nothing")
    assert status == 2 and "nothing" in err and err.count("\n") == 1


def test_builtin_table_is_the_one_the_readme_names():
    import hashlib

    digest = hashlib.sha256(bundled_table("randhie").read_bytes()).hexdigest()
    assert digest in (Path(bundled_table("randhie")).parent / "README.md").read_text()
