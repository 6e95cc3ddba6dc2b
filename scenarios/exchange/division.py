"""A scenario's table as the files that its parties would have: each owner's own, and the learner's public rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from learning.data.division import Rows
from learning.errors import InputError
from learning.exchange.canonical import put
from scenarios.exchange.folder import owner_slug
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import MarketData, market_data, rows_divided
from scenarios.tables.parts import Parts, open_table
from scenarios.tables.paths import table_path
from scenarios.tables.reading import EXACT_WHOLE, Table, as_text, cells_as_written

OWN, PUBLIC, ASIDE = "own.csv", "public.csv", "check.csv"


@dataclass(frozen=True)
class Files:
    """Where the parties' files are.

    Parameters
    ----------
    owners: name -> the owner's table: its rows in the order in which they were divided, all columns.
    public: the rows that the learner planned with, those left out for missing cells left out; None where there are none.
    aside: the rows that it kept aside, likewise.
    """

    owners: dict[str, Path]
    public: Path | None
    aside: Path | None


def divided_files(scenario: Scenario, folder: Path) -> Files:
    """Write what each party would hold: owners/NAME/own.csv, learner/public.csv and learner/check.csv, and say where.

    Cells stand as they do in the scenario's CSV; those of Parquet are written so that they are read as the same. A file that
    is there is replaced.

    Parameters
    ----------
    scenario: the scenario.
    folder: where the files go; made if it is not there.

    Raises
    ------
    InputError
        On the first rule that the table breaks, or if a file cannot be written.
    """
    raw = open_table(table_path(scenario))
    data = market_data(scenario, raw)
    holders = None if scenario.data.owner is None else raw.whose_rows(scenario.data.owner)
    whole, cells = rows_divided(scenario, raw, holders), _cells(scenario, raw)

    def file(rows: Rows, *place: str) -> Path:
        path = folder.joinpath(*place)
        try:
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(str(path.parent), "must be a folder", error.strerror or "an error") from None
        put(path, cells(rows), private=True)
        return path

    owners = {name: file(whole.owners[name], "owners", owner_slug(name), OWN) for name in data.names}
    aside = _aside(data, scenario.data.check_rows)
    public = file(data.division.public, "learner", PUBLIC) if len(data.division.public) else None
    return Files(owners, public, file(aside, "learner", ASIDE) if len(aside) else None)


def _aside(data: MarketData, count: int) -> Rows:
    """Which rows of the file the learner keeps aside, whole ones."""
    return data.table.rows[:count][data.table.usable[:count]]


def _cells(scenario: Scenario, raw: Table | Parts) -> Callable[[Rows], bytes]:
    """What gives some rows of a scenario's table as the bytes of a CSV."""
    if isinstance(raw, Parts):
        truths = raw.truths()
        return lambda rows: _csv(_typed(raw.part(rows), truths), ",")
    delimiter, frame = cells_as_written(table_path(scenario))
    return lambda rows: _csv(frame.iloc[rows], delimiter)


def _csv(frame: pd.DataFrame, delimiter: str) -> bytes:
    text = frame.to_csv(None, sep=delimiter, index=False, lineterminator="\n")
    if "\r" in text:  # inside a cell, which is quoted only if rows end on it
        text = frame.to_csv(None, sep=delimiter, index=False, lineterminator="\r\n")
    return text.encode()


def _typed(table: Table, truths: set[str]) -> pd.DataFrame:
    """Cells of Parquet as texts that are read as what they are."""
    said = {name: _true_or_false if name in truths else _number for name in table.names}
    columns = {
        name: column if column.dtype == object else np.array([said[name](cell) for cell in column], dtype=object)
        for name, column in table.columns.items()
    }
    return pd.DataFrame(columns, dtype=object).fillna("")


def _number(cell: float) -> str:
    if np.isnan(cell):
        return ""
    return as_text(cell) if abs(cell) < EXACT_WHOLE else repr(float(cell))


def _true_or_false(cell: float) -> str:
    return "" if np.isnan(cell) else str(bool(cell)).lower()
