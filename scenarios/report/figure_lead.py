"""Figures at the top of a report: sales with payments, and the gain promised and measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from learning.phrases import strength
from scenarios.report.facts_outcome import knows_value, measured_money
from scenarios.report.facts_owners import (
    Content,
    by_name,
    by_stake,
    epsilon_of,
    protection_of,
    sell_alike,
    sellers,
)
from scenarios.report.figure_page import (
    BAND,
    FAINT,
    INK,
    MUTED,
    PALETTE,
    PAPER,
    add_panel,
    make_rows,
    new_page,
    shorten,
)
from scenarios.report.figure_scale import Scale
from scenarios.report.wording import (
    format_interval,
    format_number,
    in_money,
    money_heading,
    owners_called,
)

HALF = 3.6  # inches: two of these stand side by side, on a phone one above the other
ROW = 0.27
LISTED = 7  # owners with a row each
NAME = 1.06  # inches: end of the names, longest bar, where the bars begin
BAR = 0.38
FIRST = 1.14
SECOND = 2.56


def sales_figure(result: dict[str, Any]) -> Figure | None:
    """Draw budgets and payments as bars; of many owners the largest stakes. None: no sale."""
    if not sellers(result):
        return None
    owners = result["owners"]
    listed = by_name(owners)
    if len(owners) > LISTED + 1:
        listed = by_stake(owners, LISTED)
    names = {owner["name"] for owner in listed}
    if len(owners) > 2 and sell_alike(owners):  # one row says it of all
        listed = [{**owners[0], "shown": f"each of {len(owners):,}"}]
        names = {owner["name"] for owner in owners}
    others = [owner for owner in owners if owner["name"] not in names]
    count = len(listed) + bool(others)
    top = 0.56
    note = ""
    if others:
        top = 0.72
        note = f"The {len(listed)} owners with most money at stake"
    height = top + 0.1 + ROW * count
    figure = new_page(height, "Who sells what, for what money", note, HALF)
    axes = add_panel(figure, 0, top, HALF, ROW * count)
    axes.set(xlim=(0, HALF), ylim=(count - 0.5, -0.5))
    axes.axis("off")
    head: dict[str, Any] = {"va": "bottom", "fontsize": 8, "color": MUTED}
    line = 1 - (top - 0.05) / height
    figure.text(NAME / HALF, line, owners_called(result), ha="right", **head)
    figure.text(FIRST / HALF, line, "privacy budget ε", **head)
    figure.text(SECOND / HALF, line, money_heading(result, "paid"), **head)
    _draw_bars(axes, listed, owners, protection_of(result, names).sure)
    if others:
        _draw_rest(axes, len(listed), others)
    return figure


def _draw_bars(
    axes: Axes,
    listed: Sequence[Content],
    owners: Sequence[Content],
    sure: Mapping[str, float],
) -> None:
    """Draw a row for each owner listed: its name, its budget with the strength, and its payment."""
    budgets = [epsilon_of(owner) for owner in owners]
    most = max((epsilon for epsilon in budgets if math.isfinite(epsilon)), default=0.0)
    dearest = max(abs(owner["payment"] or 0.0) for owner in owners)
    for row, owner in enumerate(listed):
        name = owner["name"]
        epsilon = epsilon_of(owner)
        paid = owner["payment"] or 0.0
        axes.text(
            NAME, row, shorten(owner.get("shown", name), 15), ha="right", va="center", fontsize=8.5
        )
        label = format_number(epsilon)
        if name in sure and math.isfinite(epsilon):
            label += f"  {strength(sure[name])}"
        _draw_bar(axes, FIRST, row, epsilon / (most or math.inf), PALETTE[0], label)
        colour = {True: PALETTE[2], False: PALETTE[1]}[paid >= 0]
        _draw_bar(axes, SECOND, row, paid / (dearest or math.inf), colour, format_number(paid))


def _draw_bar(axes: Axes, left: float, row: int, part: float, colour: str, label: str) -> None:
    """Draw a bar as long as its part of the longest, and its number behind it."""
    length = BAR * min(abs(np.nan_to_num(part)), 1.0)
    axes.barh(row, length, 0.55, left, color=colour, linewidth=0)
    axes.text(left + length + 0.06, row, label, va="center", fontsize=8)


def _draw_rest(axes: Axes, row: int, others: Sequence[Content]) -> None:
    """Write the budgets of all other owners, and their payments together."""
    sold = [epsilon_of(owner) for owner in others]
    paid = sum(owner["payment"] or 0.0 for owner in others)
    style: dict[str, Any] = {"va": "center", "color": MUTED}
    axes.axhline(row - 0.5, color=FAINT, linewidth=0.8)
    axes.text(NAME, row, f"{len(others):,} others", ha="right", fontsize=8.5, **style)
    axes.text(FIRST, row, format_interval(min(sold), max(sold)), fontsize=8, **style)
    axes.text(SECOND, row, f"{format_number(paid)} together", fontsize=8, **style)


def promised_figure(result: dict[str, Any]) -> Figure | None:
    """Draw the learner's gain, forecast and measured, on one axis with 0.

    None where nothing is sold, or the worth of a better model is unknown.
    """
    if not sellers(result) or not knows_value(result):
        return None
    learner = result["learner"]
    money = measured_money(result)
    ends = (learner.get("gain") or {}).get("interval") or [learner["surplus"]] * 2
    often = "in nine of ten possible worlds"
    rows = [("forecast before training", learner["surplus"], ends, often, PALETTE[0])]
    top = 0.5
    note = "No model was trained"
    if money is not None:
        spread = money["learner_surplus"]
        runs = [spread["q05"], spread["q95"]]
        often = "in nine of ten trainings"
        rows.append(("measured after training", spread["mean"], runs, often, INK))
        top = 0.34
        note = ""
    values = [value for _, middle, around, _, _ in rows for value in (middle, *around)]
    scale = Scale.linear([0.0, *values])
    height = top + 0.5 + 0.72 * len(rows)
    figure = new_page(height, "What the learner gains after paying", note, HALF)
    axes = add_panel(figure, 0.2, top, HALF - 0.4, 0.72 * len(rows))
    box = dict(facecolor=PAPER, edgecolor="none", pad=1.5)
    style: dict[str, Any] = dict(transform=axes.get_yaxis_transform(), bbox=box)
    cash = in_money(result)
    for row, (label, middle, (first, last), often, colour) in enumerate(rows):
        text = f"{label}: {cash(middle)}"
        axes.text(0, row - 0.28, text, fontsize=8.5, color=colour, weight="bold", **style)
        if first < last:
            text = f"{format_interval(first, last, cash)} {often}"
            axes.text(0, row - 0.02, text, fontsize=8, color=MUTED, **style)
            axes.plot([first, last], [row + 0.2] * 2, color=colour, linewidth=3)
        axes.plot(middle, row + 0.2, marker="oD"[row], markersize=7, color=colour, linestyle="none")
    scale.rule(axes, "x")
    axes.axvspan(*sorted((scale.limits()[0], 0.0)), color=BAND, linewidth=0, zorder=0)
    axes.axvline(0.0, color=MUTED, linewidth=1)
    make_rows(axes, len(rows))
    axes.set_xlabel(f"{money_heading(result)}; shaded: a loss")
    return figure
