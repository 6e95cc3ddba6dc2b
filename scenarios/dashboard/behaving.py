"""How owners behave, as sliders have it: one behaviour for a share of the owners, with what it declares of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

from agents.behaviours import BEHAVIOURS
from learning.declaration import check_value, field_types
from learning.errors import InputError
from scenarios.dashboard.stops import Control, slider
from scenarios.report.wording import format_number, format_percent

RATIONAL = "rational"
OPENED = "as opened"
BEHAVIOUR = "behaviour"
SHARE = "share"
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
WHOLE = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50)
PARTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
SIZES = (0.0, *(float(f"{digit}e{power}") for power in range(-1, 3) for digit in (1, 2, 5)), 1000.0)


def parameters(kind: str) -> dict[str, tuple[Any, Any]]:
    """The numbers of a behaviour: each name with its type and its default.

    >>> {name: default for name, (_, default) in parameters("inertial").items()}
    {'stays': 0.5, 'effort': 0.0}
    """
    declared: Any = BEHAVIOURS[kind]
    types = field_types(declared)
    found = {}
    for one in fields(declared):
        number_ = isinstance(one.default, int | float) and not isinstance(one.default, bool)
        if one.default is not MISSING and number_ and one.metadata.get("in_file", True):
            found[one.name] = (types[one.name], one.default)
    return found


def stops_of(hint: Any, default: float) -> list[float]:
    """Where a number may be slid to: those that its type takes.

    >>> stops_of(*parameters("inertial")["stays"])[-3:]
    [0.8, 0.9, 0.95]
    """
    some: tuple[float, ...] = (
        WHOLE if isinstance(default, int) else SIZES if _taken(hint, 2.0) else PARTS
    )
    below = tuple(-one for one in some) if default < 0 else ()
    return sorted({one for one in (*some, *below, default) if _taken(hint, one)})


def _taken(hint: Any, value: float) -> bool:
    try:
        check_value(hint, value, "")
    except InputError:
        return False
    return True


def table(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tables [[behaviours]] that controls make; none where everybody is rational."""
    kind = given[BEHAVIOUR]
    if kind == RATIONAL:
        return []
    told = {
        name: given[key] for name in parameters(kind) if (key := f"{BEHAVIOUR}.{name}") in given
    }
    return [{"kind": kind, **told, "share": given.get(SHARE, 1.0)}]


def controls(kind: str, given: Mapping[str, Any]) -> Iterator[Control]:
    """The sliders of a behaviour: whose it is, and its numbers."""
    if kind in (RATIONAL, OPENED):
        return
    yield slider(
        SHARE, "So behave, of the owners", SHARES, given.get(SHARE, 1.0), 1.0, format_percent
    )
    for name, (hint, default) in parameters(kind).items():
        key = f"{BEHAVIOUR}.{name}"
        yield slider(
            key,
            name.replace("_", " "),
            stops_of(hint, default),
            given.get(key, default),
            default,
            format_number,
        )
