"""Two things broken at once, over all keys and tables of a scenario; and the command lines of every command."""

from __future__ import annotations

import copy
import shutil
import tomllib
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from broken import (
    HUGE,
    ODD_TEXTS,
    OTHERS,
    TIMES,
    break_line,
    check_refusal,
    end_of,
    examples,
    folder,
    fresh,
    odd,
)
from exchanges import small_contract, table
from hypothesis import given
from hypothesis import strategies as st
from quick import quick_module
from settlements import played

from scenarios.schema.toml import toml_lines

__all__ = ["folder", "quick_module"]

pytestmark = pytest.mark.coarse

TABLES: dict[str, list[Any]] = {  # tables and keys that few scenarios have
    "learners": [
        [{"name": "Rival", "value": 50.0}],
        [{"name": "R", "value": {"per": "rmse", "money": 1.0}}],
    ],
    "unions": [[{"members": ["A", "B"]}], [{"members": ["owner 1", "owner 2"]}]],
    "behaviours": [
        [{"kind": "noisy", "precision": 1.0}],
        [{"kind": "poisoner", "share": 0.5}],
        [{"kind": "fixed"}],
    ],
    "time": [{"periods": 2}, {"periods": 2, "entry": [{"owners": ["owner 2"], "period": 2}]}],
    "network": [
        {"trade": {"kind": "complete"}},
        {"sight": {"kind": "ring"}},
        {"trade": {"kind": "captive"}},
    ],
    "externalities": [{"share": 0.1}, {"kind": "correlation", "share": 0.5}],
    "audit": [{"chance": 0.1, "fine": 10.0}],
    "trust": [
        {"aggregation": "secure"},
        {"aggregation": "secure", "colluders": 1},
        {"aggregation": "local"},
    ],
    "withdrawal": [{"owners": ["owner 2"]}, {"owners": ["owner 1"], "payment": "returned"}],
    "malicious": [{"repeats": 3}, {"reach": 2.0, "expected": 0.5}],
    "validation.contributions": [True],
    "learner.pricing": [{"kind": "menu"}, {"kind": "nash_in_nash"}],
    "learner.value": [
        {"per": "rmse", "money": 1.0},
        {"per": "cost", "miss": 1.0, "false_alarm": 2.0, "cases": 3.0},
    ],
    "owners.benefit": [{"per": "rmse", "money": 1.0}, {"owner 1": 1.0, "owner 2": 2.0}],
    "owners.report": [0.1, 1.0],
    "owners.records": [{"owner 1": 5, "owner 2": 6}],
    "learning.clocks": [{"rates": 1.0}, {"rates": [1.0, 2.0]}],
    "learning.aggregation": [{"kind": "median"}, "median"],
    "learning.clipping": ["record", "owner"],
    "learning.loss": ["hinge", "logistic", "network"],
    "learning.mechanism": ["gaussian", "l2", "best"],
    "learning.accounting": ["basic", "zcdp", "pld", "printed"],
    "data.person": ["kind", "x"],
    "data.owner": ["kind", "y"],
    "validation.baselines": [["weighted", "plain"], ["central"]],
    "validation.paths": [True],
    "market.participation": ["free"],
    "market.rounds": [3],
    "currency": ["EUR"],
    "labels": [{"y": "Y, EUR"}],
}
ALL = OTHERS | TABLES


def harvested() -> dict[str, list[Any]]:
    """Values that the library's scenarios and studies give to dotted keys, at any depth."""
    found: dict[str, list[Any]] = {}

    def gather(part: Any, name: str) -> None:
        found.setdefault(name, []).append(part)
        if isinstance(part, dict):
            for key, inner in part.items():
                gather(inner, f"{name}.{key}")

    for path in sorted(Path(str(files("scenarios") / "library")).rglob("*.toml")):
        content = tomllib.loads(path.read_text())
        tables = (
            [content.get("set", {}), *content.get("points", [])]
            if "studies" in path.parts
            else [content]
        )
        for one in tables:
            for key, part in one.items():
                gather(part, key)
    return found


HARVEST = harvested()
KEYS = sorted(ALL) * 2 + sorted(HARVEST)


def put(whole: dict[str, Any], dotted: str, value: Any) -> None:
    """Set a dotted key; what stands in the way gives way."""
    *tables, name = dotted.split(".")
    target = whole
    for part in tables:
        if not isinstance(target.get(part), dict):
            target[part] = {}
        target = target[part]
    target[name] = copy.deepcopy(value)


def nested_tables(part: Any) -> list[dict[str, Any]]:
    """Each table in a scenario, in lists too."""
    inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
    return [part] * isinstance(part, dict) + [
        found for one in inner for found in nested_tables(one)
    ]


@st.composite
def pairs(draw: st.DrawFn, whole: dict[str, Any]) -> str:
    """A scenario with two keys changed; now and then one more, unknown or odd, in any of its tables."""
    changed = copy.deepcopy(whole)
    for _ in range(2):
        key = draw(st.sampled_from(KEYS))
        known = st.sampled_from(ALL.get(key, []) + HARVEST.get(key, []))
        put(changed, key, draw(known if draw(st.integers(0, 3)) else odd))
    if not draw(st.integers(0, 2)):
        inner = draw(st.sampled_from(nested_tables(changed)))
        inner[draw(st.sampled_from(["foo", "kind", "per", "name", "price", *inner]))] = draw(odd)
    try:
        return "\n".join(toml_lines(changed))
    except ValueError:  # digits that Python does not print
        return "\n".join(toml_lines(whole))


@pytest.mark.slow
@examples("pairs")
@given(data=st.data())
def test_broken_pairs(folder, data):
    text = data.draw(pairs(fresh(folder)))
    (folder / "s.toml").write_text(text, encoding="utf-8", errors="surrogateescape")
    run = [
        "run",
        "s.toml",
        "--no-train",
        "--out",
        "o",
        "--set",
        "market.starts=1",
        "--set",
        "market.max_rounds=20",
    ]
    check_refusal(data.draw(st.sampled_from([["check", "s.toml"]] * 40 + [run])), folder)


EXCHANGE = ["x/contract.json", "--owner", "Alpha", "--data", "own.csv", "--ledger", "a.ledger"]
COMMANDS = [
    ["run", "s.toml", "--no-train", "--out", "o"], ["run", "game.toml", "--out", "og"], ["check", "game.toml"],
    ["forecast", "s.toml", "--epsilon", "1,1"], ["audit", "s.toml", "--epsilon", "1,1", "--draws", "100"],
    ["scenarios", "--data", "."], ["report", "r"], ["report", "og"],
    ["contract", "r", "--out", "c.json", "--missing", "without", "--at-least", "1", "--hours", "2"],
    ["contract", "show", "x/contract.json"], ["accept", *EXCHANGE],
    ["answer", EXCHANGE[0], "x", *EXCHANGE[1:], "--dry-run"],
    ["answer", EXCHANGE[0], "x/round-001.query.json", *EXCHANGE[1:], "--out", "a.json"],
    ["collect", "x/contract.json", "x"], ["collect", "x/contract.json", "--out", "y", "--accept", "Alpha"],
    ["withdraw", "x/contract.json", "x", "--owner", "Alpha", "--out", "w.json"],
    ["settle", "x/contract.json", "x", "--out", "."], ["state", "x/contract.json", "--owner", "Alpha", "--ledger", "l"],
    ["settle", "x/contract.json", "x", "--statement", "s.json", "--unfinished"],
    ["settle", "x/contract.json", "x", "--public", "own.csv"], ["settle", "x/contract.json", "--aside", "own.csv"],
    ["exchange", "s.toml", "--repeat", "1", "--set", "data.target=none", "--out", "e"],
    ["exchange", "three_insurers", "--flower", "--set", "data.target=none"],
    ["compare", "s.toml", "none", "--vary", "policy.budget=1,2", "--out", "k"], ["compare", "r", "--at-spending", "x"],
    ["design", "s.toml", "--budget", "-1", "--policies", "posted", "--out", "d"], ["init", "t.csv", "--out", "n.toml"],
    ["init", "t.csv", "--target", "none", "--owner", "kind"], ["init", "t.csv", "--target", "y", "--owners", "2"],
    ["mechanisms", "--owners", "3", "--markets", "1", "--only", "posted", "--out", "m.csv"],
    ["reproduce", "--list"], ["reproduce", "none", "--out", "p", "--data", "."],
    ["sweep", "study.toml", "--dry-run"], ["sweep", "study.toml", "--set", "data.target=none", "--workers", "1"],
    ["dashboard", "none", "--port", "0", "--no-browser"], ["dashboard", "s.toml", "--host", "nowhere.invalid"],
]  # fmt: skip
SERVES = (
    find_spec("solara") is not None
)  # a dashboard that comes up is there until somebody ends it
WORDS = [
    *(text for text in ODD_TEXTS if "\0" not in text), *HUGE, "1e308", "nan", "0", "1,1", "pipe", ".", "/", "/dev/full",
    "r", "x", "own.csv", "a.ledger", "s.toml", "study.toml", "game.toml", "x/model.json", "missing/deep/o", "t.csv/o",
    "--out", "--set", "--data", "--owner", "--force", "--follow=x", "a=", "x" * 300, "~nosuchuser/x",
]  # fmt: skip
CHEAP = {  # what stands in a line of a long command keeps it short: one of these must still be there
    "exchange": {"data.target=none"}, "compare": {"none", "x"}, "design": {"-1"}, "sweep": {"--dry-run", "data.target=none"},
    "reproduce": {"--list", "none"}, "audit": {"100"}, "mechanisms": {"3"},
}  # fmt: skip
if not TIMES:
    CHEAP["init"] = {"none"}
STUDY = 'scenario = "s.toml"\n[grid]\npolicy.budget = [1.0, 2.0]\n'


@pytest.fixture(scope="module")
def world(folder):
    """Whatever commands take: a result, a game's result, a study, an exchange, an owner's table and ledger."""
    fresh(folder)
    (folder / "study.toml").write_text(STUDY)
    contract = small_contract(2)
    played(folder / "x", contract)
    (folder / "own.csv").write_text(table(contract, "Alpha"))
    shutil.copy(
        files("scenarios") / "library" / "games" / "two_hospitals.toml", folder / "game.toml"
    )
    for line in (
        ["run", "s.toml", "--out", "r"],
        ["run", "game.toml", "--out", "og"],
        ["accept", *EXCHANGE],
    ):
        assert end_of(line)[0] == 0, end_of(line)
    return folder


@pytest.mark.slow
@examples("commands")
@given(
    line=st.sampled_from(COMMANDS),
    at=st.integers(0, 12),
    how=st.sampled_from(["put", "swap", "swap", "drop", "option", "none"]),
    word=st.sampled_from(WORDS) | st.text(st.characters(exclude_characters="\0"), max_size=20),
)
def test_broken_lines_of_every_command(world, line, at, how, word):
    line = break_line(line, 1 + at % (len(line) - 1), how, word)
    costly = line[0] in CHEAP and not CHEAP[line[0]] & set(line)
    if not (
        costly
        or (SERVES and line[0] == "dashboard")
        or "--install-completion" in line
        or "--help" in line
    ):
        check_refusal(line, world)
