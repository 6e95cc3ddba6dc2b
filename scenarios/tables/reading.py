"""From a CSV or Parquet file to named columns: cells as they are written, all of them numbers or not."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from learning.data.division import RowLabels, Rows
from learning.errors import InputError
from scenarios.schema.fields import nearest, show

DELIMITERS = (",", ";", "\t")
MISSING_MARKS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "#N/A", "?")
BINARY = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PK\x03\x04": "a zip file or a workbook"}
NUMBERS = ("boolean", "integer", "floating", "mixed-integer-float", "decimal")  # what a column of objects may hold
ROW_LABELS = re.compile(r"__index_level_\d+__")  # of pandas, no data
EXACT_WHOLE = 2**53  # whole numbers beyond this do not fit a float; they are kept as text

# Every decimal is read to the nearest float; from pandas 3.1 on that is the default and asking for it warns.
_NEW_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1)
_PRECISE: dict[str, str] = {} if _NEW_PANDAS else {"float_precision": "round_trip"}

Columns = dict[str, np.ndarray]


@dataclass(frozen=True)
class Table:
    """A table as read, before anybody has said what its columns hold.

    Parameters
    ----------
    columns : name -> (n_rows,), float64, NaN where missing, where every cell is a number, true or false; else texts as
        written, numbers among them, None where missing.
    n_rows : how many rows it has.
    source : the file it came from.
    commas : whether texts such as 3,5 may be numbers.
    places : (n_rows,), which row of the file each is, where these are some of its rows only.
    """

    columns: Columns = field(repr=False)
    n_rows: int
    source: str
    commas: bool = False
    places: Rows | None = field(default=None, repr=False)

    def numbers(self, rows: Rows) -> Rows:
        """Which rows of the file some rows are."""
        return rows if self.places is None else self.places[rows]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.columns)

    @property
    def large(self) -> bool:
        """Whether it is read in parts: it is in memory already."""
        return False

    def whole(self) -> Table:
        """All of it, in memory."""
        return self

    def part(self, rows: Rows, names: Sequence[str] | None = None) -> Table:
        """Some rows, in the order asked for; of the columns named, or of all."""
        kept = self.columns if names is None else {name: self.columns[name] for name in names}
        return Table({name: column[rows] for name, column in kept.items()}, len(rows), self.source, self.commas, rows)

    def whose_rows(self, name: str, key: str = "owner") -> RowLabels:
        """Whose each row is, by the column named under ``data.<key>``; "" where the cell is missing.

        Whole numbers have no decimal point.

        Raises
        ------
        InputError
            If there is no such column.
        """
        column = self.column(name, key)
        codes, cells = pd.factorize(column if column.dtype == object else np.where(np.isfinite(column), column, np.nan))
        return RowLabels.of([*map(as_text, cells), ""]).coded(codes)

    def column(self, name: str, key: str) -> np.ndarray:
        """The column that ``data.<key>`` names.

        Raises
        ------
        InputError
            If there is no such column.
        """
        if name not in self.columns:
            raise self.error(key, "must name a column of the table", show(name), nearest(name, list(self.columns)))
        return self.columns[name]

    def error(self, key: str, rule: str, found: object, remedy: str = "") -> InputError:
        """What is wrong with a key of [data] for this table."""
        return InputError(f"{self.source}: data.{key}", rule, found, remedy)


def read_table(path: str | Path) -> Table:
    """Read CSV (comma, semicolon or tab; UTF-8), the same compressed by gzip, or Parquet.

    Semicolon files may have decimal commas. Dates are texts. Text is stripped of blanks at its ends. Whether a column that
    holds texts is one of numbers with a cell that is none, its public cells say (`scenarios.tables.cells`).

    Raises
    ------
    InputError
        If the file is missing, empty, no table, has a column twice or a column without a name.
    """
    key = f"{path}: data.path"
    content = _content(Path(path), key, "Give its place with --set data.path=FILE.")
    delimiter, frame = ("", _parquet(content, key)) if content[:4] == b"PAR1" else _csv(content, key)
    return _table(frame, path, key, delimiter)


def read_as_written(
    path: str | Path, names: Collection[str], option: str = "data.path"
) -> tuple[Table, list[str], list[bytes]]:
    """Some columns as texts, even where all cells are numbers; the names of the others; and each row with all its cells.

    So what a cell is read as hangs on no other cell. Columns of Parquet hold what their type says. What is wrong is told
    without any cell or name of the file, whose first row may be a record.

    Parameters
    ----------
    path : the file.
    names : the columns.
    option : what names the file where it is given.

    Raises
    ------
    InputError
        As `read_table`; or if a column is not there.
    """
    key = f"{path}: {option}"
    content = _content(Path(path), key, "")
    if content[:4] == b"PAR1":
        delimiter, frame = "", _parquet(content, key)
        header = list(frame.columns)
    else:
        delimiter, header = _dialect(_text(content, key), key)
        check_names(header, key, shown=False)
    for name in names:
        if name not in header:
            remedy = "The first row must name the columns."
            raise InputError(key, "must have the columns that are read", f"no column {show(name)}", remedy)
    if content[:4] != b"PAR1":
        frame = _cut(content, delimiter, header, key, dtype=str)  # of some columns only, too many fields would pass
    others = [name for name in header if name not in names]
    cells = [frame[name].astype(object).fillna("").astype(str) for name in sorted(header) if name in frame]
    rows = ["\0".join(row).encode() for row in zip(*cells, strict=True)]
    return _table(frame.drop(columns=others), path, key, delimiter), others, rows


def cells_as_written(path: str | Path) -> tuple[str, pd.DataFrame]:
    """The delimiter of a CSV, and its cells as the file has them, blanks and marks of missing ones included.

    Raises
    ------
    InputError
        As `read_table`.
    """
    key = f"{path}: data.path"
    content = _content(Path(path), key, "")
    delimiter, header = _dialect(_text(content, key), key)
    return delimiter, _cut(content, delimiter, header, key, dtype=str, na_filter=False)


def _table(frame: pd.DataFrame, path: str | Path, key: str, delimiter: str = "") -> Table:
    if frame.shape[1] == 0 or len(frame) == 0:
        raise InputError(key, "must have rows and columns", f"{len(frame)} rows, {frame.shape[1]} columns")
    return Table({str(name): column_of(frame[name]) for name in frame}, len(frame), str(path), delimiter == ";")


def _content(path: Path, key: str, remedy: str) -> bytes:
    if os.path.isdir(path):
        raise InputError(key, "must be a file", "a folder", "Name the CSV or Parquet file in it.")
    if not os.path.exists(path):
        raise InputError(key, "must be a file that exists", "no such file", remedy)
    if not os.path.isfile(path):
        raise InputError(key, "must be a file", "a pipe or a device")
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(key, "must be a whole gzip file", " ".join(str(error).split())) from None
    except OSError as error:
        raise InputError(key, "must be readable", error.strerror or "an error") from None
    if not content.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError(key, "must have rows and columns", "an empty file")
    return content


# CSV


def _csv(content: bytes, key: str) -> tuple[str, pd.DataFrame]:
    """The delimiter, and the cells."""
    delimiter, header = _dialect(_text(content, key), key)
    check_names(header, key)
    frame = _cut(content, delimiter, header, key, **_PRECISE)
    large = [name for name in header if _large(frame[name])]
    if large:  # as floats they would lose digits, and whether any cell does must not change the others
        frame = frame.assign(**_cut(content, delimiter, header, key, usecols=large, dtype=str))
    return delimiter, frame


def _cut(content: bytes, delimiter: str, header: list[str], key: str, **kinds: Any) -> pd.DataFrame:
    """The cells, read as pandas is told."""
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
        raise InputError(key, "must have as many fields in each row as in the header", reason) from None


def _text(content: bytes, key: str) -> bytes:
    """What is text, without the mark that some programs begin it with."""
    _refuse_binary(content, key)
    return content.removeprefix(b"\xef\xbb\xbf")


def _refuse_binary(content: bytes, key: str) -> None:
    kind = BINARY.get(content[:4]) or BINARY.get(content[:2])
    if kind or b"\0" in content:
        raise InputError(key, "must be CSV, CSV.gz or Parquet", kind or "a binary file", "Export it as CSV, UTF-8.")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"another byte in line {content.count(bytes([10]), 0, error.start) + 1}"
        raise InputError(key, "must be UTF-8 text", found, "Save it as UTF-8.") from None


def _dialect(content: bytes, key: str) -> tuple[str, list[str]]:
    """The delimiter that cuts the first rows into the most fields, evenly if it can, and the header."""
    cuts = {delimiter: rows for delimiter in DELIMITERS if (rows := _first_rows(content, delimiter))}
    if not cuts:
        raise InputError(key, "must be CSV, CSV.gz or Parquet", "no rows that can be told apart")
    # Short last rows happen in good files too, so an uneven cut into many fields beats no cut at all.
    even = {delimiter: len(rows[0]) > 1 and len(set(map(len, rows))) == 1 for delimiter, rows in cuts.items()}
    delimiter = max(cuts, key=lambda delimiter: (even[delimiter], len(cuts[delimiter][0])))
    rows = cuts[delimiter]
    header = [name.strip() for name in rows[0]]
    if len(rows) > 1 and len(rows[1]) != len(header):
        found = f"{len(header)} in the header, {len(rows[1])} in row 1"
        raise InputError(key, "must have as many fields in each row as in the header", found)
    return delimiter, header


def _first_rows(content: bytes, delimiter: str, at_most: int = 50) -> list[list[str]]:
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
    try:
        return list(islice(filter(None, csv.reader(text, delimiter=delimiter)), at_most))
    except csv.Error:
        return []


def check_names(header: list[str], key: str, shown: bool = True) -> None:
    """Refuse columns without a name, and two of one name; which, is told by name where these may be shown.

    Raises
    ------
    InputError
    """
    for place, name in enumerate(header, 1):
        if not name:
            remedy = "Name it, or remove it if it only numbers the rows."
            raise InputError(key, "every column must have a name", f"none for column {place}", remedy)
        first = header.index(name) + 1
        if first < place:
            remedy = f"Rename column {first} or {place}."
            found = f"{show(name)} twice" if shown else "one twice"
            raise InputError(key, "column names must differ", found, remedy)


# Parquet


def _parquet(content: bytes, key: str) -> pd.DataFrame:
    import pyarrow as pa  # with its file systems and their network, a tenth of a second that no CSV needs
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(pa.BufferReader(content)).read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(key, "must be a whole Parquet file", show(" ".join(str(error).split()))) from None
    names = [name.strip() for name in table.column_names]
    check_names(names, key)
    table = table.rename_columns(names)
    kept = [n for n in names if not ROW_LABELS.fullmatch(n)]
    check_kinds({name: table.schema.field(name).type for name in kept}, key)
    return table.select(kept).to_pandas(ignore_metadata=True, integer_object_nulls=True)


def check_kinds(kinds: dict[str, Any], key: str) -> None:
    """Refuse columns, name -> type of Arrow, that hold neither numbers nor texts nor dates.

    Raises
    ------
    InputError
    """
    import pyarrow as pa

    for name, kind in kinds.items():
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            rule, remedy = "columns must hold numbers, texts or dates", "Leave the column out of the file."
            raise InputError(key, rule, f"{kind} in column {show(name)}", remedy)


# Columns


def column_of(series: pd.Series) -> np.ndarray:
    """The cells as floats, NaN where missing, if all of them are numbers; else as texts, None where missing."""
    kind = series.dtype
    if pd.api.types.is_datetime64_any_dtype(kind):
        return texts(series.dt.strftime("%Y-%m-%d %H:%M:%S").str.removesuffix(" 00:00:00"))
    if pd.api.types.is_float_dtype(kind) or (pd.api.types.is_numeric_dtype(kind) and not _large(series)):
        return series.to_numpy(dtype=float, na_value=np.nan)
    if _numbers(series) and not _large(series):
        return np.array([np.nan if pd.isna(cell) else float(cell) for cell in series], dtype=float)
    cells = texts(series)
    return np.full(len(cells), np.nan) if all(cell is None for cell in cells) else cells


def _numbers(series: pd.Series) -> bool:
    """Whether all known cells are numbers, true or false."""
    return pd.api.types.is_numeric_dtype(series.dtype) or (
        series.dtype.kind == "O" and pd.api.types.infer_dtype(series, skipna=True) in NUMBERS
    )


def _large(series: pd.Series) -> bool:
    """Whether any cell may be a number beyond those that floats tell apart."""
    if series.dtype == np.float64:  # as nearly all columns of numbers are
        cells = series.to_numpy()
        return bool((np.abs(cells[np.isfinite(cells)]) >= EXACT_WHOLE).any())
    known = series[series.notna()] if _numbers(series) else series[:0]
    if pd.api.types.is_float_dtype(series.dtype):
        known = known[np.isfinite(known)]
    return bool(len(known)) and bool(max(-int(known.min()), int(known.max())) >= EXACT_WHOLE)


def texts(series: pd.Series) -> np.ndarray:
    """The cells as texts without blanks at their ends, None where missing; each different cell is looked at once."""
    is_text = pd.api.types.infer_dtype(series, skipna=True) == "string"
    codes, cells = pd.factorize(series if is_text else series.astype(object).map(str, na_action="ignore"))
    known = [None if text in MISSING_MARKS else text for text in (str(cell).strip() for cell in cells)]
    return np.array([*known, None], dtype=object)[codes]  # missing cells have the code -1


def as_text(value: str | float) -> str:
    """A value of a column as text, whole numbers without a decimal point.

    >>> as_text(3.0), as_text(0.5), as_text("3.0")
    ('3', '0.5', '3.0')
    """
    return value if isinstance(value, str) else str(int(value)) if value == int(value) else repr(float(value))
