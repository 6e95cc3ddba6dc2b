"""Where a slider may stand: numbers that people would choose, few enough to be reached by keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scenarios.report.wording import format_number

NICE = (1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)  # in every decade
BELOW = 10.0  # how far a number can be moved down and up
ABOVE = 5.0
FACTORS = (
    0.1,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.9,
    1.0,
    1.1,
    1.25,
    1.5,
    1.75,
    2.0,
    2.5,
    3.0,
    4.0,
    5.0,
)


@dataclass(frozen=True)
class Control:
    """One control of the page.

    Parameters
    ----------
    name: what `Sliders.to` knows it by.
    title: its label.
    stops: what it may be set to, in order.
    texts: how each of them reads.
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


def choice(name: str, title: str, kinds: Sequence[str], at: str, was: str) -> Control:
    """Names to choose from.

    >>> choice("policy", "Policy", ["posted", "cost_plus"], "cost_plus", "posted").texts
    ('posted', 'cost plus')
    """
    texts = tuple(kind.replace("_", " ") for kind in kinds)
    return Control(name, title, tuple(kinds), texts, kinds.index(at), kinds.index(was), True)


def nice(low: float, high: float) -> list[float]:
    """Numbers that people would choose, between two.

    >>> nice(0.8, 3.0)
    [0.8, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0]
    """
    decades = range(-12, 16)
    found = (float(f"{digit}e{power}") for power in decades for digit in NICE)
    return [one for one in found if low * (1 - 1e-9) <= one <= high * (1 + 1e-9)]


def numbers(
    name: str,
    title: str,
    was: float,
    at: float,
    *,
    least: float | None = None,
    most: float | None = None,
    group: str = "",
    told: Callable[[float], str] | None = None,
) -> Control:
    """A slider over nice numbers around the one as opened, which is among them.

    >>> numbers("money", "Its budget", 20.0, 20.0, least=10.0, most=30.0).stops
    (10.0, 12.5, 15.0, 20.0, 25.0, 30.0)
    """
    scale = was or at or 1.0
    low = scale / BELOW if least is None else least
    high = scale * ABOVE if most is None else most
    return slider(
        name,
        title,
        sorted({*nice(low, high), float(was), float(at)}),
        at,
        was,
        told or format_number,
        group,
    )


def factors(name: str, title: str, at: float) -> Control:
    """A slider over factors of what was opened."""
    return slider(name, title, FACTORS, at, 1.0, lambda one: f"× {format_number(one)}")


def slider(
    name: str,
    title: str,
    stops: Sequence[float],
    at: float,
    was: float,
    told: Callable[[float], str],
    group: str = "",
) -> Control:
    """A slider over given numbers."""
    return Control(
        name,
        title,
        tuple(stops),
        tuple(map(told, stops)),
        stops.index(at),
        stops.index(was),
        group=group,
    )
