"""A scenario's table as files: each owner's own, and the learner's public rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from exchange.folder import owner_slug
from learning.canonical import write_atomically
from learning.cells import EXACT_WHOLE, as_text
from learning.data.rows import Rows
from learning.errors import InputError, describe_system_error
from scenarios.schema.scenario import Scenario
from scenarios.tables.dataset import divide_scenario, label_owners, market_data
from scenarios.tables.parts import Parts
from scenarios.tables.paths import open_scenario_table, table_path
from scenarios.tables.reading import Table, cells_as_written

OWN = "own.csv"
PUBLIC = "public.csv"
ASIDE = "check.csv"


@dataclass(frozen=True)
class Files:
    """Paths of the parties' files.

    Parameters
    ----------
    owners: name -> the owner's table: its rows in the order in which they were divided, all
        columns.
    public: the rows that the learner planned with, without those dropped for missing cells; None
        where there are none.
    aside: the rows that it kept aside, likewise.
    """

    owners: dict[str, Path]
    public: Path | None
    aside: Path | None


def write_party_files(scenario: Scenario, folder: Path) -> Files:
    """Write owners/NAME/own.csv, learner/public.csv and learner/check.csv.

    Cells stand as they do in the scenario's CSV; those of Parquet are written so that they are read
    as the same. A file that is there is replaced.

    Parameters
    ----------
    scenario: the scenario.
    folder: where the files go; made if it is not there.

    Raises
    ------
    InputError
        On the first rule that the table breaks, or if a file cannot be written.
    """
    raw = open_scenario_table(scenario)
    data = market_data(scenario, raw)
    whole = divide_scenario(scenario, raw, label_owners(scenario, raw))
    to_csv = _csv_writer(scenario, raw)

    def write_rows(rows: Rows, *place: str) -> Path:
        path = folder.joinpath(*place)
        try:
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
        except OSError as error:
            found = describe_system_error(error)
            raise InputError(str(path.parent), "must be a folder", found) from None
        write_atomically(path, to_csv(rows), private=True)
        return path

    owners = {
        name: write_rows(whole.owners[name], "owners", owner_slug(name), OWN) for name in data.names
    }
    kept = slice(scenario.data.check_rows)
    aside = data.table.rows[kept][data.table.usable[kept]]
    learners: dict[str, Path | None] = {PUBLIC: None, ASIDE: None}
    for name, rows in ((PUBLIC, data.division.public), (ASIDE, aside)):
        if len(rows):
            learners[name] = write_rows(rows, "learner", name)
    return Files(owners, learners[PUBLIC], learners[ASIDE])


def _csv_writer(scenario: Scenario, raw: Table | Parts) -> Callable[[Rows], bytes]:
    """Writer of some rows of a scenario's table as CSV."""
    if isinstance(raw, Parts):
        truths = raw.truth_columns()
        return lambda rows: _encode_csv(_typed_texts(raw.read_rows(rows), truths), ",")
    delimiter, frame = cells_as_written(table_path(scenario))
    return lambda rows: _encode_csv(frame.iloc[rows], delimiter)


def _encode_csv(frame: pd.DataFrame, delimiter: str) -> bytes:
    text = frame.to_csv(None, sep=delimiter, index=False, lineterminator="\n")
    if "\r" in text:  # inside a cell, which is quoted only if rows end on it
        text = frame.to_csv(None, sep=delimiter, index=False, lineterminator="\r\n")
    return text.encode()


def _typed_texts(table: Table, truths: set[str]) -> pd.DataFrame:
    """Write cells of Parquet as texts that are read as the same values."""
    columns = {}
    for name, column in table.columns.items():
        if column.dtype != object:
            write = _truth_text if name in truths else _number_text
            known = np.array([write(cell) for cell in column], dtype=object)
            column = np.where(np.isnan(column), "", known)
        columns[name] = column
    return pd.DataFrame(columns, dtype=object).fillna("")


def _number_text(cell: float) -> str:
    return as_text(cell) if abs(cell) < EXACT_WHOLE else repr(float(cell))


def _truth_text(cell: float) -> str:
    return str(bool(cell)).lower()
