"""Plug-ins by name, each imported when it is first asked for."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Any


class Registry(UserDict[str, Any]):
    """Plug-ins by name; one given as "module:Name" is imported when it is first asked for.

    >>> Registry({"linear": "market.costs.functions:Linear"})["linear"].__name__
    'Linear'
    """

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            found = self[name] = getattr(import_module(module), attribute)
        return found
