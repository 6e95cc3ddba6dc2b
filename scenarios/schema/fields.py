"""Tables of a scenario file: a field's type is its rule, and what breaks it is told in the type's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args, get_origin

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, ValidationError, field_validator

from learning.declaration import (
    LARGEST,
    SMALLEST,
    STRICT,
    Count,
    ListOf,
    Words,
    adapter,
    computable,
    per_owner_rule,
    words,
)
from learning.errors import InputError, together
from scenarios.schema.toml import show, visible

OPTIMAL = "optimal"
SHORT, LONG = 12, 100  # characters of a currency, and of what a column is called
BUDGETS = 1e-9, 1e6  # privacy budgets but 0: less tells nothing, more hides nothing
TOLD = ("missing", "extra_forbidden", "model_type")  # errors that are told with the tables they are in


class Interval(NamedTuple):
    """A closed interval of numbers, written ``[low, high]`` in a scenario file."""

    low: float
    high: float


def close(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """A remedy naming the known name most like ``name``; empty where none is like it, by a ratio of at least ``cutoff``."""
    like = get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=cutoff)
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

    def listed(self, names: Sequence[str] | None = None, where: str = "", left_out: Sequence[str] = ()) -> Self:
        """The same table with what has one value per owner as lists in the order of the owners.

        Parameters
        ----------
        names : names of the owners; None: values given by name are listed in the order of the file.
        where : the table's dotted name, for errors.
        left_out : names of further owners that a table may give values for, which are not listed.

        Raises
        ------
        InputErrors
            Where a list has not one entry per owner, or a table not one for each name.
        """
        listed: dict[str, Any] = {}

        def put(key: str) -> None:
            listed[key] = in_order(getattr(self, key), names, f"{where}.{key}", left_out)

        together(*(partial(put, key) for key in self.per_owner_keys()))
        return self.model_copy(update=listed)

    def lists(self) -> dict[str, Sequence[Any]]:
        """What is given owner by owner in a list, by key."""
        given = {key: getattr(self, key) for key in self.per_owner_keys()}
        return {key: value for key, value in given.items() if type(value) in (list, tuple)}

    @classmethod
    def per_owner_keys(cls) -> list[str]:
        """The keys that may have one value per owner."""
        return [key for key in cls.model_fields if cls._is_per_owner(key)]

    @classmethod
    def _is_per_owner(cls, key: str) -> bool:
        hint = cls.model_fields[key].rebuild_annotation()
        return hint == Budgets or per_owner_rule(hint) is not None

    @field_validator("*", mode="wrap")
    @classmethod
    def _in_words(cls, value: Any, check: Any, info: Any) -> Any:
        """The value as the field's type has it, or an error that says the type in words."""
        hint = cls.model_fields[info.field_name].rebuild_annotation()
        try:
            return computable(check(value))
        except ValidationError as error:
            first = first_error(error)
            if first["type"] in TOLD or refusal(first):
                raise
            place = [part for part in first["loc"] if isinstance(part, int)]
            inside = "group" if len(place) > 1 else "place"
            found = f"{show(first['input'])} in {inside} {place[0] + 1}" if place else show(value)
            if first["type"] == "value_error":
                found = str(first["ctx"]["error"]) or found
            raise InputError("", f"must be {words(hint)}", found, _close_choice(value, _choices(hint))) from None
        except InputError:
            raise
        except ValueError as error:
            raise InputError("", f"must be {words(hint)}", error) from None


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


def _budgets(value: Any) -> Interval | tuple[Interval, ...] | dict[str, Interval]:
    """An epsilon interval, or one interval per owner, in a list or by name."""
    if isinstance(value, dict) and value:
        return {name: _budget(given, f" for {show(name)}") for name, given in value.items()}
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
    if not is_budget(low) or not is_budget(high):
        raise InputError("", BUDGET_RULE, found)
    if low > high:
        remedy = f"Write {show([value[1], value[0]])}."
        raise InputError("", "is reversed: the lowest privacy budget comes first", found, remedy)
    return Interval(low, high)


BUDGET_RULE = f"a privacy budget must be 0 or lie between {BUDGETS[0]:g} and {BUDGETS[1]:,.0f}"


def is_budget(value: float) -> bool:
    """Whether a number can be a privacy budget: neither lost in noise nor beyond what hides anything.

    >>> [is_budget(value) for value in (0, 1e-300, 1, 1e308)]
    [True, False, True, False]
    """
    return value == 0 or BUDGETS[0] <= value <= BUDGETS[1]


def _ranges(value: Any) -> dict[str, Interval]:
    """Column names, each with its public range ``[low, high]``."""
    if not isinstance(value, dict):
        raise InputError("", "must be a table of ranges, such as age = [0, 120]", show(value))
    made = {}
    for name, given in value.items():
        low, high = _pair(given) or (None, None)
        if low is None or high is None or low >= high or max(-low, high) > LARGEST or high - low < SMALLEST:
            rule = f"must be [low, high] with low below high, both finite, and at most {LARGEST:g} in size"
            raise InputError(f"data.bounds.{name}", rule, show(given))
        made[name] = Interval(low, high)
    return made


def _short(value: Any) -> str:
    """A text that fits after a number."""
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > SHORT or visible(text) != text:
        raise InputError("", f'must be a text of at most {SHORT} characters, such as "EUR"', show(value))
    return text


def _column_labels(value: Any) -> dict[str, str]:
    """Column names, each with what it is called in reports, ``"Name, unit"``."""
    if not isinstance(value, dict):
        raise InputError("", 'must be a table of texts, such as income = "Income, EUR a year"', show(value))
    for name, given in value.items():
        if not isinstance(given, str) or not given.strip(" ,") or len(given) > LONG or visible(given) != given:
            rule = f'must be a text of at most {LONG} characters, "Name" or "Name, unit"'
            raise InputError(f"labels.{name}", rule, show(given))
    return {name: given.strip() for name, given in value.items()}


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
    check_different(names)
    return names


def check_different(names: Sequence[str]) -> None:
    """Refuse names that cannot be told apart, or do more than be read.

    Raises
    ------
    ValueError
        A name with a control character, a name twice, or two that differ by blanks alone; it says which.

    >>> check_different(["A B", "A  B"])
    Traceback (most recent call last):
    ValueError: "A B" and "A  B", which differ by blanks alone
    """
    first: dict[str, str] = {}
    for name in names:
        if visible(name) != name:
            raise ValueError(f"{show(name)}, with a character that cannot be seen")
        other = first.setdefault(" ".join(name.split()), name)
        if other != name:
            raise ValueError(f"{show(other)} and {show(name)}, which differ by blanks alone")
    if len(first) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{show(twice)} twice")


Text = Annotated[str, Field(pattern=r"\S"), Words("a text in quotes")]
ShortText = Annotated[str, PlainValidator(_short), Words("a short text in quotes")]
ColumnLabels = Annotated[dict[str, str], PlainValidator(_column_labels)]
Names = Annotated[tuple[Text, ...], ListOf("a list of different names"), AfterValidator(_different)]
ColumnNames = Annotated[tuple[Text, ...], ListOf("a list of different column names"), AfterValidator(_different)]
Sizes = Annotated[tuple[Count, ...], ListOf("a list of whole numbers of at least 1, the rows of each owner")]
Label = Annotated[str | float, PlainValidator(_label)]
Labels = Annotated[tuple[str | float, ...], PlainValidator(_labels)]
Budgets = Annotated[Interval | tuple[Interval, ...] | dict[str, Interval], PlainValidator(_budgets)]
Ranges = Annotated[dict[str, Interval], PlainValidator(_ranges)]
Arguments = Annotated[dict[str, Any], PlainValidator(_arguments)]


def in_order(value: Any, names: Sequence[str] | None, key: str, left_out: Sequence[str] = ()) -> Any:
    """One value for all owners or a tuple with one per owner in the order of ``names``, from that, a list or a table.

    Raises
    ------
    InputError
        If a list has not one entry per owner, or a table not one for each name.

    >>> in_order({"B": 2.0, "A": 1.0}, ["A", "B"], "owners.benefit")
    (1.0, 2.0)
    """
    if not isinstance(value, dict):
        if names is not None:
            per_owner(value, len(names), key)
        return value
    names = list(value) if names is None else list(names)
    known = {*names, *left_out}
    for name in value:
        if name not in known:
            raise InputError(key, "must name owners", show(name), nearest(name, names))
    for name in names:
        if name not in value:
            raise InputError(key, "must have one entry per owner", f"none for {show(name)}")
    return tuple(value[name] for name in names)


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
