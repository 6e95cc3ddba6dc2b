"""Declarations: parameters with types, limits and descriptions in the dataclasses that use them.

A plug-in (a policy, a cost, a loss, a mechanism, an algorithm) is a frozen dataclass under
`Declaration`. Its fields' types say what each may be: ``Annotated[float, Gt(0)]``, ``Literal["a",
"b"]``, `PerOwner`. Python callers and scenario files are checked by the same types, with the same
messages.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Fee(Declaration):
...     where = "policy"
...     price: Positive = parameter("Give the money.")
>>> Fee(-1.0)
Traceback (most recent call last):
learning.errors.InputError: policy.price: must be a number above 0; found -1.0.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, astuple, dataclass, field, fields
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MultipleOf
from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import core_schema

from learning.arrays import LARGEST, SMALLEST
from learning.errors import InputError

PLAIN: dict[Any, str] = {
    float: "a number",
    int: "a whole number",
    bool: "true or false",
    str: "a text in quotes",
    Path: "a path",
    Any: "any value",
}
LIMITS = {Ge: "of at least", Gt: "above", Le: "at most", Lt: "below", MultipleOf: "divisible by"}
STRICT = ConfigDict(strict=True, allow_inf_nan=False)  # true is no number, 3.0 no whole number


@dataclass(frozen=True)
class Words:
    """Description of a type for messages: ``Annotated[..., Words("a list of names")]``."""

    text: str


@dataclass(frozen=True)
class PerOwnerRule:
    """Finite numbers, one for all owners or one per owner, within limits."""

    at_least: float = 0.0
    strict: bool = False
    whole: bool = False
    below: float = math.inf

    @property
    def text(self) -> str:
        """The rule in words."""
        limits = f" {'above' if self.strict else 'of at least'} {self.at_least:g}"
        if self.below < math.inf:
            limits = f" from {self.at_least:g} to below {self.below:g}"
        elif self.at_least == -math.inf:
            limits = ""
        return f"a {'whole ' * self.whole}number{limits}, or a list with one per owner"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self)

    def __call__(self, value: Any) -> Any:
        """Check a number, a list of numbers (to a tuple) or an array (to a read-only one)."""
        if isinstance(value, np.ndarray):
            return self._check_array(value)
        single = not isinstance(value, (list, tuple, range))
        items = [value] if single else list(value)
        for owner, item in enumerate(items, 1):
            if not self._is_allowed(item):
                raise ValueError("" if single else f"{format_value(item)} for owner {owner}")
        if not items:
            raise ValueError("")
        kind = int if self.whole else float
        return kind(items[0]) if single else tuple(kind(item) for item in items)

    def _is_allowed(self, number: Any) -> bool:
        kinds = (int, np.integer) if self.whole else (int, float, np.number)
        if isinstance(number, bool) or not isinstance(number, kinds):
            return False
        try:
            above = number > self.at_least if self.strict else number >= self.at_least
            return bool(math.isfinite(number) and above and number < self.below)
        except OverflowError:  # a whole number too large for a float
            return False

    def _check_array(self, value: np.ndarray) -> np.ndarray:
        numbers = read_only(value)
        low = numbers <= self.at_least if self.strict else numbers < self.at_least
        broken = ~np.isfinite(numbers) | low | (numbers >= self.below)
        bad = np.flatnonzero(broken | (self.whole & (numbers != np.floor(numbers))))
        if numbers.ndim > 1:
            raise ValueError(f"an array of shape {numbers.shape}")
        if bad.size:
            raise ValueError(f"{numbers.flat[bad[0]]:g}")
        return numbers


class NamedPerOwnerRule(PerOwnerRule):
    """The rule in a scenario file, where a table may give the numbers by the owners' names."""

    @property
    def text(self) -> str:
        """The rule in words."""
        return f"{super().text.replace(', or a list', ', a list')}, or a table with one by name"

    def __call__(self, value: Any) -> Any:
        """Check a table to a dict of numbers, and anything else by the rule."""
        if not isinstance(value, dict) or not value:
            return super().__call__(value)
        for name, number in value.items():
            if isinstance(number, (list, tuple, dict)) or not self._is_allowed(number):
                raise ValueError(f"{format_value(number)} for {format_value(name)}")
        return dict(zip(value, super().__call__(list(value.values())), strict=True))


def read_only(numbers: Any) -> np.ndarray:
    """Copy a number or column of numbers to a read-only array."""
    array = np.array(numbers, dtype=float)
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class ListOf(Words):
    """A non-empty list, kept as a tuple: ``Annotated[tuple[float, ...], ListOf("amounts")]``."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        items: Any = {**handler(source), "min_length": 1}
        return core_schema.no_info_before_validator_function(_as_tuple, items)


def _as_tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, np.ndarray)) else value


NonNegative = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Probability = Annotated[float, Gt(0), Lt(1)]
Count = Annotated[int, Ge(1)]
CountOrZero = Annotated[int, Ge(0)]
TwoOrMore = Annotated[int, Ge(2)]
PerOwner = Annotated[Any, PerOwnerRule()]
PositivePerOwner = Annotated[Any, PerOwnerRule(strict=True)]
TwoOrMorePerOwner = Annotated[Any, PerOwnerRule(2, whole=True)]


def parameter(description: str = "", default: Any = MISSING, *, in_file: bool = True) -> Any:
    """Make a field of a declaration; ``description`` is the remedy where it is missing.

    With ``in_file`` false only Python callers can set it.
    """
    return field(default=default, metadata={"description": description, "in_file": in_file})


class Declaration:
    """Base of plug-ins: a frozen dataclass whose fields are checked against their types.

    ``where`` is its table in the scenario file. Fields of type `PerOwner` become read-only arrays.
    A subclass whose fields depend on each other extends ``check``.
    """

    where: ClassVar[str] = ""

    def __post_init__(self) -> None:
        declaration: type = type(self)
        for name, hint in field_types(declaration).items():
            value = check_value(hint, getattr(self, name), f"{self.where}.{name}".lstrip("."))
            object.__setattr__(
                self, name, value if per_owner_rule(hint) is None else read_only(value)
            )
        self.check()

    def check(self) -> None:
        """Refuse, with an InputError, fields that contradict each other."""


@cache
def field_types(declaration: type) -> dict[str, Any]:
    """Annotated types of the fields of a declaration that a user may set."""
    hints = get_type_hints(declaration, include_extras=True)
    return {f.name: hints[f.name] for f in fields(declaration) if f.init}


def keys_of(declaration: Any) -> list[Field[Any]]:
    """Fields of a declaration that a scenario file may set."""
    return [one for one in fields(declaration) if one.init and one.metadata.get("in_file", True)]


def check_value(hint: Any, value: Any, key: str) -> Any:
    """Check and convert a value by its type.

    Raises
    ------
    InputError
        If it is not of that type.
    """
    scalar = isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0
    if scalar and per_owner_rule(hint) is None:
        value = value.item()
    try:
        return check_magnitude(type_adapter(hint).validate_python(value))
    except ValueError as error:  # pydantic's are ValueErrors too
        found = str(error)
        if isinstance(error, ValidationError):
            found = _describe_finding(error.errors(include_url=False)[0])
        found = found or format_value(value)
        raise InputError(key, f"must be {describe_type(hint)}", found) from None


@cache
def type_adapter(hint: Any) -> TypeAdapter[Any]:
    """Make Pydantic's check of a type."""
    return TypeAdapter(hint, config=STRICT)


def check_magnitude(value: Any) -> Any:
    """Return a value, and refuse finite numbers too large, or too close to 0, to compute with.

    Raises
    ------
    ValueError
        If the size of a number other than 0 is not from `SMALLEST` to `LARGEST`.
    """
    if isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            check_magnitude(item)
    elif isinstance(value, (int, float)) and LARGEST < abs(value) < math.inf:
        raise ValueError(f"{format_value(value)}, beyond {LARGEST:g}, where numbers end")
    elif isinstance(value, (int, float)) and 0 < abs(value) < SMALLEST:
        raise ValueError(f"{format_value(value)}, closer to 0 than {SMALLEST:g}")
    return value


def _describe_finding(error: Any) -> str:
    """Describe the finding of a check, if more specific than the whole value; else empty."""
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    place = [part for part in error["loc"] if isinstance(part, int)]
    return f"{format_value(error['input'])} in place {place[0] + 1}" if place else ""


def format_value(value: Any) -> str:
    """Format a value for a message, on one line, shortened, in the syntax of a scenario file."""
    plain = isinstance(value, (str, bool, list, tuple))
    text = (
        json.dumps(value, ensure_ascii=False, default=str)
        if plain
        else " ".join(repr(value).split())
    )
    return text if len(text) <= 60 else text[:57] + "..."


def describe_type(hint: Any) -> str:
    """Describe the allowed values of a type, to follow "must be".

    >>> describe_type(Positive), describe_type(Literal["bit", "guess"])
    ('a number above 0', '"bit" or "guess"')
    >>> describe_type(Probability), describe_type(TwoOrMore | None)
    ('a number above 0 and below 1', 'a whole number of at least 2')
    >>> describe_type(str | Path | np.random.Generator)
    'a text in quotes, a path or a value of the type Generator'
    >>> describe_type(Literal["optimal"] | Positive)
    '"optimal" or a number above 0'
    >>> describe_type(Literal["optimal", "none"] | Positive)
    '"optimal", "none" or a number above 0'
    """
    if get_origin(hint) is Annotated:
        bare, *extras = get_args(hint)
        for extra in extras:
            if isinstance(extra, (Words, PerOwnerRule)):
                return extra.text
        said = [
            f"{LIMITS[type(extra)]} {astuple(extra)[0]:g}"
            for extra in extras
            if type(extra) in LIMITS
        ]
        return " ".join([describe_type(bare), " and ".join(said)]).rstrip()
    if get_origin(hint) in (Literal, Union, UnionType):
        said = _list_alternatives(hint)
        return " or ".join([", ".join(said[:-1])] * (len(said) > 1) + said[-1:])
    if get_origin(hint) in (tuple, list, Sequence):
        return f"a list, each {describe_type(get_args(hint)[0])}"
    if get_origin(hint) is Mapping:
        return "a table by name"
    if isinstance(hint, type) and hint not in PLAIN:
        return f"a value of the type {hint.__name__}"
    return PLAIN.get(hint, str(hint))


def _list_alternatives(hint: Any) -> list[str]:
    if get_origin(hint) is Literal:
        return [f'"{value}"' for value in get_args(hint)]
    if get_origin(hint) in (Union, UnionType):
        return [
            said
            for part in get_args(hint)
            if part is not NoneType
            for said in _list_alternatives(part)
        ]
    return [describe_type(hint)]


def per_owner_rule(hint: Any) -> PerOwnerRule | None:
    """Rule of a `PerOwner` type; None of any other."""
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((extra for extra in extras if isinstance(extra, PerOwnerRule)), None)


def named_per_owner(hint: Any) -> Any:
    """Type of a scenario file, where a `PerOwner` type may give numbers by name."""
    rule = per_owner_rule(hint)
    return hint if rule is None else Annotated[Any, NamedPerOwnerRule(*astuple(rule))]
