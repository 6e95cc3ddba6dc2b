"""Imports run one way, learning <- market <- agents <- scenarios, read from the syntax trees."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ORDER = ("learning", "market", "agents", "scenarios")
NEVER = {"mesa", "pandas", "matplotlib"}
FILES = [path for package in ORDER for path in sorted((ROOT / package).rglob("*.py"))]


def imported(source: str) -> set[str]:
    """Top-level names of all modules a source imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the direction"
            found.add((node.module or "").split(".")[0])
        elif (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", getattr(node.func, "attr", "")) in {"import_module", "__import__"}
            and node.args
            and isinstance(node.args[0], ast.Constant)
        ):
            found.add(str(node.args[0].value).split(".")[0])
    return found


def forbidden(package: str) -> set[str]:
    later = set(ORDER[ORDER.index(package) + 1 :]) | {"tests", "notebooks", "benchmarks", "conftest"}
    return later | NEVER if package in ("learning", "market") else later


def test_every_package_has_files():
    for package in ORDER:
        assert any(path.is_relative_to(ROOT / package) for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path):
    package = path.relative_to(ROOT).parts[0]
    helpers = {p.stem for p in (ROOT / "tests").glob("*.py")}
    found = imported(path.read_text(encoding="utf-8"))
    assert not found & (forbidden(package) | helpers - set(ORDER)), f"{path.name} imports what it must not"


def test_the_reader_sees_every_way_to_import():
    text = "import market.game as g\ndef f():\n    from agents import x\n    importlib.import_module('pandas.core')\n"
    assert imported(text) == {"market", "agents", "pandas"}
    assert imported(text) & forbidden("learning") == {"market", "agents", "pandas"}
