"""The three figures of a result folder, drawn from its saved tables only; the same tables give the same bytes."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from scenarios.report.figure_forecast import forecast
from scenarios.report.figure_page import FAINT, INK, MUTED, PALETTE, STYLE, WIDTH, _page, _panel, _svg
from scenarios.report.figure_scale import Scale, spread_labels
from scenarios.report.wording import limit, number

COLOURED = 5
PANELS = 9
GREY = 200  # lines drawn of the owners not in colour
DOT: dict[str, Any] = {"marker": "o", "linestyle": "none"}
RING: dict[str, Any] = DOT | {
    "markersize": 9,
    "markerfacecolor": "none",
    "markeredgecolor": INK,
    "markeredgewidth": 1.1,
    "clip_on": False,
}


def draw_figures(folder: Path) -> list[Path]:
    """Draw every figure whose table is there, into ``figures/`` of a result folder.

    Parameters
    ----------
    folder: a result folder with result.json, trajectory.csv, payoff_curves.csv and, after training, validation.csv.

    Returns
    -------
    list of Path
        epsilon_paths.svg, payoff_curves.svg, forecast.svg.
    """
    folder = Path(folder)
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    (folder / "figures").mkdir(exist_ok=True)
    drawn = []
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")  # the reader's machine has the font, or a substitute
        curves, paths = read_table(folder / "payoff_curves.csv"), read_table(folder / "trajectory.csv")
        runs = read_table(folder / "validation.csv")
        figures = {
            "epsilon_paths": epsilon_paths(paths, curves, result["owners"]) if len(paths) else None,
            "payoff_curves": payoff_curves(curves, result["owners"]) if len(curves) else None,
            "forecast": forecast(result, runs["relative_fitness"].to_numpy(float) if len(runs) else np.empty(0)),
        }
        for name, figure in figures.items():
            if figure is not None:
                path = folder / "figures" / f"{name}.svg"
                path.write_text(_svg(figure), encoding="utf-8")
                drawn.append(path)
    return drawn


def read_table(path: Path) -> pd.DataFrame:
    """A CSV of the result folder; owner names stay text, even one called NA; empty where there is no file."""
    if not path.is_file():
        return pd.DataFrame()
    table = pd.read_csv(path, dtype={"owner": str, "name": str}, keep_default_na=False)
    for column in table.columns.difference(["owner", "name"]):
        table[column] = pd.to_numeric(table[column], errors="coerce")
    return table


def shorten(name: str, most: int = 22) -> str:
    """A name that fits beside a line."""
    return name if len(name) <= most else name[: most - 1].rstrip() + "…"


def _quantity(scale: Scale, unit: str = "privacy budget ε") -> str:
    return f"{unit} (log scale)" if scale.log else unit


# The figures


def epsilon_paths(paths: pd.DataFrame, curves: pd.DataFrame, owners: list[dict[str, Any]]) -> Figure:
    """Each owner's budget by round, on the whole interval that it may choose from."""
    names = [owner["name"] for owner in owners]
    table = paths.pivot_table(index="round", columns="owner", values="epsilon", aggfunc="last", sort=True)
    table = table.reindex(columns=[name for name in names if name in table]).ffill()
    everything = [table.to_numpy().ravel(), curves["epsilon"].to_numpy(float) if len(curves) else np.empty(0)]
    scale = Scale.over(np.concatenate(everything))
    names = list(table.columns)
    paid = {owner["name"]: owner.get("payment") or 0.0 for owner in owners}
    chosen = names if len(names) <= COLOURED else sorted(names, key=lambda name: -paid[name])[:COLOURED]
    height = 3.3
    figure = _page(height, "How the owners settled", _paths_note(len(names), len(chosen), len(table)))
    axes = _panel(figure, 0.62, 0.82, 4.5, height - 1.4)
    rounds, final = table.index.to_numpy(float), []
    dot = "o" if len(rounds) <= 15 else ""
    others = [name for name in names if name not in chosen]
    for name in others[:: -(-len(others) // GREY)] if others else []:
        grey: dict[str, Any] = {
            "color": MUTED,
            "alpha": 0.35,
            "linewidth": 0.8,
            "marker": "o" if len(rounds) == 1 else "",
        }
        axes.plot(rounds, scale.place(table[name]), markersize=2.5, **grey)
    for rank, name in enumerate(chosen):
        thinner: dict[str, Any] = {
            "color": PALETTE[rank],
            "linewidth": 3.4 - 0.5 * rank,
        }  # so that paths that coincide stay visible
        axes.plot(rounds, scale.place(table[name]), marker=dot, markersize=3.5, **thinner)
        final.append(float(scale.place(table[name].iloc[-1])))
    low, high = scale.limits()
    _decorate_paths(axes, scale, rounds)
    tops = spread_labels(np.array(final), 0.17 / (height - 1.4) * (high - low), low, high)
    for rank, (name, place, top) in enumerate(zip(chosen, final, tops, strict=True)):
        end = axes.transData.transform((rounds[-1], place))[0], axes.transData.transform((0, place))[1]
        start = figure.transFigure.inverted().transform(end)
        label = figure.transFigure.inverted().transform(axes.transData.transform((0, top)))[1]
        x = 5.33 / WIDTH
        figure.add_artist(
            Line2D([start[0] + 0.008, x - 0.006], [start[1], label], linewidth=0.6, color=PALETTE[rank], alpha=0.7)
        )
        figure.text(x, label, f"{shorten(name)}\u2002{number(table[name].iloc[-1])}", va="center", color=PALETTE[rank])
    return figure


def _paths_note(n_owners: int, n_coloured: int, n_rounds: int) -> str:
    text = "Privacy budget of each owner after each round of moves" if n_rounds > 1 else "Privacy budget of each owner"
    if n_coloured < n_owners:
        text += f"; in colour the {n_coloured} that are paid most, in grey the other {n_owners - n_coloured:,}"
    return text


def _decorate_paths(axes: Axes, scale: Scale, rounds: np.ndarray) -> None:
    axes.set_ylim(*scale.limits())
    axes.set_yticks(*scale.ticks())
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.text(-0.52 / 4.5, 1.04, _quantity(scale), transform=axes.transAxes, va="bottom", color=MUTED)
    first, last = rounds[0], rounds[-1]
    air = 0.03 * (last - first) or 0.5
    axes.set_xlim(first - air, last + air / 2 if last > first else last + air)
    ticks = MaxNLocator(8, integer=True).tick_values(first, last) if last > first else [first]
    axes.set_xticks([t for t in ticks if first <= t <= last])
    axes.xaxis.set_major_formatter(lambda value, _: number(value, 6))
    axes.set_xlabel("round (0 = start)")
    axes.spines["left"].set_visible(False)


def payoff_curves(curves: pd.DataFrame, owners: list[dict[str, Any]]) -> Figure:
    """Surplus of each owner over its whole interval, the others fixed where they settled."""
    shown = most_at_stake(curves, [owner["name"] for owner in owners])
    by_name = {owner["name"]: owner for owner in owners}
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    left, apart, down = 0.68, 0.72, 0.78
    width = (WIDTH - left - 0.25 - apart * (columns - 1)) / columns
    tall = 2.2 if columns == 1 else 1.35
    height = 1.05 + rows * tall + (rows - 1) * down + 0.55
    note = "Surplus of each owner if it alone moved.\u2003● where it settled\u2003○ best point of the curve"
    if len(shown) < len(owners):
        drawn = curves["owner"].nunique()
        among = f" among the first {drawn:,}" if drawn < len(owners) else ""
        note += f"\n{len(shown)} of {len(owners):,} owners: those with most at stake{among}"
        height += 0.15
    kept = {name: _finite(curves, name) for name in shown}
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
            axes.text(*corner, "surplus (money)", transform=axes.transAxes, va="bottom", color=MUTED)
        if place + columns >= len(shown):
            axes.set_xlabel(_quantity(scale))
    return figure


def most_at_stake(curves: pd.DataFrame, names: list[str]) -> list[str]:
    """The owners whose surplus varies most over their interval, at most nine, in their own order."""
    finite = curves[np.isfinite(curves["payoff"])]
    ranges = finite.groupby("owner")["payoff"].agg(lambda payoff: payoff.max() - payoff.min())
    known = [name for name in names if name in ranges.index]
    top = set(sorted(known, key=lambda name: -ranges[name])[:PANELS])
    return [name for name in known if name in top]


def _finite(curves: pd.DataFrame, name: str) -> pd.DataFrame:
    curve = curves[(curves["owner"] == name) & np.isfinite(curves["payoff"])]
    return curve.sort_values("epsilon", kind="stable")


def _floor(payoff: np.ndarray, settled: float | None) -> float:
    """Where a panel may be cut off below, so that a steep fall does not flatten the peak out of sight."""
    top, usual = float(payoff.max()), float(np.quantile(payoff, 0.25))
    floor = max(float(payoff.min()), usual - 1.5 * (top - usual)) if top > usual else float(payoff.min())
    return floor if settled is None else min(floor, settled)


def _payoff_panel(axes: Axes, scale: Scale, curve: pd.DataFrame, owner: dict[str, Any], floor: float) -> None:
    proper = curve[np.isfinite(curve["epsilon"]) & ((curve["epsilon"] > 0) | (not scale.log))]
    axes.axhline(0, color=FAINT, linewidth=0.8)
    axes.plot(scale.place(proper["epsilon"]), proper["payoff"], color=PALETTE[0], linewidth=1.6)
    apart = curve.drop(proper.index)  # sharing nothing, or without protection: points of their own
    axes.plot(scale.place(apart["epsilon"]), apart["payoff"], markersize=3, color=PALETTE[0], **DOT)
    best = curve.loc[curve["payoff"].idxmax()]
    axes.plot(scale.place(best["epsilon"]), best["payoff"], **RING)
    if owner.get("surplus") is not None:
        settled = scale.place(limit(owner["epsilon"]))
        axes.plot(settled, owner["surplus"], markersize=5, color=PALETTE[1], clip_on=False, **DOT)
    axes.set_xlim(*scale.limits(0.04))
    axes.set_xticks(*scale.ticks(4, apart=0.2))
    room = 0.14 * (float(curve["payoff"].max()) - floor) or 1.0
    axes.set_ylim(floor - room, float(curve["payoff"].max()) + room)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(lambda value, _: number(value))
