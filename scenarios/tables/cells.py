"""What a column holds, told by the cells that everybody may see: numbers, or texts.

One cell that is no number must not turn a column of numbers into categories: whose cell that is would show in the number of
parameters. So a column's kind is that of its public cells, or of the values that the scenario states, and a private cell
that cannot be read so is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from learning.data.division import Rows
from scenarios.schema.fields import show
from scenarios.tables.reading import EXACT_WHOLE, Table, as_text

TRUTH = {"True": 1.0, "TRUE": 1.0, "true": 1.0, "False": 0.0, "FALSE": 0.0, "false": 0.0}
POINT = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|inf(inity)?)", re.IGNORECASE | re.ASCII)
COMMA = re.compile(r"[+-]?[0-9]*,?[0-9]+([eE][+-]?[0-9]+)?")
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


def read_as(column: np.ndarray, shown: Iterable[object], commas: bool) -> np.ndarray:
    """A column as its public cells say: floats, NaN where a cell is no number; or texts, None where missing.

    Parameters
    ----------
    column : (n,), finite floats or NaN; or texts as written, None where missing.
    shown : its public cells, or the values that the scenario states for it; where no text is among them it counts as numbers.
    commas : whether numbers may have decimal commas.
    """
    written = [cell for cell in shown if isinstance(cell, str)]
    if column.dtype != object and not written:
        return column
    read = number_reader(written, commas)
    if column.dtype != object:
        return column if read else np.array([None if cell != cell else as_text(cell) for cell in column], dtype=object)
    return (
        column if read is None else np.array([np.nan if cell is None else read(cell) for cell in column], dtype=float)
    )


def number_reader(shown: Sequence[str], commas: bool) -> Callable[[str], float] | None:
    """What reads a cell of a column as a number, NaN where it is none; None where the cells shown are no numbers."""
    written = [way for way in ((POINT, COMMA) if commas else (POINT,)) if all(map(way.fullmatch, shown))]
    if not written and not all(cell in TRUTH for cell in shown):
        return None
    # Whole numbers that floats do not tell apart are names.
    whole = [cell.lstrip("+-0") or "0" for cell in shown if re.fullmatch(r"[+-]?[0-9]+", cell)]
    if any(len(digits) > 16 or int(digits) > EXACT_WHOLE for digits in whole):
        return None

    def read(cell: str) -> float:
        if any(way.fullmatch(cell) for way in written):
            return float(cell.replace(",", "."))
        return TRUTH.get(cell, np.nan)

    return read


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
