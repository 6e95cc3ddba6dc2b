"""SECURITY.md: each numbered statement names the tests that fail if it is untrue, and those tests exist."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
BODY, _, EVIDENCE = TEXT.partition("\n## Tests\n")
WITHOUT_STATEMENTS = {"What is not covered", "Reporting"}


def list_statements():
    """The numbers of all statements, in the order of the page."""
    return [
        int(number) for number in re.findall(r"^\* \*\*S(\d+)\.\*\* ", BODY, flags=re.MULTILINE)
    ]


def list_evidence():
    """The tests of each statement, as (file, name), from the rows of the last table."""
    rows = re.findall(r"^\| S(\d+) \| (.+) \|$", EVIDENCE, flags=re.MULTILINE)
    return {int(number): re.findall(r"`([\w/.]+)::(\w+)`", tests) for number, tests in rows}


def test_every_statement_is_numbered_and_has_a_test():
    statements = list_statements()
    assert statements == list(range(1, len(statements) + 1))
    evidence = list_evidence()
    assert list(evidence) == statements
    assert all(evidence.values())


def test_every_test_that_is_named_exists():
    for tests in list_evidence().values():
        for file, name in tests:
            tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
            assert name in {
                node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
            }, (file, name)


def test_sections_hold_numbered_statements_alone():
    """A sentence outside the numbered statements would promise something that no test holds."""
    for section in re.split(r"^## ", BODY, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        if title in WITHOUT_STATEMENTS:
            continue
        blocks = [block for block in re.split(r"\n(?=\* )|\n\n", text.strip()) if block.strip()]
        assert all(block.startswith(("* **S", "|")) for block in blocks), title
