"""Files of tables, CSV and Parquet: their content, their header, and an owner's cells as written.

An owner's file is read without pandas, cell by cell: no cell changes what another one is read as.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning.cells import EXACT_WHOLE, MISSING_MARKS, Columns, cell_text
from learning.errors import InputError, describe_system_error
from learning.phrases import format_value

DELIMITERS = (",", ";", "\t")
BINARY = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PK\x03\x04": "a zip file or a workbook"}
ROW_LABELS = re.compile(r"__index_level_\d+__")  # of pandas, no data
PARQUET = b"PAR1"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UNEVEN = "must have as many fields in each row as in the header"


def read_content(path: Path, key: str, remedy: str = "") -> bytes:
    """Read the bytes of a file, decompressed.

    Parameters
    ----------
    key: where the file was named, for errors.
    remedy: what to do where there is none.

    Raises an InputError if it is no file, cannot be read, or is empty.
    """
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
        raise InputError(key, "must be readable", describe_system_error(error)) from None
    if not content.strip(BYTE_ORDER_MARK + b" \t\r\n"):
        raise InputError(key, "must have rows and columns", "an empty file")
    return content


def find_dialect(content: bytes, key: str) -> tuple[str, list[str]]:
    """Find the delimiter of a CSV and its header.

    The delimiter cuts the first rows into the most fields, evenly where one does: short last rows
    happen in good files too, so an uneven cut into many fields beats no cut at all.

    Raises an InputError if the content is no text, has no rows, or its first row is not as long as
    the header.
    """
    _check_text(content, key)
    text = content.removeprefix(BYTE_ORDER_MARK)
    cuts = {delimiter: rows for delimiter in DELIMITERS if (rows := _first_rows(text, delimiter))}
    if not cuts:
        raise InputError(key, "must be CSV, CSV.gz or Parquet", "no separate rows")

    def preference(delimiter: str) -> tuple[bool, int]:
        widths = [len(row) for row in cuts[delimiter]]
        return widths[0] > 1 and len(set(widths)) == 1, widths[0]

    delimiter = max(cuts, key=preference)
    first, *others = cuts[delimiter]
    if others and len(others[0]) != len(first):
        found = f"{len(first)} in the header, {len(others[0])} in row 1"
        raise InputError(key, UNEVEN, found)
    return delimiter, [name.strip() for name in first]


def _check_text(content: bytes, key: str) -> None:
    kind = BINARY.get(content[:4]) or BINARY.get(content[:2])
    if kind or b"\0" in content:
        found = kind or "a binary file"
        rule = "must be CSV, CSV.gz or Parquet"
        raise InputError(key, rule, found, "Export it as CSV, UTF-8.")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"another byte in line {content.count(bytes([10]), 0, error.start) + 1}"
        raise InputError(key, "must be UTF-8 text", found, "Save it as UTF-8.") from None


def _first_rows(content: bytes, delimiter: str, at_most: int = 50) -> list[list[str]]:
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
    try:
        return list(islice(filter(None, csv.reader(text, delimiter=delimiter)), at_most))
    except csv.Error:
        return []


def check_names(header: Sequence[str], key: str, shown: bool = True) -> None:
    """Refuse columns without a name, and two of one name.

    Parameters
    ----------
    shown: whether the error may show a name.
    """
    for place, name in enumerate(header, 1):
        if not name:
            remedy = "Name it, or remove it if it only numbers the rows."
            found = f"none for column {place}"
            raise InputError(key, "every column must have a name", found, remedy)
        first = header.index(name) + 1
        if first < place:
            found = f"{format_value(name)} twice" if shown else "one twice"
            remedy = f"Rename column {first} or {place}."
            raise InputError(key, "column names must differ", found, remedy)


def check_kinds(kinds: Mapping[str, Any], key: str) -> None:
    """Refuse Arrow columns, name -> type, that hold neither numbers nor texts nor dates."""
    from pyarrow import types

    for name, kind in kinds.items():
        refused = (types.is_nested, types.is_binary, types.is_large_binary, types.is_duration)
        if any(is_kind(kind) for is_kind in refused):
            rule = "columns must hold numbers, texts or dates"
            found = f"{kind} in column {format_value(name)}"
            raise InputError(key, rule, found, "Leave the column out of the file.")


def read_parquet(content: bytes, key: str) -> Any:
    """Read Parquet as an Arrow table with plain names, without the row labels of pandas.

    Raises an InputError if it is damaged, or its columns have no names or hold something else than
    values.
    """
    try:
        import pyarrow as pa  # loads file systems and their network: a tenth of a second
        import pyarrow.parquet as pq
    except ImportError:
        remedy = "Install pyarrow, or export the table as CSV."
        raise InputError(
            key, "must be CSV where pyarrow is not installed", "Parquet", remedy
        ) from None
    try:
        table = pq.ParquetFile(pa.BufferReader(content)).read()
    except (pa.ArrowException, OSError) as error:
        found = format_value(" ".join(str(error).split()))
        raise InputError(key, "must be a whole Parquet file", found) from None
    names = [name.strip() for name in table.column_names]
    check_names(names, key)
    table = table.rename_columns(names)
    kept = [name for name in names if not ROW_LABELS.fullmatch(name)]
    check_kinds({name: table.schema.field(name).type for name in kept}, key)
    return table.select(kept)


# An owner's cells


@dataclass(frozen=True)
class WrittenTable:
    """Columns of a file that were asked for, as texts, with what else the file holds.

    Parameters
    ----------
    columns: name -> (n_rows,), texts as written, None where missing; columns of Parquet that hold
        numbers, or true and false, and empty columns are floats, NaN where missing.
    n_rows: number of rows.
    commas: whether texts such as 3,5 may be numbers.
    other_names: names of the other columns.
    rows: each row with all its cells, in memory only.
    """

    columns: Columns = field(repr=False)
    n_rows: int
    commas: bool
    other_names: list[str]
    rows: list[bytes] = field(repr=False)


def read_as_written(
    path: str | Path, names: Collection[str], option: str = "data.path"
) -> WrittenTable:
    """Read some columns as texts, even where all their cells are numbers.

    No cell changes what another one is read as. Columns of Parquet hold what their type says. No
    error shows a cell or a name of the file, whose first row may be a record.

    Parameters
    ----------
    path: the file.
    names: the columns.
    option: the option that names the file.

    Raises an InputError if the file is missing, empty or no table, or lacks a column.
    """
    key = f"{path}: {option}"
    content = read_content(Path(path), key)
    is_parquet = content[:4] == PARQUET
    if is_parquet:
        delimiter = ""
        table = read_parquet(content, key)
        header = list(table.column_names)
    else:
        delimiter, header = find_dialect(content, key)
        check_names(header, key, shown=False)
    for name in names:
        if name not in header:
            rule = "must have the columns that are read"
            remedy = "The first row must name the columns."
            raise InputError(key, rule, f"no column {format_value(name)}", remedy)
    if is_parquet:
        n_rows = table.num_rows
        cells = {name: arrow_cells(table.column(name)) for name in header}
    else:
        n_rows, cells = _csv_cells(content, delimiter, header, key)
    if n_rows == 0 or not header:
        found = f"{n_rows} rows, {len(header)} columns"
        raise InputError(key, "must have rows and columns", found)
    texts = [["" if cell is None else str(cell) for cell in cells[name]] for name in sorted(header)]
    rows = ["\0".join(row).encode() for row in zip(*texts, strict=True)]
    columns = {name: column_of_cells(cells[name]) for name in header if name in names}
    others = [name for name in header if name not in names]
    return WrittenTable(columns, n_rows, delimiter == ";", others, rows)


def _csv_cells(
    content: bytes, delimiter: str, header: Sequence[str], key: str
) -> tuple[int, dict[str, list[str | None]]]:
    """Number of rows, and cells by column, None where one marks a missing value."""
    rows = read_csv_rows(content, delimiter, key)
    next(rows)
    cells = [[None if cell in MISSING_MARKS else cell for cell in row] for row in rows]
    columns = zip(*cells, strict=True) if cells else ([] for _ in header)
    return len(cells), dict(zip(header, map(list, columns), strict=True))


def read_csv_rows(content: bytes, delimiter: str, key: str) -> Iterator[list[str]]:
    """Read the rows of a CSV, the header first; short rows are filled with empty cells.

    Lines without a field are skipped.

    Raises an InputError if a row is longer than the header, or a quoted cell has no end.
    """
    end = f"\0{delimiter}\0"  # two cells that no text holds; one where a quoted cell has no end
    blanks = " \r\n" if delimiter == "\t" else " \t\r\n"
    text = content.removeprefix(BYTE_ORDER_MARK).decode("utf-8")
    line_number = 0
    at_start = True

    def lines() -> Iterator[str]:
        nonlocal line_number, at_start
        for line in io.StringIO(text, newline=""):
            if at_start and not line.strip(blanks):
                line_number += 1
                continue
            at_start = False
            yield line
        yield end

    width = 0
    limit = csv.field_size_limit(2**31 - 1)
    try:
        for row in csv.reader(lines(), delimiter=delimiter):
            if row == ["\0", "\0"]:
                return
            if row[-1].endswith(end):
                found = f"EOF inside string starting at row {line_number}"
                raise InputError(key, UNEVEN, found)
            line_number += 1
            width = width or len(row)
            if len(row) > width:
                found = f"Expected {width} fields in line {line_number}, saw {len(row)}"
                raise InputError(key, UNEVEN, found)
            at_start = True
            yield row + [""] * (width - len(row))
    finally:
        csv.field_size_limit(limit)


def arrow_cells(column: Any) -> list[Any]:
    """Cells of an Arrow column as Python values, None where missing."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_timestamp(kind):
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    elif pa.types.is_float16(kind):
        column = column.cast(pa.float32())
    cells = column.to_pylist()
    if pa.types.is_floating(kind):
        return [None if cell is None or cell != cell else cell for cell in cells]
    return cells


def column_of_cells(cells: Sequence[Any]) -> NDArray:
    """Column of floats, NaN where missing, if all cells are numbers; else of texts."""
    known = [cell for cell in cells if cell is not None]
    numbers = all(not isinstance(cell, str) and hasattr(cell, "__float__") for cell in known)
    if numbers and not any(_is_inexact(cell) for cell in known):
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    texts = [None if cell is None else cell_text(_date_text(cell)) for cell in cells]
    if not any(texts):
        return np.full(len(texts), np.nan)
    return np.array(texts, dtype=object)


def _is_inexact(cell: Any) -> bool:
    """Test for a whole number beyond those that floats tell apart."""
    return not isinstance(cell, float) and abs(int(cell)) >= EXACT_WHOLE


def _date_text(cell: Any) -> str:
    if hasattr(cell, "hour") and hasattr(cell, "year"):
        return cell.strftime("%Y-%m-%d %H:%M:%S").removesuffix(" 00:00:00")
    return str(cell)
