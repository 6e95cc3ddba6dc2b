"""Tables of a scenario file: the type of a field is its rule, and words its errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache, partial
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args, get_origin

import numpy as np
from annotated_types import Ge, Le
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    ValidationError,
    field_validator,
)

from learning.arrays import LARGEST, SMALLEST
from learning.collected_errors import collect_errors
from learning.declaration import (
    STRICT,
    Count,
    ListOf,
    Words,
    check_magnitude,
    describe_type,
    per_owner_rule,
    type_adapter,
)
from learning.errors import InputError
from learning.phrases import escape_control, format_value

OPTIMAL = "optimal"
SHORT = 12  # characters of a currency, and of what a column is called
LONG = 100
BUDGETS = 1e-9, 1e6  # privacy budgets but 0: less tells nothing, more hides nothing
TOLD = (
    "missing",
    "extra_forbidden",
    "model_type",
)  # errors that are told with the tables they are in


class Interval(NamedTuple):
    """A closed interval of numbers, written ``[low, high]`` in a scenario file."""

    low: float
    high: float


def suggest_close(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """A remedy naming the known name most like ``name``.

    Empty where none is like it, by a ratio of at least ``cutoff``.
    """
    like = get_close_matches(name.lower(), [k.lower() for k in known], n=1, cutoff=cutoff)
    return next((f'Did you mean "{k}"?' for k in known if [k.lower()] == like), "")


def suggest_name(name: str, known: Sequence[str]) -> str:
    """A remedy naming the known name most like ``name``, or all of them where none is like it.

    >>> suggest_name("targt", ["target", "features"])
    'Did you mean "target"?'
    """
    shown = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
    return suggest_close(name, known) or f"Known here: {shown}."


def check_known(
    key: str, names: Iterable[str], known: Iterable[str], rule: str = "must name owners"
) -> None:
    """Refuse, with an InputError, a name that is not among those known."""
    all_known = list(map(str, known))
    for name in names:
        if name not in all_known:
            raise InputError(key, rule, format_value(name), suggest_name(name, all_known))


class Section(BaseModel):
    """A table of the scenario file."""

    model_config = ConfigDict(frozen=True, extra="forbid", **STRICT)

    def listed(
        self, names: Sequence[str] | None = None, where: str = "", left_out: Sequence[str] = ()
    ) -> Self:
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

        collect_errors(*(partial(put, key) for key in self.per_owner_keys()))
        return self.model_copy(update=listed)

    def lists(self) -> dict[str, Sequence[Any]]:
        """Values given owner by owner in a list, by key."""
        given = {key: getattr(self, key) for key in self.per_owner_keys()}
        return {key: value for key, value in given.items() if type(value) in (list, tuple)}

    @classmethod
    @cache
    def per_owner_keys(cls) -> tuple[str, ...]:
        """The keys that may have one value per owner."""
        return tuple(key for key in cls.model_fields if cls._is_per_owner(key))

    @classmethod
    def _is_per_owner(cls, key: str) -> bool:
        hint = cls._hint(key)
        return hint == Budgets or per_owner_rule(hint) is not None

    @field_validator("*", mode="wrap")
    @classmethod
    def _in_words(cls, value: Any, check: Any, info: Any) -> Any:
        """The value as the field's type has it, or an error that says the type in words."""
        try:
            return check_magnitude(check(value))
        except ValidationError as error:
            first = first_error(error)
            if first["type"] in TOLD or stated_refusal(first):
                raise
            hint = cls._hint(info.field_name)
            found = _describe_place(first, value)
            remedy = _close_choice(value, _list_choices(hint))
            raise InputError("", f"must be {describe_type(hint)}", found, remedy) from None
        except InputError:
            raise
        except ValueError as error:
            rule = f"must be {describe_type(cls._hint(info.field_name))}"
            raise InputError("", rule, error) from None

    @classmethod
    def _hint(cls, key: str) -> Any:
        """The annotated type of a key."""
        return cls.model_fields[key].rebuild_annotation()


def _describe_place(error: Any, value: Any) -> str:
    """Finding of an error of pydantic's in a value: what, and in which place of a list."""
    if error["type"] == "value_error" and str(error["ctx"]["error"]):
        return str(error["ctx"]["error"])
    place = [part for part in error["loc"] if isinstance(part, int)]
    if not place:
        return format_value(value)
    inside = "group" if len(place) > 1 else "place"
    return f"{format_value(error['input'])} in {inside} {place[0] + 1}"


def first_error(error: ValidationError) -> Any:
    """Most telling error: unknown keys first, since a misspelt key leaves another missing."""
    return sorted(error.errors(include_url=False), key=lambda e: e["type"] != "extra_forbidden")[0]


def stated_refusal(error: Any) -> InputError | None:
    """Refusal that a check stated in its own words; None of an error of pydantic's."""
    said = error.get("ctx", {}).get("error")
    if isinstance(said, InputError):
        return said
    return None


def _list_choices(hint: Any) -> tuple[str, ...]:
    """The texts that a field may be, where it may be nothing else."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    parts = [part for part in get_args(hint) if part is not NoneType]
    if any(get_origin(part) is not Literal for part in parts):
        return ()
    return tuple(text for part in parts for text in get_args(part))


def _close_choice(value: object, supported: Sequence[str]) -> str:
    if isinstance(value, str) and len(supported) > 1:
        return suggest_close(value, supported)
    return ""


def as_number(value: object) -> float | None:
    """``value`` as a finite float, or None; true and false are no numbers."""
    try:
        return float(type_adapter(float).validate_python(value))
    except ValidationError:
        return None


def one_of(value: Any, supported: Iterable[str], key: str = "") -> str:
    """``value``, which must be one of some names."""
    names = list(supported)
    if not isinstance(value, str) or value not in names:
        raise InputError(
            key, f"must be {quote_choices(names)}", format_value(value), _close_choice(value, names)
        )
    return value


def one_known(known: Callable[[], Iterable[str]]) -> PlainValidator:
    """Check for one of the names known when a scenario is read, later entries included."""
    return PlainValidator(lambda value: one_of(value, known()))


def quote_choices(names: Sequence[str]) -> str:
    """The names in quotes, the last after "or".

    >>> quote_choices(["a", "b", "c"])
    '"a", "b" or "c"'
    """
    return describe_type(Literal[tuple(names)])  # type: ignore[misc]


def names_with(plug_ins: Mapping[str, Any], trait: str) -> str:
    """Quoted names of the plug-ins that have a trait."""
    return quote_choices([name for name, one in plug_ins.items() if getattr(one, trait)])


def _refusal(rule: str, value: Any) -> InputError:
    """Refusal of a value, at a key that whoever catches it knows."""
    return InputError("", rule, format_value(value))


def _parse_label(value: Any) -> str | float:
    """A value that a column may take: a text or a finite number, true and false being 1 and 0."""
    if isinstance(value, str) and value.strip():
        return value.strip()
    got = float(value) if isinstance(value, bool) else as_number(value)
    if got is None:
        raise _refusal("must be a text or a number, one of the two values of the target", value)
    return got


def _parse_labels(value: Any) -> tuple[str | float, ...]:
    """The two values of a target, the second the one coded as +1."""
    given: tuple[str | float, ...] = ()
    if isinstance(value, (list, tuple)):
        given = tuple(map(_parse_label, value))
    if not len(set(given)) == len(given) == 2 or len({type(one) for one in given}) != 1:
        rule = 'must be the two values of the target, such as ["no", "yes"] or [0, 1]'
        raise _refusal(rule, value)
    return given


def _parse_pair(value: Any) -> tuple[float | None, float | None] | None:
    """Both ends of ``[low, high]``, None for what is no finite number; None for what is no pair."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return None
    return as_number(value[0]), as_number(value[1])


def _parse_budgets(value: Any) -> Interval | tuple[Interval, ...] | dict[str, Interval]:
    """An epsilon interval, or one interval per owner, in a list or by name."""
    if isinstance(value, dict) and value:
        named = {name: f" for {format_value(name)}" for name in value}
        return {name: _parse_interval(value[name], where) for name, where in named.items()}
    listed = isinstance(value, (list, tuple)) and value
    if listed and all(isinstance(one, (list, tuple)) for one in value):
        return tuple(_parse_interval(one, f" for owner {i}") for i, one in enumerate(value, 1))
    return _parse_interval(value, "")


def _parse_interval(value: Any, where: str) -> Interval:
    pair = _parse_pair(value)
    found = format_value(value) + where
    if pair is None:
        rule = "must be [lowest, highest] privacy budget, or one such pair per owner"
        raise InputError("", rule, found)
    low, high = pair
    if low is None or high is None:
        raise InputError("", "lowest and highest privacy budget must be finite numbers", found)
    if min(low, high) < 0:
        raise InputError("", "a privacy budget must not be negative", found)
    if not is_budget(low) or not is_budget(high):
        raise InputError("", BUDGET_RULE, found)
    if low > high:
        remedy = f"Write {format_value([value[1], value[0]])}."
        raise InputError("", "is reversed: the lowest privacy budget comes first", found, remedy)
    return Interval(low, high)


BUDGET_RULE = f"a privacy budget must be 0 or lie between {BUDGETS[0]:g} and {BUDGETS[1]:,.0f}"


def is_budget(value: float) -> bool:
    """Test whether a number can be a privacy budget.

    >>> [is_budget(value) for value in (0, 1e-300, 1, 1e308)]
    [True, False, True, False]
    """
    return value == 0 or BUDGETS[0] <= value <= BUDGETS[1]


def _check_table(value: Any, what: str) -> dict[str, Any]:
    """The value, which must be a table."""
    if not isinstance(value, dict):
        raise _refusal(f"must be a table of {what}", value)
    return value


def _parse_ranges(value: Any) -> dict[str, Interval]:
    """Column names, each with its public range ``[low, high]``."""
    size = f"at most {LARGEST:g} in size"
    rule = f"must be [low, high] with low below high, both finite, and {size}"
    made = {}
    for name, given in _check_table(value, "ranges, such as age = [0, 120]").items():
        ends = [end for end in _parse_pair(given) or () if end is not None]
        if len(ends) < 2 or max(-ends[0], ends[1]) > LARGEST or not ends[1] - ends[0] >= SMALLEST:
            raise InputError(f"data.bounds.{name}", rule, format_value(given))
        made[name] = Interval(*ends)
    return made


def _is_plain_text(value: Any, most: int) -> bool:
    """Test whether a value is a text of at most so many characters that can all be seen."""
    return isinstance(value, str) and len(value) <= most and escape_control(value) == value


def _parse_short_text(value: Any) -> str:
    """A text that fits after a number."""
    text = str(value).strip()
    if not text or not isinstance(value, str) or not _is_plain_text(text, SHORT):
        raise _refusal(f'must be a text of at most {SHORT} characters, such as "EUR"', value)
    return text


def _column_labels(value: Any) -> dict[str, str]:
    """Column names, each with what it is called in reports, ``"Name, unit"``."""
    for name, given in _check_table(value, 'texts, such as income = "Income, EUR a year"').items():
        if not _is_plain_text(given, LONG) or not given.strip(" ,"):
            rule = f'must be a text of at most {LONG} characters, "Name" or "Name, unit"'
            raise InputError(f"labels.{name}", rule, format_value(given))
    return {name: given.strip() for name, given in value.items()}


def _parse_arguments(value: Any) -> dict[str, Any]:
    """Arguments for a function: numbers, texts, true or false, or lists of numbers."""
    for name, given in _check_table(value, "arguments, such as rate = 0.5").items():
        parts = given if isinstance(given, (list, tuple)) else [given]
        plain = isinstance(given, (str, bool)) or all(as_number(part) is not None for part in parts)
        if not name.isidentifier() or not plain:
            rule = "must be a name with a number, a text, true or false, or a list of numbers"
            raise InputError("", rule, f"{name} = {format_value(given)}")
    return dict(value)


def _check_names(names: tuple[str, ...]) -> tuple[str, ...]:
    check_different(names)
    return names


def check_different(names: Sequence[str]) -> None:
    """Refuse names that cannot be told apart, or do more than be read.

    Raises
    ------
    ValueError
        A name with a control character, a name twice, or two that differ by blanks alone; it says
        which.

    >>> check_different(["A B", "A  B"])
    Traceback (most recent call last):
    ValueError: "A B" and "A  B", which differ by blanks alone
    """
    first: dict[str, str] = {}
    for name in names:
        if escape_control(name) != name:
            raise ValueError(f"{format_value(name)}, with a character that cannot be seen")
        other = first.setdefault(" ".join(name.split()), name)
        if other != name:
            raise ValueError(
                f"{format_value(other)} and {format_value(name)}, which differ by blanks alone"
            )
    if len(first) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ValueError(f"{format_value(twice)} twice")


Text = Annotated[str, Field(pattern=r"\S"), Words("a text in quotes")]
ShortText = Annotated[str, PlainValidator(_parse_short_text), Words("a short text in quotes")]
ColumnLabels = Annotated[dict[str, str], PlainValidator(_column_labels)]
Names = Annotated[
    tuple[Text, ...], ListOf("a list of different names"), AfterValidator(_check_names)
]
ColumnNames = Annotated[
    tuple[Text, ...], ListOf("a list of different column names"), AfterValidator(_check_names)
]
Sizes = Annotated[
    tuple[Count, ...], ListOf("a list of whole numbers of at least 1, the rows of each owner")
]
Label = Annotated[str | float, PlainValidator(_parse_label)]
Labels = Annotated[tuple[str | float, ...], PlainValidator(_parse_labels)]
Budgets = Annotated[
    Interval | tuple[Interval, ...] | dict[str, Interval], PlainValidator(_parse_budgets)
]
Ranges = Annotated[dict[str, Interval], PlainValidator(_parse_ranges)]
Arguments = Annotated[dict[str, Any], PlainValidator(_parse_arguments)]


def in_order(
    value: Any, names: Sequence[str] | None, key: str, left_out: Sequence[str] = ()
) -> Any:
    """Value for all owners, or a tuple with one per owner in the order of ``names``.

    Raises
    ------
    InputError
        If a list has not one entry per owner, or a table not one for each name.

    >>> in_order({"B": 2.0, "A": 1.0}, ["A", "B"], "owners.benefit")
    (1.0, 2.0)
    """
    if not isinstance(value, dict):
        if names is not None:
            values_per_owner(value, len(names), key)
        return value
    names = list(value) if names is None else list(names)
    stranger = [name for name in value if name not in {*names, *left_out}]
    check_known(key, stranger, names)
    for name in names:
        if name not in value:
            raise InputError(key, "must have one entry per owner", f"none for {format_value(name)}")
    return tuple(value[name] for name in names)


def values_per_owner(value: Any, n_owners: int, key: str) -> np.ndarray:
    """One value per owner (n_owners,): a list as it is, anything else repeated.

    An `Interval` is a row of two.

    Raises
    ------
    InputError
        If a list has another length than ``n_owners``.

    >>> values_per_owner(2.0, 3, "owners.benefit")
    array([2., 2., 2.])
    """
    if not isinstance(value, (list, tuple)) or isinstance(value, Interval):
        value = [value] * n_owners
    if len(value) != n_owners:
        raise InputError(key, f"must have one entry per owner, {n_owners}", f"{len(value)} entries")
    return np.array(value, dtype=float)


class TitledFile(Section):
    """What every file of a market begins with."""

    title: str = ""
    """The title of the report."""
    currency: ShortText | None = None
    """The currency, such as "EUR", shown with every amount; without it, plain numbers."""
    seed: Annotated[int, Ge(0), Le(10**15)] = 0
    """The seed of every random draw. The same seed gives the same bytes on one kind of
    processor."""
