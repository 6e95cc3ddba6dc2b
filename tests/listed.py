"""Lists of tests: the path of a file, then its tests, each in a line of its own and indented."""

from collections.abc import Iterator
from pathlib import Path


def listed_tests(path: Path) -> Iterator[str]:
    """Name each test of a list as pytest does, ``file::test``."""
    file = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            yield f"{file}::{line.strip()}"
        else:
            assert "::" not in line, f"{path.name}: {line} must be two lines, file and test"
            file = line
