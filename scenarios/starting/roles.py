"""Roles of columns: the target, the column that says whose a row is, and the features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from learning.arrays import Array
from learning.errors import InputError
from learning.phrases import format_value
from scenarios.schema.fields import suggest_name
from scenarios.starting.columns import (
    BESIDE_OWNER,
    LEAKS,
    MOSTLY,
    OWNER_NAMES,
    SAME,
    Column,
    words_of,
    write_cell,
)

TARGET_NAMES = {"target", "label", "class", "outcome", "response", "y"}
PERSONS = "person patient customer client member subject user insured individual"
PERSON_NAMES = frozenset(PERSONS.split())
NUMBER_NAMES = {"id", "no", "nr", "number", "key"}
MOST_OWNERS = 1000
OFTEN = 0.02  # share of the rarer of two labels, for a column that is guessed to be the target

Columns = Mapping[str, Column]


class Role(NamedTuple):
    """A column with a part to play, and why it is taken for that."""

    column: Column
    why: str


def named_column(columns: Columns, name: str, option: str) -> Column:
    """Find the column that the user names.

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


def find_target(
    columns: Columns, wanted: str | None, owner: str | None = None, *, asks: bool = False
) -> Role:
    """Find the column to predict: as the user names it, else by its name, else the table's last.

    With ``asks`` the user is asked about it, and the last possible one will do for a suggestion.

    Raises
    ------
    InputError
        If no column, or not the one named, holds numbers or two values; or if none is clearly the
        one to predict.
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
        raise InputError("--target", rule, f"none among {len(columns)}", remedy)
    often = [
        one
        for one in able
        if len(one.values) > 2 or min(map(one.count, one.values)) >= OFTEN * len(one.known)
    ]
    able = often or able
    called = called_target([one.name for one in able])
    if called is None:
        last = able[-1]
        names = list(columns)
        behind = [columns[name] for name in names[names.index(last.name) + 1 :]]
        unclear = not all(one.name == owner or _owner_likeness(one) for one in behind)
        if not asks and (last.is_protected or unclear):
            shown = ", ".join(format_value(one.name, 25) for one in able[-3:])
            rule = "must be given: no column is clearly the one to predict"
            remedy = f"Name it, for example --target {format_value(last.name)}."
            raise InputError("--target", rule, f"possible ones, such as {shown}", remedy)
        return Role(last, "the last column")
    return Role(columns[called], "by its name")


def called_target(names: Sequence[str]) -> str | None:
    """Find the last of some columns that by its name is one to predict; None where none is."""
    return next((name for name in reversed(names) if set(words_of(name)) & TARGET_NAMES), None)


def _predictable(column: Column) -> Column:
    if column.can_be_target:
        return column
    shown = ", ".join(write_cell(value, 25) for value in column.values[:3])
    found = f"nothing in column {format_value(column.name)}"
    if shown:
        kind = {True: "texts", False: "numbers"}[column.is_text]
        found = f"{len(column.values):,} {kind} in column {format_value(column.name)}: {shown}"
    rule = "must hold numbers or two values, on the public rows, and must not be row numbers"
    raise InputError("--target", rule, found, "Name another column.")


def find_owner(columns: Columns, wanted: str | None, target: str) -> Role | None:
    """Find the column that says whose each row is: as the user names it, else by its name.

    It is None where no column's name says so.

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
    if not able:
        return None
    return Role(max(able, key=_owner_likeness), "by its name")


def _owner_likeness(column: Column) -> int:
    """Rate how likely a column names the owners, by its name; 0 where it hardly does.

    It hardly does if its name is no word for an owner, or if its values do not repeat.
    """
    words = set(column.words)
    repeats = 2 <= len(column.values) <= min(MOST_OWNERS, max(2, MOSTLY * len(column.known)))
    named = (
        bool(words & OWNER_NAMES)
        and words <= OWNER_NAMES | BESIDE_OWNER
        and (column.is_text or column.is_whole)
    )
    if not (named and repeats):
        return 0
    return 8 - len(words) + 2 * ("id" in words) + 2 * (len(words) == 1)


def find_person(columns: Columns) -> Column | None:
    """Find a column that seems to say which person each row is of; None where none does.

    Only a column in which some value repeats counts: else every row is of another person.
    """
    named = (
        one
        for one in columns.values()
        if PERSON_NAMES & set(one.words) and NUMBER_NAMES & set(one.words)
    )
    return next((one for one in named if 2 < len(one.values) < len(one.known)), None)


class Features(NamedTuple):
    """Names of the columns that a model may learn from, and of those left out with the reason."""

    used: tuple[str, ...]
    left_out: dict[str, str]


def choose_features(columns: Columns, target: Column, taken: set[str]) -> Features:
    """Choose every column that can be coded, carries something, and is not the target once more.

    Parameters
    ----------
    columns : all columns.
    target : the one to predict.
    taken : names of the columns with another part: the target, and the one that names owners.

    Raises
    ------
    InputError
        If none is left.
    """
    left_out = {name: one.unfit for name, one in columns.items() if name not in taken and one.unfit}
    able = [one for name, one in columns.items() if name not in taken and name not in left_out]
    y = target_values(target)
    for one in able:
        told = one.explains(y)
        if told > SAME:
            left_out[one.name] = "it determines the target"
        elif told > LEAKS:
            left_out[one.name] = f"alone it explains {told:.0%} of the target: likely a leak"
        elif one.known_later:
            left_out[one.name] = "its name suggests that it is known only later"
    while given := _together_the_target([one for one in able if one.name not in left_out], y):
        left_out[given] = "together with others it determines the target"
    used = tuple(one.name for one in able if one.name not in left_out)
    if not used:
        found = f"no column beside {format_value(target.name)}"
        if left_out:
            first = islice(left_out.items(), 5)
            reasons = "; ".join(f"{format_value(name, 30)}: {why}" for name, why in first)
            found = f"none beside {format_value(target.name)} ({reasons})"
        raise InputError("features", "needs a column to learn from", found)
    return Features(used, left_out)


def target_values(target: Column) -> Array:
    """Convert the target to numbers (n_public,).

    Of two values the second is 1 and the other 0, as a missing cell is. Other numbers stay as they
    are, and a missing one becomes their mean.
    """
    if len(target.values) == 2 or target.is_text:
        return np.array([float(cell == target.values[-1]) for cell in target.cells])
    return np.where(np.isnan(target.cells), np.nanmean(target.cells), target.cells)


def _together_the_target(able: list[Column], y: Array) -> str:
    """Name the column that tells most of a target which columns of numbers together give away.

    Empty where they do not.
    """
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
