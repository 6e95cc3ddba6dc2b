"""What charts are drawn with: axes, marks and labels as SVG text, in the colours of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from scenarios.report.wording import format_number

SPREAD = 10.0  # largest over least value from which an axis is in logarithms
COLOURS = tuple(f"var(--c{i})" for i in range(5))
DASHES = ("", "6 3", "2 3")  # of five owners each, so that fifteen lines can be told apart


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers on a stretch of the drawing.

    Parameters
    ----------
    low, high: the numbers at its ends.
    start, end: where these lie in the drawing.
    log: whether in logarithms.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @staticmethod
    def over(
        values: Sequence[float] | np.ndarray,
        start: float,
        end: float,
        *,
        zero: bool = False,
        plain: bool = False,
    ) -> Axis:
        """An axis that holds some numbers, in logarithms where they span decades unless ``plain``; with ``zero`` 0 too."""
        known = np.asarray(values, float).ravel()
        known = known[np.isfinite(known)]
        positive = known[known > 0]
        if not (zero or plain) and positive.size and positive.max() / positive.min() > SPREAD:
            low = max(float(positive.min()), float(positive.max()) / 1e4)
            high = float(positive.max())
            return Axis(low, high, start, end, log=True)
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
        return Axis(low, high if high > low else low + (abs(low) or 1.0), start, end)

    def place(self, value: float) -> float:
        """Where a number lies, kept within the ends."""
        low = self.low
        high = self.high
        at = min(max(value, self.low), self.high)
        part = math.log(at / low) / math.log(high / low) if self.log else (at - low) / (high - low)
        return round(self.start + part * (self.end - self.start), 1)

    def places(self, values: Sequence[float] | np.ndarray) -> list[float]:
        """Where numbers lie."""
        return [
            self.place(float(value))
            for value in np.nan_to_num(np.asarray(values, float), posinf=self.high)
        ]

    def ticks(self, most: int = 5) -> list[float]:
        """Round numbers on it, at most about so many.

        >>> Axis(0.01, 10.0, 0, 100, log=True).ticks(), Axis(0.0, 2.3, 0, 100).ticks()
        ([0.01, 0.1, 1.0, 10.0], [0.0, 0.5, 1.0, 1.5, 2.0])
        """
        if self.log:
            decades = range(
                math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1
            )
            digits = (1.0,) if len(decades) > 2 else (1.0, 2.0, 5.0)
            found = [
                float(f"{digit}e{power}")
                for power in range(decades.start - 1, decades.stop)
                for digit in digits
            ]
            return [one for one in found if self.low * (1 - 1e-9) <= one <= self.high * (1 + 1e-9)]
        rough = (self.high - self.low) / most
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * digit for digit in (1, 2, 5, 10) if unit * digit >= rough * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [
            float(f"{k * step:.12g}") for k in range(first, math.floor(self.high / step + 1e-9) + 1)
        ]


def svg(width: float, height: float, told: str, *parts: str, name: str = "") -> str:
    """A drawing that tells in words what it shows, to those who cannot see it."""
    mark = f' data-chart="{name}"' if name else ""
    head = (
        f'<svg class="chart" role="img"{mark} viewBox="0 0 {width:g} {height:g}" '
        f'aria-label="{escape(told)}">'
    )
    return f"{head}{''.join(parts)}</svg>"


def line(
    x: Sequence[float], y: Sequence[float], colour: str, width: float = 2, more: str = ""
) -> str:
    """A line through points."""
    points = " ".join(f"{a:g},{b:g}" for a, b in zip(x, y, strict=True))
    return (
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{width:g}" '
        f"{more}/>"
    )


def stroke(
    x1: float, y1: float, x2: float, y2: float, colour: str = "var(--line)", width: float = 1
) -> str:
    """A straight stroke."""
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{colour}" stroke-width="{width:g}"/>'


def bar(x: float, y: float, width: float, height: float, colour: str, told: str = "") -> str:
    """A bar; ``told`` where a pointer rests on it."""
    title = f"<title>{escape(told)}</title>" if told else ""
    left, wide = (x, width) if width >= 0 else (x + width, -width)
    return (
        f'<rect x="{left:g}" y="{y:g}" width="{wide:g}" height="{height:g}" '
        f'fill="{colour}">{title}</rect>'
    )


def dot(x: float, y: float, size: float, fill: str, edge: str = "none") -> str:
    """A dot, or a ring."""
    return (
        f'<circle cx="{x:g}" cy="{y:g}" r="{size:g}" fill="{fill}" stroke="{edge}" '
        'stroke-width="2"/>'
    )


def text(
    x: float, y: float, words: str, *, at: str = "start", kind: str = "", colour: str = ""
) -> str:
    """Words at a place: ``at`` its start, middle or end."""
    paint = f' fill="{colour}"' if colour else ""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{at}" class="{kind}"{paint}>{escape(words)}</text>'
    )


def bottom(
    axis: Axis, y: float, top: float, *, most: int = 5, show: Callable[[float], str] = format_number
) -> str:
    """Ticks of an axis along the bottom, with lines up to ``top``."""
    ticks = [(axis.place(tick), show(tick)) for tick in axis.ticks(most)]
    return "".join(
        stroke(x, y, x, top) + text(x, y + 16, label, at="middle", kind="tick")
        for x, label in ticks
    )


def beside(
    axis: Axis,
    x: float,
    right: float,
    *,
    most: int = 5,
    show: Callable[[float], str] = format_number,
) -> str:
    """Ticks of an axis along the left side, with lines across to ``right``."""
    ticks = [(axis.place(tick), show(tick)) for tick in axis.ticks(most)]
    return "".join(
        stroke(x, y, right, y) + text(x - 6, y + 4, label, at="end", kind="tick")
        for y, label in ticks
    )


def apart(places: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Places moved apart, in their order, so that labels there do not overlap.

    >>> apart([50.0, 52.0, 10.0], 14.0, 0.0, 100.0)
    [44.0, 58.0, 10.0]
    """
    order = np.argsort(places, kind="stable")
    at = np.asarray(places, float)[order]
    for _ in range(100):
        close = least - np.diff(at)
        if (close <= 1e-9).all():
            break
        push = np.where(close > 0, close, 0) / 2
        at[:-1] -= push
        at[1:] += push
        at = np.clip(at, low, high)
    found = np.empty_like(at)
    found[order] = at
    return [round(float(one), 1) for one in found]


def shorten(name: str, most: int = 16) -> str:
    """A name that fits beside a line."""
    return name if len(name) <= most else name[: most - 1].rstrip() + "…"
