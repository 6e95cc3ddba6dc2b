"""The figures of a result folder, drawn from its saved tables only; the same tables give the same bytes."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from scenarios.output.unfinished import put
from scenarios.report.figure_forecast import forecast
from scenarios.report.figure_lead import promised, sales
from scenarios.report.figure_network import network
from scenarios.report.figure_page import BAND, FAINT, INK, MUTED, PALETTE, STYLE, WIDTH, _page, _panel, _svg
from scenarios.report.figure_pricing import prices
from scenarios.report.figure_scale import Scale, spread_labels
from scenarios.report.figure_time import periods
from scenarios.report.sentences_market import by_name, by_stake
from scenarios.report.wording import limit, money_heading, number
from scenarios.result import cell_text

TABLES = ("payoff_curves", "trajectory", "validation", "periods")
TEXTS = ["owner", "name", "point"]  # columns of words, as they stand
BUDGET = "privacy budget ε"
COLOURED = 5
PANELS = 9
GREY = 200  # lines drawn of the owners not in colour
DOT: dict[str, Any] = {"marker": "o", "linestyle": "none"}
RING = DOT | {"markersize": 9, "markerfacecolor": "none", "markeredgecolor": INK, "markeredgewidth": 1.1}


def draw_figures(folder: Path, result: dict[str, Any] | None = None) -> list[Path]:
    """Draw every figure whose table is there, into ``figures/`` of a result folder.

    Parameters
    ----------
    folder: a result folder with result.json, trajectory.csv, payoff_curves.csv and, after training, validation.csv; of
        several periods with periods.csv.
    result: the content of result.json where it has been read already.

    Returns
    -------
    list of Path
        sales.svg, promised.svg, epsilon_paths.svg, payoff_curves.svg, forecast.svg, periods.svg, network.svg,
        prices.svg.
    """
    folder = Path(folder)
    result = result or json.loads((folder / "result.json").read_text(encoding="utf-8"))
    (folder / "figures").mkdir(exist_ok=True)
    tables = {name: read_table(folder / f"{name}.csv") for name in TABLES}
    drawings = {name: drawing(name, result, tables) for name in FIGURES}
    return [put(folder / "figures" / f"{name}.svg", svg) for name, svg in drawings.items() if svg]


def drawing(name: str, result: dict[str, Any], tables: Mapping[str, pd.DataFrame]) -> str:
    """A figure of a result as SVG text; empty where there is nothing to draw.

    Parameters
    ----------
    name: one of FIGURES.
    result: the content of result.json.
    tables: its tables by name.
    """
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")  # the reader's machine has the font, or a substitute
        figure = FIGURES[name](result, tables)
        return "" if figure is None else _svg(figure)


def _paths(result: dict[str, Any], tables: Mapping[str, pd.DataFrame]) -> Figure | None:
    paths = tables["trajectory"]
    return epsilon_paths(paths, tables["payoff_curves"], result["owners"]) if len(paths) else None


def _curves(result: dict[str, Any], tables: Mapping[str, pd.DataFrame]) -> Figure | None:
    curves = tables["payoff_curves"]
    return payoff_curves(curves, result["owners"], money_heading(result)) if len(curves) else None


def _forecast(result: dict[str, Any], tables: Mapping[str, pd.DataFrame]) -> Figure:
    runs = tables["validation"]
    return forecast(result, runs["relative_fitness"].to_numpy(float) if len(runs) else np.empty(0))


FIGURES: dict[str, Callable[..., Figure | None]] = {
    "sales": lambda result, tables: sales(result),
    "promised": lambda result, tables: promised(result),
    "prices": lambda result, tables: prices(result),
    "epsilon_paths": _paths,
    "payoff_curves": _curves,
    "forecast": _forecast,
    "periods": lambda result, tables: periods(result, tables.get("periods")),
    "network": lambda result, tables: network(result),
}


def read_table(path: Path) -> pd.DataFrame:
    """A CSV of the result folder; owner names stay text, even one called NA; empty where there is no file."""
    if not path.is_file():
        return pd.DataFrame()
    table = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, str), keep_default_na=False)
    for column in table.columns.intersection(TEXTS):
        table[column] = table[column].map(cell_text)
    for column in table.columns.difference(TEXTS):
        table[column] = pd.to_numeric(table[column], errors="coerce")
    return table


def shorten(name: str, most: int = 22) -> str:
    """A name that fits beside a line."""
    return name if len(name) <= most else name[: most - 1].rstrip() + "…"


# The figures


def epsilon_paths(paths: pd.DataFrame, curves: pd.DataFrame, owners: list[dict[str, Any]]) -> Figure:
    """Each owner's budget by round, on the whole interval that it may choose from."""
    table = paths.pivot_table(index="round", columns="owner", values="epsilon", aggfunc="last", sort=True)
    there = set(table.columns)
    names = [owner["name"] for owner in owners if owner["name"] in there]
    table = table.reindex(columns=names).ffill()
    scale = Scale.over(np.append(table.to_numpy(), curves["epsilon"] if len(curves) else []))
    most = by_stake((owner for owner in owners if owner["name"] in there), COLOURED)
    chosen = names if len(names) <= COLOURED else [owner["name"] for owner in most]
    height = 3.3
    note = "Privacy budget of each owner" + (" after each round of moves" if len(table) > 1 else "")
    others = [name for name in names if name not in chosen]
    grey, hidden = others[:: -(-len(others) // GREY) or 1], len(owners) - len(chosen)
    if hidden:
        among = f"{len(grey):,} of {hidden:,}" if len(grey) < hidden else f"{hidden:,}"
        note += f"; in colour the {len(chosen)} with most money at stake, in grey {among} others"
    figure = _page(height, "How the owners settled", note)
    axes = _panel(figure, 0.62, 0.82, 4.5, height - 1.4)
    rounds, placed = table.index.to_numpy(float), pd.DataFrame(scale.place(table), table.index, table.columns)
    dot, single = ("o" if len(rounds) <= most else "" for most in (15, 1))
    for name in grey:
        axes.plot(rounds, placed[name], marker=single, markersize=2.5, color=MUTED, linewidth=0.8, alpha=0.35)
    for rank, name in enumerate(chosen):  # ever thinner, so that paths that coincide stay visible
        axes.plot(rounds, placed[name], marker=dot, markersize=3.5, color=PALETTE[rank], linewidth=3.4 - 0.5 * rank)
    _decorate_paths(axes, scale, rounds)
    final, (low, high) = placed[chosen].iloc[-1].to_numpy(), scale.limits()
    tops = spread_labels(final, 0.17 / (height - 1.4) * (high - low), low, high)
    on_page = axes.transData - figure.transFigure
    x = 5.33 / WIDTH
    for name, place, top, colour in zip(chosen, final, tops, PALETTE, strict=False):
        (left, start), (_, end) = on_page.transform([(rounds[-1], place), (rounds[-1], top)])
        line = Line2D([left + 0.008, x - 0.006], [start, end], linewidth=0.6, color=colour, alpha=0.7)
        figure.add_artist(line)
        figure.text(x, end, f"{shorten(name)}\u2002{number(table[name].iloc[-1])}", va="center", color=colour)
    return figure


def _decorate_paths(axes: Axes, scale: Scale, rounds: np.ndarray) -> None:
    scale.rule(axes, "y")
    axes.tick_params(axis="y", length=0)
    axes.text(-0.52 / 4.5, 1.04, scale.named(BUDGET), transform=axes.transAxes, va="bottom", color=MUTED)
    first, last = rounds[0], rounds[-1]
    air = 0.03 * (last - first) or 0.5
    axes.set_xlim(first - air, last + air / 2 if last > first else last + air)
    ticks = MaxNLocator(8, integer=True).tick_values(first, last) if last > first else [first]
    axes.set_xticks([t for t in ticks if first <= t <= last])
    axes.xaxis.set_major_formatter(lambda value, _: number(value, 6))
    axes.set_xlabel("round (0 = start)")
    axes.spines["left"].set_visible(False)


def payoff_curves(curves: pd.DataFrame, owners: list[dict[str, Any]], unit: str = "money") -> Figure:
    """Surplus of each owner over its whole interval, the others fixed where they settled."""
    shown = most_at_stake(curves, owners)
    by_name = {owner["name"]: owner for owner in owners}
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    left, apart, down = 0.68, 0.72, 0.78
    width = (WIDTH - left - 0.25 - apart * (columns - 1)) / columns
    tall = 2.2 if columns == 1 else 1.35
    height = 1.05 + rows * tall + (rows - 1) * down + 0.55
    note = "Surplus of each owner if it alone moved.\u2003● where it settled\u2003○ best point of the curve"
    if len(shown) < len(owners):
        hidden = len(owners) - len(shown)
        note += f"\nThe {len(shown)} owners with most money at stake; {hidden:,} are not shown"
        height += 0.15
    most = curves.groupby("owner")["epsilon"].max()
    if any(limit(by_name[name].get("epsilon_worth")) < most[name] for name in shown):
        note += "\nShaded: beyond what is worth buying, the owner's noise hardly matters any more"
        height += 0.15
    finite = curves[np.isfinite(curves["payoff"])].sort_values("epsilon", kind="stable")
    kept = {name: finite[finite["owner"] == name] for name in shown}
    floors = {name: _floor(curve["payoff"].to_numpy(), by_name[name].get("surplus")) for name, curve in kept.items()}
    if any(kept[name]["payoff"].min() < floor for name, floor in floors.items()):
        note += "\u2003steep falls are cut off"
    figure = _page(height, "Could an owner do better by moving alone?", note)
    scale = Scale.over(curves["epsilon"].to_numpy(float))
    first = height - 0.55 - rows * tall - (rows - 1) * down
    for place, name in enumerate(shown):
        row, column = divmod(place, columns)
        axes = _panel(figure, left + column * (width + apart), first + row * (tall + down), width, tall)
        _payoff_panel(axes, scale, kept[name], by_name[name], floors[name])
        axes.set_title(shorten(name, 60 if columns == 1 else 24), loc="left", fontsize=8.5, fontweight="bold")
        if place == 0:
            corner = (0.1 - left) / width, 1 + 0.28 / tall
            axes.text(*corner, f"surplus ({unit})", transform=axes.transAxes, va="bottom", color=MUTED)
        if place + columns >= len(shown):
            axes.set_xlabel(scale.named(BUDGET))
    return figure


def most_at_stake(curves: pd.DataFrame, owners: list[dict[str, Any]]) -> list[str]:
    """The owners with most money at stake among those whose curves are known, at most nine; in their own order."""
    there = set(curves.loc[np.isfinite(curves["payoff"]), "owner"])
    top = by_stake((owner for owner in owners if owner["name"] in there), PANELS)
    return [owner["name"] for owner in (by_name(top) if len(owners) <= PANELS else top)]


def _floor(payoff: np.ndarray, settled: float | None) -> float:
    """Where a panel may be cut off below, so that a steep fall does not flatten the peak out of sight."""
    lowest, usual, top = (float(end) for end in np.quantile(payoff, [0, 0.25, 1]))
    floor = max(lowest, usual - 1.5 * (top - usual)) if top > usual else lowest
    return floor if settled is None else min(floor, settled)


def _shade_beyond(axes: Axes, scale: Scale, curve: pd.DataFrame, worth: float) -> None:
    """Budgets beyond the one worth buying, as far as the curve reaches."""
    most = float(curve["epsilon"].max())
    if worth < most:
        axes.axvspan(
            *scale.place(np.array([max(worth, float(curve["epsilon"].min())), most])), color=BAND, linewidth=0, zorder=0
        )
        axes.axvline(float(scale.place(np.array([worth]))[0]), color=MUTED, linewidth=0.8, linestyle=(0, (3, 2)))


def _payoff_panel(axes: Axes, scale: Scale, curve: pd.DataFrame, owner: dict[str, Any], floor: float) -> None:
    proper = curve[np.isfinite(curve["epsilon"]) & ((curve["epsilon"] > 0) | (not scale.log))]
    axes.axhline(0, color=FAINT, linewidth=0.8)
    _shade_beyond(axes, scale, curve, limit(owner.get("epsilon_worth")))
    axes.plot(scale.place(proper["epsilon"]), proper["payoff"], color=PALETTE[0], linewidth=1.6)
    apart = curve.drop(proper.index)  # sharing nothing, or without protection: points of their own
    axes.plot(scale.place(apart["epsilon"]), apart["payoff"], markersize=3, color=PALETTE[0], **DOT)
    best = curve.loc[curve["payoff"].idxmax()]
    axes.plot(scale.place(best["epsilon"]), best["payoff"], clip_on=False, **RING)
    if owner.get("surplus") is not None:
        settled = scale.place(limit(owner["epsilon"]))
        axes.plot(settled, owner["surplus"], markersize=5, color=PALETTE[1], clip_on=False, **DOT)
    scale.rule(axes, "x", 0.04)
    axes.grid(visible=False)
    room = 0.14 * (float(best["payoff"]) - floor) or 1.0
    axes.set_ylim(floor - room, float(best["payoff"]) + room)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(lambda value, _: number(value))
