"""A reproduced table: what was computed, what was published, and whether it holds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """What a study is run with.

    Parameters
    ----------
    data: folder with the data sets that do not come along.
    out: folder where a long study keeps what it has done, to go on from there.
    seeds: number of seeds of each market, where a study goes over seeds.
    workers: number of processes, where a study shares its work out.
    """

    data: Path | None = None
    out: Path = Path("reproduced")
    seeds: int = 40
    workers: int = os.cpu_count() or 1


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
