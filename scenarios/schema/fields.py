"""Checks on single values of a scenario file, each with its rule in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic import PlainValidator
from pydantic_core import PydanticCustomError

from scenarios.schema.toml import show


class Interval(NamedTuple):
    """A closed interval of numbers, written ``[low, high]`` in a scenario file."""

    low: float
    high: float


def refuse(rule: str, *, key: str = "", found: object = None, remedy: str = "") -> PydanticCustomError:
    """The error a check raises; ``key`` and ``found`` stand for the field and its value unless given."""
    return PydanticCustomError("rule", "{rule}", {"rule": rule, "key": key, "found": found, "remedy": remedy})


def nearest(name: str, known: Sequence[str]) -> str:
    """A remedy naming the known name most like ``name``, or all of them where none is like it.

    >>> nearest("targt", ["target", "features"])
    'Did you mean "target"?'
    """
    like = get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=0.5)
    if like:
        return next(f'Did you mean "{k}"?' for k in known if k.lower() == like[0])
    shown = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
    return f"Known here: {shown}."


def as_number(value: object) -> float | None:
    """``value`` as a finite float, or None; true and false are no numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def number(rule: str, holds: Callable[[float], bool], *words: str) -> PlainValidator:
    """A finite number for which ``holds``, or one of ``words``."""

    def check(value: Any) -> float | str:
        if isinstance(value, str) and value in words:
            return value
        got = as_number(value)
        if got is None or not holds(got):
            raise refuse(rule)
        return got

    return PlainValidator(check)


def whole(rule: str, holds: Callable[[int], bool], *words: str) -> PlainValidator:
    """A whole number for which ``holds``, or one of ``words``; 3.0 is not written as a whole number."""

    def check(value: Any) -> int | str:
        if isinstance(value, str) and value in words:
            return value
        if isinstance(value, bool) or not isinstance(value, int) or not holds(value):
            raise refuse(rule)
        return value

    return PlainValidator(check)


def choice(*supported: str) -> PlainValidator:
    """One of ``supported``."""

    def check(value: Any) -> str:
        if isinstance(value, str) and value in supported:
            return value
        raise choice_error(value, supported)

    return PlainValidator(check)


def choice_error(value: object, supported: Sequence[str]) -> PydanticCustomError:
    """Why ``value`` is none of ``supported``."""
    remedy = nearest(value, supported) if isinstance(value, str) and len(supported) > 1 else ""
    return refuse(f"must be {either(supported)}", remedy="" if remedy.startswith("Known") else remedy)


def either(words: Sequence[str]) -> str:
    """The words in quotes, the last after "or".

    >>> either(["a", "b", "c"])
    '"a", "b" or "c"'
    """
    return " or ".join([", ".join(f'"{w}"' for w in words[:-1])] * (len(words) > 1) + [f'"{words[-1]}"'])


def flag() -> PlainValidator:
    """True or false."""

    def check(value: Any) -> bool:
        if not isinstance(value, bool):
            raise refuse("must be true or false")
        return value

    return PlainValidator(check)


def text(rule: str = "must be a text in quotes", *, blank: bool = False) -> PlainValidator:
    """A text, empty only where ``blank``."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or not (blank or value.strip()):
            raise refuse(rule)
        return value

    return PlainValidator(check)


def texts(rule: str) -> PlainValidator:
    """A list of one or more different, non-empty texts."""

    def check(value: Any) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)) or not value:
            raise refuse(rule)
        for i, item in enumerate(value, 1):
            if not isinstance(item, str) or not item.strip():
                raise refuse(rule, found=f"{show(item)} in place {i}")
            if item in value[: i - 1]:
                raise refuse(rule, found=f"{show(item)} twice")
        return tuple(value)

    return PlainValidator(check)


def groups() -> PlainValidator:
    """A list of one or more lists of names, no name twice."""
    rule = "must be a list of groups, each a list of different names of owners"

    def check(value: Any) -> tuple[tuple[str, ...], ...]:
        if not isinstance(value, (list, tuple)) or not value:
            raise refuse(rule)
        seen: set[str] = set()
        for i, group in enumerate(value, 1):
            if not isinstance(group, (list, tuple)) or not group:
                raise refuse(rule, found=f"{show(group)} in place {i}")
            for name in group:
                if not isinstance(name, str) or not name.strip():
                    raise refuse(rule, found=f"{show(name)} in group {i}")
                if name in seen:
                    raise refuse(rule, found=f"{show(name)} twice")
                seen.add(name)
        return tuple(tuple(group) for group in value)

    return PlainValidator(check)


def label() -> PlainValidator:
    """A value that a column may take: a text or a finite number, true and false being 1 and 0."""

    def check(value: Any) -> str | float:
        if isinstance(value, str) and value.strip():
            return value.strip()
        got = float(value) if isinstance(value, bool) else as_number(value)
        if got is None:
            raise refuse("must be a text or a number, one of the two values of the target")
        return got

    return PlainValidator(check)


def wholes(rule: str, holds: Callable[[int], bool]) -> PlainValidator:
    """A list of one or more whole numbers for which ``holds``."""

    def check(value: Any) -> tuple[int, ...]:
        if not isinstance(value, (list, tuple)) or not value:
            raise refuse(rule)
        for i, item in enumerate(value, 1):
            if isinstance(item, bool) or not isinstance(item, int) or not holds(item):
                raise refuse(rule, found=f"{show(item)} in place {i}")
        return tuple(value)

    return PlainValidator(check)


def numbers(rule: str, holds: Callable[[float], bool] = lambda x: True) -> PlainValidator:
    """A list of one or more finite numbers for which ``holds``."""

    def check(value: Any) -> tuple[float, ...]:
        if not isinstance(value, (list, tuple)) or not value:
            raise refuse(rule)
        got = []
        for i, item in enumerate(value, 1):
            number_ = as_number(item)
            if number_ is None or not holds(number_):
                raise refuse(rule, found=f"{show(item)} in place {i}")
            got.append(number_)
        return tuple(got)

    return PlainValidator(check)


def amount(
    rule: str = "must be a number of at least 0, or a list with one per owner",
    holds: Callable[[float], bool] = lambda x: x >= 0,
) -> PlainValidator:
    """A finite number for which ``holds``, or a list with one per owner."""

    def check(value: Any) -> float | tuple[float, ...]:
        single = not isinstance(value, (list, tuple))
        value = [value] if single else value
        got = []
        for owner, item in enumerate(value, 1):
            amount_ = as_number(item)
            if amount_ is None or not holds(amount_):
                raise refuse(rule, found=None if single else f"{show(item)} for owner {owner}")
            got.append(amount_)
        if not got:
            raise refuse(rule)
        return got[0] if single else tuple(got)

    return PlainValidator(check)


def budgets() -> PlainValidator:
    """An epsilon interval, or one interval per owner."""

    def check(value: Any) -> Interval | tuple[Interval, ...]:
        if isinstance(value, (list, tuple)) and value and all(isinstance(v, (list, tuple)) for v in value):
            return tuple(_budget(v, f" for owner {i}") for i, v in enumerate(value, 1))
        return _budget(value, "")

    return PlainValidator(check)


def _budget(value: Any, where: str) -> Interval:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise refuse("must be [lowest, highest] privacy budget, or one such pair per owner", found=show(value) + where)
    low, high = (as_number(v) for v in value)
    if low is None or high is None:
        raise refuse("lowest and highest privacy budget must be finite numbers", found=show(value) + where)
    if min(low, high) < 0:
        raise refuse("a privacy budget must not be negative", found=show(value) + where)
    if low > high:
        raise refuse(
            "is reversed: the lowest privacy budget comes first",
            found=show(value) + where,
            remedy=f"Write {show([value[1], value[0]])}.",
        )
    return Interval(low, high)


def ranges() -> PlainValidator:
    """A table of column names, each with its public range ``[low, high]``."""
    rule = "must be [low, high] with low below high, both finite"

    def check(value: Any) -> dict[str, Interval]:
        if not isinstance(value, dict):
            raise refuse("must be a table of ranges, such as age = [0, 120]")
        return {name: _range(name, pair) for name, pair in value.items()}

    def _range(name: str, pair: Any) -> Interval:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise refuse(rule, key=f"data.bounds.{name}", found=show(pair))
        low, high = (as_number(v) for v in pair)
        if low is None or high is None or low >= high:
            raise refuse(rule, key=f"data.bounds.{name}", found=show(pair))
        return Interval(low, high)

    return PlainValidator(check)


def parameters() -> PlainValidator:
    """A table of arguments for a function: numbers, texts, true or false, or lists of numbers."""

    def check(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise refuse("must be a table of arguments, such as rate = 0.5")
        for name, given in value.items():
            parts = given if isinstance(given, (list, tuple)) else [given]
            plain = isinstance(given, (str, bool)) or all(as_number(part) is not None for part in parts)
            if not name.isidentifier() or not plain:
                rule = "must be a name with a number, a text, true or false, or a list of numbers"
                raise refuse(rule, found=f"{name} = {show(given)}")
        return dict(value)

    return PlainValidator(check)
