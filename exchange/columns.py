"""Checks of a contract's columns: any cell that an owner may hold makes a record of finite numbers.

A rule that fails on some cells only would reveal them by an answer that does not come.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise

from exchange.terms import Columns, Components, Expansion
from learning.data.expansion import LEAST_GAP, count_columns
from learning.errors import InputError

LARGEST = 1e100  # of any number in the rules, so that no sum or quotient of such leaves the floats


def check_columns(columns: Columns, width: int, where: str) -> None:
    """Refuse columns that do not turn every row into a record of ``width`` numbers.

    Parameters
    ----------
    columns: the columns.
    width: p, the number of parameters trained.
    where: where the contract is.

    Raises an InputError with the part and the rule that it breaks.
    """
    where = f"{where}: columns"
    numbers = columns.numbers
    texts = columns.categories
    target = columns.target
    even = _same_lengths(numbers.names, numbers.low, numbers.high, numbers.fill, numbers.reach)
    if not even or len(texts.names) != len(texts.categories) or not all(texts.categories):
        raise InputError(where, "must have a range and a fill, or categories, for each column")
    names = [*numbers.names, *texts.names, target.name]
    if len(set(names)) < len(names) or not all(names):
        raise InputError(where, "must have names that differ")
    if any(len(set(known)) < len(known) for known in texts.categories):
        raise InputError(f"{where}.categories", "must differ")
    ranges = zip([*numbers.low, target.low], [*numbers.high, target.high], strict=True)
    if not all(low < high for low, high in ranges):
        rule = "must have ranges with a low end below the high end, and so must the target"
        raise InputError(f"{where}.numbers", rule)
    if any(abs(number) > LARGEST for number in _all_numbers(columns)):
        raise InputError(where, f"must have numbers of at most {LARGEST:g}")
    _check_written(columns, where)
    coded = len(numbers.names) + len(texts.names)
    if not texts.places:
        coded = len(numbers.names) + sum(len(known) - 1 for known in texts.categories)
    if columns.expansion is not None:
        _check_expansion(columns.expansion, len(numbers.names), coded, f"{where}.expansion")
        coded = len(columns.expansion.kept)
    if columns.components is not None:
        _check_components(columns.components, coded, f"{where}.components")
        coded = len(columns.components.axes)
    if not coded + 1 == width == len(columns.mean):
        rule = f"must make records of {width} numbers, as many as bounds.start has"
        raise InputError(where, rule, f"{coded + 1}, and a mean of {len(columns.mean)}")


def _same_lengths(*parts: list) -> bool:
    return len(set(map(len, parts))) == 1


def _all_numbers(columns: Columns) -> Iterable[float]:
    """All numbers in the rules."""
    numbers = columns.numbers
    target = columns.target
    at = [target.low, target.high, target.centre, target.fill]
    rows = [numbers.low, numbers.high, numbers.fill, numbers.reach, at, columns.mean]
    parts = columns.components
    if parts is not None:
        rows += [parts.centre, parts.spread, parts.low, parts.high, *parts.axes]
    if columns.expansion is not None:
        rows += columns.expansion.frequencies or []
    return chain(*rows)


def _check_written(columns: Columns, where: str) -> None:
    """Refuse a column of numbers without a form, and labels that the target cannot have."""
    target = columns.target.name
    labels = columns.target.labels
    needed = {*columns.numbers.names} | ({target} if labels is None else set())
    if not needed <= columns.written.keys() <= needed | {target}:
        raise InputError(f"{where}.written", "must name every column of numbers, and no other")
    if labels is None:
        return
    where = f"{where}.target.labels"
    if len(set(labels)) != 2 or len(labels) != 2:
        raise InputError(where, "must be two that differ")
    if target not in columns.written:
        return
    try:
        differ = len(set(map(float, labels))) == 2
    except ValueError:
        differ = False
    if not differ:
        raise InputError(where, "must be two numbers, as the target is written")


def _check_expansion(parts: Expansion, numbers: int, coded: int, where: str) -> None:
    """Refuse knots that are no range from -1 to 1 in parts, and places where no column is.

    So are frequencies of another width than the columns refused.
    """
    if len(parts.knots) != numbers:
        raise InputError(where, f"must have knots for each of {numbers} columns of numbers")
    for knots in filter(None, parts.knots):
        gaps = [after - before for before, after in pairwise(knots)]
        ends = len(knots) < 2 or (knots[0], knots[-1]) != (-1.0, 1.0)
        if ends or min(gaps) < LEAST_GAP:
            rule = f"must have knots from -1 to 1, {LEAST_GAP:g} or more apart"
            raise InputError(where, rule)
    if not all(len(pair) == 2 and 0 <= min(pair) <= max(pair) < coded for pair in parts.pairs):
        raise InputError(where, f"must multiply two of the {coded} encoded columns")
    waves = parts.frequencies or []
    if any(len(one) != coded for one in waves):
        raise InputError(where, f"must have frequencies of {coded} encoded columns")
    width = coded - numbers + len(parts.pairs) + 2 * len(waves)
    width += sum(count_columns(knots, parts.degree) for knots in parts.knots)
    if len(set(parts.kept)) < len(parts.kept) or not set(parts.kept) <= set(range(width)):
        raise InputError(where, f"must use features that differ, of {width}")


def _check_components(parts: Components, coded: int, where: str) -> None:
    """Refuse components of another width than the encoded columns, or that divide by nothing."""
    if not {coded} == {len(parts.centre), len(parts.spread), *map(len, parts.axes)}:
        raise InputError(where, f"must be of {coded} encoded columns")
    if not _same_lengths(parts.axes, parts.low, parts.high):
        raise InputError(where, f"must have {len(parts.axes)} ranges")
    long_axes = any(abs(one) > 2 for axis in parts.axes for one in axis)
    if long_axes or not all(spread >= 1 / LARGEST for spread in parts.spread):
        rule = f"must have spreads of {1 / LARGEST:g} or more, and axes of at most 2"
        raise InputError(where, rule)
    if not all(low <= high for low, high in zip(parts.low, parts.high, strict=True)):
        raise InputError(where, "must have ranges from low to high")
