"""What a column holds, told by the cells that everybody may see: numbers, or texts.

One cell that is no number must not turn a column of numbers into categories: whose cell that is would show in the number of
parameters. So a column's kind is that of its public cells, or of the values that the scenario states, and a private cell
that cannot be read so is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable

import numpy as np
import pandas as pd

from learning.data.division import RowLabels, Rows
from scenarios.schema.fields import show
from scenarios.tables.reading import EXACT_WHOLE, Table, as_text

TRUTH = {"true": 1.0, "false": 0.0}  # in small or capital letters
POINT = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|inf(inity)?)", re.IGNORECASE | re.ASCII)
COMMA = re.compile(r"[+-]?[0-9]*,?[0-9]+([eE][+-]?[0-9]+)?")
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


TEXT = "text"
# How the numbers of a column are written; true and false are numbers in each of them.
WRITTEN = {"point": (POINT,), "comma": (COMMA,), "either": (POINT, COMMA), "truth": ()}


def written_as(shown: Collection[str], commas: bool) -> str:
    """How a column is written by its public cells, which are texts: a key of `WRITTEN`, or `TEXT` where they are no numbers.

    >>> written_as(["2.5"], True), written_as(["2", "3"], True), written_as(["True"], False), written_as(["A7"], False)
    ('point', 'either', 'truth', 'text')
    """
    point = all(map(POINT.fullmatch, shown))
    comma = commas and all(map(COMMA.fullmatch, shown))
    if not (point or comma):
        return "truth" if all(cell.lower() in TRUTH for cell in shown) else TEXT
    # Whole numbers that floats do not tell apart are names.
    whole = [cell.lstrip("+-0") or "0" for cell in shown if re.fullmatch(r"[+-]?[0-9]+", cell)]
    if any(len(digits) > 16 or int(digits) > EXACT_WHOLE for digits in whole):
        return TEXT
    return "either" if point and comma else "point" if point else "comma"


def number_reader(written: str) -> Callable[[str], float]:
    """What reads a cell of a column of numbers, NaN where it is none; how they are written, a key of `WRITTEN`."""
    ways = WRITTEN[written]

    def read(cell: str) -> float:
        if any(way.fullmatch(cell) for way in ways):
            return float(cell.replace(",", "."))
        return TRUTH.get(cell.lower(), np.nan)

    return read


def read_written(column: np.ndarray, written: str) -> np.ndarray:
    """A column as a rule says: floats, NaN where a cell is no number; or texts, None where missing.

    Parameters
    ----------
    column : (n,), floats or NaN; or texts as written, None where missing.
    written : a key of `WRITTEN`, or `TEXT`.
    """
    if written == TEXT:
        if column.dtype == object:
            return column
        return np.array([None if cell != cell else as_text(cell) for cell in column], dtype=object)
    if column.dtype != object:
        return column
    codes, cells = pd.factorize(column)  # each different cell is looked at once; missing ones have the code -1
    return np.array([*map(number_reader(written), cells), np.nan], dtype=float)[codes]


def read_as(column: np.ndarray, shown: Iterable[object], commas: bool) -> np.ndarray:
    """A column as its public cells say: floats, NaN where a cell is no number; or texts, None where missing.

    Parameters
    ----------
    column : (n,), finite floats or NaN; or texts as written, None where missing.
    shown : its public cells, or the values that the scenario states for it; where no text is among them it counts as numbers.
    commas : whether numbers may have decimal commas.
    """
    return read_written(column, written_as(texts_shown(shown), commas))


def texts_shown(cells: Iterable[object]) -> tuple[str, ...]:
    """The texts among some cells, each of them once; none among numbers."""
    return tuple(dict.fromkeys(cell for cell in cells if isinstance(cell, str)))


def spelt_once(labels: RowLabels) -> RowLabels:
    """Labels of which 7, 07 and 7.0 are one, as they are where all cells of their column are numbers.

    Whose rows are one person's must not hang on how others' persons are called.

    >>> spelt_once(RowLabels.of(["07", "7.0", "A7", "7"])).names
    ('7', 'A7')
    """
    return RowLabels.of([_spelt(name) for name in labels.names]).coded(labels.of_row)


def _spelt(name: str) -> str:
    value = float(name) if POINT.fullmatch(name) else TRUTH.get(name.lower())
    if value is None or EXACT_WHOLE <= abs(value) < np.inf:
        return name
    return as_text(value) if np.isfinite(value) else ""


def refuse_two_readings(table: Table, public: Rows) -> None:
    """Refuse public cells of which 1,234 may be either reading, in every column of a file that may have decimal commas.

    Raises
    ------
    InputError
    """
    if not table.commas:
        return
    shown = {name: [c for c in column[public] if c is not None] for name, column in table.columns.items()}
    found = {
        name: [c for c in cells if "," in c] for name, cells in shown.items() if table.columns[name].dtype == object
    }
    found = {name: cells for name, cells in found.items() if cells and all(map(COMMA.fullmatch, shown[name]))}
    if found and all(THOUSANDS.fullmatch(cell) for cells in found.values() for cell in cells):
        name, cells = next(iter(found.items()))
        rule, remedy = (
            "numbers must be readable in one way only",
            "Write numbers with a decimal point and no thousands mark.",
        )
        cell = f"{show(cells[0])} in column {show(name)}, decimals or thousands"
        raise table.error("path", rule, cell, remedy)
