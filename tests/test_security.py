"""SECURITY.md: every row of the threat model names tests that fail if it is untrue, and those tests exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")


def list_rows():
    """The rows of the table, each as its cells."""
    table = TEXT.partition("\n## Who can do what\n")[2].partition("\n## ")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def list_tests(cell):
    """The tests that a cell names, as (file, name)."""
    return re.findall(r"`([\w/.]+)::(\w+)`", cell)


def test_every_row_says_who_what_when_and_by_whom_it_is_seen_and_names_its_tests():
    rows = list_rows()
    assert len(rows) > 20
    for row in rows:
        assert len(row) == 5 and all(row), row
        assert list_tests(row[4]), row


def test_every_test_that_is_named_exists_and_nothing_else_is_named_as_one():
    for row in list_rows():
        tests = list_tests(row[4])
        assert row[4] == ", ".join(f"`{file}::{name}`" for file, name in tests)
        for file, name in tests:
            tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
            assert name in {
                node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
            }, (file, name)


def test_what_is_not_defended_is_said():
    said = TEXT.partition("\n## What is not defended\n")[2].partition("\n## ")[0]
    for word in ("active learner", "Side channels", "Floating point", "Key theft"):
        assert word in said
