"""A CSV or Parquet file as named columns: numbers where all cells are, else texts as written."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from learning.cells import EXACT_WHOLE, MISSING_MARKS, Columns, as_text, cell_text
from learning.data.rows import RowLabels, Rows
from learning.errors import InputError
from learning.phrases import format_value
from learning.table_file import (
    PARQUET,
    UNEVEN,
    check_names,
    find_dialect,
    read_content,
    read_parquet,
)
from scenarios.schema.fields import suggest_name

# Pandas' types of columns of objects that hold numbers.
NUMBERS = ("boolean", "integer", "floating", "mixed-integer-float", "decimal")
# Every decimal is read to the nearest float; from pandas 3.1 on that is the default and asking for
# it warns.
_PRECISE: dict[str, str] = {}
if tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1):
    _PRECISE["float_precision"] = "round_trip"


@dataclass(frozen=True)
class Table:
    """A table as read, before its columns have a meaning.

    Parameters
    ----------
    columns : name -> (n_rows,), float64, NaN where missing, where every cell is a number, true or
        false; else texts as written, numbers among them, None where missing.
    n_rows : number of rows.
    source : the file it came from.
    commas : whether texts such as 3,5 may be numbers.
    places : (n_rows,), the row of the file that each row is, where these are some of its rows.
    """

    columns: Columns = field(repr=False)
    n_rows: int
    source: str
    commas: bool = False
    places: Rows | None = field(default=None, repr=False)

    def rows_of_file(self, rows: Rows) -> Rows:
        """Rows of the file that some rows are."""
        if self.places is None:
            return rows
        return self.places[rows]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.columns)

    @property
    def is_large(self) -> bool:
        """False: the table is in memory already, and is not read in parts."""
        return False

    def read_whole(self) -> Table:
        """Give the whole table in memory."""
        return self

    def read_rows(self, rows: Rows, names: Sequence[str] | None = None) -> Table:
        """Read some rows, in the order asked for; of the columns named, or of all."""
        columns = {name: self.columns[name][rows] for name in names or self.columns}
        return Table(columns, len(rows), self.source, self.commas, rows)

    def whose_rows(self, name: str, key: str = "owner") -> RowLabels:
        """Label each row by the column that ``data.<key>`` names; "" where the cell is missing.

        Whole numbers have no decimal point.

        Raises
        ------
        InputError
            If there is no such column.
        """
        column = self.find_column(name, key)
        if column.dtype != object:
            column = np.where(np.isfinite(column), column, np.nan)
        codes, cells = pd.factorize(column)
        return RowLabels.of([*map(as_text, cells), ""]).coded(codes)

    def find_column(self, name: str, key: str) -> np.ndarray:
        """Find the column that ``data.<key>`` names.

        Raises
        ------
        InputError
            If there is no such column.
        """
        if name not in self.columns:
            remedy = suggest_name(name, list(self.columns))
            raise self.error(key, "must name a column of the table", format_value(name), remedy)
        return self.columns[name]

    def error(self, key: str, rule: str, found: object, remedy: str = "") -> InputError:
        """Make the error of a key of [data] for this table."""
        return InputError(f"{self.source}: data.{key}", rule, found, remedy)


def read_table(path: str | Path) -> Table:
    """Read CSV (comma, semicolon or tab; UTF-8), the same compressed by gzip, or Parquet.

    Semicolon files may have decimal commas. Dates are texts. Text is stripped of blanks at its
    ends. Public cells decide whether a column that holds texts is one of numbers
    (`scenarios.tables.selection`).

    Raises
    ------
    InputError
        If the file is missing, empty, no table, has a column twice or a column without a name.
    """
    key = f"{path}: data.path"
    content = read_content(Path(path), key, "Give its place with --set data.path=FILE.")
    if content[:4] == PARQUET:
        delimiter = ""
        table = read_parquet(content, key)
        frame = table.to_pandas(ignore_metadata=True, integer_object_nulls=True)
    else:
        delimiter, frame = _read_csv(content, key)
    if frame.shape[1] == 0 or len(frame) == 0:
        found = f"{len(frame)} rows, {frame.shape[1]} columns"
        raise InputError(key, "must have rows and columns", found)
    columns = {str(name): column_of(frame[name]) for name in frame}
    return Table(columns, len(frame), str(path), delimiter == ";")


def cells_as_written(path: str | Path) -> tuple[str, pd.DataFrame]:
    """Read the delimiter of a CSV, and its cells with blanks and marks of missing ones.

    Raises
    ------
    InputError
        As `read_table`.
    """
    key = f"{path}: data.path"
    content = read_content(Path(path), key)
    delimiter, header = find_dialect(content, key)
    return delimiter, _parse_csv(content, delimiter, header, key, dtype=str, na_filter=False)


def _read_csv(content: bytes, key: str) -> tuple[str, pd.DataFrame]:
    delimiter, header = find_dialect(content, key)
    check_names(header, key)
    frame = _parse_csv(content, delimiter, header, key, **_PRECISE)
    # Columns with a large number are read as texts: as floats they would lose digits, and whether
    # any cell does must not change the others.
    large = [name for name in header if _has_large(frame[name])]
    if large:
        texts = _parse_csv(content, delimiter, header, key, usecols=large, dtype=str)
        frame = frame.assign(**texts)
    return delimiter, frame


def _parse_csv(
    content: bytes, delimiter: str, header: list[str], key: str, **kinds: Any
) -> pd.DataFrame:
    try:
        return pd.read_csv(
            io.BytesIO(content),
            sep=delimiter,
            names=header,
            header=0,
            encoding="utf-8-sig",
            low_memory=False,
            keep_default_na=False,
            na_values=list(MISSING_MARKS),
            **kinds,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
        reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise InputError(key, UNEVEN, reason) from None


def column_of(series: pd.Series) -> np.ndarray:
    """Convert cells to floats, NaN where missing, if all are numbers; else to texts or None."""
    kind = series.dtype
    if pd.api.types.is_datetime64_any_dtype(kind):
        return texts(series.dt.strftime("%Y-%m-%d %H:%M:%S").str.removesuffix(" 00:00:00"))
    is_float = pd.api.types.is_float_dtype(kind)
    if is_float or (_has_numbers(series) and not _has_large(series)):
        return series.to_numpy(dtype=float, na_value=np.nan)
    cells = texts(series)
    if all(cell is None for cell in cells):
        return np.full(len(cells), np.nan)
    return cells


def _has_numbers(series: pd.Series) -> bool:
    """Test whether all known cells are numbers, true or false."""
    if pd.api.types.is_numeric_dtype(series.dtype):
        return True
    return series.dtype.kind == "O" and pd.api.types.infer_dtype(series, skipna=True) in NUMBERS


def _has_large(series: pd.Series) -> bool:
    """Test for a number beyond those that floats tell apart."""
    if series.dtype == np.float64:  # as nearly all columns of numbers are
        cells = series.to_numpy()
        return bool((np.abs(cells[np.isfinite(cells)]) >= EXACT_WHOLE).any())
    if not _has_numbers(series):
        return False
    known = series[series.notna()]
    if pd.api.types.is_float_dtype(series.dtype):
        known = known[np.isfinite(known)]
    return bool(len(known)) and bool(max(-int(known.min()), int(known.max())) >= EXACT_WHOLE)


def texts(series: pd.Series) -> np.ndarray:
    """Convert cells to texts without blanks at their ends, None where missing."""
    is_text = pd.api.types.infer_dtype(series, skipna=True) == "string"
    if not is_text:
        series = series.astype(object).map(str, na_action="ignore")
    codes, cells = pd.factorize(series)  # each different cell is looked at once
    known = [cell_text(cell) for cell in cells]
    return np.array([*known, None], dtype=object)[codes]  # missing cells have the code -1
