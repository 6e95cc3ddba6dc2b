"""Fields of the JSON files in a result folder, with a mark on those from private records."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from learning.privacy.claims import Claim
from scenarios.features import FEATURES
from scenarios.reference.keys import describe_fields, table_row
from scenarios.summary.content import LOOKED_UP

DESCRIPTIONS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("results.toml").read_text(encoding="utf-8")
)
FIELD = re.compile(r"^(\S+) : (.+(?:\n +.+)*)", re.MULTILINE)
CLAIMS = {f"claims[].{name}": text for name, text in describe_fields(Claim).items()}


def result_fields(file: str) -> dict[str, str]:
    """Description of each field of a file, by its place; features describe their own.

    They do so in the docstrings of their facts.
    """
    fields = DESCRIPTIONS[file]
    if file != "result.json":
        return fields
    docstrings = [inspect.getdoc(feature.facts) or "" for feature in FEATURES.values()]
    told = [found for text in docstrings for found in FIELD.findall(text)]
    return CLAIMS | fields | {place: " ".join(text.split()) for place, text in told}


def field_lines(file: str) -> Iterator[str]:
    """Yield a table of a file's fields for each of its parts."""
    parts: dict[str, list[str]] = {"": []}
    fields = result_fields(file)
    for place in fields:
        part = place.partition(".")[0] * ("." in place)
        parts.setdefault(part, []).append(place)
    for part, inside in parts.items():
        title = f"`{part}`" if part else file
        yield from ("", f"### {title}", "", "| field | | |", "|---|---|---|")
        for place in inside:
            yield table_row(f"`{place}`", fields[place], privilege_mark(place))


def privilege_mark(place: str) -> str:
    """Mark a field that rests on private records in every result."""
    marks = (how for start, how in LOOKED_UP.items() if f"{place}.".startswith(f"{start}."))
    return next(marks, "")
