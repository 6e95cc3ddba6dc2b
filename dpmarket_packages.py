"""Refusal to start where names of dpmarket's packages lead to another file or package."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGES = {
    "learning": "Cost of gradients",
    "market": "Who wants what",
    "agents": "The market as a Mesa model",
    "scenarios": "Scenarios as a person runs them",
    "exchange": "The exchange",
    "reproduction": "Reproduction of the sources",
}  # with the first words of each package's own __init__.py


def check_packages() -> None:
    """Make sure that each package name leads to the package that came with this file.

    Raises
    ------
    ImportError
        With one line: which name is taken, by what file, and what to do about it.
    """
    for name, opening in PACKAGES.items():
        found = _file_of(name)
        if not _is_own(found, opening):
            rule = f"the name {name} must lead to dpmarket's own package"
            remedy = "Rename that file or folder. If another package installed it, "
            remedy += "give dpmarket an environment of its own."
            raise ImportError(f"dpmarket: {rule}; found {found or 'nothing'}. {remedy}")


def main() -> None:
    """Run the command, or say in one line, with status 2, that a package's name is taken."""
    try:
        check_packages()
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    from scenarios.command.main import main as run_command

    run_command()


def _file_of(name: str) -> str:
    """File that importing a name runs, or its folder; empty where there is neither."""
    try:
        spec = find_spec(name)
    except ValueError:  # imported before, by something that left no trace of where
        spec = None
    if spec is None:
        return ""
    return spec.origin or next(iter(spec.submodule_search_locations or ()), "")


def _is_own(file: str, opening: str) -> bool:
    """Test whether a file is the beginning of one of dpmarket's packages."""
    path = Path(file)
    if path.name != "__init__.py":
        return False
    return path.read_text(encoding="utf-8", errors="replace").startswith(f'"""{opening}')
