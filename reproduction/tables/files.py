"""Files of published tables: search in a folder of data, and reading of their columns."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from learning.data.encoding import Columns
from learning.errors import InputError
from scenarios.tables.reading import column_of

MISSING = ("", "?")


def find_file(data: Path, *names: str) -> Path | None:
    """First of some files, gzipped or not, in a folder or in one of its folders.

    A ``*`` in a name stands for anything.
    """
    for name, place in product(names, ("{}", "{}.gz", "*/{}", "*/{}.gz")):
        for path in sorted(data.glob(place.format(name))):
            if path.is_file():
                return path
    return None


def read_columns(
    path: Path, wanted: Mapping[str, Collection[str]], needed: int = 1, **reading: Any
) -> pd.DataFrame:
    """Read the columns wanted of a table, by our names for them.

    Parameters
    ----------
    path : the file.
    wanted : our name -> names in editions of the file, in small letters with one blank between
        words.
    needed : number of the columns wanted that must be there, from the first on, the target.
    reading : further arguments of pandas, such as the delimiter.

    Raises
    ------
    InputError
        If no table can be read, or a column that is needed is not in it.
    """
    ours = {name: mine for mine, names in wanted.items() for name in names}
    try:
        frame = pd.read_csv(
            path,
            usecols=lambda name: plain_name(name) in ours,
            index_col=False,  # else rows longer than the header would move their columns
            keep_default_na=False,
            na_values=list(MISSING),
            low_memory=False,
            **reading,
        )
    except (ValueError, LookupError, OSError, EOFError, zlib.error) as error:
        found = " ".join(str(error).split())
        raise InputError(str(path), "must be a table as published", found) from None
    frame = frame.rename(columns={name: ours[plain_name(name)] for name in frame})
    names = list(wanted)
    lacks = [name for name in names[:needed] if name not in frame or frame.empty]
    if lacks:
        rule = f"must have rows and a column {' or '.join(map(repr, wanted[lacks[0]]))}"
        found = f"{len(frame)} rows, {', '.join(frame) or 'none of its columns'}"
        raise InputError(str(path), rule, found)
    return frame.loc[:, ~frame.columns.duplicated()]


def read_labels(path: Path, labels: pd.Series, *known: str) -> pd.Series:
    """Read labels as texts, without the blanks, full stop or decimals of some editions.

    Raises
    ------
    InputError
        If there is a label other than those known.
    """
    texts = labels.astype(object).fillna("nothing").astype(str)
    texts = texts.str.strip().str.removesuffix(".0").str.rstrip(".")
    others = sorted(set(texts) - set(known))
    if known and others:
        rule = f"must have the labels {' and '.join(known)} only"
        raise InputError(str(path), rule, ", ".join(others[:3]))
    return texts


def plain_name(name: object) -> str:
    """Name of a column in small letters, one blank between words.

    >>> plain_name("Permanent.Facility.Id"), plain_name("Length of Stay"), plain_name("int_rate")
    ('permanent facility id', 'length of stay', 'int rate')
    """
    return re.sub(r"[^a-z0-9]+", " ", str(name).lower()).strip()


def own_names(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Names of columns that every edition calls the same."""
    return {name: (plain_name(name),) for name in names}


def columns_of(frame: pd.DataFrame) -> Columns:
    """Columns of a frame: floats with NaN, stripped texts with None where missing."""
    return {str(name): column_of(frame[name]) for name in frame}


def read_numbers(series: pd.Series, after: str) -> np.ndarray:
    """Read numbers from cells, with or without a suffix.

    >>> read_numbers(pd.Series(["10.65%", " 7.9 %", None]), "%")
    array([10.65,  7.9 ,   nan])
    >>> read_numbers(pd.Series([3.5]), "%")
    array([3.5])
    """
    if pd.api.types.is_numeric_dtype(series):
        return series.to_numpy(dtype=float)
    bare = series.str.strip().str.removesuffix(after).str.strip()
    return pd.to_numeric(bare, errors="coerce").to_numpy(dtype=float)
