"""A reproduced table: what was computed, what was published, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line: its values in words, the published reference, and whether it holds (None: nothing to compare)."""

    name: str
    values: tuple[str, ...]
    reference: str = ""
    holds: bool | None = None


@dataclass(frozen=True)
class Study:
    """A table with its columns, rows, and notes on what was skipped and why."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
