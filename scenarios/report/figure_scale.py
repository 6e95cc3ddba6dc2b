"""Axes for budgets and errors: logarithmic or linear, with own places for 0 and infinity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from scenarios.report.wording import format_number

LETTER = 0.075  # inches: width of a digit
LINE = 0.13  # inches: height of a line
AIR = 0.06  # inches between two labels
LINE_APART = 0.165  # inches of a label beside a panel
Ticks = tuple[list[float], list[str]]


def _rank_label(label: str) -> int:
    """Rank a label where there is room for one of two: 0 and infinity, powers of ten, others."""
    digits = label.replace(",", "").replace("−", "").strip("0.")
    if label in ("0", "∞"):
        return 0
    return 2 - (digits == "1")


def _axis_inches(axes: Axes, name: str) -> float:
    """Length of the axis x or y in inches."""
    box = axes.get_position()
    figure = axes.get_figure(root=True)
    wide, tall = figure.get_size_inches() if figure else (1.0, 1.0)
    return {"x": box.width * wide, "y": box.height * tall}[name]


@dataclass(frozen=True)
class Scale:
    """Axis from ``low`` to ``high``, with a place of its own for 0 and for infinity.

    Parameters
    ----------
    low, high: ends of the finite, and in logarithms positive, values.
    log: whether it is logarithmic.
    zero, infinite: whether 0 of a logarithmic axis, and infinity, have a place.
    """

    low: float
    high: float
    log: bool
    zero: bool = False
    infinite: bool = False

    @staticmethod
    def over(values: ArrayLike, spread: float = 10.0) -> Scale:
        """Make a scale of values; logarithmic if the positive ones span more than ``spread``."""
        known = np.asarray(values, float)
        finite = known[np.isfinite(known)]
        proper = finite[finite > 0]
        infinite = bool(np.isinf(known).any())
        wide = len(proper) > 0 and proper.max() / proper.min() > spread
        log = bool(wide and (finite >= 0).all())
        kept = finite
        if log:
            kept = proper
        low, high = (float(kept.min()), float(kept.max())) if len(kept) else (0.0, 1.0)
        if low == high:
            low, high = (low / 2, high * 2) if low > 0 else (low - 0.5, high + 0.5)
        return Scale(low, high, log, zero=bool(log and (finite == 0).any()), infinite=infinite)

    @staticmethod
    def linear(values: ArrayLike) -> Scale:
        """Make a linear scale of all values."""
        low = float(np.min(values))
        high = float(np.max(values))
        if high <= low:
            high = low + 1.0
        return Scale(low, high, False)

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends in drawing units."""
        if self.log:
            return math.log10(self.low), math.log10(self.high)
        return self.low, self.high

    @property
    def gap(self) -> float:
        """Distance of 0 and infinity from the ends, in drawing units."""
        return 0.13 * (self.ends[1] - self.ends[0])

    def place(self, values: ArrayLike) -> np.ndarray:
        """Convert values to drawing units."""
        given = np.asarray(values, float)
        low, high = self.ends
        placed = given
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                placed = np.log10(given)
            placed = np.where(given == 0, low - self.gap, placed)
        return np.where(np.isposinf(given), high + self.gap, placed)

    def limits(self, pad: float = 0.05) -> tuple[float, float]:
        """Limits of the axis in drawing units, with a part of it as air."""
        low = self.ends[0] - self.zero * self.gap
        high = self.ends[1] + self.infinite * self.gap
        return low - pad * (high - low), high + pad * (high - low)

    def rule(self, axes: Axes, name: Literal["x", "y"], pad: float = 0.05, most: int = 6) -> None:
        """Set limits, at most about so many ticks, and grid lines of the axis x or y."""
        places, labels = self.apart(*self.ticks(most), _axis_inches(axes, name), name == "x")
        axes.set(
            **{f"{name}lim": self.limits(pad), f"{name}ticks": places, f"{name}ticklabels": labels}
        )
        axes.grid(axis=name)
        axes.set_axisbelow(True)

    def named(self, quantity: str) -> str:
        """Label the axis of a quantity; a logarithmic scale is named."""
        return quantity + " (log scale)" * self.log

    def ticks(self, most: int = 6, apart: float = 0.05) -> Ticks:
        """Choose round places with labels, none closer to 0 or infinity than ``apart``."""
        linear = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10])
        values = self._round_log(most) if self.log else linear.tick_values(self.low, self.high)
        slack = 1e-9 * (self.high - self.low)
        values = [float(v) for v in values if self.low - slack <= v <= self.high + slack]
        outer = [0.0] * self.zero + [math.inf] * self.infinite
        nearest = apart * (self.limits()[1] - self.limits()[0])
        kept = [v for v in values if (abs(self.place(v) - self.place(outer)) >= nearest).all()]
        values = sorted({*kept, *outer})
        rounded = [0.0 if abs(v) < slack else v for v in values]
        labels = [format_number(v) for v in rounded]
        return [float(p) for p in self.place(values)], labels

    def apart(self, places: list[float], labels: list[str], inches: float, across: bool) -> Ticks:
        """Drop ticks whose labels touch: the ends and 0 stay, then round numbers, then others."""
        low, high = self.limits()
        room = inches / (high - low)
        sizes = [LINE] * len(labels)
        if across:
            sizes = [LETTER * len(label) for label in labels]
        kept: list[int] = []
        for i in sorted(range(len(places)), key=lambda i: (_rank_label(labels[i]), i)):
            free = [
                abs(places[i] - places[j]) * room >= (sizes[i] + sizes[j]) / 2 + AIR for j in kept
            ]
            if all(free):
                kept.append(i)
        return [places[i] for i in sorted(kept)], [labels[i] for i in sorted(kept)]

    def _round_log(self, most: int) -> list[float]:
        first = math.floor(self.ends[0])
        last = math.ceil(self.ends[1])
        decades = [10.0**power for power in range(first, last + 1, max(1, (last - first) // most))]
        if sum(self.low <= d <= self.high for d in decades) >= 3:
            return decades
        return [m * 10.0**power for power in range(first, last + 1) for m in (1, 2, 5)]


def spread_labels(places: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """Move places to at least ``gap`` from each other, by least squares, within [low, high]."""
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    moved = isotonic_regression(places[order] - steps).x
    moved = np.clip(moved, low, max(low, high - gap * (len(places) - 1))) + steps
    result = np.empty(len(places))
    result[order] = moved
    return result


def label_ends(axes: Axes, at: float, ends: Sequence[tuple[float, str, str]]) -> None:
    """Write value, label and colour of lines that end ``at`` a place, at the right of a panel."""
    low, high = axes.get_ylim()
    gap = LINE_APART / _axis_inches(axes, "y") * (high - low)
    places = spread_labels(np.array([value for value, _, _ in ends]), gap, low, high)
    where: dict[str, Any] = {
        "xycoords": "data",
        "textcoords": ("axes fraction", "data"),
        "va": "center",
    }
    for (value, label, colour), place in zip(ends, places, strict=True):
        stroke: dict[str, Any] = {
            "arrowstyle": "-",
            "relpos": (0, 0.5),
            "linewidth": 0.6,
            "alpha": 0.7,
        }
        stroke |= {"color": colour, "shrinkA": 3, "shrinkB": 4}
        style: dict[str, Any] = {"arrowprops": stroke, "annotation_clip": False, "fontsize": 8}
        axes.annotate(label, (at, value), (1.03, place), color=colour, **where, **style)
