"""Valid inputs broken on purpose: odd values, how a command must end, and how many examples are tried."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tomllib
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from commands import SCENARIO, rows
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from scenarios.command import main as cli

TIMES = float(os.environ.get("BROKEN", "0"))
FULL = {"scenarios": 3000, "tables": 600, "lines": 300}
FULL |= {"pairs": 1650, "commands": 500, "calls": 400, "results": 100, "exchanges": 350}
FEW = {"scenarios": 20, "tables": 8, "lines": 10}
FEW |= {"pairs": 20, "commands": 12, "calls": 20, "results": 5, "exchanges": 12}
ENDED = {0, 2, 3, 4}  # done, refused, refuted or no use, waiting

HUGE = ["1" + "0" * 30, "1" + "0" * 400, "9" * 5000, str(2**63), "-1"]
ODD_TEXTS = [
    "", " ", "[/b]", "[red]x[/red]", "[link=http://x]y[/link]", "\x1b[31mred\x1b[0m", "\x07\x08\x7f", "a\nb",
    "a\r\nb", "\u202eabc",
    "=HYPERLINK(\"http://x\")", "$\\frac{", "$a_{b", "{{ 7*7 }}", "{% x %}", "<script>alert(1)</script>", "%s%n",
    "../../x", "~nosuchuser/x",
    "a\u00a0b", "a\u200bb", "x" * 5000, "\ud800", "\udcff", "ï»¿", "日本語", "🎲", "NaN", "inf", "None", "null", "-",
    "--help", "/dev/zero", "nul\0",
]  # fmt: skip
ODD_VALUES: list[Any] = [
    True, False, 0, -1, 1, 2, 3, 10**9, 10**18, 10**30, 10**400, -(10**400), 0.0, -0.0, 1e308, -1e308, 1e-308, 5e-324,
    1e15, 1e-9, 1e6, 5000.0,
    float("nan"), float("inf"), -float("inf"), [], {}, [[]], [{}], {"kind": "x"}, {"": 1}, [1, "a"], [1.0, 2.0],
    [1.0] * 3, [0.1, 5.0], [5.0, 0.1],
    [[0.1, 1.0], [0.0, 2.0]], {"owner 1": 1.0, "owner 2": 2.0}, {"owner 1": [0.0, 1.0], "owner 2": [0.5, 2.0]},
    {"nobody": 1.0},
    "optimal", "public", "user", "hinge", "logistic", "gaussian", "laplace", "best", "pld", "posted", "marginal",
    "exponential", "leakage", "t.csv",
    *ODD_TEXTS,
]  # fmt: skip
OTHERS = {  # keys that the scenario leaves out, with values that go with it
    "title": ["two owners"], "seed": [3, 10**15],
    "data.features": [["x"]], "data.names": [["A", "B"], ["A", "A "], ["[/b]", "$\\frac{"]], "data.order": ["as_is"],
    "data.holdout": [0.2, "rest"],
    "data.components": [1, 2, 50], "data.check_rows": [4], "data.encoding": ["integer"],
    "data.bounds": [{"y": [-5, 5]}, {"x": [0, 1e-40]}],
    "data.min_records": [41, 10**12], "data.missing": ["drop", "fill"], "learning.theta_max": [2.0, 1e-12, 1e12],
    "learning.step_size": [0.1, 1e9, 1e-30],
    "learning.regularisation": [1e-3, 1e12, 1e-40], "learning.algorithm": ["sgd2", "synchronous"],
    "learning.delta": [1e-6, 1e-45],
    "learning.overlap": [2, 3, 10**12], "learning.weights": ["equal", "precision"],
    "owners.benefit": [1.0, 1e15, [1.0, 2.0]], "owners.fixed_cost": [1.0, 1e15],
    "owners.setup_cost": [1e15], "owners.round_cost": [1e-9, 1.0, 1e15],
    "owners.cost": [{"kind": "exponential", "price": 1.0}, {"kind": "leakage", "price": 1.0, "values": 10**12},
                    {"kind": "belief", "price": 1.0, "ratio": 1e12},
                    {"kind": "expected_harm", "price": 1e15}, {"kind": "channel", "price": 1.0, "values": 50}],
    "policy": [{"kind": "posted", "price": 1e15}, {"kind": "marginal", "share": 1e15}, {"kind": "shapley"},
               {"kind": "cost_plus", "margin": 0.1},
               {"kind": "tiers", "thresholds": [0.5, 1e-30], "amounts": [1.0, 1e15]},
               {"kind": "thesis_leakage", "price": 1.0}, {"kind": "user", "file": "t.csv"}],
    "regulation": [{"epsilon_cap": 1e-12}, {"leakage_tax": 1e15}, {"price_floor": 1e15}],
    "learner.budget": [0.0, 1e15],
    "market.activation": ["simultaneous", "random", "poisson"], "market.tol": [1e-40, 1e15],
    "market.max_rounds": [1, 10**9], "market.damping": [0.5],
}  # fmt: skip


def end_of(arguments: list[str]) -> tuple[int, str, str]:
    """(status, stdout, stderr) of one call in this process; whatever is raised is a failure of the test."""
    out = io.StringIO()
    err = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("always")  # so that each is printed
        patch.setattr(sys, "argv", ["dpmarket", *arguments])
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as stop,
        ):
            cli.main()
    return stop.value.code or 0, out.getvalue(), err.getvalue()  # type: ignore[return-value]


def check_end(arguments: list[str]) -> None:
    """Good, or bad in lines that each begin with the program's name; nothing in either that commands a terminal."""
    status, out, err = end_of(arguments)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", out + err), (
        out,
        err,
    )
    assert status in (0, 2), (status, err)
    if status == 0:
        assert err == "", err
    else:
        lines = err.splitlines()
        assert (
            out == ""
            and lines
            and all(line.startswith("dpmarket: ") and len(line) < 1100 for line in lines)
        )
        assert len(lines) == 1 or arguments[0] == "check", err
        assert "Traceback" not in err and "<class" not in err


def files_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of each file under a folder, hidden ones too."""
    found = ((path, path.lstat()) for path in folder.rglob("*") if not path.is_dir())
    return {str(path.relative_to(folder)): (stat.st_size, stat.st_mtime_ns) for path, stat in found}


def check_refusal(arguments: list[str], folder: Path) -> int:
    """Run a command that ends well, or is refused in one line and leaves every file as it was; gives its status."""
    before = files_in(folder)
    status, out, err = end_of(arguments)
    assert status in ENDED, (status, err)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", out + err), (
        out,
        err,
    )
    if status != 2:
        assert err == "", err
        return status
    lines = err.splitlines()
    assert (
        out == ""
        and lines
        and all(line.startswith("dpmarket: ") and len(line) < 1100 for line in lines)
    ), (out, err)
    assert len(lines) == 1 or "check" in arguments, err
    assert "Traceback" not in err and "<class" not in err
    changed = {name for name, _ in files_in(folder).items() ^ before.items()}
    if arguments[0] == "sweep":  # its folder keeps what each cell said, though all were refused
        changed = {name for name in changed if not name.startswith("sweeps/")}
    assert not changed
    return status


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, a scenario for it, and a pipe; the current one while the tests run."""
    place = tmp_path_factory.mktemp("broken")
    before = Path.cwd()
    os.chdir(place)
    os.mkfifo("pipe")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPMARKET_REGISTRY", str(tmp_path_factory.mktemp("registry")))
        yield place
    os.chdir(before)


def fresh(folder: Path) -> dict[str, Any]:
    (folder / "t.csv").write_text("\n".join(["x,kind,y", *rows()]) + "\n")
    (folder / "s.toml").write_text(SCENARIO.format(table="t.csv"))
    return tomllib.loads(SCENARIO.format(table="t.csv"))


def break_line(line: Sequence[str], at: int, how: str, word: str) -> list[str]:
    """Put, swap or drop a word of a command line, or add an override; ``none`` leaves it as it is."""
    broken = list(line)
    match how:
        case "put":
            broken.insert(at, word)
        case "swap":
            broken[at] = word
        case "drop":
            del broken[at]
        case "option":
            broken += ["--set", word]
    return broken


def examples(what: str) -> settings:
    count = round(FULL[what] * TIMES) or FEW[what]
    slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=not TIMES,
        database=None,
        suppress_health_check=slow,
    )


odd = st.sampled_from(ODD_VALUES) | st.floats() | st.integers() | st.text(max_size=30)


def places(table: dict[str, Any], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every key of a scenario, as the parts of its dotted name."""
    here = [(*above, key) for key in table]
    return here + [
        place
        for key, inner in table.items()
        if isinstance(inner, dict)
        for place in places(inner, (*above, key))
    ]


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value
