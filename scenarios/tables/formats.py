"""From the bytes of a CSV or Parquet file to named columns of numbers and texts."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from learning.errors import InputError
from scenarios.schema.fields import show

DELIMITERS = (",", ";", "\t")
MISSING_MARKS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "#N/A", "?")
BINARY = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PK\x03\x04": "a zip file or a workbook"}
EXACT_WHOLE = 2**53  # whole numbers beyond this do not fit a float; they are names, kept as text

# Every decimal is read to the nearest float; from pandas 3.1 on that is the default and asking for it warns.
_NEW_PANDAS = tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1)
_PRECISE: dict[str, str] = {} if _NEW_PANDAS else {"float_precision": "round_trip"}

Columns = dict[str, np.ndarray]


def parse(content: bytes, key: str) -> tuple[Columns, int]:
    """The columns and the number of rows of a CSV or Parquet file; errors name ``key``."""
    frame = _parquet(content, key) if content[:4] == b"PAR1" else _csv(content, key)
    if frame.shape[1] == 0 or len(frame) == 0:
        raise InputError(key, "must have rows and columns", f"{len(frame)} rows, {frame.shape[1]} columns")
    return {str(name): _column(frame[name]) for name in frame}, len(frame)


# CSV


def _csv(content: bytes, key: str) -> pd.DataFrame:
    _refuse_binary(content, key)
    delimiter, header = _dialect(content.removeprefix(b"\xef\xbb\xbf"), key)
    _check_names(header, key)
    try:
        frame = pd.read_csv(
            io.BytesIO(content),
            sep=delimiter,
            names=header,
            header=0,
            encoding="utf-8-sig",
            low_memory=False,
            keep_default_na=False,
            na_values=list(MISSING_MARKS),
            **_PRECISE,
        )
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
        reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise InputError(key, "must have as many fields in each row as in the header", reason) from None
    return _decimal_commas(frame, key) if delimiter == ";" else frame


def _refuse_binary(content: bytes, key: str) -> None:
    kind = BINARY.get(content[:4]) or BINARY.get(content[:2])
    if kind or b"\0" in content:
        raise InputError(key, "must be CSV, CSV.gz or Parquet", kind or "a binary file", "Export it as CSV, UTF-8.")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"byte {content[error.start]:#04x} in line {content.count(bytes([10]), 0, error.start) + 1}"
        raise InputError(key, "must be UTF-8 text", found, "Save it as UTF-8.") from None


def _dialect(content: bytes, key: str) -> tuple[str, list[str]]:
    """The delimiter that cuts the first rows into the most fields, evenly if it can, and the header."""
    best: tuple[tuple[bool, int], str, list[list[str]]] | None = None
    for delimiter in DELIMITERS:
        try:
            rows = _first_rows(content, delimiter)
        except csv.Error:
            continue
        counts = [len(row) for row in rows]
        # Short last rows happen in good files too, so an uneven cut into many fields beats no cut at all.
        score = (len(rows[0]) > 1 and len(set(counts)) == 1, len(rows[0]))
        if best is None or score > best[0]:
            best = (score, delimiter, rows)
    if best is None:
        raise InputError(key, "must be CSV, CSV.gz or Parquet", "no rows that can be told apart")
    _, delimiter, rows = best
    header = [name.strip() for name in rows[0]]
    if len(rows) > 1 and len(rows[1]) != len(header):
        raise InputError(
            key,
            "must have as many fields in each row as in the header",
            f"{len(header)} in the header, {len(rows[1])} in row 1",
        )
    return delimiter, header


def _first_rows(content: bytes, delimiter: str, at_most: int = 50) -> list[list[str]]:
    text = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")
    rows = []
    for row in csv.reader(text, delimiter=delimiter):
        if row:
            rows.append(row)
        if len(rows) == at_most:
            break
    return rows


def _check_names(header: list[str], key: str) -> None:
    for place, name in enumerate(header, 1):
        if not name:
            raise InputError(
                key,
                "every column must have a name",
                f"none for column {place}",
                "Name it, or remove it if it only numbers the rows.",
            )
        if name in header[: place - 1]:
            raise InputError(
                key,
                "column names must differ",
                f"{show(name)} twice",
                f"Rename column {header.index(name) + 1} or {place}.",
            )


_COMMA = re.compile(r"[+-]?\d*,?\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def _decimal_commas(frame: pd.DataFrame, key: str) -> pd.DataFrame:
    """Turn columns of numbers such as 3,5 into numbers; refuse a file where 1,234 may be either reading."""
    found: dict[str, pd.Series] = {}
    clear = False
    for name in frame:
        cells = frame[name].dropna()
        if len(cells) == 0 or pd.api.types.is_numeric_dtype(cells) or pd.api.types.is_bool_dtype(cells):
            continue
        texts = cells.astype(str).str.strip()
        has_comma = texts.str.contains(",", regex=False).any()
        if has_comma and texts.map(lambda t: bool(_COMMA.fullmatch(t))).all():
            found[str(name)] = texts
            clear |= not texts.map(lambda t: "," not in t or bool(_THOUSANDS.fullmatch(t))).all()
    if found and not clear:
        name, texts = next(iter(found.items()))
        cell = texts[texts.str.contains(",", regex=False)].iloc[0]
        raise InputError(
            key,
            "numbers must be readable in one way only",
            f"{show(cell)} in column {show(name)}, decimals or thousands",
            "Write numbers with a decimal point and no thousands mark.",
        )
    for name, texts in found.items():
        frame[name] = texts.str.replace(",", ".", regex=False).map(float).reindex(frame.index)
    return frame


# Parquet


def _parquet(content: bytes, key: str) -> pd.DataFrame:
    try:
        table = pq.ParquetFile(pa.BufferReader(content)).read()
    except (pa.ArrowException, OSError) as error:
        raise InputError(key, "must be a whole Parquet file", show(" ".join(str(error).split()))) from None
    names = [name.strip() for name in table.column_names]
    _check_names(names, key)
    table = table.rename_columns(names)
    kept = [n for n in names if not re.fullmatch(r"__index_level_\d+__", n)]  # row labels of pandas, no data
    for name in kept:
        kind = table.schema.field(name).type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise InputError(
                key,
                "columns must hold numbers, texts or dates",
                f"{kind} in column {show(name)}",
                "Leave the column out of the file.",
            )
    return table.select(kept).to_pandas(ignore_metadata=True)


# Columns


def _column(series: pd.Series) -> np.ndarray:
    kind = series.dtype
    if pd.api.types.is_datetime64_any_dtype(kind):
        return _texts(_dates(series))
    if pd.api.types.is_integer_dtype(kind) and len(series.dropna()):
        low, high = int(series.min()), int(series.max())
        if max(-low, high) > EXACT_WHOLE:
            return _texts(series)
    if pd.api.types.is_numeric_dtype(kind) or pd.api.types.is_bool_dtype(kind):
        return series.to_numpy(dtype=float, na_value=np.nan)
    if kind.kind == "O" and len(series.dropna()) and pd.api.types.infer_dtype(series.dropna()) in _NUMBERS:
        return _numbers(series)
    texts = _texts(series)
    return np.full(len(texts), np.nan) if all(cell is None for cell in texts) else texts


_NUMBERS = ("boolean", "integer", "floating", "mixed-integer-float", "decimal")


def _numbers(series: pd.Series) -> np.ndarray:
    return np.array([np.nan if pd.isna(cell) else float(cell) for cell in series], dtype=float)


def _dates(series: pd.Series) -> pd.Series:
    known = series.dropna()
    days_only = bool((known == known.dt.normalize()).all())
    return series.dt.strftime("%Y-%m-%d" if days_only else "%Y-%m-%d %H:%M:%S")


def _texts(series: pd.Series) -> np.ndarray:
    out = np.empty(len(series), dtype=object)
    missing = series.isna().to_numpy()
    for i, cell in enumerate(series.astype(object).to_numpy()):
        text = None if missing[i] else str(cell).strip()
        out[i] = None if text in MISSING_MARKS else text
    return out
