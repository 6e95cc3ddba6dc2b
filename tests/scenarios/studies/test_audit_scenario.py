"""An audit of a whole scenario: what comes before training, what owners answer from, and the files that it writes."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import TRADE
from planting.broken_public import PUBLIC_BUGS
from quick import quick_module

from learning.audit.reference import compare_records
from learning.audit.verdicts import Check
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from scenarios.command.audit_printed import check_out, write_audit
from scenarios.planning import prepare
from scenarios.schema.loading import load
from scenarios.studies import audit as study
from scenarios.studies.audit import Audit, audit_scenario
from scenarios.studies.public_facts import check_public, check_rows, records_of
from scenarios.training import training_task

__all__ = ["quick_module"]  # a fixture of every test

SCENARIO = (
    """
seed = 4
[data]
path = "t.csv"
target = "y"
features = ["a", "b", "kind"]
owner = "bank"
public_rows = 40
person = "name"
rows_per_person = 2
[learning]
horizon = 3
step_size = 0.1
[owners]
epsilon = [0.1, 5.0]
"""
    + TRADE
)
CLOCKED = (
    "learning.algorithm=asynchronous",
    "learning.regularisation=0.01",
    "learning.step_size=1.0",
)
NOTICED = {"copied": "rows", "more rows": "rows"}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("audit")
    draw = np.random.default_rng(8)
    rows = 160
    x = draw.uniform(-1, 1, (rows, 2)).round(3)
    frame = pd.DataFrame(
        {"bank": draw.choice(["A", "B"], rows), "name": draw.integers(0, 40, rows), "a": x[:, 0]}
    )
    frame["b"], frame["kind"] = x[:, 1], draw.choice(["new", "old", "other"], rows)
    frame["y"] = (x @ [2, -1] + draw.normal(size=rows)).round(3)
    frame.assign(name="p" + frame.name.astype(str)).to_csv(folder / "t.csv", index=False)
    (folder / "s.toml").write_text(SCENARIO)
    return folder / "s.toml"


def failing(scenario, epsilon):
    checks, left_out = study.check_preparation(scenario, prepare(scenario), epsilon)
    assert {check.kind for check in checks} == {"rows", "public"} and not left_out
    return {check.kind for check in checks if not check.passed}


@pytest.fixture
def market(path):
    scenario = load(path)
    return scenario, prepare(scenario)


def test_what_is_public_is_the_same_under_other_private_rows(path, market):
    assert failing(market[0], np.ones(2)) == set()
    check, why = check_public(*market, np.ones(2))
    assert check.passed and check.tested == 13 and why == ""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) for name in PUBLIC_BUGS]
)
def test_what_is_computed_from_private_rows_is_seen(path, market, name):
    bug = PUBLIC_BUGS[name]
    scenario = market[0]
    if name == "private clocks":
        alone = path.parent / "clocks.toml"
        alone.write_text(SCENARIO.replace('person = "name"\nrows_per_person = 2\n', ""))
        scenario = load(alone, CLOCKED)
    assert bug.bites(scenario)
    with bug.inside():
        assert failing(scenario, np.ones(2)) == {NOTICED.get(name, "public")}
    assert not PUBLIC_BUGS["private clocks"].bites(market[0])


def test_without_public_rows_the_audit_says_what_it_leaves_out(path):
    scenario = load(
        path,
        [
            "data.public_rows=0",
            "learning.theta_max=1.0",
            "data.bounds={a=[-1,1], b=[-1,1], y=[-5,5]}",
            "data.features=['a','b']",
        ],
    )
    check, why = check_public(scenario, prepare(scenario), np.ones(2))
    assert check is None and "without public rows" in why


def test_owners_that_answer_from_other_records_are_seen(path, market):
    """One record more, one less, one counted twice, one for another, and bounds that one owner does not keep."""
    scenario, (data, planner) = market
    task = training_task(scenario, planner, np.ones(2))
    records, large = records_of(data)
    assert (
        large == () and compare_records(task, records).passed and check_rows(scenario, data).passed
    )
    x, y = records["A"]
    for other in (
        (x[1:], y[1:]),
        (np.vstack([x, x[:1]]), np.append(y, y[:1])),
        (np.vstack([x[1:], x[1:2]]), np.append(y[1:], y[1:2])),
    ):
        found = compare_records(task, records | {"A": other})
        assert not found.passed and found.place == "A"
    loose = Coordinates(
        **vars(task.coordinates) | {"target_bound": 0.5 * task.coordinates.target_bound}
    )
    owner = type(task.owners[0])(**vars(task.owners[0]) | {"records": loose.oracle(x, y)})
    assert not compare_records(
        type(task)(**vars(task) | {"owners": (owner, *task.owners[1:])}), records
    ).passed


@pytest.mark.slow
def test_an_audit_checks_and_says_what_it_cannot_see(path, monkeypatch):
    monkeypatch.setattr("learning.audit.transcript.NUMBERS", 4000)
    found = audit_scenario(load(path), lambda count: np.full(count, 50.0), draws=200)
    assert not found.refuted and {"public", "rows", "records", "ledger", "clipping"} <= {
        one.kind for one in found.checks
    }
    said = " ".join(found.unseen)
    assert "cut off beyond" in said and "the generator and its seed" in said


def sample(**changes):
    checks = (Check("noise", 3, "a|b <x>", 0.5, 0.9, False),)
    return Audit((), (), (), True, checks, ("noise that is cut off",), **changes)


def test_an_audit_is_written_whole_and_over_nobody_elses_file(tmp_path):
    found = sample()
    for name in ("a.json", "a.md"):
        write_audit(found, "three", 7, tmp_path / name)
        write_audit(found, "three", 7, tmp_path / name)  # an earlier audit gives way
    content = json.loads((tmp_path / "a.json").read_text())
    assert (
        content["refuted"]
        and content["seed"] == 7
        and content["cannot_see"] == ["noise that is cut off"]
    )
    assert content["checks"][0]["found"] == 0.5
    page = (tmp_path / "a.md").read_text()
    assert "    three, seed 7: refuted" in page and "noise that is cut off" in page
    assert all(line.startswith("    ") for line in page.splitlines()[1:] if line)
    (tmp_path / "mine.json").write_text("{}")
    for name in ("mine.json", "folder", "missing/a.json"):
        with pytest.raises(InputError, match="--out"):
            check_out(tmp_path / name)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.json", "a.md", "mine.json"]


def test_the_command_writes_what_it_prints(dpmarket, path, tmp_path, monkeypatch):
    monkeypatch.setattr("scenarios.studies.audit.audit_scenario", lambda *given, **named: sample())
    status, out, _ = dpmarket("audit", path, "--out", tmp_path / "a.md")
    assert (
        status == 3
        and "cannot see" in out
        and "noise that is cut off" in out
        and (tmp_path / "a.md").exists()
    )
    status, _, err = dpmarket("audit", path, "--out", tmp_path / "nowhere" / "a.md")
    assert status == 2 and err.count("\n") == 1 and "--out" in err
