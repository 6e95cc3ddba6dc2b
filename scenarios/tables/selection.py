"""The part of a table that a scenario asks for: its target, features and owners, without rows that cannot be used."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from learning.errors import InputError
from scenarios.schema.fields import nearest, show
from scenarios.schema.scenario import Data
from scenarios.tables.reading import Columns, Table

MOST_CATEGORIES = 100  # a text feature of more values, most of them met once, names the rows


@dataclass(frozen=True)
class Selection:
    """The columns a scenario asks for, without the rows that cannot be used.

    Parameters
    ----------
    target : (n_rows,), float; with labels -1 and +1.
    features : name -> (n_rows,), float columns, NaN where missing; text columns, None where missing; missing cells only
        under ``fill``.
    owner : (n_rows,), texts, whose record each row is; None where owners are told apart by ``data.split``.
    target_name : name of the target column.
    n_dropped : rows left out for missing or infinite cells.
    labels : what the target's -1 and +1 stand for in the table; None where it is a number.
    """

    target: np.ndarray = field(repr=False)
    features: Columns = field(repr=False)
    owner: np.ndarray | None = field(repr=False)
    target_name: str
    n_dropped: int
    labels: tuple[str, str] | None = None

    @property
    def n_rows(self) -> int:
        """Rows that can be used."""
        return len(self.target)

    @property
    def columns(self) -> Columns:
        """The features and the target by name."""
        return {**self.features, self.target_name: self.target}


def select(table: Table, data: Data, labels: bool = False) -> Selection:
    """The target, features and owner column of ``data``, with missing and infinite cells treated as it says.

    ``error`` refuses them; ``drop`` leaves their rows out; ``fill`` marks feature cells as missing, for the
    learner to fill from public knowledge, and leaves out rows without target or owner.

    Parameters
    ----------
    table : the table as read.
    data : the [data] section of a scenario.
    labels : whether the target is one of two values, to become -1 and +1.

    Raises
    ------
    InputError
        If a column is not in the table, the target is text, a feature names the rows, cells are missing or
        infinite under ``error``, a text column is given a range, or more rows are asked for than there are.
    """
    target = _column(table, data.target, "target")
    if target.dtype == object and not labels:
        raise _text_target(table, data.target)
    owner = None if data.owner is None else _column(table, data.owner, "owner")
    names = [n for n in table.columns if n not in (data.target, data.owner)] if data.features is None else data.features
    if not names:
        raise table.error("features", "at least one feature is needed", f"no column beside {data.target}")
    features = {name: _column(table, name, "features") for name in names}
    _check_bounds(table, data, [data.target, *names])
    chosen = {data.target: target, **features}
    if owner is not None:
        chosen[str(data.owner)] = owner
    missing = {name: pd.isna(column) for name, column in chosen.items()}
    needed = [name for name in chosen if data.missing != "fill" or name not in features]
    keep = ~np.logical_or.reduce([missing[name] for name in needed])
    _check_missing(table, data, missing, keep)
    _refuse_identifiers(table, features, keep)
    _check_rows(table, data, int(keep.sum()))
    usable, meaning = _labelled(table, data, target[keep]) if labels else (target[keep], None)
    return Selection(
        target=usable,
        features={name: column[keep] for name, column in features.items()},
        owner=None if owner is None else as_texts(owner[keep]),
        target_name=data.target,
        n_dropped=int((~keep).sum()),
        labels=meaning,
    )


def as_texts(column: np.ndarray) -> np.ndarray:
    """The values of a column as texts, whole numbers without a decimal point."""
    if column.dtype == object:
        return column
    return np.array([str(int(x)) if x == int(x) else repr(float(x)) for x in column], dtype=object)


def known_texts(table: Table, name: str) -> set[str]:
    """What a column holds where it is neither missing nor infinite, as texts."""
    column = _column(table, name, "")
    return set(as_texts(column[~pd.isna(column)]))


def _column(table: Table, name: str, key: str) -> np.ndarray:
    """A column, infinite cells counting as missing."""
    if name not in table.columns:
        raise table.error(key, "must name a column of the table", show(name), nearest(name, list(table.columns)))
    column = table.columns[name]
    return column if column.dtype == object else np.where(np.isfinite(column), column, np.nan)


def _labelled(table: Table, data: Data, target: np.ndarray) -> tuple[np.ndarray, tuple[str, str]]:
    """The target as -1 and +1, and what they stand for."""
    values = sorted(set(target.tolist()))
    if len(values) != 2:
        shown = ", ".join(_value(value) for value in values[:5]) + (", ..." if len(values) > 5 else "")
        rule = "must take exactly two values, other losses than the squared being for labels"
        remedy = "Name a column of two values" + (' or set loss = "squared".' if target.dtype != object else ".")
        raise table.error("target", rule, f"{len(values):,} in column {show(data.target)}: {shown}", remedy)
    if data.positive is not None:
        if data.positive not in values:
            rule = f"must be one of the two values of the target, {_value(values[0])} or {_value(values[1])}"
            raise table.error("positive", rule, show(data.positive))
        values.sort(key=lambda value: value == data.positive)
    low, high = (str(text) for text in as_texts(np.array(values, dtype=target.dtype)))
    return np.where(target == values[1], 1.0, -1.0), (low, high)


def _value(value: str | float) -> str:
    return show(value, 25) if isinstance(value, str) else str(as_texts(np.array([value]))[0])


def _text_target(table: Table, name: str) -> InputError:
    cells = pd.Series(table.columns[name]).dropna()
    odd = cells[pd.to_numeric(cells, errors="coerce").isna()]
    examples = ", ".join(show(cell, 25) for cell in (odd if len(odd) else cells).unique()[:3])
    place = f", {len(odd):,} of {len(cells):,} cells, the first in row {odd.index[0] + 1:,}" if len(odd) else ""
    found = f"text in column {show(name)}, such as {examples}{place}"
    remedy = "Name a column of numbers, correct those cells, or set another loss, for labels."
    return table.error("target", "must be numbers under squared loss", found, remedy)


def _check_bounds(table: Table, data: Data, names: list[str]) -> None:
    for name in data.bounds:
        key = f"bounds.{name}"
        if name not in names:
            raise table.error(key, "must name the target or a feature", show(name), nearest(name, names))
        if table.columns[name].dtype == object:
            raise table.error(key, "ranges are for columns of numbers", f"text in column {show(name)}")


def _check_missing(table: Table, data: Data, missing: dict[str, np.ndarray], keep: np.ndarray) -> None:
    """Refuse missing cells (n_rows,) by column under ``error``, and what leaves no row to keep (n_rows,)."""
    count = sum(int(gone.sum()) for gone in missing.values())
    if data.missing == "error" and count:
        row, name = min((int(np.argmax(gone)), name) for name, gone in missing.items() if gone.any())
        found = f"{count:,}, the first in row {row + 1:,}, column {show(name)}"
        remedy = 'Set data.missing = "drop" to leave out such rows, or "fill" to fill the cells.'
        raise table.error("missing", "no cell in use may be missing or infinite", found, remedy)
    if not keep.any():
        found = f"none of {table.n_rows:,} without missing or infinite cells"
        remedy = f"Column {show(max(missing, key=lambda name: missing[name].sum()))} lacks most."
        raise table.error("missing", "must leave rows to work with", found, remedy)


def _refuse_identifiers(table: Table, features: Columns, keep: np.ndarray) -> None:
    for name, column in features.items():
        cells = pd.Series(column[keep]).dropna()
        distinct = cells.nunique() if column.dtype == object else 0
        if distinct > MOST_CATEGORIES and distinct > len(cells) / 2:
            found = f"{distinct:,} different texts in {len(cells):,} cells of column {show(name)}"
            remedy = "It names the rows: leave it out of data.features."
            raise table.error("features", "a text feature must have values that repeat", found, remedy)


def _check_rows(table: Table, data: Data, n_rows: int) -> None:
    asked = sum(data.split or ()) + data.public_rows + data.check_rows
    if asked + (data.split is None) <= n_rows:
        return
    lost = f" of {table.n_rows:,}, the others having missing cells" if n_rows < table.n_rows else ""
    found = f"{asked:,} rows asked for, {n_rows:,} usable{lost}"
    if data.split:
        raise table.error("split", "sizes and public rows must not exceed the table", found, "Lower the sizes.")
    raise table.error("public_rows", "must leave rows to the owners", found, "Lower the number.")
