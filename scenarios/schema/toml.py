"""Tables written as TOML."""

from __future__ import annotations

import re
from typing import Any

from learning.phrases import toml_text, toml_value


def toml_lines(table: dict[str, Any], name: str = "") -> list[str]:
    """A table as lines of TOML: its keys, then its tables; ``name`` is its dotted name.

    None is left out.
    """
    given = {toml_key(k): v for k, v in table.items() if v is not None}
    lines = [f"{key} = {toml_value(v)}" for key, v in given.items() if not isinstance(v, dict)]
    for key, inner in given.items():
        if isinstance(inner, dict) and inner:
            path = f"{name}.{key}".lstrip(".")
            lines += ["", f"[{path}]", *toml_lines(inner, path)]
    return lines


def toml_key(key: str) -> str:
    """A key, in quotes where it needs them."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", key):
        return key
    return toml_text(key)
