"""Figure of a comparison: budgets sold, owners' surplus and learner's gain by alternative."""

from __future__ import annotations

from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from learning.phrases import HARD_SPACE
from scenarios.report.facts_outcome import alternative_name
from scenarios.report.facts_owners import epsilon_of
from scenarios.report.figure_page import (
    FAINT,
    INK,
    MUTED,
    PALETTE,
    add_legend,
    add_panels,
    label_row,
    make_rows,
    new_page,
    shorten,
)
from scenarios.report.figure_scale import Scale
from scenarios.report.wording import count_noun, money_heading

ROW = 0.42  # inches
TOP = 0.72
BOTTOM = 0.62
LABELS = 1.55
GAP = 0.22
LETTERS = 19  # of a line of a label
COLOURED = 5  # owners that have a colour each
DOT: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 5}
RING = DOT | {"markersize": 8, "markerfacecolor": "none", "markeredgewidth": 1.4}


def comparison_figure(content: dict[str, Any]) -> Figure:
    """Draw the learner's gain, the budgets sold and the owners' surplus of each alternative.

    Owners have colours where they are few, and the same under all alternatives.
    """
    rows = content["alternatives"]
    unit = money_heading(content)
    names, *others = ([owner["name"] for owner in row["owners"]] for row in rows)
    same = all(one == names for one in others)
    few = same and len(names) <= COLOURED
    note = "Gain by the forecast, with nine of ten possible worlds"
    if any(row["trained_gain"] for row in rows):
        note += "; ring: as trained"
    note += ". A dot for each owner"
    if same and not few:
        note += f", {count_noun(len(names), 'owner')} in all"
    height = TOP + ROW * len(rows) + BOTTOM + 0.2 * few
    figure = new_page(height, "What the learner gains, and what owners sell and keep", note)
    room = {"apart": GAP, "right": GAP}
    gains, sold, kept = add_panels(figure, (3, 3), (LABELS, TOP), ROW * len(rows), **room)
    budgets = [np.array([epsilon_of(owner) for owner in row["owners"]]) for row in rows]
    scale = Scale.over(np.concatenate(budgets))
    _draw_owners(sold, scale, budgets, few)
    _finish_panel(sold, scale, len(rows), "ε sold")
    left = [np.array([owner["surplus"] for owner in row["owners"]], dtype=float) for row in rows]
    scale = Scale.linear(np.concatenate([*left, [0.0]]))
    _draw_owners(kept, scale, left, few)
    _finish_panel(kept, scale, len(rows), f"surplus of each owner, {unit}", zero=True)
    scale = _draw_gains(gains, rows)
    _finish_panel(gains, scale, len(rows), f"learner's gain, {unit}", zero=True)
    for place, row in enumerate(rows):
        name = alternative_name(row).replace(" = ", f" ={HARD_SPACE}")
        lines = wrap(name, LETTERS, max_lines=2, placeholder="…")
        label_row(gains, place, "\n".join(lines))
    if few:
        add_legend(figure, [shorten(name, 16) for name in names], "o", len(names), LABELS)
    return figure


def _draw_owners(axes: Axes, scale: Scale, values: list[np.ndarray], coloured: bool) -> None:
    """Draw a dot for each owner on the line of each alternative."""
    for place, row in enumerate(values):
        shift = coloured * 0.09 * (np.arange(len(row)) - (len(row) - 1) / 2)
        for i, at in enumerate(scale.place(row)):
            style: dict[str, Any] = {"color": MUTED, "alpha": 0.4}
            if coloured:
                style = {"color": PALETTE[i], "alpha": 1.0}
            axes.plot(at, place + shift[i], **style, **DOT)


def _draw_gains(axes: Axes, rows: list[dict[str, Any]]) -> Scale:
    """Draw the learner's gain by the forecast with its interval, and as trained."""
    measured = [(row["trained_gain"] or {}).get("mean") for row in rows]
    ends = [end for row in rows for end in row["gain_interval"]]
    values = [0.0, *ends, *(row["gain"] for row in rows)]
    scale = Scale.linear(values + [mean for mean in measured if mean is not None])
    for place, (row, mean) in enumerate(zip(rows, measured, strict=True)):
        axes.plot(scale.place(row["gain_interval"]), [place, place], color=PALETTE[0], linewidth=2)
        axes.plot(scale.place(row["gain"]), place, color=PALETTE[0], **DOT)
        if mean is not None:
            axes.plot(scale.place(mean), place, color=INK, **RING)
    return scale


def _finish_panel(
    axes: Axes, scale: Scale, count: int, quantity: str, *, zero: bool = False
) -> None:
    scale.rule(axes, "x")
    make_rows(axes, count)
    for place in range(1, count):
        axes.axhline(place - 0.5, color=FAINT, linewidth=0.6)
    if zero:
        axes.axvline(float(scale.place(0.0)), color=MUTED, linewidth=0.9)
    axes.set_xlabel(scale.named(quantity), fontsize=7.5)
