"""Names of a package that are imported when they are first asked for.

A package can offer its main names without loading all its modules: an owner's program imports only
the modules that it needs.
"""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package (PEP 562).

    Parameters
    ----------
    package: its name.
    homes: module of the package -> the names that the package takes from it.
    """
    home_of = {name: module for module, names in homes.items() for name in names}

    def get_name(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{home_of[name]}"), name)

    return get_name


class Registry(UserDict[str, Any]):
    """Plug-ins by name; one given as "module:Name" is imported when it is first asked for."""

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = self[name] = getattr(import_module(module), attribute)
        return found
