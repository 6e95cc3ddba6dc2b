"""Numbers, lists and intervals as people write them: three digits, thousands separators, no false precision."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

UNKNOWN = "–"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
HARD_SPACE = "\u00a0"


def number(value: float | None, digits: int = 3) -> str:
    """A number to so many significant digits; a dash where it is not known.

    >>> number(12345.678), number(0.051234), number(-2), number(0), number(None), number(float("inf"))
    ('12,300', '0.0512', '−2', '0', '–', '∞')
    >>> number(1.5e-9).replace(HARD_SPACE, " ")
    '1.5 × 10⁻⁹'
    """
    if value is None or math.isnan(value):
        return UNKNOWN
    sign, size = ("−" if value < 0 else ""), abs(float(value))
    if math.isinf(size):
        return sign + "∞"
    if size == 0:
        return "0"
    mantissa, power = f"{size:.{digits - 1}e}".split("e")
    exponent = int(power)
    if exponent < -4 or exponent >= 12:
        return f"{sign}{_trim(mantissa)} × 10{str(exponent).translate(SUPERSCRIPTS)}".replace(" ", HARD_SPACE)
    rounded = float(f"{mantissa}e{power}")
    return sign + _trim(f"{rounded:,.{max(0, digits - 1 - exponent)}f}")


def money(value: float | None, currency: str = "") -> str:
    """An amount of money in its currency; a plain number where the scenario names none.

    >>> money(1040.2, "EUR").replace(HARD_SPACE, " "), money(-2.5), money(None, "EUR")
    ('1,040 EUR', '−2.5', '–')
    """
    return number(value) + (HARD_SPACE + currency if currency and value is not None else "")


def currency_of(content: Mapping[str, Any]) -> str:
    """The currency of a result, or of a comparison; empty where none is named."""
    return content.get("scenario", content).get("currency") or ""


def in_money(content: Mapping[str, Any]) -> Callable[[float | None], str]:
    """`money` in the currency of a result, or of a comparison."""
    return partial(money, currency=currency_of(content))


def money_heading(content: Mapping[str, Any], named: str = "") -> str:
    """What a column or an axis of money is called, with its currency.

    >>> money_heading({"currency": "EUR"}, "Paid"), money_heading({}, "Paid"), money_heading({})
    ('Paid, EUR', 'Paid', 'money')
    """
    currency = currency_of(content)
    return f"{named}, {currency}" if named and currency else named or currency or "money"


def label_of(result: Mapping[str, Any], column: str) -> tuple[str, str]:
    """What a column is called, and its unit, by the scenario's [labels]; its own name, and no unit, where it has none.

    >>> label_of({"scenario": {"labels": {"los": "Length of stay, days"}}}, "los"), label_of({}, "age")
    (('Length of stay', 'days'), ('age', ''))
    """
    told = (result.get("scenario", {}).get("labels") or {}).get(column, column)
    name, _, unit = told.rpartition(",") if told != column else ("", "", "")
    return (name.strip(), unit.strip()) if name.strip() else (told, "")


def owners_called(result: Mapping[str, Any]) -> str:
    """What one owner is called: what [labels] says of the column that tells them apart, or owner.

    >>> owners_called({"scenario": {"data": {"owner": "id"}, "labels": {"id": "hospital"}}}), owners_called({})
    ('hospital', 'owner')
    """
    column = result.get("scenario", {}).get("data", {}).get("owner")
    name = label_of(result, column)[0] if column else ""
    return name if name != column and name else "owner"


def limit(value: float | None) -> float:
    """A number of result.json that may have no bound: null stands for infinity."""
    return math.inf if value is None else float(value)


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def small(value: float | None, floor: float = 1e-3) -> str:
    """A number of which only its being small matters.

    >>> small(3e-12), small(0.25), small(None)
    ('less than 0.001', '0.25', '–')
    """
    if value is not None and abs(value) < floor:
        return f"less than {number(floor)}"
    return number(value)


def percent(value: float | None, digits: int = 3) -> str:
    """A share or a relative difference in percent, to three digits and never finer than a thousandth of a percent.

    What is below that counts as 0 where it is negative, or so small that it is rounding.

    >>> percent(0.0512).replace(HARD_SPACE, " "), percent(1e-9).replace(HARD_SPACE, " ")
    ('5.12 %', 'less than 0.001 %')
    >>> percent(-7e-16).replace(HARD_SPACE, " "), percent(-0.02).replace(HARD_SPACE, " ")
    ('0 %', '−2 %')
    """
    if value is None or not math.isfinite(value):
        return number(value)
    if -1e-5 < value < 1e-10:
        value = 0.0
    if 0 < value < 1e-5:
        return f"less than 0.001{HARD_SPACE}%"
    return number(100 * value, digits) + HARD_SPACE + "%"


def between(low: float | None, high: float | None, show: Callable[[float | None], str] = number) -> str:
    """An interval: "1.8 to 2.6", or one number where both ends read the same.

    >>> between(1.0, 2.5), between(2.0, 2.0001), between(1.0, 2.5, lambda value: money(value, "EUR")).replace(HARD_SPACE, " ")
    ('1 to 2.5', '2', '1 to 2.5 EUR')
    """
    first, last = show(low), show(high)
    if first == last:
        return first
    unit = last.rpartition(HARD_SPACE)[1:]
    if unit[0] and not first.startswith("less") and "×" not in first + last:  # a unit at the end counts for both
        first = first.removesuffix("".join(unit))
    return f"{first} to {last}"


def span(values: Sequence[float], digits: int = 3) -> str:
    """From the least of some numbers to the largest.

    >>> span([3, 1, 2]), span([5.0, 5.0001])
    ('1 to 3', '5')
    """
    return between(min(values), max(values), lambda value: number(value, digits))


def amount(value: Any, show: Callable[[float | None], str] = number) -> str:
    """A price: one for all, or a range of prices.

    >>> amount(0.02), amount([1, 2, 3])
    ('0.02', '1 to 3 (each owner its own)')
    """
    values = np.atleast_1d(value)
    ends = between(values.min(), values.max(), show)
    return f"{ends} (each owner its own)" if values.min() < values.max() else ends


def listed(words: Sequence[str], most: int = 4) -> str:
    """A list in words; a long one is cut and counted.

    >>> listed(["A", "B", "C"]), listed(list("ABCDEFG"), most=3)
    ('A, B and C', 'A, B, C and 4 others')
    """
    words = list(words)
    if len(words) > most + 1:
        words = [*words[:most], f"{len(words) - most:,} others"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def natural(name: str) -> list[Any]:
    """What to sort names by so that numbers in them count as numbers.

    >>> sorted(["Hospital 10", "Hospital 2", "10", "9"], key=natural)
    ['9', '10', 'Hospital 2', 'Hospital 10']
    """
    return [int(part) if place % 2 else part for place, part in enumerate(re.split(r"(\d+)", name))]


def counted(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun.

    >>> counted(1, "round"), counted(6680, "record"), counted(2, "equilibrium", "equilibria")
    ('1 round', '6,680 records', '2 equilibria')
    """
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def anywhere(rows: Iterable[Mapping[str, Any]], key: str) -> bool:
    """Whether any of the rows has something under a key: a look at each, where a filter of Jinja's makes a list.

    >>> anywhere([{"tax": 0.0}, {"tax": 2.0}], "tax"), anywhere([{"tax": None}, {}], "tax")
    (True, False)
    """
    return any(row.get(key) for row in rows)


def times(factor: float) -> str:
    """How many times as much, in words where there is one.

    >>> times(2.0), times(7.3)
    ('twice', '7.3 times')
    """
    return "twice" if abs(factor - 2) < 0.005 else f"{number(factor)} times"
