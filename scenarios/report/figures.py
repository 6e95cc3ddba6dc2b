"""Figures of a result folder, from its saved tables only; same tables give same bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scenarios.output.unfinished import put_file
from scenarios.report.facts_owners import by_name, by_stake, name_alike
from scenarios.report.figure_forecast import forecast_figure
from scenarios.report.figure_lead import promised_figure, sales_figure
from scenarios.report.figure_page import (
    BAND,
    FAINT,
    INK,
    MUTED,
    PALETTE,
    WIDTH,
    add_note,
    add_panel,
    add_panels,
    draw_svg,
    format_axis,
    new_page,
    shorten,
    thin_out,
)
from scenarios.report.figure_scale import Scale, label_ends
from scenarios.report.wording import format_number, money_heading, read_limit
from scenarios.result import cell_text

Tables = Mapping[str, pd.DataFrame]
TABLES = ("payoff_curves", "trajectory", "validation", "periods")
TEXTS = ["owner", "name", "point"]  # columns of words
BUDGET = "privacy budget ε"
COLOURED = 5
PANELS = 9
HEIGHT = 3.3  # inches, of the paths
LEFT = 0.68  # inches, of the payoff curves: margin, gaps between panels
APART = 0.72
DOWN = 0.78
CURVES = (
    "Surplus of each owner if it alone moved."
    "\u2003● where it settled\u2003○ best point of the curve"
)
DOT: dict[str, Any] = {"marker": "o", "linestyle": "none"}
RING = DOT | {
    "markersize": 9,
    "markerfacecolor": "none",
    "markeredgecolor": INK,
    "markeredgewidth": 1.1,
}


def draw_figures(folder: Path, result: dict[str, Any] | None = None) -> list[Path]:
    """Draw every figure whose table is there, into ``figures/`` of a result folder.

    Parameters
    ----------
    folder: a result folder with result.json, trajectory.csv, payoff_curves.csv and, after training,
        validation.csv; of several periods with periods.csv.
    result: the content of result.json where it has been read already.

    Returns
    -------
    list of Path
        sales.svg, promised.svg, epsilon_paths.svg, payoff_curves.svg, forecast.svg, periods.svg,
        network.svg, prices.svg.
    """
    folder = Path(folder)
    result = result or json.loads((folder / "result.json").read_text(encoding="utf-8"))
    (folder / "figures").mkdir(exist_ok=True)
    tables = {name: read_table(folder / f"{name}.csv") for name in TABLES}
    drawings = {name: draw_figure(name, result, tables) for name in FIGURES}
    return [
        put_file(folder / "figures" / f"{name}.svg", svg) for name, svg in drawings.items() if svg
    ]


def draw_figure(name: str, result: dict[str, Any], tables: Tables) -> str:
    """Draw a figure of a result as SVG text; empty where there is nothing to draw.

    Parameters
    ----------
    name: one of FIGURES.
    result: the content of result.json.
    tables: its tables by name.
    """
    return draw_svg(FIGURES[name], result, tables)


def _draw_paths(result: dict[str, Any], tables: Tables) -> Figure | None:
    paths = tables["trajectory"]
    if not len(paths):
        return None
    return settling_figure(paths, tables["payoff_curves"], result["owners"])


def _draw_curves(result: dict[str, Any], tables: Tables) -> Figure | None:
    curves = tables["payoff_curves"]
    if not len(curves):
        return None
    return payoff_figure(curves, result["owners"], money_heading(result))


def _draw_forecast(result: dict[str, Any], tables: Tables) -> Figure:
    runs = np.empty(0)
    if len(tables["validation"]):
        runs = tables["validation"]["relative_fitness"].to_numpy(float)
    return forecast_figure(result, runs)


# The figures of parts that few results have are imported where a result has the part.


def _draw_prices(result: dict[str, Any], tables: Tables) -> Figure | None:
    if not result.get("pricing"):
        return None
    from scenarios.report.figure_pricing import pricing_figure

    return pricing_figure(result)


def _draw_periods(result: dict[str, Any], tables: Tables) -> Figure | None:
    if not result.get("time"):
        return None
    from scenarios.report.figure_time import periods_figure

    return periods_figure(result, tables.get("periods"))


def _draw_network(result: dict[str, Any], tables: Tables) -> Figure | None:
    if not result.get("network"):
        return None
    from scenarios.report.figure_network import network_figure

    return network_figure(result)


FIGURES: dict[str, Callable[..., Figure | None]] = {
    "sales": lambda result, tables: sales_figure(result),
    "promised": lambda result, tables: promised_figure(result),
    "prices": _draw_prices,
    "epsilon_paths": _draw_paths,
    "payoff_curves": _draw_curves,
    "forecast": _draw_forecast,
    "periods": _draw_periods,
    "network": _draw_network,
}


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV of a result folder; names stay text, even one called NA; empty without a file."""
    if not path.is_file():
        return pd.DataFrame()
    table = pd.read_csv(path, dtype=dict.fromkeys(TEXTS, str), keep_default_na=False)
    for column in table.columns.intersection(TEXTS):
        table[column] = table[column].map(cell_text)
    for column in table.columns.difference(TEXTS):
        table[column] = pd.to_numeric(table[column], errors="coerce")
    return table


# Paths of budgets


def settling_figure(
    paths: pd.DataFrame, curves: pd.DataFrame, owners: list[dict[str, Any]]
) -> Figure:
    """Draw each owner's budget by round, on the whole interval that it may choose from.

    Parameters
    ----------
    paths: columns round, owner, epsilon.
    curves: payoff curves, whose column epsilon spans the intervals; may be empty.
    owners: owners of the result.
    """
    table = paths.pivot_table(
        index="round", columns="owner", values="epsilon", aggfunc="last", sort=True
    )
    there = [owner for owner in owners if owner["name"] in set(table.columns)]
    names = [owner["name"] for owner in there]
    table = table.reindex(columns=names).ffill()
    scale = Scale.over(np.append(table.to_numpy(), curves.get("epsilon", [])))
    alike = join_equal(dict(zip(names, table.to_numpy(float).T, strict=True)))
    chosen = list(alike)
    if len(chosen) > COLOURED:
        firsts = (owner for owner in there if owner["name"] in alike)
        chosen = [owner["name"] for owner in by_stake(firsts, COLOURED)]
    coloured = {name for first in chosen for name in alike[first]}
    grey = thin_out([name for name in names if name not in coloured])
    note = _settling_note(len(table) > 1, len(coloured), len(owners) - len(coloured), len(grey))
    figure = new_page(HEIGHT, "How the owners settled", note)
    axes = add_panel(figure, 0.62, 0.82, 4.5, HEIGHT - 1.4)
    rounds = table.index.to_numpy(float)
    placed = pd.DataFrame(scale.place(table), table.index, table.columns)
    single = "o" * (len(rounds) <= 1)
    dot = "o" * (len(rounds) <= 15)
    style: dict[str, Any] = {"color": MUTED, "linewidth": 0.8, "alpha": 0.35}
    for name in grey:
        axes.plot(rounds, placed[name], marker=single, markersize=2.5, **style)
    for rank, name in enumerate(chosen):  # ever thinner, so that paths that coincide stay visible
        style = {"color": PALETTE[rank], "linewidth": 3.4 - 0.5 * rank}
        axes.plot(rounds, placed[name], marker=dot, markersize=3.5, **style)
    _decorate_paths(axes, scale, rounds)
    ends = []
    for name, colour in zip(chosen, PALETTE, strict=False):
        told = format_number(table[name].iloc[-1])
        label = f"{shorten(name_alike(alike[name], 22))}\u2002{told}"
        ends.append((placed[name].iloc[-1], label, colour))
    label_ends(axes, rounds[-1], ends)
    return figure


def join_equal(values: Mapping[str, np.ndarray]) -> dict[str, list[str]]:
    """Join names whose numbers agree in six digits, each group under its first name.

    >>> join_equal({"A": np.array([1.0, 2.0]), "B": np.array([1.0]), "C": np.array([1.0, 2.0])})
    {'A': ['A', 'C'], 'B': ['B']}
    """
    first: dict[bytes, str] = {}
    joined: dict[str, list[str]] = {}
    for name, numbers in values.items():
        name_of_first = first.setdefault(_round_digits(numbers).tobytes(), name)
        joined.setdefault(name_of_first, []).append(name)
    return joined


def _round_digits(values: np.ndarray) -> np.ndarray:
    """Round to six digits; what is nothing beside the others to 0."""
    size = np.abs(values)
    usual = float(np.nanmedian(size)) if len(size) else 0.0
    kept = np.isfinite(values) & (size > 1e-9 * usual)
    power = 10.0 ** (5 - np.floor(np.log10(np.where(kept, size, 1.0))))
    rounded = np.round(np.where(kept, values, 0.0) * power) / power + 0.0
    return np.where(np.isfinite(values), rounded, values)


def _settling_note(moves: bool, chosen: int, hidden: int, grey: int) -> str:
    note = "Privacy budget of each owner" + " after each round of moves" * moves
    if not grey:
        return note
    among = f"{hidden:,}"
    if grey < hidden:
        among = f"{grey:,} of {hidden:,}"
    return f"{note}; in colour the {chosen} with most money at stake, in grey {among} others"


def _decorate_paths(axes: Axes, scale: Scale, rounds: np.ndarray) -> None:
    scale.rule(axes, "y")
    axes.tick_params(axis="y", length=0)
    add_note(axes, -0.52 / 4.5, 1.04, scale.named(BUDGET))
    first = rounds[0]
    last = rounds[-1]
    air = 0.03 * (last - first)
    if last > first:
        axes.set_xlim(first - air, last + air / 2)
        ticks = MaxNLocator(8, integer=True).tick_values(first, last)
    else:
        axes.set_xlim(first - 0.5, last + 0.5)
        ticks = [first]
    axes.set_xticks([tick for tick in ticks if first <= tick <= last])
    axes.xaxis.set_major_formatter(lambda value, _: format_number(value, 6))
    axes.set_xlabel("round (0 = start)")
    axes.spines["left"].set_visible(False)


# Payoff curves


def payoff_figure(
    curves: pd.DataFrame, owners: list[dict[str, Any]], unit: str = "money"
) -> Figure:
    """Draw each owner's surplus over its whole interval, the others fixed where they settled.

    Parameters
    ----------
    curves: columns owner, epsilon, payoff.
    owners: rows with name and, where known, epsilon, surplus and epsilon_worth.
    unit: unit of money.
    """
    alike = join_equal(
        {name: _payoffs_of(one) for name, one in curves.groupby("owner", sort=False)}
    )
    shown = most_at_stake(curves, [owner for owner in owners if owner["name"] in alike])
    rows_of = {owner["name"]: owner for owner in owners}
    columns = min(3, len(shown))
    letters = {1: 60}.get(columns, 24)
    rows = -(-len(shown) // columns)
    tall = {1: 2.2}.get(columns, 1.35)
    finite = curves[np.isfinite(curves["payoff"])].sort_values("epsilon", kind="stable")
    kept = {name: finite[finite["owner"] == name] for name in shown}
    floors = {
        name: _panel_floor(curve["payoff"].to_numpy(), rows_of[name].get("surplus"))
        for name, curve in kept.items()
    }
    hidden = len(owners) - sum(len(alike[name]) for name in shown)
    note = _curves_note(curves, [rows_of[name] for name in shown], len(owners) - hidden, hidden)
    lines = note.count("\n")
    if any(kept[name]["payoff"].min() < floor for name, floor in floors.items()):
        note += "\u2003steep falls are cut off"
    height = 1.05 + rows * tall + (rows - 1) * DOWN + 0.55 + 0.15 * lines
    top = height - 0.55 - rows * tall - (rows - 1) * DOWN
    figure = new_page(height, "Could an owner do better by moving alone?", note)
    scale = Scale.over(curves["epsilon"].to_numpy(float))
    room = {"apart": APART, "down": DOWN, "right": 0.25}
    panels = add_panels(figure, (len(shown), columns), (LEFT, top), tall, **room)
    for axes, name in zip(panels, shown, strict=True):
        _draw_payoff(axes, scale, kept[name], rows_of[name], floors[name])
        title = shorten(name_alike(alike[name], letters), letters)
        axes.set_title(title, loc="left", fontsize=8.5, fontweight="bold")
    for axes in panels[-columns:]:
        axes.set_xlabel(scale.named(BUDGET))
    width = panels[0].get_position().width * WIDTH
    add_note(panels[0], (0.1 - LEFT) / width, 1 + 0.28 / tall, f"surplus ({unit})")
    return figure


def _payoffs_of(curve: pd.DataFrame) -> np.ndarray:
    return curve[["epsilon", "payoff"]].to_numpy(float).ravel()


def _curves_note(curves: pd.DataFrame, shown: list[dict[str, Any]], count: int, hidden: int) -> str:
    note = CURVES
    if hidden:
        note += f"\nThe {count:,} owners with most money at stake; {hidden:,} are not shown"
    most = curves.groupby("owner")["epsilon"].max()
    if any(read_limit(owner.get("epsilon_worth")) < most[owner["name"]] for owner in shown):
        note += "\nShaded: beyond what is worth buying, the owner's noise hardly matters any more"
    return note


def most_at_stake(curves: pd.DataFrame, owners: list[dict[str, Any]]) -> list[str]:
    """Name the owners with most money at stake among those with known curves, at most nine."""
    there = set(curves.loc[np.isfinite(curves["payoff"]), "owner"])
    known = [owner for owner in owners if owner["name"] in there]
    if len(known) > PANELS:
        return [owner["name"] for owner in by_stake(known, PANELS)]
    return [owner["name"] for owner in by_name(known)]


def _panel_floor(payoff: np.ndarray, settled: float | None) -> float:
    """Lower end of a panel, so that a steep fall does not flatten the peak out of sight."""
    lowest, usual, top = (float(end) for end in np.quantile(payoff, [0, 0.25, 1]))
    floor = lowest
    if top > usual:
        floor = max(lowest, usual - 1.5 * (top - usual))
    if settled is None:
        return floor
    return min(floor, settled)


def _shade_beyond(axes: Axes, scale: Scale, curve: pd.DataFrame, worth: float) -> None:
    """Shade budgets beyond the one worth buying, as far as the curve reaches."""
    least, most = (float(end) for end in (curve["epsilon"].min(), curve["epsilon"].max()))
    if worth < most:
        ends = scale.place([max(worth, least), most])
        axes.axvspan(*ends, color=BAND, linewidth=0, zorder=0)
        axes.axvline(float(scale.place(worth)), color=MUTED, linewidth=0.8, linestyle=(0, (3, 2)))


def _draw_payoff(
    axes: Axes, scale: Scale, curve: pd.DataFrame, owner: dict[str, Any], floor: float
) -> None:
    proper = curve[np.isfinite(curve["epsilon"]) & ((curve["epsilon"] > 0) | (not scale.log))]
    axes.axhline(0, color=FAINT, linewidth=0.8)
    _shade_beyond(axes, scale, curve, read_limit(owner.get("epsilon_worth")))
    axes.plot(scale.place(proper["epsilon"]), proper["payoff"], color=PALETTE[0], linewidth=1.6)
    apart = curve.drop(proper.index)  # sharing nothing, or without protection: points of their own
    axes.plot(scale.place(apart["epsilon"]), apart["payoff"], markersize=3, color=PALETTE[0], **DOT)
    best = curve.loc[curve["payoff"].idxmax()]
    axes.plot(scale.place(best["epsilon"]), best["payoff"], clip_on=False, **RING)
    if owner.get("surplus") is not None:
        settled = scale.place(read_limit(owner["epsilon"]))
        axes.plot(settled, owner["surplus"], markersize=5, color=PALETTE[1], clip_on=False, **DOT)
    scale.rule(axes, "x", 0.04)
    axes.grid(visible=False)
    room = 0.14 * (float(best["payoff"]) - floor) or 1.0
    axes.set_ylim(floor - room, float(best["payoff"]) + room)
    format_axis(axes, "y", 4)
