"""Tables of a scenario file: a field's type is its rule, and what breaks it is told in the type's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationError, field_validator

from learning.declaration import STRICT, Count, ListOf, Positive, Words, adapter, words
from learning.errors import InputError
from scenarios.schema.toml import show

OPTIMAL = "optimal"
TOLD = ("missing", "extra_forbidden", "model_type")  # errors that are told with the tables they are in


class Interval(NamedTuple):
    """A closed interval of numbers, written ``[low, high]`` in a scenario file."""

    low: float
    high: float


def close(name: str, known: Iterable[str]) -> str:
    """A remedy naming the known name most like ``name``; empty where none is like it."""
    like = get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=0.5)
    return next((f'Did you mean "{k}"?' for k in known if [k.lower()] == like), "")


def nearest(name: str, known: Sequence[str]) -> str:
    """A remedy naming the known name most like ``name``, or all of them where none is like it.

    >>> nearest("targt", ["target", "features"])
    'Did you mean "target"?'
    """
    shown = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
    return close(name, known) or f"Known here: {shown}."


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
            if first["type"] in TOLD or refusal(first):
                raise
            hint = cls.model_fields[info.field_name].rebuild_annotation()
            place = [part for part in first["loc"] if isinstance(part, int)]
            inside = "group" if len(place) > 1 else "place"
            found = f"{show(first['input'])} in {inside} {place[0] + 1}" if place else show(value)
            if first["type"] == "value_error":
                found = str(first["ctx"]["error"]) or found
            raise InputError("", f"must be {words(hint)}", found, _close_choice(value, _choices(hint))) from None


def first_error(error: ValidationError) -> Any:
    """The error to tell: a misspelt key also leaves the key it was meant for missing, so unknown keys come first."""
    return sorted(error.errors(include_url=False), key=lambda e: e["type"] != "extra_forbidden")[0]


def refusal(error: Any) -> InputError | None:
    """What a check said in its own words; None of an error in pydantic's."""
    said = error.get("ctx", {}).get("error")
    return said if isinstance(said, InputError) else None


def _choices(hint: Any) -> tuple[str, ...]:
    """The texts that a field may be, where it may be nothing else."""
    parts = [hint] if get_origin(hint) is Literal else [part for part in get_args(hint) if part is not NoneType]
    texts = all(get_origin(part) is Literal for part in parts)
    return tuple(text for part in parts for text in get_args(part)) if texts else ()


def _close_choice(value: object, supported: Sequence[str]) -> str:
    return close(value, supported) if isinstance(value, str) and len(supported) > 1 else ""


def as_number(value: object) -> float | None:
    """``value`` as a finite float, or None; true and false are no numbers."""
    try:
        return float(adapter(float).validate_python(value))
    except ValidationError:
        return None


def one_of(value: Any, supported: Iterable[str], key: str = "") -> str:
    """``value``, which must be one of some names."""
    names = list(supported)
    if not isinstance(value, str) or value not in names:
        raise InputError(key, f"must be {either(names)}", show(value), _close_choice(value, names))
    return value


def among(known: Callable[[], Iterable[str]]) -> PlainValidator:
    """One of the names known when a scenario is read: what is entered in a table later counts as well."""
    return PlainValidator(lambda value: one_of(value, known()))


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
        raise InputError("", "must be a text or a number, one of the two values of the target", show(value))
    return got


def _labels(value: Any) -> tuple[str | float, ...]:
    """The two values of a target, the second the one coded as +1."""
    given = tuple(map(_label, value)) if isinstance(value, (list, tuple)) else ()
    if len(set(given)) != 2 or len(given) != 2 or isinstance(given[0], str) != isinstance(given[1], str):
        raise InputError("", 'must be the two values of the target, such as ["no", "yes"] or [0, 1]', show(value))
    return given


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
        raise InputError("", "must be [lowest, highest] privacy budget, or one such pair per owner", found)
    low, high = pair
    if low is None or high is None:
        raise InputError("", "lowest and highest privacy budget must be finite numbers", found)
    if min(low, high) < 0:
        raise InputError("", "a privacy budget must not be negative", found)
    if low > high:
        remedy = f"Write {show([value[1], value[0]])}."
        raise InputError("", "is reversed: the lowest privacy budget comes first", found, remedy)
    return Interval(low, high)


def _ranges(value: Any) -> dict[str, Interval]:
    """Column names, each with its public range ``[low, high]``."""
    if not isinstance(value, dict):
        raise InputError("", "must be a table of ranges, such as age = [0, 120]", show(value))
    made = {}
    for name, given in value.items():
        low, high = _pair(given) or (None, None)
        if low is None or high is None or low >= high:
            raise InputError(f"data.bounds.{name}", "must be [low, high] with low below high, both finite", show(given))
        made[name] = Interval(low, high)
    return made


def _arguments(value: Any) -> dict[str, Any]:
    """Arguments for a function: numbers, texts, true or false, or lists of numbers."""
    if not isinstance(value, dict):
        raise InputError("", "must be a table of arguments, such as rate = 0.5", show(value))
    for name, given in value.items():
        parts = given if isinstance(given, (list, tuple)) else [given]
        plain = isinstance(given, (str, bool)) or all(as_number(part) is not None for part in parts)
        if not name.isidentifier() or not plain:
            rule = "must be a name with a number, a text, true or false, or a list of numbers"
            raise InputError("", rule, f"{name} = {show(given)}")
    return dict(value)


def _different(names: tuple[str, ...]) -> tuple[str, ...]:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"{show(name)} twice")
    return names


Text = Annotated[str, Field(pattern=r"\S"), Words("a text in quotes")]
Names = Annotated[tuple[Text, ...], ListOf("a list of different names"), AfterValidator(_different)]
ColumnNames = Annotated[tuple[Text, ...], ListOf("a list of different column names"), AfterValidator(_different)]
Sizes = Annotated[tuple[Count, ...], ListOf("a list of whole numbers of at least 1, the rows of each owner")]
PositiveOrOptimal = Literal["optimal"] | Positive
Label = Annotated[str | float, PlainValidator(_label)]
Labels = Annotated[tuple[str | float, ...], PlainValidator(_labels)]
Budgets = Annotated[Interval | tuple[Interval, ...], PlainValidator(_budgets)]
Ranges = Annotated[dict[str, Interval], PlainValidator(_ranges)]
Arguments = Annotated[dict[str, Any], PlainValidator(_arguments)]


def per_owner(value: Any, n_owners: int, key: str) -> np.ndarray:
    """One value per owner (n_owners,): a list as it is, anything else repeated; an `Interval` is a row of two.

    Raises
    ------
    InputError
        If a list has another length than ``n_owners``.

    >>> per_owner(2.0, 3, "owners.benefit")
    array([2., 2., 2.])
    """
    if not isinstance(value, (list, tuple)) or isinstance(value, Interval):
        value = [value] * n_owners
    if len(value) != n_owners:
        raise InputError(key, f"must have one entry per owner, {n_owners}", f"{len(value)} entries")
    return np.array(value, dtype=float)
