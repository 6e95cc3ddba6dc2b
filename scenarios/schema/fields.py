"""Tables of a scenario file: a field's type is its rule, and what breaks it is told in the type's words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from learning.declaration import STRICT, Count, ListOf, Positive, Words, words
from scenarios.schema.toml import show

OPTIMAL = "optimal"
TOLD = ("rule", "missing", "extra_forbidden", "model_type")  # errors that need no further words


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


class Section(BaseModel):
    """A table of the scenario file."""

    model_config = ConfigDict(frozen=True, extra="forbid", **STRICT)

    @field_validator("*", mode="wrap")
    @classmethod
    def _in_words(cls, value: Any, check: Any, info: Any) -> Any:
        """The value as the field's type has it, or an error that says the type in words."""
        try:
            return check(value)
        except ValidationError as error:
            first = first_error(error)
            if first["type"] in TOLD:
                raise
            hint = _hints(cls)[info.field_name]
            place = [part for part in first["loc"] if isinstance(part, int)]
            inside = "group" if len(place) > 1 else "place"
            found = f"{show(first['input'])} in {inside} {place[0] + 1}" if place else None
            if first["type"] == "value_error":
                found = str(first["ctx"]["error"]) or found
            remedy = _nearest_choice(value, _choices(hint))
            raise refuse(f"must be {words(hint)}", found=found, remedy=remedy) from None


def first_error(error: ValidationError) -> Any:
    """The error to tell: a misspelt key also leaves the key it was meant for missing, so unknown keys come first."""
    return sorted(error.errors(include_url=False), key=lambda e: e["type"] != "extra_forbidden")[0]


@cache
def _hints(section: type) -> dict[str, Any]:
    return get_type_hints(section, include_extras=True)


def _choices(hint: Any) -> tuple[str, ...]:
    """The texts that a field may be, where it may be nothing else."""
    parts = [hint] if get_origin(hint) is Literal else [part for part in get_args(hint) if part is not NoneType]
    texts = all(get_origin(part) is Literal for part in parts)
    return tuple(text for part in parts for text in get_args(part)) if texts else ()


def _nearest_choice(value: object, supported: Sequence[str]) -> str:
    remedy = nearest(value, supported) if isinstance(value, str) and len(supported) > 1 else ""
    return "" if remedy.startswith("Known") else remedy


def as_number(value: object) -> float | None:
    """``value`` as a finite float, or None; true and false are no numbers."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def among(known: Callable[[], Iterable[str]]) -> PlainValidator:
    """One of the names known when a scenario is read: what is entered in a table later counts as well."""

    def check_name(value: Any) -> str:
        names = list(known())
        if not isinstance(value, str) or value not in names:
            raise choice_error(value, names)
        return value

    return PlainValidator(check_name)


def choice_error(value: object, supported: Sequence[str]) -> PydanticCustomError:
    """Why ``value`` is none of ``supported``."""
    return refuse(f"must be {either(supported)}", remedy=_nearest_choice(value, supported))


def either(names: Sequence[str]) -> str:
    """The names in quotes, the last after "or".

    >>> either(["a", "b", "c"])
    '"a", "b" or "c"'
    """
    return words(Literal[tuple(names)])  # type: ignore[misc]


def _label(value: Any) -> str | float:
    """A value that a column may take: a text or a finite number, true and false being 1 and 0."""
    if isinstance(value, str) and value.strip():
        return value.strip()
    got = float(value) if isinstance(value, bool) else as_number(value)
    if got is None:
        raise refuse("must be a text or a number, one of the two values of the target")
    return got


def _pair(value: Any) -> tuple[float | None, float | None] | None:
    """Both ends of ``[low, high]``, None for what is no finite number; None for what is no pair."""
    is_pair = isinstance(value, (list, tuple)) and len(value) == 2
    return (as_number(value[0]), as_number(value[1])) if is_pair else None


def _budgets(value: Any) -> Interval | tuple[Interval, ...]:
    """An epsilon interval, or one interval per owner."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, (list, tuple)) for v in value):
        return tuple(_budget(v, f" for owner {i}") for i, v in enumerate(value, 1))
    return _budget(value, "")


def _budget(value: Any, where: str) -> Interval:
    pair, found = _pair(value), show(value) + where
    if pair is None:
        raise refuse("must be [lowest, highest] privacy budget, or one such pair per owner", found=found)
    low, high = pair
    if low is None or high is None:
        raise refuse("lowest and highest privacy budget must be finite numbers", found=found)
    if min(low, high) < 0:
        raise refuse("a privacy budget must not be negative", found=found)
    if low > high:
        remedy = f"Write {show([value[1], value[0]])}."
        raise refuse("is reversed: the lowest privacy budget comes first", found=found, remedy=remedy)
    return Interval(low, high)


def _ranges(value: Any) -> dict[str, Interval]:
    """Column names, each with its public range ``[low, high]``."""
    if not isinstance(value, dict):
        raise refuse("must be a table of ranges, such as age = [0, 120]")
    made = {}
    for name, given in value.items():
        low, high = _pair(given) or (None, None)
        if low is None or high is None or low >= high:
            rule = "must be [low, high] with low below high, both finite"
            raise refuse(rule, key=f"data.bounds.{name}", found=show(given))
        made[name] = Interval(low, high)
    return made


def _arguments(value: Any) -> dict[str, Any]:
    """Arguments for a function: numbers, texts, true or false, or lists of numbers."""
    if not isinstance(value, dict):
        raise refuse("must be a table of arguments, such as rate = 0.5")
    for name, given in value.items():
        parts = given if isinstance(given, (list, tuple)) else [given]
        plain = isinstance(given, (str, bool)) or all(as_number(part) is not None for part in parts)
        if not name.isidentifier() or not plain:
            rule = "must be a name with a number, a text, true or false, or a list of numbers"
            raise refuse(rule, found=f"{name} = {show(given)}")
    return dict(value)


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("")
    return text


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"{show(name)} twice")
    return names


Text = Annotated[str, AfterValidator(_not_blank), Words("a text in quotes")]
Names = Annotated[tuple[Text, ...], ListOf("a list of different names"), AfterValidator(_different)]
ColumnNames = Annotated[tuple[Text, ...], ListOf("a list of different column names"), AfterValidator(_different)]
Sizes = Annotated[tuple[Count, ...], ListOf("a list of whole numbers of at least 1, the rows of each owner")]
PositiveOrOptimal = Literal["optimal"] | Positive
Label = Annotated[str | float, PlainValidator(_label)]
Budgets = Annotated[Interval | tuple[Interval, ...], PlainValidator(_budgets)]
Ranges = Annotated[dict[str, Interval], PlainValidator(_ranges)]
Arguments = Annotated[dict[str, Any], PlainValidator(_arguments)]
