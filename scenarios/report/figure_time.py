"""Figure of a market over several periods: attendance and sales, budgets spent, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scenarios.report.figure_page import (
    BAND,
    DASHED,
    FAINT,
    INK,
    MUTED,
    PALETTE,
    add_panel,
    format_axis,
    new_page,
    shorten,
    thin_out,
)
from scenarios.report.figure_scale import label_ends
from scenarios.report.wording import format_number, format_percent

LISTED = 12  # owners with a row each
COLOURED = len(PALETTE)
ROW = 0.24  # inches
LEFT = 1.45
WIDE = 4.3
TALL = 1.2
APART = 0.62
NAME = 20  # letters of a name at the left of a row, and at the end of a line
END_NAME = 13
TITLE: dict[str, Any] = {"loc": "left", "fontsize": 8.5, "color": MUTED}


def periods_figure(result: dict[str, Any], table: pd.DataFrame | None) -> Figure | None:
    """Draw owners by period, ε spent, and forecast against training. None: a market held once.

    Parameters
    ----------
    result: the content of result.json.
    table: the rows of periods.csv.
    """
    time = result.get("time")
    if time is None or table is None or not len(table):
        return None
    owners = time["owners"]
    paid_most = sorted(range(len(owners)), key=lambda i: -abs(owners[i]["payment"]))[:LISTED]
    names = [owners[i]["name"] for i in sorted(paid_most)]
    hidden = len(owners) - len(names)
    note = "● sells, the larger the more\u2003○ is in the market and sells nothing"
    top = 0.7
    if hidden:
        note += f"\nThe {len(names)} who were paid most; {hidden:,} are not shown"
        top = 0.85
    rows = ROW * len(names)
    figure = new_page(top + rows + 2 * (TALL + APART) + 0.5, "From period to period", note)
    panels = [add_panel(figure, LEFT, top, WIDE, rows)]
    for k in (0, 1):
        below = top + rows + APART + k * (TALL + APART)
        panels.append(add_panel(figure, LEFT, below, WIDE, TALL))
    _draw_attendance(panels[0], table, names)
    _draw_spent(panels[1], table, names, time)
    _draw_errors(panels[2], time["periods"])
    for axes in panels:
        axes.set_xlim(0.5, len(time["periods"]) + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(12, integer=True, min_n_ticks=1))
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[2].set_xlabel("period")
    return figure


def _by_period(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Pivot a column of periods.csv: a row for each period, a column for each owner."""
    return table.pivot(index="period", columns="owner", values=column)


def _draw_attendance(axes: Axes, table: pd.DataFrame, names: list[str]) -> None:
    """Draw a row for each owner, a mark for each period that it is in the market."""
    epsilon = _by_period(table, "epsilon")
    present = _by_period(table, "present") > 0
    largest = float(epsilon[names].max().max()) or 1.0
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": MUTED, "linewidths": 0.9}
    for row, name in enumerate(names):
        axes.axhline(row, color=FAINT, linewidth=0.6, zorder=0)
        sold = epsilon[name][epsilon[name] > 0]
        idle = epsilon.index[present[name] & (epsilon[name] == 0)]
        sizes = 8 + 82 * sold / largest
        axes.scatter(sold.index, [row] * len(sold), sizes, color=PALETTE[0], linewidths=0)
        axes.scatter(idle, [row] * len(idle), 22, **ring)
    axes.set_yticks(range(len(names)), [shorten(name, NAME) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(labelbottom=False)


def _draw_spent(axes: Axes, table: pd.DataFrame, names: list[str], time: dict[str, Any]) -> None:
    """Draw the ε that records have spent by the end of each period, and its limits."""
    spent = _by_period(table, "spent")
    coloured = names[:COLOURED]
    for name in thin_out([name for name in spent.columns if name not in coloured]):
        axes.plot(spent.index, spent[name], color=MUTED, linewidth=0.8, alpha=0.35)
    for rank, name in enumerate(coloured):
        style: dict[str, Any] = {"color": PALETTE[rank], "linewidth": 3.0 - 0.4 * rank}
        axes.plot(spent.index, spent[name], marker="o", markersize=3, **style)
    limits = {
        one["lifetime"]
        for one in time["owners"]
        if one["lifetime"] is not None and one["lifetime"] <= 1.3 * spent[one["name"]].max()
    }
    title = "ε spent so far"
    for limit in sorted(limits)[:COLOURED]:
        axes.axhline(limit, color=INK, linewidth=0.9, linestyle=DASHED)
        title = "ε spent so far; dashed: what may be spent in all"
    _set_limits(axes, 0.0, max([*spent.max(), *limits]) or 1.0)
    axes.set_title(title, **TITLE)
    last = [(float(spent[name].iloc[-1]), name) for name in coloured]
    ends = [
        (value, f"{shorten(name, END_NAME)} {format_number(value)}", colour)
        for (value, name), colour in zip(last, PALETTE, strict=False)
    ]
    label_ends(axes, spent.index[-1], ends)


def _draw_errors(axes: Axes, periods: list[dict[str, Any]]) -> None:
    """Draw the error of each period's model: forecast with its interval, trained, learner's own."""
    at = [one["period"] for one in periods]
    forecast, alone = (
        [100 * one[key] for one in periods] for key in ("relative_fitness", "outside")
    )
    low, high = ([100 * one["interval"][end] for one in periods] for end in (0, 1))
    axes.vlines(at, low, high, color=BAND, linewidth=7)
    axes.plot(at, forecast, color=PALETTE[0], linewidth=1.4, marker="o", markersize=4)
    axes.plot(at, alone, color=PALETTE[1], linewidth=1.2, linestyle=(0, (2, 2)))
    ends = [(forecast[-1], "forecast", PALETTE[0]), (alone[-1], "learner alone", PALETTE[1])]
    checked = [one for one in periods if one["trained"] is not None and one["asks"]]
    trained = [100 * one["trained"] for one in checked]
    if trained:
        style: dict[str, Any] = {"marker": "D", "markersize": 4.5, "linestyle": "none"}
        axes.plot([one["period"] for one in checked], trained, color=INK, **style)
        ends.append((trained[-1], "trained", INK))
    values = np.array([*forecast, *alone, *low, *high, *trained])
    _set_limits(axes, min(0.0, values.min()), max(values.max(), 1e-3))
    axes.set_title("model error above the best, %; shaded: the forecast's interval", **TITLE)
    shown = [(value, f"{name} {format_percent(value / 100)}", ink) for value, name, ink in ends]
    label_ends(axes, at[-1], shown)


def _set_limits(axes: Axes, low: float, high: float) -> None:
    """Set limits with a few round numbers, and lines across."""
    axes.set_ylim(low - 0.06 * (high - low), high + 0.06 * (high - low))
    format_axis(axes, "y", 4)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
