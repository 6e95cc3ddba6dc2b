"""Axes of a figure for budgets and errors: in logarithms or not, with a place of its own for 0 and for infinity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike
from scipy.optimize import isotonic_regression

from scenarios.report.wording import number

LETTER, LINE, AIR = 0.075, 0.13, 0.06  # inches: a digit's width, a line's height, what is to lie between two labels


def _rank(label: str) -> int:
    """Which of two labels stays where there is room for one: 0 and infinity, then powers of ten, then others."""
    digits = label.replace(",", "").replace("−", "").strip("0.")
    return 0 if label in ("0", "∞") else 1 if digits == "1" else 2


def _size(axes: Axes, name: str) -> tuple[float, bool]:
    """The length of an axis in inches, and whether it lies across the page."""
    box, figure = axes.get_position(), axes.get_figure(root=True)
    wide, tall = figure.get_size_inches() if figure else (1.0, 1.0)
    return (box.width * wide, True) if name == "x" else (box.height * tall, False)


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high``, in logarithms or not, with a place of its own for 0 and for infinity."""

    low: float
    high: float
    log: bool
    zero: bool = False
    infinite: bool = False

    @staticmethod
    def over(values: ArrayLike, spread: float = 10.0) -> Scale:
        """A scale that holds all values; logarithmic if the positive ones span more than ``spread``."""
        known = np.asarray(values, float)
        finite = known[np.isfinite(known)]
        proper = finite[finite > 0]
        infinite = bool(np.isinf(known).any())
        log = len(proper) > 0 and proper.max() / proper.min() > spread and bool((finite >= 0).all())
        kept = proper if log else finite
        low, high = (float(kept.min()), float(kept.max())) if len(kept) else (0.0, 1.0)
        if low == high:
            low, high = (low / 2, high * 2) if low > 0 else (low - 0.5, high + 0.5)
        return Scale(low, high, log, zero=bool(log and (finite == 0).any()), infinite=infinite)

    @property
    def ends(self) -> tuple[float, float]:
        """Both ends in drawing units."""
        return (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)

    @property
    def gap(self) -> float:
        """How far 0 and infinity stand off, in drawing units."""
        return 0.13 * (self.ends[1] - self.ends[0])

    def place(self, values: ArrayLike) -> np.ndarray:
        """Values in drawing units."""
        given = np.asarray(values, float)
        with np.errstate(divide="ignore", invalid="ignore"):
            placed = np.log10(given) if self.log else given
        placed = np.where(np.isposinf(given), self.ends[1] + self.gap, placed)
        return np.where(given == 0, self.ends[0] - self.gap, placed) if self.log else placed

    def limits(self, pad: float = 0.05) -> tuple[float, float]:
        """Limits of the axis with a little air."""
        low = self.ends[0] - (self.gap if self.zero else 0)
        high = self.ends[1] + (self.gap if self.infinite else 0)
        return low - pad * (high - low), high + pad * (high - low)

    def rule(self, axes: Axes, name: Literal["x", "y"], pad: float = 0.05) -> None:
        """Limits, ticks and grid lines of the axis called ``name``, x or y."""
        places, labels = self.apart(*self.ticks(), *_size(axes, name))
        axes.set(**{f"{name}lim": self.limits(pad), f"{name}ticks": places, f"{name}ticklabels": labels})
        axes.grid(axis=name)
        axes.set_axisbelow(True)

    def named(self, quantity: str) -> str:
        """What the axis shows, and that it is in logarithms where it is."""
        return f"{quantity} (log scale)" if self.log else quantity

    def ticks(self, most: int = 6, apart: float = 0.05) -> tuple[list[float], list[str]]:
        """Round places, none closer to 0 or infinity than ``apart`` of the axis; and what to write there."""
        linear = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10])
        values = self._round_log(most) if self.log else linear.tick_values(self.low, self.high)
        slack = 1e-9 * (self.high - self.low)
        values = [float(v) for v in values if self.low - slack <= v <= self.high + slack]
        outer = ([0.0] if self.zero else []) + ([math.inf] if self.infinite else [])
        nearest = apart * (self.limits()[1] - self.limits()[0])
        kept = [v for v in values if all(abs(self.place(v) - self.place(end)) >= nearest for end in outer)]
        values = sorted({*kept, *outer})
        return [float(p) for p in self.place(values)], [number(0.0 if abs(v) < slack else v) for v in values]

    def apart(
        self, places: list[float], labels: list[str], inches: float, across: bool
    ) -> tuple[list[float], list[str]]:
        """Ticks whose labels do not touch on an axis of some inches: the ends and 0 stay, then round numbers, then others."""
        low, high = self.limits()
        sizes = [LETTER * len(label) if across else LINE for label in labels]
        kept: list[int] = []
        for i in sorted(range(len(places)), key=lambda i: (_rank(labels[i]), i)):
            room = inches / (high - low)
            if all(abs(places[i] - places[j]) * room >= (sizes[i] + sizes[j]) / 2 + AIR for j in kept):
                kept.append(i)
        return [places[i] for i in sorted(kept)], [labels[i] for i in sorted(kept)]

    def _round_log(self, most: int) -> list[float]:
        first, last = math.floor(self.ends[0]), math.ceil(self.ends[1])
        decades = [10.0**power for power in range(first, last + 1, max(1, (last - first) // most))]
        if sum(self.low <= d <= self.high for d in decades) >= 3:
            return decades
        return [m * 10.0**power for power in range(first, last + 1) for m in (1, 2, 5)]


def spread_labels(places: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """Places moved apart to at least ``gap``, as little as possible, in order, within [low, high] if they fit."""
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    moved = isotonic_regression(places[order] - steps).x
    moved = np.clip(moved, low, max(low, high - gap * (len(places) - 1))) + steps
    result = np.empty(len(places))
    result[order] = moved
    return result
