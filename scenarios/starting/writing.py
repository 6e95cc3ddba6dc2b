"""A scenario with comments, as text: entries of a table one by one, each with the reason for it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from learning.phrases import escape_control, toml_value
from scenarios.schema.fields import toml_key

WIDTH = 112  # characters of a line
BESIDE = 35  # where a comment beside a short entry begins


@dataclass(frozen=True)
class Entry:
    """A key of a scenario file with its value and its comment.

    Parameters
    ----------
    key : its name in the table.
    value : what stands there.
    comment : why, and how to overrule it.
    used : whether it holds; else it stands there as a comment, to be taken in.
    """

    key: str
    value: Any
    comment: str = ""
    used: bool = True

    def lines(self) -> list[str]:
        """The entry in the file: its comment beside it where there is room, else above."""
        given = _lists_wrapped(f"{toml_key(self.key)} = ", self.value)
        given = given if self.used else [f"# {line}" for line in given]
        comment = escape_control(" ".join(self.comment.split()))
        if not comment:
            return given
        beside = (
            f"{given[-1]:<{BESIDE}}# {comment}"
            if len(given[-1]) < BESIDE
            else f"{given[-1]}  # {comment}"
        )
        if len(given) == 1 and len(beside) <= WIDTH:
            return [beside]
        return [*commented(comment), *given]


Tables = Mapping[str, Sequence[Entry]]


def commented(*paragraphs: str) -> list[str]:
    """Paragraphs as lines of comments; an empty one is an empty comment."""
    lines: list[str] = []
    for paragraph in paragraphs:
        indented = paragraph.startswith("    ")
        parts = (
            [paragraph]
            if indented
            else wrap(paragraph, WIDTH - 2, break_long_words=False, break_on_hyphens=False)
        )
        lines += [f"# {escape_control(part)}".rstrip() for part in parts or [""]]
    return lines


def text_of(header: Sequence[str], tables: Tables) -> str:
    """The file: a header of paragraphs, then each table by its dotted name, "" being the top."""
    lines = commented(*header)
    for name, entries in tables.items():
        lines += ["", f"[{name}]"] if name and entries else [""] if entries else []
        lines += [line for entry in entries for line in entry.lines()]
    return "\n".join(lines).strip() + "\n"


def values_of(tables: Tables) -> dict[str, Any]:
    """The same as nested tables of values, read back from the text."""
    return tomllib.loads(text_of((), tables))


def _lists_wrapped(before: str, value: Any) -> list[str]:
    """An entry on one line, or a long list over several."""
    whole = before + toml_value(value)
    if len(whole) <= WIDTH or not isinstance(value, (list, tuple)):
        return [whole]
    lines = [f"{before}["]
    line = "   "
    for item in value:
        part = f" {toml_value(item)},"
        if len(line) + len(part) > WIDTH and line.strip():
            lines = [*lines, line]
            line = "   "
        line += part
    return [*lines, line, "]"]
