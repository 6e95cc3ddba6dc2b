"""Columns of a table as their public cells show them, and which of them are no features."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from learning.arrays import LARGEST, Array
from learning.cells import as_text
from learning.data.rows import Rows
from learning.phrases import escape_control, format_value
from scenarios.tables.reading import Table
from scenarios.tables.selection import read_as

DATE = re.compile(
    r"\d{4}-\d{1,2}(-\d{1,2})?([T ][\d:.+Z]+)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}( "
    r"[\d:]+)?|\d{1,2}:\d\d(:\d\d)?"
)
MOST_CATEGORIES = 20  # texts of more kinds would each be a column
MOST_MISSING = 0.5  # share of cells
LEAST_KNOWN = 30  # cells of a target
LEAST_COUNTED = 50  # cells from which numbers are taken for those of rows whatever they are called
MOSTLY = 0.8  # share of the cells that differ
SAME = 0.999  # share of the target's variance from which a column is the target once more
LEAKS = 0.81  # share of the target's variance (r of 0.9) from which a column is likely a leak
OWNERS = (
    "owner bank hospital facility insurer institution clinic company firm branch site centre "
    "center provider organisation organization org agency school store shop silo lender laboratory "
    "lab party holder university"
)
OWNER_NAMES = frozenset(OWNERS.split())
BESIDE_OWNER = {"id", "name", "code", "no", "nr", "number", "permanent", "data"}
NUMBERING = {"id", "ids", "uuid", "guid", "key", "index", "idx", "row", "rownum"}

LATER = frozenset(
    [
        "duration",
        "disposition",
        "outcome",
        "recoveries",
        "charges",
        "costs",
        "death",
        "died",
        "deceased",
    ]
)
PROTECTED = frozenset(
    [
        "sex",
        "gender",
        "race",
        "ethnicity",
        "ethnic",
        "religion",
        "age",
        "nationality",
        "disability",
        "marital",
        "pregnancy",
    ]
)


@dataclass(frozen=True)
class Column:
    """A column as the public rows show it.

    Parameters
    ----------
    name : its name.
    cells : (n_public,), floats, NaN where missing or infinite; or texts, None where missing.
    n_rows : rows of the whole table.
    """

    name: str
    cells: np.ndarray = field(repr=False)
    n_rows: int

    @property
    def is_text(self) -> bool:
        """Test for texts."""
        return self.cells.dtype == object

    @cached_property
    def known(self) -> np.ndarray:
        """The cells that are not missing, (n_known,)."""
        return self.cells[pd.notna(self.cells)]

    @cached_property
    def values(self) -> list[str | float]:
        """Its different values, in order."""
        return sorted(set(self.known.tolist()))

    def count(self, value: str | float) -> int:
        """Count the cells that hold a value."""
        return int((self.known == value).sum())

    @property
    def is_whole(self) -> bool:
        """Test for whole numbers."""
        return not self.is_text and bool(np.all(self.known == np.round(self.known)))

    @property
    def missing(self) -> float:
        """The share of its cells that are missing."""
        return 1 - len(self.known) / len(self.cells)

    @property
    def words(self) -> list[str]:
        """The words of its name, in small letters."""
        return words_of(self.name)

    @property
    def can_be_target(self) -> bool:
        """Test whether it can be predicted: two values, or numbers that do not number the rows."""
        if len(self.known) < LEAST_KNOWN or self._beyond:
            return False
        return len(self.values) == 2 or (
            len(self.values) > 2 and not self.is_text and not self._numbers_rows
        )

    @property
    def width(self) -> int:
        """Count the features that it becomes: for texts, one for each category but the first.

        A column with missing texts has one category more.
        """
        if not self.is_text:
            return 1
        return len(self.values) - 1 + (self.missing > 0)

    @property
    def _numbers_rows(self) -> bool:
        """Test whether whole numbers name the rows.

        They do if most differ and the column's name says so, or if all of `LEAST_COUNTED` or more
        differ and none lies further from another than there are rows.
        """
        if not self.is_whole or len(self.values) < max(3, MOSTLY * len(self.known)):
            return False
        if (NUMBERING | BESIDE_OWNER) & set(self.words):
            return True
        close = self.values[-1] - self.values[0] <= self.n_rows  # type: ignore[operator]
        return len(self.known) >= LEAST_COUNTED and len(self.values) == len(self.known) and close

    @property
    def _beyond(self) -> bool:
        """Test for numbers too large to compute with."""
        return not self.is_text and bool(np.any(np.abs(self.known) > LARGEST))

    @property
    def unfit(self) -> str:
        """Reason for which it is no feature; empty for a good one."""
        if escape_control(self.name) != self.name:
            return "its name has an invisible character"
        if not len(self.known):
            return "empty in the public rows"
        if self.missing > MOST_MISSING:
            return "mostly missing"
        if len(self.values) == 1:
            return "only one value"
        if self._beyond:
            return "numbers too large to compute with"
        named = NUMBERING & set(self.words) and (self.is_text or self.is_whole)
        if named or self._numbers_rows:
            return "it names rows or persons"
        # A name without a Latin letter or a digit has no words, and says nothing.
        names_owners = bool(self.words) and set(self.words) <= OWNER_NAMES | BESIDE_OWNER
        if self.is_whole and names_owners:
            return "codes of owners"
        if self.is_text and all(DATE.fullmatch(str(value)) for value in self.values):
            return "dates: convert them to numbers to use them"
        if self.is_text and len(self.values) > MOST_CATEGORIES:
            return f"{len(self.values):,} different texts"
        return ""

    @property
    def known_later(self) -> bool:
        """Test by its name whether it is likely known only after what is to be predicted."""
        return bool(LATER & set(self.words))

    @property
    def is_protected(self) -> bool:
        """Test by its name whether the law may forbid to judge people by it."""
        return bool(PROTECTED & set(self.words))

    def explains(self, y: Array) -> float:
        """Share of the variance of a target (n_public,) that it explains by itself.

        Numbers explain it by the least-squares line, texts by the mean of each category; 0 for
        more than `MOST_CATEGORIES` texts of which some stand in one row only.
        """
        if self.is_text:
            _, group = np.unique([str(cell) for cell in self.cells], return_inverse=True)
            count = np.bincount(group)
            fitted = (np.bincount(group, y) / count)[group]
            if count.min() == 1 and len(count) > MOST_CATEGORIES:
                return 0.0
        else:
            x = np.where(np.isnan(self.cells), np.nanmean(self.cells), self.cells)
            x = x - x.mean()
            spread = float(x @ x)
            fitted = y.mean() + x * (float(x @ y) / (spread or np.inf))
        total = float(np.sum((y - y.mean()) ** 2))
        return total > 0 and 1 - float(np.sum((y - fitted) ** 2)) / total


def words_of(name: str) -> list[str]:
    """List the words of a column's name, in small letters.

    >>> words_of("Permanent.Facility.Id"), words_of("bankName"), words_of("los_days2")
    (['permanent', 'facility', 'id'], ['bank', 'name'], ['los', 'days', '2'])
    """
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)]


def write_cell(value: str | float, width: int = 60) -> str:
    """Write a value of a column, a text in quotes and cut off at a width."""
    return format_value(value, width) if isinstance(value, str) else as_text(value)


def show_columns(table: Table, public: Rows) -> dict[str, Column]:
    """Show every column of a table by its public rows, by name."""
    made = {}
    for name, column in table.columns.items():
        cells = read_as(column[public], column[public], table.commas)
        if cells.dtype != object:
            cells = np.where(np.isfinite(cells), cells, np.nan)
        made[name] = Column(name, cells, table.n_rows)
    return made
