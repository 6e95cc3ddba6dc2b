"""Plug-ins of the user's own, in Python files that the command line names.

A file enters its classes in the visible dicts as `docs/extending.md` shows, such as
``POLICIES["root"] = Root``. It is a program and may do anything: naming it permits that.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from learning.errors import InputError

OPTION = "--plugin"
LOADED: dict[Path, str] = {}  # files that this process has run -> SHA-256 of their text


def load_plugins(paths: Iterable[str | Path]) -> None:
    """Run Python files, each once, as modules of the names ``dpmarket_plugin_STEM``.

    Raises
    ------
    InputError
        A file cannot be read, fails, or has the name of another one.
    """
    for path in paths:
        place = Path(path).resolve()
        if place not in LOADED:
            _load_plugin(place)


def _load_plugin(place: Path) -> None:
    """Run one file."""
    try:
        digest = hashlib.sha256(place.read_bytes()).hexdigest()
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
        rule = "must name a Python file that can be read"
        raise InputError(OPTION, rule, f"{place}: {found}") from None
    name = f"dpmarket_plugin_{place.stem}"
    spec = spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise InputError(OPTION, "must name a Python file, whose name ends in .py", place)
    if name in sys.modules:
        raise InputError(OPTION, "must name files of different names", place.name, "Rename one.")
    module = sys.modules[name] = module_from_spec(spec)  # under a name: workers pickle its classes
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        found = f"{place.name}: {describe_error(error)}"
        raise InputError(OPTION, "must run without an error", found) from None
    LOADED[place] = digest


def describe_error(error: BaseException) -> str:
    """Describe what a user's code raised, in one line."""
    where = ""
    text = str(error)
    if isinstance(error, SyntaxError):
        text = error.msg
        where = f" in line {error.lineno}" * bool(error.lineno)
    return " ".join(f"{type(error).__name__}{where}: {text}".split())
