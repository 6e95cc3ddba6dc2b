"""A parameter is declared once: in the dataclass that uses it, with its type, its limits and what to say of it.

A plug-in (a policy, a cost, a loss, a mechanism, an algorithm) is a frozen dataclass under `Declaration`. Its fields'
types say what each may be: ``Annotated[float, Gt(0)]``, ``Literal["a", "b"]``, `PerOwner`. Python callers and scenario files
are checked by the same types, and told the same rule in the same words.

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

from learning.errors import InputError

PLAIN: dict[Any, str] = {float: "a number", int: "a whole number", bool: "true or false"}
PLAIN |= {str: "a text in quotes", Path: "a path", Any: "any value"}
LIMITS = {Ge: "of at least", Gt: "above", Le: "at most", Lt: "below", MultipleOf: "divisible by"}
LARGEST, SMALLEST = 1e15, 1e-50  # sizes of numbers but 0: squares of squares of these are still numbers
STRICT = ConfigDict(strict=True, allow_inf_nan=False)  # true is no number, 3.0 no whole number, inf and nan are refused


@dataclass(frozen=True)
class Words:
    """Says what a type is, where the type alone does not: ``Annotated[..., Words("a list of names")]``."""

    text: str


@dataclass(frozen=True)
class PerOwnerRule:
    """Finite numbers, one for all owners or a list with one per owner, above or at least a limit."""

    at_least: float = 0.0
    strict: bool = False
    whole: bool = False
    below: float = math.inf

    @property
    def text(self) -> str:
        """The rule in words."""
        limits = f" {'above' if self.strict else 'of at least'} {self.at_least:g}" if self.at_least > -math.inf else ""
        if self.below < math.inf:
            limits = f" from {self.at_least:g} to below {self.below:g}"
        return f"a {'whole ' * self.whole}number{limits}, or a list with one per owner"

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self)

    def __call__(self, value: Any) -> Any:
        """A number or a tuple of numbers as given, or a read-only array where an array was given."""
        if isinstance(value, np.ndarray):
            return self._array(value)
        single = not isinstance(value, (list, tuple, range))
        items = [value] if single else list(value)
        for owner, item in enumerate(items, 1):
            if not self._holds(item):
                raise ValueError("" if single else f"{shown(item)} for owner {owner}")
        if not items:
            raise ValueError("")
        kind = int if self.whole else float
        return kind(items[0]) if single else tuple(kind(item) for item in items)

    def _holds(self, number: Any) -> bool:
        kinds = (int, np.integer) if self.whole else (int, float, np.number)
        if isinstance(number, bool) or not isinstance(number, kinds):
            return False
        try:
            above = number > self.at_least if self.strict else number >= self.at_least
            return bool(math.isfinite(number) and above and number < self.below)
        except OverflowError:  # a whole number too large for a float
            return False

    def _array(self, value: np.ndarray) -> np.ndarray:
        numbers = read_only(value)
        low = numbers <= self.at_least if self.strict else numbers < self.at_least
        bad = np.flatnonzero(~np.isfinite(numbers) | low | (numbers >= self.below) | (self.whole & (numbers % 1 > 0)))
        if numbers.ndim > 1 or bad.size:
            raise ValueError(f"an array of shape {numbers.shape}" if numbers.ndim > 1 else f"{numbers.flat[bad[0]]:g}")
        return numbers


class NamedPerOwnerRule(PerOwnerRule):
    """The same in a scenario file, where a table may give the numbers by the owners' names."""

    @property
    def text(self) -> str:
        """The rule in words."""
        return f"{super().text.replace(', or a list', ', a list')}, or a table with one by name"

    def __call__(self, value: Any) -> Any:
        """A table as a dict of numbers; anything else as the rule has it."""
        if not isinstance(value, dict) or not value:
            return super().__call__(value)
        for name, number in value.items():
            if isinstance(number, (list, tuple, dict)) or not self._holds(number):
                raise ValueError(f"{shown(number)} for {shown(name)}")
        return dict(zip(value, super().__call__(list(value.values())), strict=True))


def read_only(numbers: Any) -> np.ndarray:
    """A copy of a number or column of numbers as an array that nobody can change."""
    array = np.array(numbers, dtype=float)
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class ListOf(Words):
    """A list of at least one item, kept as a tuple: ``Annotated[tuple[float, ...], ListOf("a list of amounts")]``."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        items = {**handler(source), "min_length": 1}
        return core_schema.no_info_before_validator_function(_as_tuple, items)  # type: ignore[arg-type]


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
    """A field of a declaration; ``description`` is what to tell who left it out.

    With ``in_file`` false only Python callers can set it, and scenario files cannot.
    """
    return field(default=default, metadata={"description": description, "in_file": in_file})


class Declaration:
    """Base of plug-ins: a frozen dataclass whose fields are checked against their own types when it is made.

    ``where`` is the table of the scenario file that it is named in. Fields of type `PerOwner` become read-only arrays.
    A subclass whose fields depend on each other extends ``check``.
    """

    where: ClassVar[str] = ""

    def __post_init__(self) -> None:
        declaration: type = type(self)
        for name, hint in field_types(declaration).items():
            value = checked(hint, getattr(self, name), f"{self.where}.{name}".lstrip("."))
            object.__setattr__(self, name, value if per_owner_rule(hint) is None else read_only(value))
        self.check()

    def check(self) -> None:
        """Refuse, with an InputError, fields that do not go together."""


@cache
def field_types(declaration: type) -> dict[str, Any]:
    """The fields of a declaration that a user may set, with their annotated types."""
    hints = get_type_hints(declaration, include_extras=True)
    return {f.name: hints[f.name] for f in fields(declaration) if f.init}


def keys_of(declaration: Any) -> list[Field[Any]]:
    """The fields of a declaration that a scenario file may set."""
    return [one for one in fields(declaration) if one.init and one.metadata.get("in_file", True)]


def checked(hint: Any, value: Any, key: str) -> Any:
    """``value`` as its type has it.

    Raises
    ------
    InputError
        If it is not of that type, with the rule in words.
    """
    if isinstance(value, (np.generic, np.ndarray)) and value.ndim == 0 and per_owner_rule(hint) is None:
        value = value.item()
    try:
        return computable(adapter(hint).validate_python(value))
    except ValueError as error:  # pydantic's are ValueErrors too
        told = _found(error.errors(include_url=False)[0]) if isinstance(error, ValidationError) else str(error)
        raise InputError(key, f"must be {words(hint)}", told or shown(value)) from None


@cache
def adapter(hint: Any) -> TypeAdapter[Any]:
    """Pydantic's check of one type."""
    return TypeAdapter(hint, config=STRICT)


def computable(value: Any) -> Any:
    """A value as it is, unless it holds a finite number that is too large, or too close to 0, to compute with.

    Raises
    ------
    ValueError
        If such a number, but 0, is not from `SMALLEST` to `LARGEST` in size.
    """
    if isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            computable(item)
    elif isinstance(value, (int, float)) and value and not SMALLEST <= abs(value) <= LARGEST and abs(value) != math.inf:
        limit = f"beyond {LARGEST:g}, where numbers end" if abs(value) > 1 else f"closer to 0 than {SMALLEST:g}"
        raise ValueError(f"{shown(value)}, {limit}")
    return value


def _found(error: Any) -> str:
    """What a check found, where it says more than the whole value does: an item of a list, or a check's own words."""
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    place = [part for part in error["loc"] if isinstance(part, int)]
    return f"{shown(error['input'])} in place {place[0] + 1}" if place else ""


def shown(value: Any) -> str:
    """A value as a message shows it, on one line, shortened; texts, true and false as in a scenario file."""
    plain = isinstance(value, (str, bool, list, tuple))
    text = json.dumps(value, ensure_ascii=False, default=str) if plain else " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def words(hint: Any) -> str:
    """What a type allows, to follow "must be".

    >>> words(Positive), words(Literal["bit", "guess"]), words(Probability), words(TwoOrMore | None)
    ('a number above 0', '"bit" or "guess"', 'a number above 0 and below 1', 'a whole number of at least 2')
    >>> words(Literal["optimal"] | Positive)
    '"optimal" or a number above 0'
    >>> words(Literal["optimal", "none"] | Positive)
    '"optimal", "none" or a number above 0'
    """
    if get_origin(hint) is Annotated:
        bare, *extras = get_args(hint)
        for extra in extras:
            if isinstance(extra, (Words, PerOwnerRule)):
                return extra.text
        said = [f"{LIMITS[type(extra)]} {astuple(extra)[0]:g}" for extra in extras if type(extra) in LIMITS]
        return " ".join([words(bare), " and ".join(said)]).rstrip()
    if get_origin(hint) in (Literal, Union, UnionType):
        said = _alternatives(hint)
        return " or ".join([", ".join(said[:-1])] * (len(said) > 1) + said[-1:])
    if get_origin(hint) in (tuple, list, Sequence):
        return f"a list, each {words(get_args(hint)[0])}"
    if get_origin(hint) is Mapping:
        return "a table by name"
    return PLAIN.get(hint, str(hint))


def _alternatives(hint: Any) -> list[str]:
    if get_origin(hint) is Literal:
        return [f'"{value}"' for value in get_args(hint)]
    if get_origin(hint) in (Union, UnionType):
        return [said for part in get_args(hint) if part is not NoneType for said in _alternatives(part)]
    return [words(hint)]


def per_owner_rule(hint: Any) -> PerOwnerRule | None:
    """The rule of a `PerOwner` type; None of any other."""
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((extra for extra in extras if isinstance(extra, PerOwnerRule)), None)


def named_per_owner(hint: Any) -> Any:
    """A `PerOwner` type as a scenario file has it, where names may stand beside the numbers; any other as it is."""
    rule = per_owner_rule(hint)
    return hint if rule is None else Annotated[Any, NamedPerOwnerRule(*astuple(rule))]
