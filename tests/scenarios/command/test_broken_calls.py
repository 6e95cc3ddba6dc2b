"""The calls of `import dpmarket` with arguments of every kind, and results that are damaged: an InputError, and no other."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from broken import ODD_VALUES, check_refusal, examples, files_in, folder, fresh
from damage import damages
from hypothesis import given
from hypothesis import strategies as st
from quick import quick_module

import dpmarket
from dpmarket import InputError

__all__ = ["folder", "quick_module"]
ARGUMENTS: list[Any] = [
    *ODD_VALUES, None, b"x", object(), Path("a"), Path("a\0b"), Path("x" * 5000), Path("."), Path("pipe"), {1: 2},
    {"a": {1: 2}}, {"a": object()}, {"policy.budget": None}, {"policy.budget": [1, 2]}, {"": 1}, {"a b": 1},
    ["a=1", 2], [None], ["\0=1"], ["x" * 100_000], ["seed=1"], np.float64("nan"), np.int64(3), np.array([1, 2]),
    np.array(["a"]), np.array(5), lambda: 0, int, range(3), (1, 2), {1}, "s.toml", "t.csv", "r", "three_insurers",
]  # fmt: skip
CALLS: dict[str, dict[str, Any]] = {
    "run": {"scenario": "s.toml", "changes": ["data.target=none"], "seed": 1, "training": False, "data_folder": None},
    "load_scenario": {"source": "s.toml", "overrides": [], "allow_code": False, "data_folder": None},
    "load": {"folder": "r"},
    "compare": {"scenarios": ["s.toml"], "vary": {"policy.budget": ["x"]}, "at_spending": None, "at_fitness": None},
    "design": {"scenario": "s.toml", "changes": {"data.target": "none"}, "policies": ["none"], "budget": None},
    "init": {"table": "t.csv", "target": "none", "owner": None, "owners": None, "out": "n.toml", "force": False},
    "sweep": {"study": {"scenario": "s.toml", "grid": {"policy.budget": ["x"]}}, "out": "w", "workers": 1,
              "overrides": [], "data_folder": None, "executor": None},
}  # fmt: skip
KNOWN = [  # each ended in another exception
    ("init", {"table": "t.csv", "target": 5}, "target: must be a text in quotes; found 5."),
    ("init", {"table": "\0"}, "a path: must have no NUL character."),
    ("sweep", {"study": "x" * 5000}, "File name too long"),
    (
        "compare",
        {"scenarios": Path("a")},
        "scenarios: must be a list, each a text in quotes or a path",
    ),
    (
        "load_scenario",
        {"source": "s.toml", "overrides": {1: 2}},
        "overrides: must be a list, each a text in quotes",
    ),
    ("sweep", {"study": "w.toml", "workers": 0}, "workers: must be a whole number of at least 1; found 0."),
    ("run", {"scenario": 3}, "a text in quotes, a path or a value of the type Scenario; found 3."),
    ("run", {"scenario": "s.toml", "seed": "1"}, "seed: must be a whole number"),
    ("load", {"folder": None}, "folder: must be a text in quotes or a path; found None."),
]


@pytest.fixture(scope="module")
def saved(folder):
    """A result folder of a small market."""
    fresh(folder)
    dpmarket.run("s.toml", {"validation.runs": 2, "validation.paths": True}).save("r")
    shutil.copytree("r", "whole")
    return folder


@pytest.mark.parametrize(
    ("name", "arguments", "words"), KNOWN, ids=[f"{case[0]} {len(case[2])}" for case in KNOWN]
)
def test_calls_that_ended_in_another_exception(saved, name, arguments, words):
    with pytest.raises(InputError) as caught:
        getattr(dpmarket, name)(**arguments)
    assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.slow
@examples("calls")
@given(data=st.data())
def test_calls_with_arguments_of_every_kind(saved, data):
    name = data.draw(st.sampled_from(sorted(CALLS)))
    arguments = CALLS[name] | {
        data.draw(st.sampled_from(sorted(CALLS[name]))): data.draw(st.sampled_from(ARGUMENTS))
    }
    before = files_in(saved)
    try:
        getattr(dpmarket, name)(**arguments)
    except InputError as error:
        assert "\n" not in str(error) and len(str(error)) < 10_000
        assert files_in(saved) == before


def look_at(result: dpmarket.Result) -> None:
    """Everything that a user may ask of a result; its drawings were looked at when it was opened."""
    for view in (
        "owners",
        "claims",
        "trajectory",
        "validation",
        "payoff_curves",
        "periods",
        "paths",
        "talks",
        "headline",
    ):
        getattr(result, view)
    assert len(result.to_frame()) == 1 and result.to_latex() and result.to_csv() and repr(result)
    if result.model is not None:
        assert repr(result.model) and result.model.columns


@pytest.mark.slow
@examples("results")
@given(data=st.data())
def test_damaged_results(saved, data):
    shutil.rmtree("r", ignore_errors=True)
    shutil.copytree("whole", "r")
    names = sorted(
        path.relative_to("r").as_posix() for path in Path("r").rglob("*") if path.is_file()
    )
    facts = [name for name in names if name.endswith((".json", ".csv", ".toml"))]
    done = data.draw(damages(Path("r"), facts * 3 + names))
    try:
        opened = dpmarket.load("r")
    except InputError as error:
        assert "\n" not in str(error), done
    else:
        look_at(opened)
        name = done.partition(":")[0]
        same = (saved / "r" / name).is_file() and (saved / "r" / name).read_bytes() == (
            saved / "whole" / name
        ).read_bytes()
        assert same or opened.changed == (name,) or name not in dpmarket_facts(), done
    check_refusal(
        data.draw(
            st.sampled_from([["report", "r"], ["contract", "r", "--out", "c.json", "--force"]])
        ),
        saved,
    )


def dpmarket_facts() -> tuple[str, ...]:
    from scenarios.result import FACTS

    return FACTS


def test_a_result_that_was_changed_says_so(saved):
    shutil.rmtree("r", ignore_errors=True)
    shutil.copytree("whole", "r")
    assert dpmarket.load("r").changed == ()
    path = Path("r/result.json")
    path.write_text(path.read_text().replace('"payment": ', '"payment": 1', 1))
    opened = dpmarket.load("r")
    assert opened.changed == ("result.json",) and "(changed by hand: result.json)" in repr(opened)
    from broken import end_of

    status, out, err = end_of(["report", "r"])
    assert (status, err) == (0, "") and "changed by hand since the run: result.json" in out
    assert "Changed by hand since the run: result.json." in Path("r/report.html").read_text()
    status, out, err = end_of(["contract", "r"])
    assert (
        status == 2
        and "must be a result just as it was written; found result.json, changed since" in err
    )


def test_a_damaged_manifest_is_named_since_no_file_can_be_judged_by_it(saved):
    shutil.rmtree("r", ignore_errors=True)
    shutil.copytree("whole", "r")
    Path("r/manifest.json").write_text("7")
    assert dpmarket.load("r").changed == ("manifest.json",)
