"""Every field of the JSON files in a result folder, with what it is, and whether it rests on private records."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from learning.privacy.claims import Claim
from scenarios.reference.keys import row, sentences
from scenarios.summary.privileged import LOOKED_UP

WRITTEN: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("results.toml").read_text(encoding="utf-8"))
CLAIMS = {f"claims[].{name}": text for name, text in sentences(Claim).items()}
SAID = WRITTEN | {"result.json": CLAIMS | WRITTEN["result.json"]}


def places(content: Mapping[str, Any], said: Mapping[str, str], place: str = "") -> Iterator[str]:
    """The fields of a file, down to those of which something is said, or that hold no more fields."""
    for name, value in content.items():
        here = f"{place}.{name}".lstrip(".")
        listed = isinstance(value, (list, tuple)) and bool(value) and isinstance(value[0], dict)
        for inner in value if listed else [value]:
            if here in said or not isinstance(inner, dict):
                yield here
            else:
                yield from places(inner, said, f"{here}[]" if listed else here)


def field_lines(file: str) -> Iterator[str]:
    """A table of a file's fields for each of its parts."""
    parts: dict[str, list[str]] = {"": []}
    for place in SAID[file]:
        part, dot, _ = place.partition(".")
        parts.setdefault(part if dot else "", []).append(place)
    for part, inside in parts.items():
        yield from ("", f"### `{part}`" if part else f"### {file}", "", "| field | | |", "|---|---|---|")
        yield from (row(f"`{place}`", SAID[file][place], mark(place)) for place in inside)


def mark(place: str) -> str:
    """How a field rests on private records in every result, if it does."""
    return next((how for start, how in LOOKED_UP.items() if f"{place}.".startswith(f"{start}.")), "")
