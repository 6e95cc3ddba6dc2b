"""The columns that a scenario asks for; only public cells decide what each of them holds.

One cell that is no number must not turn a column of numbers into categories: the number of
parameters would reveal it. So a column's kind is that of its public cells, or of the values that
the scenario states, and a private cell that cannot be read so is missing (`learning.cells`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from learning.cells import (
    COMMA,
    EXACT_WHOLE,
    POINT,
    TEXT,
    TRUTH,
    Columns,
    Meaning,
    as_text,
    read_written,
)
from learning.data.rows import Rows
from learning.errors import InputError
from learning.phrases import format_value
from scenarios.schema.data import Data
from scenarios.schema.fields import suggest_name
from scenarios.tables.reading import Table

if TYPE_CHECKING:
    from scenarios.tables.parts import Parts

MOST_CATEGORIES = 100  # a text feature of more values, most of them met once, names the rows
THOUSANDS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")


# What a column holds


def written_as(shown: Collection[str], commas: bool) -> str:
    """Find the rule of a column by its public cells, which are texts.

    Returns
    -------
    A key of `learning.cells.WRITTEN`, or `TEXT` where they are no numbers.

    >>> written_as(["2.5"], True), written_as(["2", "3"], True), written_as(["True"], False)
    ('point', 'either', 'truth')
    """
    patterns = {"point": POINT, "comma": COMMA}
    if not commas:
        del patterns["comma"]
    ways = [way for way, pattern in patterns.items() if all(map(pattern.fullmatch, shown))]
    if not ways and all(cell.lower() in TRUTH for cell in shown):
        return "truth"
    if not ways:
        return TEXT
    # Whole numbers that floats do not tell apart are names.
    whole = [cell.lstrip("+-0") or "0" for cell in shown if re.fullmatch(r"[+-]?[0-9]+", cell)]
    if any(len(digits) > 16 or int(digits) > EXACT_WHOLE for digits in whole):
        return TEXT
    return {1: ways[0]}.get(len(ways), "either")


def read_as(column: np.ndarray, shown: Iterable[object], commas: bool) -> np.ndarray:
    """Read a column as its public cells say: floats, NaN for no number; or texts, None if missing.

    Parameters
    ----------
    column : (n,), finite floats or NaN; or texts as written, None where missing.
    shown : its public cells, or the values that the scenario states for it; where no text is among
        them it counts as numbers.
    commas : whether numbers may have decimal commas.
    """
    return read_written(column, written_as(distinct_texts(shown), commas))


def distinct_texts(cells: Iterable[object]) -> tuple[str, ...]:
    """Find the different texts among some cells."""
    return tuple(dict.fromkeys(cell for cell in cells if isinstance(cell, str)))


def refuse_two_readings(table: Table, public: Rows) -> None:
    """Refuse public cells such as 1,234 that have two readings, where commas may be decimal."""
    if not table.commas:
        return
    found = {}
    for name, column in table.columns.items():
        shown = [cell for cell in column[public] if cell is not None]
        if column.dtype == object and all(map(COMMA.fullmatch, shown)):
            found[name] = [cell for cell in shown if "," in cell]
    found = {name: cells for name, cells in found.items() if cells}
    if found and all(THOUSANDS.fullmatch(cell) for cells in found.values() for cell in cells):
        name, cells = next(iter(found.items()))
        rule = "numbers must be readable in one way only"
        remedy = "Write numbers with a decimal point and no thousands mark."
        cell = f"{format_value(cells[0])} in column {format_value(name)}, decimals or thousands"
        raise table.error("path", rule, cell, remedy)


# Which columns are asked for


@dataclass(frozen=True)
class Selection:
    """The columns that a scenario asks for, with every row of a table.

    Parameters
    ----------
    target : (n_rows,), float, NaN where missing; with labels -1 and +1.
    features : name -> (n_rows,), float columns, NaN where missing; text columns, None where
        missing.
    target_name : name of the target column.
    usable : (n_rows,), whether the learner uses a row; always so of a private row, whose missing
        cells are filled.
    meaning : how other rows of the same table are read.
    rows : the rows of the file that the public ones are.
    labels : the texts that become the target's -1 and +1; None where it is a number.
    more_targets : name -> (n_rows,), float, NaN where missing, of further targets.
    """

    target: np.ndarray = field(repr=False)
    features: Columns = field(repr=False)
    target_name: str
    usable: np.ndarray = field(repr=False)
    meaning: Meaning = field(repr=False)
    rows: Rows = field(repr=False)
    labels: tuple[str, str] | None = None
    more_targets: Columns = field(default_factory=dict, repr=False)

    @property
    def n_dropped(self) -> int:
        """Number of public rows left out for missing or infinite cells."""
        return int((~self.usable).sum())

    @property
    def columns(self) -> Columns:
        """The features and the targets by name."""
        return {**self.features, **self.more_targets, self.target_name: self.target}


def select_columns(table: Table, data: Data, public: Rows, labels: bool = False) -> Selection:
    """Select the target and features of ``data``, as the public rows show them.

    A private cell changes nothing here but itself: the public rows and the scenario decide whether
    a column holds numbers or texts, the target's two values, and every refusal. ``missing`` decides
    about public rows with missing or infinite cells: ``error`` refuses them; ``drop`` leaves them
    out; ``fill`` marks feature cells as missing, for the learner to fill from the others, and
    leaves out rows without target. A private cell that is missing, infinite or no number where
    public cells are numbers is always filled, by its owner and from what is public
    (`learning.data.encoding`): an owner that left the row out would reveal it by the number of its
    records, which is public.

    Parameters
    ----------
    table : the table as read.
    data : the [data] section of a scenario.
    public : row numbers of the public rows.
    labels : whether the target is one of two values, to become -1 and +1.

    Raises
    ------
    InputError
        If a column is not in the table, or by its public cells the target is text, a feature names
        the rows, cells are missing or infinite under ``error``, or a text column is given a range.
    """
    refuse_two_readings(table, public)
    names = _feature_names(table, data)
    columns = {data.target: table.find_column(data.target, "target")}
    columns |= {name: table.find_column(name, "more_targets") for name in data.targets[1:]}
    columns |= {name: table.find_column(name, "features") for name in names}
    shown = {name: distinct_texts(column[public]) for name, column in columns.items()}
    if data.labels:
        shown[data.target] = tuple(map(as_text, data.labels))
    written = {name: written_as(cells, table.commas) for name, cells in shown.items()}
    meaning = Meaning(written, data.target)
    chosen = meaning.read_columns(columns)
    target = chosen[data.target]
    features = {name: chosen[name] for name in names}
    more_targets = {name: chosen[name] for name in data.targets[1:]}
    if target.dtype == object and not labels:
        raise _text_target(table, data.target, public)
    for name, column in more_targets.items():
        if column.dtype == object:
            raise _text_target(table, name, public, "more_targets")
    _check_bounds(table, data, chosen)
    missing = {name: pd.isna(column[public]) for name, column in chosen.items()}
    needed = [name for name in chosen if data.missing != "fill" or name in data.targets]
    keep = ~np.logical_or.reduce([missing[name] for name in needed])
    _check_missing(table, data, missing, public, keep)
    usable = np.ones(table.n_rows, dtype=bool)
    usable[public] = keep
    _refuse_identifiers(table, features, public[keep])
    rows = table.rows_of_file(public)
    if not labels:
        named = data.target, usable, meaning, rows
        return Selection(target, features, *named, more_targets=more_targets)
    values = _label_values(table, data, target, public[keep])
    meaning = replace(meaning, values=values)
    coded = meaning.read_columns({data.target: columns[data.target]})[data.target]
    no, yes = map(as_text, values)
    return Selection(coded, features, data.target, usable, meaning, rows, (no, yes))


def _feature_names(table: Table, data: Data) -> Sequence[str]:
    """Names of the features: those stated, or all columns that are nothing else."""
    if data.features is not None:
        return data.features
    names = [n for n in table.columns if n not in (*data.targets, data.owner, data.person)]
    if not names:
        found = f"no column beside {data.target}"
        raise table.error("features", "at least one feature is needed", found)
    return names


def _label_values(
    table: Table, data: Data, target: np.ndarray, public: Rows
) -> tuple[str | float, ...]:
    """Find the two values of the target, the one that becomes +1 last."""
    shown = sorted(set(target[public].tolist()))
    is_text = target.dtype == object
    if data.labels is None and not len(public):
        rule = "the target's two values must be public"
        remedy = "Set data.labels = [one, the other], or data.public_rows."
        raise table.error("labels", rule, "neither stated nor a public row", remedy)
    values = shown
    other = ""
    if data.labels is not None:
        values = list(map(as_text, data.labels))
    if not is_text:
        values = list(map(float, values))
        other = ' or set loss = "squared"'
    if len(values) != 2 or not set(shown) <= set(values):
        listed = ", ".join([*map(_show_label, shown[:5]), *["..."] * (len(shown) > 5)])
        rule = "must take exactly two values with a loss for labels"
        found = f"{len(shown):,} in public rows of column {format_value(data.target)}: {listed}"
        raise table.error("target", rule, found, f"Name a column of two values{other}.")
    if data.positive is not None:
        if data.positive not in values:
            both = " or ".join(map(_show_label, values))
            rule = f"must be one of the two values of the target, {both}"
            raise table.error("positive", rule, format_value(data.positive))
        values = sorted(values, key=lambda value: value == data.positive)
    return tuple(values)


def _show_label(value: str | float) -> str:
    if isinstance(value, str):
        return format_value(value, 25)
    return as_text(value)


def _text_target(table: Table, name: str, public: Rows, key: str = "target") -> InputError:
    """Make the error of a target of texts, with examples."""
    rows = table.rows_of_file(public)
    cells = pd.Series(table.columns[name][public], index=rows).dropna().sort_index()
    odd = cells[pd.to_numeric(cells, errors="coerce").isna()]
    place = ""
    if len(odd):
        place = f", {len(odd):,} of {len(cells):,} public cells, the first in row "
        place += f"{odd.index[0] + 1:,}"
        cells = odd
    examples = cells.unique()[:3]
    listed = ", ".join(format_value(cell, 25) for cell in examples)
    found = f"text in column {format_value(name)}, such as {listed}{place}"
    remedy = "Name a column of numbers, correct those cells, or set another loss, for labels."
    return table.error(key, "must be numbers under squared loss", found, remedy)


def check_labels(table: Table | Parts, labels: Mapping[str, str]) -> None:
    """Refuse names in reports for columns that are not there."""
    for name in labels:
        if name not in table.names:
            key = f"{table.source}: labels.{name}"
            remedy = suggest_name(name, list(table.names))
            raise InputError(key, "must name columns of the table", format_value(name), remedy)


def _check_bounds(table: Table, data: Data, chosen: Columns) -> None:
    for name in data.bounds:
        key = f"bounds.{name}"
        if name not in chosen:
            remedy = suggest_name(name, list(chosen))
            raise table.error(key, "must name the target or a feature", format_value(name), remedy)
        if chosen[name].dtype == object:
            found = f"text in column {format_value(name)}"
            raise table.error(key, "ranges are for columns of numbers", found)


def _check_missing(
    table: Table, data: Data, missing: dict[str, np.ndarray], public: Rows, keep: np.ndarray
) -> None:
    """Refuse missing public cells under ``error``, and a table without a usable public row.

    Parameters
    ----------
    missing : name -> (n_public,), whether a cell is missing.
    keep : (n_public,), whether a row is usable.
    """
    count = sum(int(gone.sum()) for gone in missing.values())
    if data.missing == "error" and count:
        gaps = {name: public[gone] for name, gone in missing.items() if gone.any()}
        firsts = ((int(table.rows_of_file(rows).min()), name) for name, rows in gaps.items())
        row, name = min(firsts)
        rule = "no cell in use of a public row may be missing or infinite"
        found = f"{count:,}, the first in row {row + 1:,}, column {format_value(name)}"
        remedy = 'Set data.missing = "drop" to leave out such rows, or "fill" to fill the cells.'
        raise table.error("missing", rule, found, remedy)
    if len(public) and not keep.any():
        found = f"none of {len(public):,} without missing or infinite cells"
        worst = max(missing, key=lambda name: missing[name].sum())
        remedy = f"Column {format_value(worst)} lacks most."
        raise table.error("missing", "must leave public rows to work with", found, remedy)


def _refuse_identifiers(table: Table, features: Columns, public: Rows) -> None:
    for name, column in features.items():
        if column.dtype != object:
            continue
        cells = pd.Series(column[public]).dropna()
        distinct = cells.nunique()
        if distinct > MOST_CATEGORIES and distinct > len(cells) / 2:
            counts = f"{distinct:,} different texts in {len(cells):,} public cells"
            rule = "a text feature must have values that repeat"
            remedy = "It names the rows: leave it out of data.features."
            raise table.error("features", rule, f"{counts} of column {format_value(name)}", remedy)


def check_rows(table: Table | Parts, data: Data) -> None:
    """Refuse more rows than the table has."""
    public = data.public_rows
    if public == "all":  # one beside those kept aside, at least
        public = 1
    asked = sum(data.split or ()) + public + data.check_rows
    if asked + (data.owner is not None) <= table.n_rows:
        return
    found = f"{asked:,} rows asked for of {table.n_rows:,}"
    if data.split:
        rule = "sizes and public rows must not exceed the table"
        raise table.error("split", rule, found, "Lower the sizes.")
    if data.owner is None:
        raise table.error("public_rows", "must not exceed the table", found, "Lower the number.")
    raise table.error("public_rows", "must leave rows to the owners", found, "Lower the number.")
