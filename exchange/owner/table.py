"""An owner's table as the records of a contract: read and encoded by the contract's rules alone.

A cell is read by the contract and by itself, not by any other cell: so an owner with its own file
gets the records, to the last bit, that the market was settled with. No message shows a cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exchange.contract import Contract
from learning.arrays import Array
from learning.cells import TEXT, Columns, Meaning, merge_spellings
from learning.data.rows import RowLabels, Rows, count_turns
from learning.errors import InputError
from learning.phrases import format_value
from learning.privacy.registry import digest_rows
from learning.table_file import read_as_written

OPTION = "--data"


@dataclass(frozen=True, eq=False)
class Records:
    """Encoded records, which never leave the owner's machine.

    Parameters
    ----------
    x: array (n, p), features in the columns of the contract; the last the constant 1.
    y: array (n,), targets.
    persons: array (n,), the person of each record; None where each has its own.
    clipped: number of cells outside their column's range, which count as its end.
    written: the digest of each record's row as the owner's file has it, all columns; in memory
        only. None where there is no file.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    persons: Array | None = field(default=None, repr=False)
    clipped: int = 0
    written: list[bytes] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class OwnTable:
    """An owner's file by the rules of a contract; for its eyes alone.

    Parameters
    ----------
    records: the records.
    rows: number of rows of the file.
    left_out: number of rows beyond the most of one person.
    passed_over: names of the columns that the contract does not ask for.
    missing: number of empty cells, by column that has such; they count as the public fill.
    unread: number of cells that their column cannot hold, likewise; they count as missing.
    """

    records: Records = field(repr=False)
    rows: int
    left_out: int
    passed_over: tuple[str, ...]
    missing: dict[str, int]
    unread: dict[str, int]


def read_own_table(path: Path, contract: Contract, owner: str) -> OwnTable:
    """Read and encode an owner's file; of a person's rows the first in the file are taken.

    Parameters
    ----------
    path: CSV (comma, semicolon or tab, gzipped or not) or Parquet, with the contract's columns by
        their names.
    contract: the contract.
    owner: the name of the owner.

    Raises an InputError if the owner is not of the contract; or the file is no table, lacks a
    column, or has another number of records.
    """
    agreed = contract.owner(owner).records
    table = read_table(path, contract, OPTION, contract.columns.person)
    if len(table.records.y) == agreed:
        return table
    found = f"{table.rows:,} rows"
    if table.left_out:
        found += f", {table.left_out:,} of them beyond the most of one person"
    rule = f"must hold the {agreed:,} records that the contract names for {format_value(owner)}"
    raise InputError(f"{path}: {OPTION}", rule, found, "Name the agreed table.")


def column_meaning(contract: Contract) -> Meaning:
    """Rules of a contract for its columns."""
    columns = contract.columns
    target = columns.target
    written = dict.fromkeys([target.name, *columns.categories.names], TEXT) | columns.written
    if target.labels is None:
        return Meaning(written, target.name)
    no, yes = target.labels
    if written[target.name] == TEXT:
        return Meaning(written, target.name, (no, yes))
    return Meaning(written, target.name, (float(no), float(yes)))


def read_table(path: Path, contract: Contract, option: str, person: str | None) -> OwnTable:
    """Read and encode a file by the contract; of the person that a column names, the first rows."""
    meaning = column_meaning(contract)
    asked = [*meaning.written, *filter(None, [person])]
    table = read_as_written(path, asked, option)
    rows = np.arange(table.n_rows)
    persons = None
    if person is not None:
        whose = label_persons(table.columns[person]).of_row
        rows = rows[count_turns(whose) < contract.coordinates.rows_per_person]
        persons = whose[rows].astype(float)
    raw = {name: table.columns[name] for name in meaning.written}
    columns = meaning.read_columns(raw)
    x, y, outside = contract.encoder.records(columns, rows)
    empty = {name: _is_missing(column[rows]) for name, column in raw.items()}
    unread = {
        name: lost & ~empty[name] for name, lost in _lost_cells(contract, columns, rows).items()
    }
    digests = digest_rows(table.rows[row] for row in rows)
    return OwnTable(
        records=Records(x, y, persons, int(outside.sum()), digests),
        rows=table.n_rows,
        left_out=table.n_rows - len(rows),
        passed_over=tuple(table.other_names),
        missing={name: int(cells.sum()) for name, cells in empty.items() if cells.any()},
        unread={name: int(cells.sum()) for name, cells in unread.items() if cells.any()},
    )


def label_persons(column: NDArray) -> RowLabels:
    """Label each row by its person; rows without one are of one that is called ""."""
    texts = np.where(_is_missing(column), "", column)
    return merge_spellings(RowLabels.of(texts.tolist()))


def _is_missing(column: NDArray) -> NDArray[np.bool_]:
    return column == None if column.dtype == object else np.isnan(column)  # noqa: E711


def _lost_cells(contract: Contract, columns: Columns, rows: Rows) -> dict[str, NDArray[np.bool_]]:
    """Cells (m,) of some rows that are empty or could not be read, by column."""
    coder = contract.encoder.categories
    lost = {name: column[rows] for name, column in columns.items()}
    for name, categories in zip(coder.names, coder.categories, strict=True):
        known = set(categories)
        read = [cell if cell in known else None for cell in lost[name]]
        lost[name] = np.array(read, dtype=object)
    return {name: _is_missing(cells) for name, cells in lost.items()}
