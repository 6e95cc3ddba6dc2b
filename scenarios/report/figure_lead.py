"""Figures at the top of a report: sales with payments, and the gain promised and measured."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from learning.phrases import strength
from scenarios.report.facts_outcome import is_measured, knows_value, measured_money
from scenarios.report.facts_owners import (
    Content,
    asks_nothing,
    by_name,
    by_stake,
    epsilon_of,
    group_alike,
    name_alike,
    protection_of,
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
LETTERS = 15  # of a name
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
    listed = [_merge_row(alike, len(owners)) for alike in group_alike(by_name(owners))]
    if len(listed) > LISTED + 1:
        listed = by_stake(listed, LISTED)
    names = {name for row in listed for name in row["names"]}
    others = [owner for owner in owners if owner["name"] not in names]
    count = len(listed) + bool(others)
    top = 0.56
    note = ""
    if others:
        top = 0.72
        note = f"The {len(names)} owners with most money at stake"
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


def _merge_row(alike: Sequence[Content], count: int) -> Content:
    """Make one row of owners who sell alike, of so many owners in all."""
    names = [owner["name"] for owner in alike]
    shown = name_alike(names, 2 * LETTERS)
    if len(names) == count > 2:
        shown = f"each of {count:,}"
    return {**alike[0], "names": names, "shown": shown}


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
        lines = [shorten(owner["shown"], LETTERS)]
        if len(owner["names"]) > 1:
            lines = wrap(owner["shown"], LETTERS + 2, max_lines=2, placeholder="…")
        size = {1: 8.5, 2: 7.5}[len(lines)]
        axes.text(NAME, row, "\n".join(lines), ha="right", va="center", fontsize=size)
        label = format_number(epsilon)
        if name in sure and math.isfinite(epsilon):
            label += f"  {strength(sure[name])}"
        _draw_bar(axes, FIRST, row, epsilon / (most or math.inf), PALETTE[0], label)
        colour = {True: PALETTE[2], False: PALETTE[1]}[paid >= 0]
        told = format_number(paid) + " each" * (len(owner["names"]) > 1)
        _draw_bar(axes, SECOND, row, paid / (dearest or math.inf), colour, told)


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
    rows = _promised_rows(result)
    top = 0.5
    note = "No model was trained"
    if asks_nothing(result):
        note = "Nothing is asked, so nothing is gained or lost"
    if len(rows) > 1:
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
    least, most = sorted((scale.limits()[0], 0.0))
    for row in range(len(rows)):  # beside the bars alone, so that it is whole behind no text
        axes.fill_betweenx([row + 0.08, row + 0.32], least, most, color=BAND, linewidth=0, zorder=0)
    axes.axvline(0.0, color=MUTED, linewidth=1)
    make_rows(axes, len(rows))
    axes.set_xlabel(f"{money_heading(result)}; shaded: a loss")
    return figure


def _promised_rows(result: dict[str, Any]) -> list[tuple[str, float, list[float], str, str]]:
    """List label, gain, its interval, how often it holds, and colour: forecast, then measured."""
    learner = result["learner"]
    ends = (learner.get("gain") or {}).get("interval") or [learner["surplus"]] * 2
    often = "in nine of ten possible worlds"
    rows = [("forecast before training", learner["surplus"], ends, often, PALETTE[0])]
    money = measured_money(result) if is_measured(result) else None
    if money is not None:
        spread = money["learner_surplus"]
        runs = [spread["q05"], spread["q95"]]
        often = "in nine of ten trainings"
        rows.append(("measured after training", spread["mean"], runs, often, INK))
    return rows
