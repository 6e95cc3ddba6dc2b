"""Valid inputs, each broken in one way: a scenario, a table, a command line. All end well, or in one line and status 2.

A few examples are tried here. ``BROKEN=1 pytest tests/scenarios/command -k broken`` tries as many
as `broken.FULL` says, ``BROKEN=10`` ten times as many.
"""

from __future__ import annotations

import copy
import sys
import warnings
from typing import Any

import pytest
from broken import (
    HUGE,
    ODD_TEXTS,
    OTHERS,
    break_line,
    check_end,
    end_of,
    examples,
    folder,
    fresh,
    nested,
    odd,
    places,
)
from commands import SCENARIO, rows
from hypothesis import given
from hypothesis import strategies as st

from scenarios.command import main as cli
from scenarios.schema.toml import toml_lines

__all__ = ["folder"]


@st.composite
def broken_scenarios(draw: st.DrawFn, whole: dict[str, Any]) -> str:
    """The text of a scenario in which one thing is other than it was."""
    table = copy.deepcopy(whole)
    place = draw(st.sampled_from(places(table)))
    inner: Any = table
    for part in place[:-1]:
        inner = inner[part]
    key = place[-1]
    match draw(
        st.sampled_from(
            [
                "delete",
                "value",
                "value",
                "other",
                "other",
                "unknown",
                "nest",
                "list",
                "byte",
                "text",
            ]
        )
    ):
        case "delete":
            del inner[key]
        case "value":
            inner[key] = draw(odd)
        case "other":
            dotted = draw(st.sampled_from(sorted(OTHERS)))
            *tables, name = dotted.split(".")
            target = table
            for part in tables:
                target = target.setdefault(part, {})
            target[name] = draw(st.sampled_from(OTHERS[dotted]) | odd)
        case "unknown":
            inner[draw(st.sampled_from(ODD_TEXTS) | st.text(min_size=1, max_size=20))] = draw(odd)
        case "nest":
            inner[key] = nested(inner[key], draw(st.sampled_from([1, 2, 50, 300])))
        case "list":
            inner[key] = [draw(odd) for _ in range(draw(st.integers(0, 4)))]
        case kind:
            text = "\n".join(toml_lines(table))
            at = draw(st.integers(0, len(text)))
            if kind == "byte":
                return (
                    text[:at]
                    + draw(
                        st.sampled_from(
                            ["\0", "\x1b", '"', "[", "]", "=", "\n", "\ufeff", "'''", "#"]
                        )
                    )
                    + text[at:]
                )
            return text[:at]
    try:
        return "\n".join(toml_lines(table))
    except ValueError:  # digits that Python does not print
        return "\n".join(toml_lines(whole)).replace("10.0", "9" * 5000)


@pytest.mark.slow
@examples("scenarios")
@given(data=st.data())
def test_broken_scenarios(folder, data):
    whole = fresh(folder)
    (folder / "s.toml").write_text(
        data.draw(broken_scenarios(whole)), encoding="utf-8", errors="surrogateescape"
    )
    command = data.draw(
        st.sampled_from([["check", "s.toml"]] * 3 + [["run", "s.toml", "--no-train", "--out", "o"]])
    )
    check_end(command)


CELLS = [
    *ODD_TEXTS,
    "1e308",
    "-1e308",
    "1e-320",
    "1e400",
    "9" * 400,
    "0x1F",
    "1_000",
    "1,5",
    '"',
    "'",
    "a,b",
    "True",
    "2020-01-01",
    "nan",
    "∞",
]
CHANGES = [
    "data.missing=drop",
    "data.missing=fill",
    "data.encoding=integer",
    "data.holdout=0.1",
    "data.components=2",
    "data.order=as_is",
]


@st.composite
def broken_tables(draw: st.DrawFn) -> bytes:
    """The bytes of a table in which one thing is other than it was."""
    lines = [line.split(",") for line in ["x,kind,y", *rows()]]
    at = draw(st.integers(0, len(lines) - 1))
    column = draw(st.integers(0, 2))
    match draw(
        st.sampled_from(
            ["cell", "cell", "cell", "column", "row", "header", "byte", "cut", "delimiter"]
        )
    ):
        case "cell":
            lines[at][column] = draw(st.sampled_from(CELLS) | st.text(max_size=20))
        case "column":
            for line in lines[1:]:
                line[column] = draw(st.shared(st.sampled_from(CELLS), key="column"))
        case "row":
            lines[at] = lines[at] + ["1"] if draw(st.booleans()) else lines[at][:1]
        case "header":
            lines[0][column] = draw(st.sampled_from([*ODD_TEXTS, "x", "y"]) | st.text(max_size=20))
        case "delimiter":
            return (
                draw(st.sampled_from([";", "\t", " ", "|"])).join(["x", "kind", "y"]).encode()
                + b"\n"
                + b"1;2,5;3\n" * 40
            )
        case kind:
            whole = "\n".join(map(",".join, lines)).encode()
            place = draw(st.integers(0, len(whole)))
            if kind == "cut":
                return (
                    draw(st.sampled_from([b"", b"PAR1", b"\x1f\x8b", b"PK\x03\x04", b"\xff\xfe"]))
                    + whole[:place]
                )
            return whole[:place] + draw(st.binary(min_size=1, max_size=3)) + whole[place:]
    return "\n".join(map(",".join, lines)).encode("utf-8", "surrogatepass")


@examples("tables")
@given(
    table=broken_tables(),
    changes=st.lists(st.sampled_from(CHANGES), max_size=2),
    by_owner=st.booleans(),
    run=st.integers(0, 3),
)
def test_broken_tables(folder, table, changes, by_owner, run):
    fresh(folder)
    (folder / "t.csv").write_bytes(table)
    if by_owner:
        text = SCENARIO.format(table="t.csv").replace("split = [40, 40]", 'owner = "kind"')
        (folder / "s.toml").write_text(text)
    command = ["check", "s.toml"] if run else ["run", "s.toml", "--no-train", "--out", "o"]
    check_end([*command, *(part for change in changes for part in ("--set", change))])


LINES = [
    ["check", "s.toml"], ["run", "s.toml", "--no-train", "--out", "o"],
    ["run", "s.toml", "--set", "policy.budget=3", "--no-train", "--out", "o"],
    ["check", "s.toml", "--set", "title=x"], ["forecast", "s.toml", "--epsilon", "1,1"],
    ["check", "s.toml", "--seed", "3"], ["scenarios"], ["--version"],
    ["check", "three_insurers", "--set", "data.path=t.csv"],
    ["mechanisms", "--owners", "3", "--markets", "1", "--only", "posted", "--costs", "uniform:low=1,high=2"],
]  # fmt: skip
WORDS = [
    *(text for text in ODD_TEXTS if "\0" not in text),
    *HUGE,
    *(
        "1e308",
        "nan",
        "inf",
        "0",
        "1,1,1",
        "pipe",
        ".",
        "/",
        "--set",
        "--out",
        "--seed",
        "s.toml",
        "=",
        "a=",
        "=b",
    ),
    *(
        "." * 2000 + "=1",
        "a" + ".a" * 2000 + "=1",
        "seed=" + "[" * 3000,
        "title='''",
        "title=\x1b[31m",
        "data.path=pipe",
    ),
    *(
        "data.path=.",
        "owners.cost.price=[1,2,3]",
        "learning.horizon=99999",
        "market.starts=1000000000000",
    ),
    "validation.runs=10000000000",
]


@examples("lines")
@given(
    line=st.sampled_from(LINES),
    at=st.integers(0, 8),
    how=st.sampled_from(["put", "swap", "drop", "option"]),
    word=st.sampled_from(WORDS) | st.text(st.characters(exclude_characters="\0"), max_size=20),
)
def test_broken_command_lines(folder, line, at, how, word):
    fresh(folder)
    line = break_line(line, at % len(line), how, word)
    if "--install-completion" not in line and "reproduce" not in line:
        check_end(line)


BIG = "1" + "0" * 400
KNOWN = [  # each ended in a traceback, a warning of NumPy, hours or a terminal that was commanded
    (("check", "s.toml", "--set", 'title="[/b]"'), 0, "[/b]: good"),
    (("check", "s.toml", "--set", 'title="\\u001b[31mred"'), 0, "\\u001b[31mred: good"),
    (("check", "s.toml", "--set", '"\\u001b[31m"=3'), 2, "\\u001b[31m: is not a known key"),
    (("check", "s.toml", "--set", "data.path=~nosuchuser/x.csv"), 2, "no such file"),
    (("check", "~nosuchuser/s.toml"), 2, "must be a scenario file"),
    (("check", "lending_banks", "--data", "~nosuchuser"), 2, "no such folder"),
    (("check", "s.toml", "--set", "seed=" + "[" * 3000), 2, "seed: must be a whole number"),
    (("check", "s.toml", "--set", "seed=" + "1" * 5000), 2, "seed: must be a whole number"),
    (("check", "s.toml", "--seed", BIG), 2, "--seed"),
    (("check", "s.toml", "--set", "title=\udcff\ud800"), 0, "\\udcff\\ud800: good"),
    (("check", "s.toml", "--set", "data.path=pipe"), 2, "found a pipe or a device"),
    (("check", "s.toml", "--set", "data.path=/dev/zero"), 2, "found a pipe or a device"),
    (("check", "x" * 5000), 2, "must be a scenario file"),
    (("check", "s.toml", "--set", 'data.names=["A", "A "]'), 2, "differ by blanks alone"),
    (("check", "s.toml", "--set", 'data.names=["A", "A\\u00a0"]'), 2, "differ by blanks alone"),
    (
        ("check", "s.toml", "--set", 'data.names=["A", "B\\u202e"]'),
        2,
        "with a character that cannot be seen",
    ),
    (("run", "s.toml", "--set", "market.starts=100000000000"), 2, "at most 10000"),
    (("run", "s.toml", "--set", "market.max_rounds=9223372036854775808"), 2, "at most 100000"),
    (("run", "s.toml", "--set", "validation.runs=100000000000"), 2, "at most 100000"),
    (("check", "s.toml", "--set", "learning.overlap=" + BIG), 2, "learning.overlap: must be"),
    (
        ("check", "s.toml", "--set", "learning.overlap=3"),
        2,
        "must be at most 2, the number of owners; found 3",
    ),
    (
        ("check", "s.toml", "--set", f"owners.cost={{kind='leakage', price=1, values={BIG}}}"),
        2,
        "owners.cost.values: must be",
    ),
    (
        ("check", "s.toml", "--set", f"owners.cost={{kind='belief', price=1, worlds={BIG}}}"),
        2,
        "owners.cost.worlds: must be",
    ),
    (
        ("check", "s.toml", "--set", "owners.epsilon=[0, 1e308]"),
        2,
        "0 or lie between 1e-09 and 1,000,000",
    ),
    (
        ("forecast", "s.toml", "--epsilon", "1e308"),
        2,
        "0 or lie between 1e-09 and 1,000,000, or be inf",
    ),
    (
        ("forecast", "s.toml", "--epsilon", "1e-300"),
        2,
        "0 or lie between 1e-09 and 1,000,000, or be inf",
    ),
    (("mechanisms", "--owners", "1000000000000"), 2, "--owners"),
    (
        ("mechanisms", "--owners", "100000", "--markets", "20"),
        2,
        "at most 100,000 in all markets together",
    ),
    (("mechanisms", "--records", BIG), 2, "--records"),
    (("audit", "s.toml", "--draws", "1000000000000"), 2, "--draws"),
]
SIZES = (
    "policy.budget", "policy={kind='posted', price", "policy={kind='marginal', share",
    "policy={kind='cost_plus', margin", "regulation.leakage_tax",
    "regulation.price_floor", "owners.cost={kind='expected_harm', price", "owners.fixed_cost", "owners.round_cost", "owners.benefit",
    "learning.regularisation",
    "learning.clip", "learner.value",
)  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    KNOWN,
    ids=[" ".join(case[0])[:40].encode("unicode_escape").decode() for case in KNOWN],
)
def test_what_was_found_broken(folder, arguments, status, words):
    fresh(folder)
    check_end(list(arguments))
    ended, out, err = end_of(list(arguments))
    assert ended == status and words in out + err


@pytest.mark.parametrize("key", SIZES)
@pytest.mark.parametrize("size", ["1e308", "1e-308"])
def test_numbers_that_nothing_can_be_computed_with(folder, key, size):
    fresh(folder)
    status, _, err = end_of(["check", "s.toml", "--set", f"{key}={size}{'}' * ('{' in key)}"])
    assert (
        status == 2
        and ("beyond 1e+15, where numbers end" if size == "1e308" else "closer to 0 than 1e-50")
        in err
    )


def test_numbers_lost_on_the_way_are_told_in_one_line(folder, monkeypatch):
    """What slips past the limits is an error of the input too: a warning of NumPy, memory, recursion."""
    import scenarios.checking

    fresh(folder)
    for error, words in (
        (
            RuntimeWarning("overflow encountered in exp"),
            "too large, or too near 0, to compute with (overflow",
        ),
        (OverflowError("int too large"), "too large, or too near 0"),
        (MemoryError("2 TiB"), "needs more memory than there is (2 TiB)"),
        (RecursionError(), "nested too deeply"),
        (
            FileNotFoundError(2, "No such file or directory"),
            "the system: No such file or directory",
        ),
    ):

        def raising(scenario, error=error):
            if isinstance(error, Warning):
                warnings.warn(error, stacklevel=1)
            raise error

        monkeypatch.setattr(scenarios.checking, "check_scenario", raising)
        status, out, err = end_of(["check", "s.toml"])
        assert status == 2 and out == "" and err.count("\n") == 1 and words in err
    monkeypatch.setattr(scenarios.checking, "check_scenario", lambda scenario: 1 + "a")
    monkeypatch.setattr(sys, "argv", ["dpmarket", "check", "s.toml"])
    with pytest.raises(TypeError):  # a fault of the program is no fault of the input
        cli.main()


def test_a_deleted_folder_is_told_in_one_line(folder, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    check_end(["check", "three_insurers"])
