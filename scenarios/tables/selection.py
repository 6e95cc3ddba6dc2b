"""The part of a table that a scenario asks for: its target, features and owners, as public cells say what they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from learning.data.division import Rows
from learning.errors import InputError
from scenarios.schema.data import Data
from scenarios.schema.fields import nearest, show
from scenarios.tables.cells import read_written, refuse_two_readings, texts_shown, written_as
from scenarios.tables.parts import Parts
from scenarios.tables.reading import Columns, Table, as_text

MOST_CATEGORIES = 100  # a text feature of more values, most of them met once, names the rows


@dataclass(frozen=True)
class Meaning:
    """What the columns of a table hold, as its public cells and the scenario say, whichever rows are read by it.

    Parameters
    ----------
    written : for the target and each feature how its cells are written (`scenarios.tables.cells`), texts or numbers.
    target_name : name of the target column.
    values : what becomes -1 and +1 in the target; None where it is a number.
    """

    written: Mapping[str, str] = field(repr=False)
    target_name: str
    values: tuple[str | float, ...] | None = None

    def read(self, columns: Columns) -> Columns:
        """The target and the features of some rows as they are encoded from, name -> (m,)."""
        read = {name: self.cells(name, column) for name, column in columns.items()}
        if self.values is not None:
            target, (no, yes) = read[self.target_name], self.values
            read[self.target_name] = np.where(target == yes, 1.0, np.where(target == no, -1.0, np.nan))
        return read

    def cells(self, name: str, column: np.ndarray) -> np.ndarray:
        """Some cells (m,) of a column as floats, NaN where missing or infinite; or as texts, None where missing."""
        read = read_written(_finite(column), self.written[name])
        return read if read.dtype == object else _finite(read)


def _finite(column: np.ndarray) -> np.ndarray:
    """A column of texts as it is, or numbers with NaN for those that are infinite."""
    if column.dtype == object or not np.isinf(column).any():
        return column
    return np.where(np.isfinite(column), column, np.nan)


@dataclass(frozen=True)
class Selection:
    """The columns a scenario asks for, every row of a table in them.

    Parameters
    ----------
    target : (n_rows,), float, NaN where missing; with labels -1 and +1.
    features : name -> (n_rows,), float columns, NaN where missing; text columns, None where missing.
    target_name : name of the target column.
    usable : (n_rows,), whether the learner uses a row; always so of a private row, whose missing cells are filled.
    meaning : how other rows of the same table are read.
    rows : which rows of the file the public ones are.
    labels : what the target's -1 and +1 stand for in the table; None where it is a number.
    """

    target: np.ndarray = field(repr=False)
    features: Columns = field(repr=False)
    target_name: str
    usable: np.ndarray = field(repr=False)
    meaning: Meaning = field(repr=False)
    rows: Rows = field(repr=False)
    labels: tuple[str, str] | None = None

    @property
    def n_dropped(self) -> int:
        """Public rows left out for missing or infinite cells."""
        return int((~self.usable).sum())

    @property
    def columns(self) -> Columns:
        """The features and the target by name."""
        return {**self.features, self.target_name: self.target}


def select(table: Table, data: Data, public: Rows, labels: bool = False) -> Selection:
    """The target and features of ``data``, as the public rows show them.

    A private cell changes nothing here but itself: whether a column holds numbers or texts, which are the target's two
    values, and what is refused, the public rows and the scenario tell. ``missing`` says what becomes of public rows with
    missing or infinite cells: ``error`` refuses them; ``drop`` leaves them out; ``fill`` marks feature cells as missing, for
    the learner to fill from the others, and leaves out rows without target. A private cell that is missing, infinite or no
    number where public cells are numbers is always filled, by its owner and from what is public (`learning.data.encoding`):
    an owner that left the row out would tell of it by the number of its records, which everybody knows.

    Parameters
    ----------
    table : the table as read.
    data : the [data] section of a scenario.
    public : row numbers of the public rows.
    labels : whether the target is one of two values, to become -1 and +1.

    Raises
    ------
    InputError
        If a column is not in the table, or by its public cells the target is text, a feature names the rows, cells are
        missing or infinite under ``error``, or a text column is given a range.
    """
    refuse_two_readings(table, public)
    names = _features(table, data)
    columns = {data.target: table.column(data.target, "target")}
    columns |= {name: table.column(name, "features") for name in names}
    shown = {name: texts_shown(column[public]) for name, column in columns.items()}
    if data.labels:
        shown[data.target] = tuple(map(as_text, data.labels))
    written = {name: written_as(cells, table.commas) for name, cells in shown.items()}
    meaning = Meaning(written, data.target)
    chosen = meaning.read(columns)
    target, features = chosen[data.target], {name: chosen[name] for name in names}
    if target.dtype == object and not labels:
        raise _text_target(table, data.target, public)
    _check_bounds(table, data, chosen)
    missing = {name: pd.isna(column[public]) for name, column in chosen.items()}
    needed = [name for name in chosen if data.missing != "fill" or name == data.target]
    keep = ~np.logical_or.reduce([missing[name] for name in needed])
    _check_missing(table, data, missing, public, keep)
    usable = np.ones(table.n_rows, dtype=bool)
    usable[public] = keep
    _refuse_identifiers(table, features, public[keep])
    if not labels:
        return Selection(target, features, data.target, usable, meaning, table.numbers(public))
    values = _values(table, data, target, public[keep])
    meaning = replace(meaning, values=values)
    coded, said = meaning.read({data.target: columns[data.target]})[data.target], tuple(map(as_text, values))
    return Selection(coded, features, data.target, usable, meaning, table.numbers(public), (said[0], said[1]))


def _features(table: Table, data: Data) -> Sequence[str]:
    """The names of the features: those stated, or all columns that are nothing else."""
    if data.features is not None:
        return data.features
    names = [n for n in table.columns if n not in (data.target, data.owner, data.person)]
    if not names:
        raise table.error("features", "at least one feature is needed", f"no column beside {data.target}")
    return names


def _values(table: Table, data: Data, target: np.ndarray, public: Rows) -> tuple[str | float, ...]:
    """The two values of the target, the one that becomes +1 last."""
    shown = sorted(set(target[public].tolist()))
    if data.labels is None and not len(public):
        remedy = "Set data.labels = [one, the other], or data.public_rows."
        raise table.error("labels", "the target's two values must be public", "neither stated nor a public row", remedy)
    if data.labels is None:
        values = shown
    else:
        values = [label if target.dtype == object else float(label) for label in map(as_text, data.labels)]
    if len(values) != 2 or not set(shown) <= set(values):
        listed = ", ".join(map(_value, shown[:5])) + (", ..." if len(shown) > 5 else "")
        rule = "must take exactly two values, other losses than the squared being for labels"
        remedy = "Name a column of two values" + (' or set loss = "squared".' if target.dtype != object else ".")
        raise table.error(
            "target", rule, f"{len(shown):,} in public rows of column {show(data.target)}: {listed}", remedy
        )
    if data.positive is not None:
        if data.positive not in values:
            rule = f"must be one of the two values of the target, {_value(values[0])} or {_value(values[1])}"
            raise table.error("positive", rule, show(data.positive))
        values = sorted(values, key=lambda value: value == data.positive)
    return tuple(values)


def _value(value: str | float) -> str:
    return show(value, 25) if isinstance(value, str) else as_text(value)


def _text_target(table: Table, name: str, public: Rows) -> InputError:
    cells = pd.Series(table.columns[name][public], index=table.numbers(public)).dropna().sort_index()
    odd = cells[pd.to_numeric(cells, errors="coerce").isna()]
    examples = ", ".join(show(cell, 25) for cell in (odd if len(odd) else cells).unique()[:3])
    place = f", {len(odd):,} of {len(cells):,} public cells, the first in row {odd.index[0] + 1:,}" if len(odd) else ""
    found = f"text in column {show(name)}, such as {examples}{place}"
    remedy = "Name a column of numbers, correct those cells, or set another loss, for labels."
    return table.error("target", "must be numbers under squared loss", found, remedy)


def check_labels(table: Table | Parts, labels: Mapping[str, str]) -> None:
    """Refuse names in reports for columns that are not there.

    Raises
    ------
    InputError
    """
    for name in labels:
        if name not in table.names:
            rule, known = "must name columns of the table", list(table.names)
            raise InputError(f"{table.source}: labels.{name}", rule, show(name), nearest(name, known))


def _check_bounds(table: Table, data: Data, chosen: Columns) -> None:
    for name in data.bounds:
        key = f"bounds.{name}"
        if name not in chosen:
            raise table.error(key, "must name the target or a feature", show(name), nearest(name, list(chosen)))
        if chosen[name].dtype == object:
            raise table.error(key, "ranges are for columns of numbers", f"text in column {show(name)}")


def _check_missing(table: Table, data: Data, missing: dict[str, np.ndarray], public: Rows, keep: np.ndarray) -> None:
    """Refuse missing public cells (n_public,) by column under ``error``, and what leaves no row to keep (n_public,)."""
    count = sum(int(gone.sum()) for gone in missing.values())
    if data.missing == "error" and count:
        row, name = min((int(table.numbers(public[gone]).min()), name) for name, gone in missing.items() if gone.any())
        found = f"{count:,}, the first in row {row + 1:,}, column {show(name)}"
        remedy = 'Set data.missing = "drop" to leave out such rows, or "fill" to fill the cells.'
        raise table.error("missing", "no cell in use of a public row may be missing or infinite", found, remedy)
    if len(public) and not keep.any():
        found = f"none of {len(public):,} without missing or infinite cells"
        remedy = f"Column {show(max(missing, key=lambda name: missing[name].sum()))} lacks most."
        raise table.error("missing", "must leave public rows to work with", found, remedy)


def _refuse_identifiers(table: Table, features: Columns, public: Rows) -> None:
    for name, column in features.items():
        cells = pd.Series(column[public]).dropna()
        distinct = cells.nunique() if column.dtype == object else 0
        if distinct > MOST_CATEGORIES and distinct > len(cells) / 2:
            found = f"{distinct:,} different texts in {len(cells):,} public cells of column {show(name)}"
            remedy = "It names the rows: leave it out of data.features."
            raise table.error("features", "a text feature must have values that repeat", found, remedy)


def check_rows(table: Table | Parts, data: Data) -> None:
    """Refuse more rows than the table has.

    Raises
    ------
    InputError
    """
    asked = sum(data.split or ()) + data.public_rows + data.check_rows
    if asked + (data.split is None) <= table.n_rows:
        return
    found = f"{asked:,} rows asked for of {table.n_rows:,}"
    if data.split:
        raise table.error("split", "sizes and public rows must not exceed the table", found, "Lower the sizes.")
    raise table.error("public_rows", "must leave rows to the owners", found, "Lower the number.")
