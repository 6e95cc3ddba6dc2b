"""The exclusions between features and settings, as a table of the reference."""

from __future__ import annotations

from collections.abc import Iterator

from scenarios.features import choices
from scenarios.reference.keys import table_row


def exclusion_lines() -> Iterator[str]:
    """A table with a line for each pair of which one choice excludes the other."""
    known = choices()
    yield from ("| with | leave out | why |", "|---|---|---|")
    for choice in known.values():
        for name, why in choice.excludes.items():
            yield table_row(choice.title, known[name].title, why)
