"""Controls of the page: choices, and sliders over numbers few enough to be reached by keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from agents.behaviours import BEHAVIOURS
from learning.declaration import check_value, field_types
from learning.errors import InputError
from scenarios.report.wording import format_number, format_percent

RATIONAL = "rational"
OPENED = "as opened"
BEHAVIOUR = "behaviour"
SHARE = "share"
NICE = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)  # in every decade
BELOW = 10.0  # how far a number can be moved down and up
ABOVE = 5.0
TENTHS = tuple(k / 10 for k in range(1, 11))
FACTORS = (*TENTHS, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0)
WHOLE = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50)
PARTS = (0.0, *TENTHS[:-1], 0.95, 1.0)
SIZES = (0.0, *(float(f"{digit}e{power}") for power in range(-1, 3) for digit in (1, 2, 5)), 1000.0)
Show = Callable[[float], str]


@dataclass(frozen=True)
class Control:
    """One control of the page.

    Parameters
    ----------
    name: its name in `Sliders.moved`.
    title: its label.
    stops: what it may be set to, in order.
    texts: what each of them reads.
    at: the number of the stop where it is.
    was: of the stop where it was as opened; None where that is none of them.
    words: whether stops are words to choose from, rather than numbers to slide along.
    group: under which heading it is folded away; empty where it is always there.
    """

    name: str
    title: str
    stops: tuple[Any, ...]
    texts: tuple[str, ...]
    at: int
    was: int | None
    words: bool = False
    group: str = ""


def make_choice(name: str, title: str, kinds: Sequence[str], at: str, was: str) -> Control:
    """Make a choice of names.

    >>> make_choice("policy", "Policy", ["posted", "cost_plus"], "cost_plus", "posted").texts
    ('posted', 'cost plus')
    """
    texts = tuple(kind.replace("_", " ") for kind in kinds)
    return Control(name, title, tuple(kinds), texts, kinds.index(at), kinds.index(was), True)


def make_slider(
    name: str,
    title: str,
    stops: Sequence[float],
    at: float,
    was: float,
    show: Show = format_number,
    group: str = "",
) -> Control:
    """Make a slider over given numbers."""
    texts = tuple(map(show, stops))
    places = (stops.index(at), stops.index(was))
    return Control(name, title, tuple(stops), texts, *places, group=group)


def slide_numbers(
    name: str,
    title: str,
    was: float,
    at: float,
    ends: tuple[float, float] | None = None,
    *,
    show: Show = format_number,
    group: str = "",
) -> Control:
    """Make a slider over nice numbers around the one as opened, which is among them.

    >>> slide_numbers("money", "Its budget", 20.0, 20.0, (10.0, 30.0)).stops
    (10.0, 12.5, 15.0, 20.0, 25.0, 30.0)
    """
    scale = was or at or 1.0
    low, high = ends or (scale / BELOW, scale * ABOVE)
    nice = (float(f"{digit}e{power}") for power in range(-12, 16) for digit in NICE)
    kept = {one for one in nice if low * (1 - 1e-9) <= one <= high * (1 + 1e-9)}
    return make_slider(name, title, sorted({*kept, float(was), float(at)}), at, was, show, group)


def slide_factor(name: str, title: str, at: float) -> Control:
    """Make a slider over factors of what was opened."""
    return make_slider(name, title, FACTORS, at, 1.0, lambda one: f"× {format_number(one)}")


def behaviour_numbers(kind: str) -> dict[str, tuple[Any, Any]]:
    """Numbers of a behaviour: each name with its type and its default.

    >>> {name: default for name, (_, default) in behaviour_numbers("inertial").items()}
    {'stays': 0.5, 'effort': 0.0}
    """
    declared: Any = BEHAVIOURS[kind]
    types = field_types(declared)
    given = [one for one in fields(declared) if one.default is not MISSING]
    return {
        one.name: (types[one.name], one.default)
        for one in given
        if type(one.default) in (int, float) and one.metadata.get("in_file", True)
    }


def stops_of(hint: Any, default: float) -> list[float]:
    """Stops of a number: those that its type takes.

    >>> stops_of(*behaviour_numbers("inertial")["stays"])[-3:]
    [0.8, 0.9, 0.95]
    """
    some: tuple[float, ...] = PARTS
    if isinstance(default, int):
        some = WHOLE
    elif _takes(hint, 2.0):
        some = SIZES
    if default < 0:
        some = (*some, *(-one for one in some))
    return sorted({one for one in (*some, default) if _takes(hint, one)})


def _takes(hint: Any, value: float) -> bool:
    try:
        check_value(hint, value, "")
    except InputError:
        return False
    return True


def behaviour_tables(moved: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tables [[behaviours]] that controls make; none where everybody is rational."""
    kind = moved[BEHAVIOUR]
    if kind == RATIONAL:
        return []
    keys = {name: f"{BEHAVIOUR}.{name}" for name in behaviour_numbers(kind)}
    told = {name: moved[key] for name, key in keys.items() if key in moved}
    return [{"kind": kind, **told, "share": moved.get(SHARE, 1.0)}]


def behaviour_controls(kind: str, moved: Mapping[str, Any]) -> Iterator[Control]:
    """Sliders of a behaviour: the share of owners that show it, and its numbers."""
    if kind in (RATIONAL, OPENED):
        return
    share = moved.get(SHARE, 1.0)
    yield make_slider(SHARE, "So behave, of the owners", TENTHS, share, 1.0, format_percent)
    for name, (hint, default) in behaviour_numbers(kind).items():
        key = f"{BEHAVIOUR}.{name}"
        stops = stops_of(hint, default)
        yield make_slider(key, name.replace("_", " "), stops, moved.get(key, default), default)
