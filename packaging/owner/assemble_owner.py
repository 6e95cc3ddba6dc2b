"""Build backend of dpmarket-owner: a wheel of the files that an owner's program imports.

Files, version and dependencies are read from the repository, so nothing here has to be kept up.
What a module imports is read from its syntax tree, inside functions too.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENTRY = "exchange.command.owner"
OPTIONAL = {"pyarrow": "parquet"}  # library -> the extra that brings it
PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "dpmarket-owner"
version = "{version}"
description = "An owner's program for exchanges of dpmarket"
license = "{license}"
license-files = ["LICENSE"]
requires-python = "{python}"
dependencies = {needed}

[project.optional-dependencies]
{extras}

[project.scripts]
dpmarket-owner = "{entry}:main"

[tool.setuptools]
packages = {packages}
"""


def file_of(module: str) -> Path | None:
    """File of a module of this repository; None of any other."""
    place = ROOT.joinpath(*module.split("."))
    return next(
        (one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file()), None
    )


def imported_names(file: Path) -> Iterator[str]:
    """Every module that a file may import, and every name that it takes from one."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def find_closure(entry: str = ENTRY) -> tuple[list[Path], set[str]]:
    """Files that a module pulls in, and the libraries that these import."""
    files: dict[str, Path] = {}
    libraries: set[str] = set()
    waiting = [entry]
    while waiting:
        module = waiting.pop()
        file = file_of(module)
        if file is None:
            if file_of(module.split(".")[0]) is None:
                libraries.add(module.split(".")[0])
            continue
        if module not in files:
            files[module] = file
            waiting += [module.rpartition(".")[0]] * ("." in module)
            waiting += imported_names(file)
    return sorted(files.values()), libraries - set(sys.stdlib_module_names)


def find_requirements(libraries: set[str]) -> dict[str, str]:
    """Requirement of each library, as the repository's own project states it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *project["optional-dependencies"]["release"]]
    stated = {re.split(r"[<>=~!]", line)[0].replace("-", "_"): line for line in lines}
    return {name: stated[name] for name in sorted(libraries)}


def assemble(folder: Path) -> None:
    """Write the project of the owner's program into a folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    files, libraries = find_closure()
    for file in files:
        place = folder / file.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, place)
    shutil.copy2(ROOT / "LICENSE", folder)
    requirements = find_requirements(libraries)
    extras = [f'{extra} = ["{requirements.pop(name)}"]' for name, extra in OPTIONAL.items()]
    text = PROJECT.format(
        version=project["version"],
        license=project["license"],
        python=project["requires-python"],
        needed=list(requirements.values()),
        extras="\n".join(extras),
        entry=ENTRY,
        packages=sorted({".".join(file.relative_to(ROOT).parts[:-1]) for file in files}),
    )
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")


def build_wheel(
    wheel_directory: str, config_settings: object = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel, as PEP 517 asks."""
    from setuptools import build_meta

    target = Path(wheel_directory).resolve()
    with tempfile.TemporaryDirectory() as name:
        assemble(Path(name))
        before = Path.cwd()
        os.chdir(name)
        try:
            return build_meta.build_wheel(str(target))
        finally:
            os.chdir(before)


def build_sdist(sdist_directory: str, config_settings: object = None) -> str:
    """Refuse: files of the repository lie outside this folder."""
    raise NotImplementedError(
        "dpmarket-owner is built as a wheel from the repository: pip wheel packaging/owner"
    )
