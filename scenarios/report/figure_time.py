"""The figure of a market over several periods: who is in it when and sells how much, what is spent, how good models are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scenarios.report.figure_page import BAND, FAINT, INK, MUTED, PALETTE, _page, _panel
from scenarios.report.figure_scale import spread_labels
from scenarios.report.wording import number, percent

LISTED, COLOURED = 12, len(PALETTE)  # owners with a row each; with a colour of their own
ROW, LEFT, WIDE, TALL, APART = 0.24, 1.45, 4.3, 1.2, 0.62  # inches
NAME = 20  # letters of a name beside a row
GREY = 200  # lines drawn of the owners not in colour


def periods(result: dict[str, Any], table: pd.DataFrame | None) -> Figure | None:
    """Owners by period, what their records have spent, and forecast against training. None: a market that is held once.

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
    names, hidden = [owners[i]["name"] for i in sorted(paid_most)], len(owners) - len(paid_most)
    note = "● sells, the larger the more\u2003○ is in the market and sells nothing"
    note += f"\nThe {len(names)} who were paid most; {hidden:,} are not shown" if hidden else ""
    top, rows = 0.85 if hidden else 0.7, ROW * len(names)
    figure = _page(top + rows + 2 * (TALL + APART) + 0.5, "From period to period", note)
    panels = [_panel(figure, LEFT, top, WIDE, rows)]
    panels += [_panel(figure, LEFT, top + rows + APART + k * (TALL + APART), WIDE, TALL) for k in (0, 1)]
    _attendance(panels[0], table, names)
    _spent(panels[1], table, names, time)
    _fitness(panels[2], time["periods"])
    for axes in panels:
        axes.set_xlim(0.5, len(time["periods"]) + 0.5)
        axes.xaxis.set_major_locator(MaxNLocator(12, integer=True, min_n_ticks=1))
        axes.spines["left"].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[2].set_xlabel("period")
    return figure


def by_period(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """A column of periods.csv: a row for each period, a column for each owner."""
    return table.pivot(index="period", columns="owner", values=column)


def _attendance(axes: Axes, table: pd.DataFrame, names: list[str]) -> None:
    """A row for each owner, a mark for each period that it is in the market."""
    epsilon, present = by_period(table, "epsilon"), by_period(table, "present") > 0
    largest = float(epsilon[names].max().max()) or 1.0
    for row, name in enumerate(names):
        axes.axhline(row, color=FAINT, linewidth=0.6, zorder=0)
        sold = epsilon[name][epsilon[name] > 0]
        idle = epsilon.index[present[name] & (epsilon[name] == 0)]
        axes.scatter(sold.index, [row] * len(sold), 8 + 82 * sold / largest, color=PALETTE[0], linewidths=0)
        axes.scatter(idle, [row] * len(idle), 22, facecolors="none", edgecolors=MUTED, linewidths=0.9)
    axes.set_yticks(
        range(len(names)), [name if len(name) <= NAME else f"{name[: NAME - 1].rstrip()}…" for name in names]
    )
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(labelbottom=False)


def _spent(axes: Axes, table: pd.DataFrame, names: list[str], time: dict[str, Any]) -> None:
    """What the records asked about most have spent by the end of each period, and what they may spend in all."""
    spent = by_period(table, "spent")
    limits = {one["name"]: one["lifetime"] for one in time["owners"] if one["lifetime"] is not None}
    others = [name for name in spent.columns if name not in names[:COLOURED]]
    for name in others[:: -(-len(others) // GREY) or 1]:
        axes.plot(spent.index, spent[name], color=MUTED, linewidth=0.8, alpha=0.35)
    for rank, name in enumerate(names[:COLOURED]):
        axes.plot(spent.index, spent[name], color=PALETTE[rank], linewidth=3.0 - 0.4 * rank, marker="o", markersize=3)
    drawn = {limit for name, limit in limits.items() if limit <= 1.3 * spent[name].max()}
    for limit in sorted(drawn)[:COLOURED]:
        axes.axhline(limit, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
    top = max([*spent.max(), *drawn]) or 1.0
    _ruled(axes, 0.0, top)
    told = "ε spent so far" + ("; dashed: what may be spent in all" if drawn else "")
    axes.set_title(told, loc="left", fontsize=8.5, color=MUTED)
    _beside(axes, [(float(spent[name].iloc[-1]), name, PALETTE[k]) for k, name in enumerate(names[:COLOURED])], number)


def _fitness(axes: Axes, periods: list[dict[str, Any]]) -> None:
    """The error of each period's model: as forecast, with its interval, as trained, and of the learner's own model."""
    at = [one["period"] for one in periods]
    forecast, alone = ([100 * one[key] for one in periods] for key in ("relative_fitness", "outside"))
    low, high = ([100 * one["interval"][end] for one in periods] for end in (0, 1))
    axes.vlines(at, low, high, color=BAND, linewidth=7)
    axes.plot(at, forecast, color=PALETTE[0], linewidth=1.4, marker="o", markersize=4)
    axes.plot(at, alone, color=PALETTE[1], linewidth=1.2, linestyle=(0, (2, 2)))
    ends = [(forecast[-1], "forecast", PALETTE[0]), (alone[-1], "learner alone", PALETTE[1])]
    trained = [(one["period"], 100 * one["trained"]) for one in periods if one["trained"] is not None and one["asks"]]
    if trained:
        axes.plot(*zip(*trained, strict=True), marker="D", markersize=4.5, color=INK, linestyle="none")
        ends.append((trained[-1][1], "trained", INK))
    values = np.array([*forecast, *alone, *low, *high, *(value for _, value in trained)])
    _ruled(axes, min(0.0, values.min()), max(values.max(), 1e-3))
    axes.set_title(
        "model error above the best, %; shaded: the forecast's interval", loc="left", fontsize=8.5, color=MUTED
    )
    _beside(axes, ends, lambda value: percent(value / 100))


def _ruled(axes: Axes, low: float, high: float) -> None:
    """A few round numbers from the least to the largest, with lines across."""
    axes.set_ylim(low - 0.06 * (high - low), high + 0.06 * (high - low))
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(lambda value, _: number(value))
    axes.grid(axis="y")
    axes.set_axisbelow(True)


def _beside(axes: Axes, ends: list[tuple[float, str, str]], show: Any) -> None:
    """What each line is called and where it ends, at the right, apart from each other."""
    low, high = axes.get_ylim()
    places = spread_labels(np.array([end for end, _, _ in ends]), 0.16 / TALL * (high - low), low, high)
    for (end, name, colour), place in zip(ends, places, strict=True):
        short = name if len(name) <= 13 else f"{name[:12].rstrip()}…"
        axes.annotate(
            f"{short} {show(end)}",
            (1.0, place),
            (6, 0),
            ("axes fraction", "data"),
            "offset points",
            va="center",
            fontsize=8,
            color=colour,
            annotation_clip=False,
        )
