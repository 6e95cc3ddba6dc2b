"""The figure of a comparison: for each alternative what owners sell, what they keep, and what the learner gains."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.report.figure_page import FAINT, INK, MUTED, PALETTE, WIDTH, _page, _panel
from scenarios.report.figure_scale import Scale
from scenarios.report.figures import shorten
from scenarios.report.sentences_comparison import epsilons, named
from scenarios.report.wording import counted, money_heading

ROW, TOP, BOTTOM = 0.42, 0.72, 0.62  # inches
LABELS, GAP = 1.55, 0.22
COLOURED = 5  # owners that have a colour each
DOT: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5}


def comparison_figure(content: dict[str, Any]) -> Figure:
    """What each alternative comes to: budgets sold, owners' surplus, the learner's gain promised and measured."""
    rows, unit = content["alternatives"], money_heading(content)
    names = [owner["name"] for owner in rows[0]["owners"]]
    few = len(names) <= COLOURED
    trained = any(row["trained_gain"] for row in rows)
    told = "Gain by the forecast, with nine of ten possible worlds" + ("; ring: as trained" if trained else "")
    note = f"{told}. A dot for each owner" + ("" if few else f", {counted(len(names), 'owner')} in all")
    height = TOP + ROW * len(rows) + BOTTOM + (0.2 if few else 0)
    figure = _page(height, "What the learner gains, and what owners sell and keep", note)
    width = (WIDTH - LABELS - 3 * GAP) / 3
    panels = [_panel(figure, LABELS + i * (width + GAP), TOP, width, ROW * len(rows)) for i in range(3)]
    sold = [epsilons(row) for row in rows]
    _dots(panels[1], [np.where(one > 0, one, 0.0) for one in sold], "privacy budget ε sold", few)
    kept = [np.array([owner["surplus"] for owner in row["owners"]], dtype=float) for row in rows]
    _dots(panels[2], kept, f"left to each owner, {unit}", few, zero=True)
    _gains(panels[0], rows, unit)
    for place, row in enumerate(rows):
        label = shorten(named(row), 24)
        panels[0].annotate(label, (0, place), (-8, 0), ha="right", va="center", xycoords=("axes fraction", "data"),
                           textcoords="offset points", color=INK)  # fmt: skip
    if few:
        _legend(figure, names, height)
    return figure


def _dots(axes: Axes, values: list[np.ndarray], named: str, coloured: bool, *, zero: bool = False) -> None:
    """A dot for each owner on the line of each alternative."""
    whole = np.concatenate([*values, np.zeros(1)] if zero else values)
    scale = Scale.over(whole) if not zero else _plain(whole)
    for place, one in enumerate(values):
        placed = scale.place(one)
        shift = 0.09 * (np.arange(len(one)) - (len(one) - 1) / 2) if coloured else np.zeros(len(one))
        for i, at in enumerate(placed):
            colour = PALETTE[i] if coloured else MUTED
            axes.plot(at, place + shift[i], color=colour, alpha=1.0 if coloured else 0.4, **DOT)
    _finish(axes, scale, len(values), named, zero)


def _gains(axes: Axes, rows: list[dict[str, Any]], unit: str) -> None:
    """The learner's gain by the forecast with its interval, and as trained."""
    measured = [(row["trained_gain"] or {}).get("mean") for row in rows]
    ends = [end for row in rows for end in row["gain_interval"]]
    scale = _plain(np.array([0.0, *ends, *(row["gain"] for row in rows), *(m for m in measured if m is not None)]))
    for place, (row, mean) in enumerate(zip(rows, measured, strict=True)):
        axes.plot(scale.place(row["gain_interval"]), [place, place], color=PALETTE[0], linewidth=2)
        axes.plot(scale.place(row["gain"]), place, color=PALETTE[0], **DOT)
        if mean is not None:
            axes.plot(
                scale.place(mean),
                place,
                color=INK,
                markerfacecolor="none",
                markeredgewidth=1.4,
                **DOT | {"markersize": 8},
            )
    _finish(axes, scale, len(rows), f"learner's gain, {unit}", True)


def _plain(values: np.ndarray) -> Scale:
    """A scale that is not logarithmic."""
    low, high = float(values.min()), float(values.max())
    return Scale(low, high if high > low else low + 1.0, False)


def _finish(axes: Axes, scale: Scale, count: int, named: str, zero: bool) -> None:
    scale.rule(axes, "x")
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    for place in range(1, count):
        axes.axhline(place - 0.5, color=FAINT, linewidth=0.6)
    if zero:
        axes.axvline(float(scale.place(0.0)), color=MUTED, linewidth=0.9)
    axes.set_xlabel(scale.named(named), fontsize=7.5)


def _legend(figure: Figure, names: list[str], height: float) -> None:
    """Names of the owners in their colours, in one line under the panels."""
    x = LABELS / WIDTH
    for name, colour in zip(names, PALETTE, strict=False):
        label = shorten(name, 16)
        figure.text(x, 0.06 / height, f"● {label}", color=colour, fontsize=7.5, va="bottom")
        x += (0.24 + 0.075 * len(label)) / WIDTH
