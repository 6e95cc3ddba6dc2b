"""Cells of a table as numbers or texts, by a rule for each column that is public.

One cell that is no number must not turn a column of numbers into categories: the number of
parameters would reveal it. A rule says how a column is written, and a cell that cannot be read by
it is missing. No other cell plays a part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from learning.data.rows import RowLabels

MISSING_MARKS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "#N/A", "?")
EXACT_WHOLE = 2**53  # larger whole numbers do not fit a float; they are kept as text
TRUTH = {"true": 1.0, "false": 0.0}  # in small or capital letters
POINT = re.compile(
    r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|inf(inity)?)", re.IGNORECASE | re.ASCII
)
COMMA = re.compile(r"[+-]?[0-9]*,?[0-9]+([eE][+-]?[0-9]+)?")
TEXT = "text"
# How the numbers of a column are written; true and false are numbers in each of them.
WRITTEN = {"point": (POINT,), "comma": (COMMA,), "either": (POINT, COMMA), "truth": ()}

Columns = dict[str, NDArray]


def as_text(value: str | float) -> str:
    """Format a value of a column, whole numbers without a decimal point.

    >>> as_text(3.0), as_text(0.5), as_text("3.0")
    ('3', '0.5', '3.0')
    """
    if isinstance(value, str):
        return value
    return str(int(value)) if value == int(value) else repr(float(value))


def cell_text(cell: object) -> str | None:
    """Strip a cell of blanks at its ends; None where it marks a missing one."""
    text = str(cell).strip()
    return None if text in MISSING_MARKS else text


def number_reader(written: str) -> Callable[[str], float]:
    """Reader of the cells of a column of numbers: NaN for a cell that is none.

    Parameters
    ----------
    written: a key of `WRITTEN`.
    """
    ways = WRITTEN[written]

    def read_number(cell: str) -> float:
        if any(way.fullmatch(cell) for way in ways):
            return float(cell.replace(",", "."))
        return TRUTH.get(cell.lower(), np.nan)

    return read_number


def read_written(column: NDArray, written: str) -> NDArray:
    """Read a column by its rule: floats, NaN for missing cells; or texts, None for missing ones.

    Parameters
    ----------
    column: (n,), floats or NaN; or texts as written, None where missing.
    written: a key of `WRITTEN`, or `TEXT`.
    """
    if written == TEXT and column.dtype != object:
        return np.array([None if cell != cell else as_text(cell) for cell in column], dtype=object)
    if written == TEXT or column.dtype != object:
        return column
    read = cache(number_reader(written))
    cells = (np.nan if cell is None else read(cell) for cell in column)
    return np.fromiter(cells, float, len(column))


def finite_cells(column: NDArray) -> NDArray:
    """Replace infinite numbers by NaN; a column of texts stays as it is."""
    if column.dtype == object or not np.isinf(column).any():
        return column
    return np.where(np.isfinite(column), column, np.nan)


@dataclass(frozen=True)
class Meaning:
    """Rules by which the columns of a table are read, from its public cells and the scenario.

    Parameters
    ----------
    written: rule of the target and of each feature, a key of `WRITTEN` or `TEXT`.
    target_name: name of the target column.
    values: what becomes -1 and +1 in the target; None where it is a number.
    """

    written: Mapping[str, str] = field(repr=False)
    target_name: str
    values: tuple[str | float, ...] | None = None

    def read_columns(self, columns: Columns) -> Columns:
        """Read the target and the features of some rows as they are encoded, name -> (m,)."""
        read = {name: self.read_column(name, column) for name, column in columns.items()}
        if self.values is not None:
            no, yes = self.values
            target = read[self.target_name]
            coded = np.where(target == yes, 1.0, np.where(target == no, -1.0, np.nan))
            read[self.target_name] = coded
        return read

    def read_column(self, name: str, column: NDArray) -> NDArray:
        """Read cells (m,) as floats, NaN if missing or infinite; or as texts, None if missing."""
        return finite_cells(read_written(finite_cells(column), self.written[name]))


def merge_spellings(labels: RowLabels) -> RowLabels:
    """Merge the labels 7, 07 and 7.0, which are equal where all cells of a column are numbers.

    The rows of one person must not depend on the names of other persons.

    >>> merge_spellings(RowLabels.of(["07", "7.0", "A7", "7"])).names
    ('7', 'A7')
    """
    return RowLabels.of([_plain_label(name) for name in labels.names]).coded(labels.of_row)


def _plain_label(name: str) -> str:
    value = float(name) if POINT.fullmatch(name) else TRUTH.get(name.lower())
    if value is None or EXACT_WHOLE <= abs(value) < np.inf:
        return name
    return as_text(value) if np.isfinite(value) else ""
