"""Which column is the target, which says whose a row is, and which are features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from learning.arrays import Array
from learning.cells import as_text
from learning.errors import InputError
from learning.phrases import format_value
from scenarios.schema.fields import suggest_name
from scenarios.starting.columns import BESIDE_OWNER, MOSTLY, OWNER_NAMES, SAME, Column, words_of

TARGET_NAMES = {"target", "label", "class", "outcome", "response", "y"}
PERSON_NAMES = {
    "person",
    "patient",
    "customer",
    "client",
    "member",
    "subject",
    "user",
    "insured",
    "individual",
}
MOST_OWNERS = 1000
OFTEN = 0.02  # share of the rarer of two labels, for a column that is guessed to be the target

Columns = Mapping[str, Column]


class Role(NamedTuple):
    """A column with a part to play, and why it is taken for that."""

    column: Column
    why: str


def named_column(columns: Columns, name: str, option: str) -> Column:
    """The column that the user names.

    Raises
    ------
    InputError
        If the table has none of that name.
    """
    if name not in columns:
        raise InputError(
            option,
            "must name a column of the table",
            format_value(name),
            suggest_name(name, list(columns)),
        )
    return columns[name]


def find_target(columns: Columns, wanted: str | None, owner: str | None = None) -> Role:
    """The column to predict: as the user names it, else by its name, else the last that can be predicted.

    Raises
    ------
    InputError
        If no column, or not the one named, holds numbers or two values.
    """
    if wanted is not None:
        return Role(_predictable(named_column(columns, wanted, "--target")), "you named it")
    able = [
        one
        for one in columns.values()
        if one.can_be_target and one.name != owner and _owner_likeness(one) == 0
    ]
    if not able:
        rule = "needs a column of numbers or of two values to predict"
        remedy = "Name it with --target COLUMN."
        raise InputError("--target", rule, f"none of {len(columns)} that can be told", remedy)
    often = [
        one
        for one in able
        if len(one.values) > 2 or min(map(one.count, one.values)) >= OFTEN * len(one.known)
    ]
    able = often or able
    called = called_target([one.name for one in able])
    if called is not None:
        return Role(columns[called], "by its name")
    return Role(able[-1], "the last column that can be predicted")


def called_target(names: Sequence[str]) -> str | None:
    """The last of some columns that by its name is one to predict; None where none is."""
    return next((name for name in reversed(names) if set(words_of(name)) & TARGET_NAMES), None)


def _predictable(column: Column) -> Column:
    if column.can_be_target:
        return column
    shown = ", ".join(
        format_value(value, 25) if isinstance(value, str) else as_text(value)
        for value in column.values[:3]
    )
    many = (
        f"{len(column.values):,} {'texts' if column.is_text else 'numbers'} in column "
        f"{format_value(column.name)}"
    )
    found = f"{many}: {shown}" if shown else f"nothing in column {format_value(column.name)}"
    rule = "must hold numbers or two values, by the public rows, and not number the rows"
    raise InputError("--target", rule, found, "Name another column.")


def find_owner(columns: Columns, wanted: str | None, target: str) -> Role | None:
    """The column that says whose each row is: as the user names it, else by its name; None where none is called so.

    Raises
    ------
    InputError
        If the column named is not there, or is the target.
    """
    if wanted is not None:
        found = named_column(columns, wanted, "--owner")
        if found.name == target:
            raise InputError(
                "--owner",
                "must differ from the target",
                format_value(wanted),
                "Name another one, or --target.",
            )
        return Role(found, "you named it")
    able = [one for one in columns.values() if one.name != target and _owner_likeness(one) > 0]
    return Role(max(able, key=_owner_likeness), "by its name") if able else None


def _owner_likeness(column: Column) -> int:
    """How like the name of an owner column its name is; 0 where nothing speaks for it, or its values do not repeat."""
    words = set(column.words)
    repeats = 2 <= len(column.values) <= min(MOST_OWNERS, max(2, MOSTLY * len(column.known)))
    named = (
        bool(words & OWNER_NAMES)
        and words <= OWNER_NAMES | BESIDE_OWNER
        and (column.is_text or column.whole)
    )
    return (
        0
        if not (named and repeats)
        else 3 - len(words) + 2 * ("id" in words) + (2 if len(words) == 1 else 0) + 5
    )


def find_person(columns: Columns) -> Column | None:
    """A column that seems to say which person each row is of, several rows being one person's; None where none does."""
    for one in columns.values():
        named = bool(set(one.words) & PERSON_NAMES) and bool(
            set(one.words) & {"id", "no", "nr", "number", "key"}
        )
        if named and 2 < len(one.values) < len(one.known):
            return one
    return None


class Features(NamedTuple):
    """Names of the columns that a model may learn from, and of those left out with the reason."""

    used: tuple[str, ...]
    left_out: dict[str, str]


def choose_features(columns: Columns, target: Column, taken: set[str]) -> Features:
    """Every column that can be coded, carries something, and is not the target once more.

    Parameters
    ----------
    columns : all columns.
    target : the one to predict.
    taken : names of those with another part: the target, whose rows are whose.

    Raises
    ------
    InputError
        If none is left.
    """
    left_out = {name: one.unfit for name, one in columns.items() if name not in taken and one.unfit}
    able = [one for name, one in columns.items() if name not in taken and name not in left_out]
    y = target_values(target)
    for one in able:
        if one.explains(y) > SAME:
            left_out[one.name] = "it gives the target away"
    while given := _together_the_target([one for one in able if one.name not in left_out], y):
        left_out[given] = "with others it gives the target away"
    used = tuple(one.name for one in able if one.name not in left_out)
    if not used:
        reasons = "; ".join(
            f"{format_value(name, 30)}: {why}" for name, why in list(left_out.items())[:5]
        )
        found = (
            f"none beside {format_value(target.name)} ({reasons})"
            if reasons
            else f"no column beside {format_value(target.name)}"
        )
        raise InputError("features", "needs a column to learn from", found)
    return Features(used, left_out)


def target_values(target: Column) -> Array:
    """The target as numbers (n_public,): the second of two values as 1, the other as 0; a missing cell as the mean."""
    if len(target.values) == 2 or target.is_text:
        return np.array([float(cell == target.values[-1]) for cell in target.cells])
    return np.where(np.isnan(target.cells), np.nanmean(target.cells), target.cells)


def _together_the_target(able: list[Column], y: Array) -> str:
    """The column of numbers that tells most of a target that numbers tell together without error; empty where not."""
    numbers = [one for one in able if not one.is_text]
    if len(numbers) < 2 or len(y) < 2 * len(numbers):
        return ""
    x = np.column_stack(
        [np.where(np.isnan(one.cells), np.nanmean(one.cells), one.cells) for one in numbers]
    )
    spread = x.std(axis=0)
    x = np.column_stack([(x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0), np.ones(len(y))])
    missed = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    if float(missed @ missed) > (1 - SAME) ** 2 * float(np.sum((y - y.mean()) ** 2)):
        return ""
    return max(numbers, key=lambda one: one.explains(y)).name
