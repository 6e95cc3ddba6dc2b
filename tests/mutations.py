"""Plant one small bug at a time, and see whether the tests notice: python tests/mutations.py [--against OLD].

A place is an operator (of a comparison, a sum, a product, a power, a boolean) in a statement of the packages that stands
there once. With ``--against`` another checkout, only statements of both are taken, and each bug is planted in both at the
same time: so that the tests of two states of the program can be compared. The tests of both must pass without a bug. Those
that run are of the room that the file belongs to, as `make test` takes them: the quick ones, and where these pass, the slow
ones.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOMS = ("learning", "market", "agents", "scenarios", "exchange")
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
SECONDS = 600  # that the tests of one bug may take
APART = ("deep", "notebook", "browser", "golden", "exchange", "federated")  # from make test


def stages(folder: Path) -> list[str]:
    """Expressions of marks: the quick tests of a checkout, then its slow ones."""
    known = (folder / "pyproject.toml").read_text(encoding="utf-8")
    others = " and ".join(f"not {mark}" for mark in APART if f'"{mark}: ' in known)
    return [f"not slow and {others}", f"slow and {others}"]


def statements(folder: Path) -> Iterator[tuple[Path, ast.stmt]]:
    """Simple statements of all packages in a checkout."""
    for room in ROOMS:
        for file in sorted((folder / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Assign | ast.AugAssign | ast.Return | ast.AnnAssign):
                    yield file.relative_to(folder), node


def changeable(statement: ast.stmt) -> list[int]:
    """Numbers of the nodes of a statement that can be changed, as `ast.walk` counts them."""
    return [i for i, node in enumerate(ast.walk(statement)) if operator_of(node) is not None]


def operator_of(node: ast.AST) -> ast.AST | None:
    """The operator of a node that `SWAPS` changes."""
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp):
        found: ast.AST = node.op
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        found = node.ops[0]
    else:
        return None
    return found if type(found) in SWAPS else None


def planted(statement: ast.stmt, number: int) -> str:
    """Text of a statement with one operator changed."""
    changed = copy.deepcopy(statement)
    node = list(ast.walk(changed))[number]
    swap = SWAPS[type(operator_of(node))]()
    if isinstance(node, ast.Compare):
        node.ops = [swap]
    else:
        node.op = swap  # type: ignore[attr-defined]
    return ast.unparse(changed)


def unique_texts(folder: Path) -> dict[str, tuple[Path, ast.stmt]]:
    """Statements that stand once in a checkout, by their text."""
    seen: dict[str, list[tuple[Path, ast.stmt]]] = {}
    for file, statement in statements(folder):
        seen.setdefault(ast.unparse(statement), []).append((file, statement))
    return {text: found[0] for text, found in seen.items() if len(found) == 1}


def tests_of(folder: Path, file: Path) -> list[str]:
    """Tests of the room that a file belongs to; of several where the room has none of its own."""
    room = folder / "tests" / file.parent
    while not room.is_dir():
        room = room.parent
    own = [str(room.relative_to(folder))]
    if file.parts[0] == "scenarios" and room.name != "scenarios":
        own += [
            str(one.relative_to(folder)) for one in (folder / "tests/scenarios").glob("test_*.py")
        ]
    return own


def notices(folder: Path, file: Path, statement: ast.stmt, number: int) -> bool:
    """Plant a bug, run the tests of its file's room, put the file back; True where one of them fails."""
    path = folder / file
    before = path.read_text(encoding="utf-8")
    lines = before.splitlines(keepends=True)
    indent = " " * statement.col_offset
    bug = "\n".join(f"{indent}{line}" for line in planted(statement, number).splitlines())
    lines[statement.lineno - 1 : statement.end_lineno] = [f"{bug}\n"]
    try:
        path.write_text("".join(lines), encoding="utf-8")
        return any(fails(folder, tests_of(folder, file), stage) for stage in stages(folder))
    finally:
        path.write_text(before, encoding="utf-8")


def fails(folder: Path, tests: list[str], marked: str) -> bool:
    """Run tests of a checkout; True where one fails, or they do not end, or cannot even be collected."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-m", marked]
    settings = {"PYTHONPATH": f"{folder}:{folder / 'tests'}", "OPENBLAS_NUM_THREADS": "1"}
    try:
        ended = subprocess.run(
            [*command, *tests],
            cwd=folder,
            env=os.environ | settings | {"PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return True
    if ended.returncode == pytest.ExitCode.USAGE_ERROR:
        raise RuntimeError(ended.stderr.decode())
    return ended.returncode not in (0, pytest.ExitCode.NO_TESTS_COLLECTED)


def main() -> int:
    """Plant the bugs one by one and print who noticed each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout, to plant the same bugs in")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    folders = [Path.cwd(), *([given.against.resolve()] if given.against else [])]
    known = [unique_texts(folder) for folder in folders]
    common = sorted(set.intersection(*(set(one) for one in known)))
    bugs = [(text, node) for text in common for node in changeable(known[0][text][1])]
    chosen = random.Random(given.seed).sample(bugs, min(given.count, len(bugs)))
    print(f"{len(bugs)} places, {len(chosen)} chosen", flush=True)
    counts = [0] * len(folders)
    for text, node in chosen:
        with ThreadPoolExecutor(len(folders)) as both:
            ran = [
                both.submit(notices, folder, *places[text], node)
                for folder, places in zip(folders, known, strict=True)
            ]
        seen = [one.result() for one in ran]
        counts = [count + one for count, one in zip(counts, seen, strict=True)]
        file, statement = known[0][text]
        change = f"{text.splitlines()[0][:60]} -> {planted(statement, node).splitlines()[0][:60]}"
        print(
            f"{' '.join('seen' if one else 'MISSED' for one in seen)} {file}: {change}", flush=True
        )
    print(*(f"{folder.name}: {count} seen" for folder, count in zip(folders, counts, strict=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
