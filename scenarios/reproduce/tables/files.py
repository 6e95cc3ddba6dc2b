"""Files of published tables: where they lie in a folder of data, and their columns."""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from learning.data.encoding import Columns
from learning.errors import InputError
from scenarios.tables.reading import column_of

MISSING = ("", "?")


def found(data: Path, *names: str) -> Path | None:
    """The first of some files, gzipped or not, in a folder or in one of its folders; ``*`` in a name stands for anything."""
    for name in names:
        for place in (name, f"{name}.gz", f"*/{name}", f"*/{name}.gz"):
            for path in sorted(data.glob(place)):
                if path.is_file():
                    return path
    return None


def cells(path: Path, wanted: Mapping[str, Collection[str]], needed: int = 1, **reading: Any) -> pd.DataFrame:
    """The columns wanted of a table, by our names for them.

    Parameters
    ----------
    path : the file.
    wanted : our name -> what editions of the file call it, in small letters with one blank between words.
    needed : how many of the columns wanted must be there, from the first on, the target.
    reading : what pandas is told besides, such as the delimiter.

    Raises
    ------
    InputError
        If no table can be read, or a column that is needed is not in it.
    """
    ours = {name: mine for mine, names in wanted.items() for name in names}
    try:
        frame = pd.read_csv(
            path,
            usecols=lambda name: plain(name) in ours,
            index_col=False,  # else rows that are longer than the header would move their columns
            keep_default_na=False,
            na_values=list(MISSING),
            low_memory=False,
            **reading,
        )
    except (ValueError, LookupError, OSError, EOFError, zlib.error) as error:
        raise InputError(str(path), "must be a table as published", " ".join(str(error).split())) from None
    frame = frame.rename(columns={name: ours[plain(name)] for name in frame})
    lacks = [name for name in list(wanted)[:needed] if name not in frame] or list(wanted)[: not len(frame)]
    if lacks:
        rule = f"must have rows and a column {' or '.join(map(repr, wanted[lacks[0]]))}"
        raise InputError(str(path), rule, f"{len(frame)} rows, {', '.join(frame) or 'none of its columns'}")
    return frame.loc[:, ~frame.columns.duplicated()]


def labelled(path: Path, labels: pd.Series, *known: str) -> pd.Series:
    """Labels as texts without the blanks, full stop or decimals that an edition may add; refused are any but those known.

    Raises
    ------
    InputError
    """
    texts = labels.astype(object).fillna("nothing").astype(str).str.strip().str.removesuffix(".0").str.rstrip(".")
    others = sorted(set(texts) - set(known))
    if known and others:
        raise InputError(str(path), f"must have the labels {' and '.join(known)} only", ", ".join(others[:3]))
    return texts


def plain(name: object) -> str:
    """A column's name in small letters, one blank between words.

    >>> plain("Permanent.Facility.Id"), plain("Length of Stay"), plain("int_rate")
    ('permanent facility id', 'length of stay', 'int rate')
    """
    return re.sub(r"[^a-z0-9]+", " ", str(name).lower()).strip()


def themselves(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Columns that every edition calls the same."""
    return {name: (plain(name),) for name in names}


def columns_of(frame: pd.DataFrame) -> Columns:
    """Numbers as floats, NaN where missing; texts without blanks at their ends, None where missing."""
    return {str(name): column_of(frame[name]) for name in frame}


def numbers(series: pd.Series, after: str) -> np.ndarray:
    """Cells as numbers, with or without what may stand after them.

    >>> numbers(pd.Series(["10.65%", " 7.9 %", None]), "%"), numbers(pd.Series([3.5]), "%")
    (array([10.65,  7.9 ,   nan]), array([3.5]))
    """
    if pd.api.types.is_numeric_dtype(series):
        return series.to_numpy(dtype=float)
    bare = series.str.strip().str.removesuffix(after).str.strip()
    return pd.to_numeric(bare, errors="coerce").to_numpy(dtype=float)
