"""What the columns of a contract must be, so that every cell that an owner may hold makes a record of finite numbers.

A rule that breaks on some cells only would tell of them by an answer that does not come.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from learning.errors import InputError
from learning.exchange.terms import Columns, Components, Numbers

LARGEST = 1e100  # of any number in the rules, so that no sum or quotient of such is beyond all floats


def check_columns(columns: Columns, width: int, where: str) -> None:
    """Refuse columns that do not make a record of so many numbers of every row.

    Parameters
    ----------
    columns: the columns.
    width: p, how many numbers are trained.
    where: where the contract is.

    Raises
    ------
    InputError
        With the part and the rule that it breaks.
    """
    where = f"{where}: columns"
    numbers, texts, target = columns.numbers, columns.categories, columns.target
    even = {len(numbers.names)} == {len(part) for part in (numbers.low, numbers.high, numbers.fill)}
    if not even or len(texts.names) != len(texts.categories) or not all(texts.categories):
        raise InputError(where, "must have a range and a fill, or categories, for each column")
    names = [*numbers.names, *texts.names, target.name]
    if len(set(names)) < len(names) or not all(names):
        raise InputError(where, "must have names that differ")
    if any(len(set(known)) < len(known) for known in texts.categories):
        raise InputError(f"{where}.categories", "must differ")
    if not all(low < high for low, high in zip([*numbers.low, target.low], [*numbers.high, target.high], strict=True)):
        raise InputError(f"{where}.numbers", "must have ranges that are no point, and so must the target")
    if any(abs(number) > LARGEST for number in _stated(columns)):
        raise InputError(where, f"must have numbers of at most {LARGEST:g}")
    _check_written(columns, where)
    coded = len(numbers.names) + (len(texts.names) if texts.places else sum(len(one) - 1 for one in texts.categories))
    if columns.components is not None:
        _check_components(columns.components, coded, f"{where}.components")
        coded = len(columns.components.axes)
    if not coded + 1 == width == len(columns.mean):
        rule = f"must make records of {width} numbers, as many as bounds.start has"
        raise InputError(where, rule, f"{coded + 1}, and a mean of {len(columns.mean)}")


def _stated(columns: Columns) -> Iterator[float]:
    """Every number in the rules."""
    numbers, target, parts = columns.numbers, columns.target, columns.components
    reduced: list[Numbers] = [] if parts is None else [parts.centre, parts.spread, parts.low, parts.high, *parts.axes]
    at = [target.low, target.high, target.centre, target.fill]
    return chain(numbers.low, numbers.high, numbers.fill, at, columns.mean, *reduced)


def _check_written(columns: Columns, where: str) -> None:
    """Refuse columns of numbers of which it is not said how they are written, and labels that are none of the target's."""
    target, labels = columns.target.name, columns.target.labels
    needed = {*columns.numbers.names} | ({target} if labels is None else set())
    if not needed <= columns.written.keys() <= needed | {target}:
        raise InputError(f"{where}.written", "must name every column of numbers, and no other")
    if labels is None:
        return
    if len(set(labels)) != 2 or len(labels) != 2:
        raise InputError(f"{where}.target.labels", "must be two that differ")
    if target in columns.written:
        try:
            no, yes = map(float, labels)
        except ValueError:
            no = yes = 0.0
        if no == yes:
            raise InputError(f"{where}.target.labels", "must be two numbers, as the target is written")


def _check_components(parts: Components, coded: int, where: str) -> None:
    """Refuse components of another width than the columns (d,) that they are made of, or that divide by nothing."""
    if not {coded} == {len(parts.centre), len(parts.spread), *map(len, parts.axes)}:
        raise InputError(where, f"must be of {coded} encoded columns")
    if not len(parts.axes) == len(parts.low) == len(parts.high):
        raise InputError(where, f"must have {len(parts.axes)} ranges")
    if not all(spread >= 1 / LARGEST for spread in parts.spread) or any(
        abs(one) > 2 for axis in parts.axes for one in axis
    ):
        raise InputError(where, f"must have spreads of {1 / LARGEST:g} or more, and axes of at most 2")
    if not all(low <= high for low, high in zip(parts.low, parts.high, strict=True)):
        raise InputError(where, "must have ranges from low to high")
