"""The tables of a result: no cell of theirs is a formula, and every name comes back as it was."""

import csv
import json

import numpy as np
import pytest
from result_folders import result

from scenarios.report.figures import read_table
from scenarios.result import Result, cell_text, save_result, to_plain

NAMES = (
    '=HYPERLINK("http://x","y")',
    "+1",
    "-2+3",
    "@SUM(A1)",
    "\tTab",
    "\rReturn",
    "Two\rlines",
    "Two\nlines",
    " =1+1",
    "'=1",
    "''=1",
    "'s-Hertogenbosch",
    "＝1",
    "NA",
    "7",
    'a,"b"',
    "plain",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A result of owners with such names, and numbers below 0."""
    rows = [
        {"round": 0, "owner": name, "epsilon": np.float64(-0.5), "regret": -1} for name in NAMES
    ]
    curves = [{"owner": name, "epsilon": 1.0, "payoff": -2.5} for name in NAMES]
    place = tmp_path_factory.mktemp("result") / "r"
    save_result(
        Result(result(names=NAMES), trajectory=rows, payoff_curves=curves), place, lambda new: None
    )
    return place


@pytest.mark.parametrize("table", ["owners", "trajectory", "payoff_curves"])
def test_no_cell_of_text_begins_like_a_formula(folder, table):
    with (folder / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert all(len(row) == len(header) for row in rows)
    name = header.index("name" if table == "owners" else "owner")
    assert [cell_text(row[name]) for row in rows] == list(NAMES)
    assert not [
        row[name]
        for row in rows
        if row[name].lstrip()[:1] in set("=+-@\t\r＝") or row[name][0] in "\t\r\n"
    ]
    if table == "trajectory":
        assert {(row[2], row[3]) for row in rows} == {("-0.5", "-1")}  # numbers stay numbers


@pytest.mark.parametrize("table", ["trajectory", "payoff_curves"])
def test_the_report_reads_every_name_as_it_was(folder, table):
    read = read_table(folder / f"{table}.csv")
    assert (
        read["owner"].tolist() == list(NAMES)
        and (read.drop(columns=["owner", "epsilon"]).min() < 1).all()
    )


def test_lines_end_as_they_did(folder):
    text = (folder / "owners.csv").read_bytes()
    assert text.endswith(b"\n") and b"\r\n" not in text


CONTENT = {
    "owners": [
        {"name": name, "epsilon": 0.1 * i, "gains": bool(i % 2), "none": None}
        for i, name in enumerate(NAMES)
    ],
    "nothing": [{}, [], {"a": []}],
    "deep": [[1.5, [2, "ε"]], {"x": {"y": -1e-300}}],
    "flat": [0.1, 1e22, 5],
}


def test_content_is_written_line_by_line_and_what_is_no_number_as_null(tmp_path):
    content = {
        **CONTENT,
        "array": np.array([0.5, np.nan]),
        "lost": np.float64("inf"),
        "owners": CONTENT["owners"],
    }
    save_result(Result(content), tmp_path / "kept", lambda folder: None)
    text = (tmp_path / "kept" / "result.json").read_text(encoding="utf-8")
    assert json.loads(text) == CONTENT | {"array": [0.5, None], "lost": None}
    assert text.startswith('{\n "owners": [\n  {\n   "name": "') and text.endswith("\n}\n")


def test_what_is_plain_stays_as_it_is_and_the_rest_becomes_so():
    found = to_plain(
        {
            1: np.array([[1.0, np.inf]]),
            "b": (np.float64("nan"), np.int64(3), np.bool_(True)),
            "c": np.str_("d"),
        }
    )
    assert found == {"1": [[1.0, None]], "b": [None, 3, True], "c": "d"}
    assert type(found["b"][1]) is int and to_plain(CONTENT) == CONTENT
