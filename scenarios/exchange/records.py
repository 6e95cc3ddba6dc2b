"""An owner's own table as the records of a contract: read and encoded by the contract's rules alone.

What a cell is read as hangs on the contract and on that cell, on no other: so an owner with its own file gets the records,
to the last bit, that the market was settled with. Nothing told here shows a cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from learning.data.division import Rows
from learning.data.persons import turns
from learning.errors import InputError
from learning.exchange.contract import Contract
from learning.exchange.records import Records
from learning.privacy.fingerprints import digest_rows
from scenarios.schema.fields import show
from scenarios.tables.cells import TEXT, spelt_once
from scenarios.tables.reading import Columns, read_as_written
from scenarios.tables.selection import Meaning

OPTION, PUBLIC_OPTION = "--data", "--public"


@dataclass(frozen=True)
class OwnTable:
    """What a contract makes of an owner's file, with what the owner may want to know of it; for its eyes alone.

    Parameters
    ----------
    records: the records.
    rows: how many rows the file has.
    left_out: how many of them are more of one person than the contract takes.
    passed_over: names of the columns that the contract does not ask for.
    missing: for columns with such, how many cells are empty; they count as the public fill.
    unread: for columns with such, how many cells are none of what the column holds in public; they count as missing.
    """

    records: Records = field(repr=False)
    rows: int
    left_out: int
    passed_over: tuple[str, ...]
    missing: dict[str, int]
    unread: dict[str, int]


def own_records(path: Path, contract: Contract, owner: str) -> Records:
    """An owner's records as `own_table` reads them."""
    return own_table(path, contract, owner).records


def own_table(path: Path, contract: Contract, owner: str) -> OwnTable:
    """An owner's file, read and encoded by a contract's rules; of a person's rows the first in the file are taken.

    Parameters
    ----------
    path: CSV (comma, semicolon or tab, gzipped or not) or Parquet, with the contract's columns by their names.
    contract: the contract.
    owner: the name of the owner.

    Raises
    ------
    InputError
        If the owner is not of the contract; or the file is no table, lacks a column, or has another number of records.
    """
    agreed = contract.owner(owner).records
    made = _read(path, contract, OPTION, contract.columns.person)
    if len(made.records.y) != agreed:
        beyond = f", {made.left_out:,} of them beyond the most of one person" if made.left_out else ""
        rule = f"must hold the {agreed:,} records that the contract names for {show(owner)}"
        raise InputError(f"{path}: {OPTION}", rule, f"{made.rows:,} rows{beyond}", "Name the table that was agreed on.")
    return made


def public_records(path: Path, contract: Contract) -> Records:
    """The learner's own rows, read and encoded by a contract's rules, however many.

    Raises
    ------
    InputError
        If the file is no table or lacks a column.
    """
    return _read(path, contract, PUBLIC_OPTION, None).records


def meaning_of(contract: Contract) -> Meaning:
    """How a contract says that its columns are read."""
    columns, target = contract.columns, contract.columns.target
    written = dict.fromkeys([target.name, *columns.categories.names], TEXT) | columns.written
    if target.labels is None:
        return Meaning(written, target.name)
    no, yes = target.labels if written[target.name] == TEXT else map(float, target.labels)
    return Meaning(written, target.name, (no, yes))


def _read(path: Path, contract: Contract, option: str, person: str | None) -> OwnTable:
    meaning = meaning_of(contract)
    table, others, written = read_as_written(path, [*meaning.written, *([] if person is None else [person])], option)
    rows, persons = np.arange(table.n_rows), None
    if person is not None:
        whose = spelt_once(table.whose_rows(person)).of_row
        rows = rows[turns(whose) < contract.coordinates.rows_per_person]
        persons = whose[rows].astype(float)
    raw = {name: table.columns[name] for name in meaning.written}
    columns = meaning.read(raw)
    x, y, outside = contract.encoder.records(columns, rows)
    missing, unread = _counted(contract, raw, columns, rows)
    digests = digest_rows(written[row] for row in rows)
    records = Records(x, y, persons, int(outside.sum()), digests)
    return OwnTable(records, table.n_rows, table.n_rows - len(rows), tuple(others), missing, unread)


def _counted(contract: Contract, raw: Columns, read: Columns, rows: Rows) -> tuple[dict[str, int], dict[str, int]]:
    """Cells of some rows that are empty, and others that could not be read, by column that has such."""
    coder = contract.encoder.categories.coder
    known = dict(zip(coder.names, coder.categories, strict=True))
    empty = {name: pd.isna(column[rows]) for name, column in raw.items()}
    lost = {
        name: ~pd.Series(column[rows]).isin(known[name]).to_numpy() if name in known else np.isnan(column[rows])
        for name, column in read.items()
    }
    missing = {name: int(cells.sum()) for name, cells in empty.items()}
    unread = {name: int((cells & ~empty[name]).sum()) for name, cells in lost.items()}
    return tuple({name: n for name, n in counts.items() if n} for counts in (missing, unread))  # type: ignore[return-value]
