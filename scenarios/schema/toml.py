"""TOML text: of values, and of a scenario whose every default is spelled out, one line a key.

The resolved text is what a scenario's hash is taken of, so its form never changes; TOML libraries put lists on several
lines.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any


def toml_lines(table: dict[str, Any], name: str = "") -> list[str]:
    """A table as lines of TOML: its keys, then its tables; ``name`` is its dotted name. None is left out."""
    given = {toml_key(k): v for k, v in table.items() if v is not None}
    lines = [f"{key} = {toml_value(v)}" for key, v in given.items() if not isinstance(v, dict)]
    for key, inner in given.items():
        if isinstance(inner, dict) and inner:
            path = f"{name}.{key}" if name else key
            lines += ["", f"[{path}]", *toml_lines(inner, path)]
    return lines


def toml_key(key: str) -> str:
    """A key, in quotes where it needs them."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_text(key)


def toml_value(value: Any) -> str:
    """A value as TOML text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(toml_value(v) for v in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_text(k)} = {toml_value(v)}" for k, v in value.items() if v is not None) + "}"
    return repr(value) if isinstance(value, (int, float)) else str(value)


_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def toml_text(text: str) -> str:
    """A quoted TOML string on one line; control characters are escaped."""
    return '"' + "".join(c if c.isprintable() else _unicode(c) for c in text.translate(_ESCAPES)) + '"'


def _unicode(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def visible(text: str) -> str:
    r"""Text as one line that can do nothing but be read: what moves a cursor, colours or turns it round is escaped.

    >>> visible("\x1b[31mred\u202e, in Zürich")
    '\\u001b[31mred\\u202e, in Zürich'
    """
    return text if text.isprintable() else "".join(c if _readable(c) else _unicode(c) for c in text)


def _readable(char: str) -> bool:
    """Whether a character is a sign, a space, or joins signs, as in scripts and emoji."""
    return char.isprintable() or unicodedata.category(char) == "Zs" or char in "\u200c\u200d"


def show(value: object, width: int = 60) -> str:
    """A value as it would stand in the file, on one line, shortened to ``width`` characters."""
    try:
        shown = toml_value(value)
    except ValueError:  # a whole number too long for Python to print
        shown = "a very long number"
    except RecursionError:
        shown = "a value nested too deeply"
    return shown if len(shown) <= width else shown[: width - 3] + "..."
