"""Formats of numbers, lists and intervals, and sentences that plug-ins declare of themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from learning.phrases import (  # noqa: F401 (reports import their formats from here)
    HARD_SPACE,
    UNKNOWN,
    count_noun,
    format_number,
    format_percent,
    join_words,
    read_limit,
)
from scenarios.schema.kinds import from_table

ROUNDED = 1e-9  # part of amounts, up to which a difference of them is rounding


def format_money(value: float | None, currency: str = "") -> str:
    """Format an amount of money in its currency; a plain number where there is none.

    >>> format_money(1040.2, "EUR").replace(HARD_SPACE, " "), format_money(float("nan"), "EUR")
    ('1,040 EUR', '–')
    """
    amount = format_number(value)
    return amount + HARD_SPACE + currency if currency and amount != UNKNOWN else amount


def format_interval(
    low: float | None, high: float | None, show: Callable[[float | None], str] = format_number
) -> str:
    """Format an interval: "1.8 to 2.6", or one number where both ends read the same.

    >>> format_interval(1.0, 2.5), format_interval(2.0, 2.0001)
    ('1 to 2.5', '2')
    >>> format_interval(1.0, 2.5, lambda value: format_money(value, "EUR")).replace(HARD_SPACE, " ")
    '1 to 2.5 EUR'
    """
    first = show(low)
    last = show(high)
    if first == last:
        return first
    unit = last.rpartition(HARD_SPACE)[1:]
    if unit[0] and not first.startswith("less") and "×" not in first + last:
        first = first.removesuffix("".join(unit))  # a unit at the end counts for both
    return f"{first} to {last}"


def currency_of(content: Mapping[str, Any]) -> str:
    """Return the currency of a result, or of a comparison; empty where none is named."""
    return content.get("scenario", content).get("currency") or ""


def in_money(content: Mapping[str, Any]) -> Callable[[float | None], str]:
    """Return `format_money` in the currency of a result, or of a comparison."""
    return partial(format_money, currency=currency_of(content))


def money_heading(content: Mapping[str, Any], named: str = "") -> str:
    """Head a column or an axis of money, with its currency.

    >>> money_heading({"currency": "EUR"}, "Paid"), money_heading({}, "Paid"), money_heading({})
    ('Paid, EUR', 'Paid', 'money')
    """
    return ", ".join(filter(None, (named, currency_of(content)))) or "money"


def label_of(result: Mapping[str, Any], column: str) -> tuple[str, str]:
    """Label of a column and its unit, by the scenario's [labels]; by default its own name, no unit.

    >>> label_of({"scenario": {"labels": {"los": "Length of stay, days"}}}, "los")
    ('Length of stay', 'days')
    >>> label_of({}, "age")
    ('age', '')
    """
    label = (result.get("scenario", {}).get("labels") or {}).get(column, column)
    name, _, unit = label.rpartition(",")
    if label == column or not name.strip():
        return label, ""
    return name.strip(), unit.strip()


def owners_called(result: Mapping[str, Any]) -> str:
    """Noun for one owner: the label of the column that identifies owners, or owner.

    >>> owners_called({"scenario": {"data": {"owner": "id"}, "labels": {"id": "hospital"}}})
    'hospital'
    """
    column = result.get("scenario", {}).get("data", {}).get("owner")
    name = ""
    if column:
        name = label_of(result, column)[0]
    return name if name not in ("", column) else "owner"


def format_small(value: float | None, floor: float = 1e-3) -> str:
    """Format a number of which only its being small matters.

    >>> format_small(3e-12), format_small(0.25), format_small(None)
    ('less than 0.001', '0.25', '–')
    """
    if value is not None and abs(value) < floor:
        return f"less than {format_number(floor)}"
    return format_number(value)


def format_range(values: Sequence[float], digits: int = 3) -> str:
    """Format the interval from the least of some numbers to the largest.

    >>> format_range([3, 1, 2]), format_range([5.0, 5.0001])
    ('1 to 3', '5')
    """
    return format_interval(min(values), max(values), lambda value: format_number(value, digits))


def format_amounts(value: Any, show: Callable[[float | None], str] = format_number) -> str:
    """Format a price: one for all, or a range of prices.

    >>> format_amounts(0.02), format_amounts([1, 2, 3])
    ('0.02', '1 to 3 (each owner its own)')
    """
    values = np.atleast_1d(value)
    ends = format_interval(values.min(), values.max(), show)
    return ends + " (each owner its own)" * bool(values.min() < values.max())


def drop_rounding(difference: float, *amounts: float) -> float:
    """Return a difference of amounts, or 0 where it is no more than rounding of them.

    >>> drop_rounding(-3e-13, 250.0, 250.0), drop_rounding(0.5, 250.0, 249.5)
    (0.0, 0.5)
    """
    if abs(difference) <= ROUNDED * max(map(abs, amounts)):
        return 0.0
    return difference


def natural_key(name: str) -> list[Any]:
    """Key that sorts names with numbers in them by these numbers.

    >>> sorted(["Hospital 10", "Hospital 2", "10", "9"], key=natural_key)
    ['9', '10', 'Hospital 2', 'Hospital 10']
    """
    parts = re.split(r"(\d+)", name)
    return [int(part) if place % 2 else part for place, part in enumerate(parts)]


def any_row(rows: Iterable[Mapping[str, Any]], key: str) -> bool:
    """Test whether any row has a value under a key that is not empty or zero.

    >>> any_row([{"tax": 0.0}, {"tax": 2.0}], "tax"), any_row([{"tax": None}, {}], "tax")
    (True, False)
    """
    return any(row.get(key) for row in rows)


def format_factor(factor: float) -> str:
    """Format a factor, in words where there is one.

    >>> format_factor(2.0), format_factor(7.3)
    ('twice', '7.3 times')
    """
    if abs(factor - 2) < 0.005:
        return "twice"
    return f"{format_number(factor)} times"


@dataclass(frozen=True)
class Pen:
    """Formats for sentences of policies and costs: those of `wording`, with a currency."""

    currency: str = ""
    number: Callable[..., str] = format_number
    percent: Callable[..., str] = format_percent
    amount: Callable[..., str] = format_amounts
    listed: Callable[..., str] = join_words

    def money(self, value: float | None, /) -> str:
        """Format an amount of money."""
        return format_money(value, self.currency)


def declared_sentence(table: str, given: dict[str, Any], otherwise: str, currency: str) -> str:
    """Return the sentence of a kind; of an unknown kind, or one without a sentence, its parameters.

    Parameters
    ----------
    table: the table of the scenario, such as policy.
    given: its content.
    otherwise: the beginning of the sentence for an unknown kind.
    currency: the currency of money, or an empty text.
    """
    found = from_table(table, given)
    sentence = found.sentence(Pen(currency)) if found else ""
    if sentence:
        return sentence
    terms = ", ".join(f"{key} = {value}" for key, value in given.items() if key != "kind")
    return f"{otherwise} {given['kind']} ({terms})." if terms else f"{otherwise} {given['kind']}."
