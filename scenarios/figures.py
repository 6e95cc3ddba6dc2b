"""The three figures of a result folder, drawn from its saved tables only; the same tables give the same bytes."""

from __future__ import annotations

import io
import json
import math
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

from scenarios.figure_scale import Scale, spread_labels
from scenarios.wording import between, counted, number, percent

INK, MUTED, FAINT, PAPER = "#24292f", "#636c76", "#d5dae0", "#ffffff"
PALETTE = ("#0072b2", "#c44d00", "#00805f", "#a0488a", "#8a6d00")  # told apart by the colour-blind, legible as text
BAND = "#e3eef6"
WIDTH = 7.2  # inches
COLOURED = 5
FONTS = "'DejaVu Sans', Verdana, Arial, sans-serif"
PANELS = 9
GREY = 200  # lines drawn of the owners not in colour
STYLE: dict[Any, Any] = {
    # Text stays text: it can be searched, read aloud, and shown in scripts that the drawing machine has no font for.
    "svg.fonttype": "none",
    "svg.hashsalt": "dpmarket",
    "font.family": ["DejaVu Sans"],
    "font.size": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "savefig.facecolor": PAPER,
    "path.simplify": False,
    "lines.solid_capstyle": "round",
}


def draw_figures(folder: Path) -> list[Path]:
    """Draw every figure whose table is there, into ``figures/`` of a result folder.

    Parameters
    ----------
    folder : a result folder with result.json, trajectory.csv, payoff_curves.csv and, after training, validation.csv.

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


def _svg(figure: Figure) -> str:
    """The drawing as text, without date or program, with fonts to fall back on."""
    page = io.BytesIO()
    figure.savefig(page, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return page.getvalue().decode().replace("font-family: 'DejaVu Sans'", f"font-family: {FONTS}")


def read_table(path: Path) -> pd.DataFrame:
    """A CSV of the result folder; owner names stay text, even one called NA; empty where there is no file."""
    if not path.is_file():
        return pd.DataFrame()
    table = pd.read_csv(path, dtype={"owner": str, "name": str}, keep_default_na=False)
    for column in table.columns.difference(["owner", "name"]):
        table[column] = pd.to_numeric(table[column], errors="coerce")
    return table


def as_epsilon(value: float | None) -> float:
    """A privacy budget from result.json, where null stands for no limit."""
    return math.inf if value is None else float(value)


def shorten(name: str, most: int = 22) -> str:
    """A name that fits beside a line."""
    return name if len(name) <= most else name[: most - 1].rstrip() + "…"


def _page(height: float, title: str, note: str) -> Figure:
    figure = Figure(figsize=(WIDTH, height))
    figure.text(0.1 / WIDTH, 1 - 0.1 / height, title, va="top", fontsize=10.5, fontweight="bold")
    for line, text in enumerate(note.split("\n")):
        figure.text(0.1 / WIDTH, 1 - (0.33 + 0.15 * line) / height, text, va="top", fontsize=8.5, color=MUTED)
    return figure


def _panel(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes placed in inches from the figure's upper left corner."""
    page = figure.get_figheight()
    return figure.add_axes((left / WIDTH, 1 - (top + height) / page, width / WIDTH, height / page))


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
        axes.plot(
            rounds,
            scale.place(table[name]),
            color=MUTED,
            alpha=0.35,
            linewidth=0.8,
            marker="o" if len(rounds) == 1 else "",
            markersize=2.5,
        )
    for rank, name in enumerate(chosen):
        # Paths that coincide stay visible: the later ones are thinner.
        axes.plot(
            rounds,
            scale.place(table[name]),
            color=PALETTE[rank],
            linewidth=3.4 - 0.5 * rank,
            marker=dot,
            markersize=3.5,
        )
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
        if column == 0:
            axes.text(
                (0.1 - left) / width,
                1 + 0.28 / tall,
                "surplus (money)" if row == 0 else "",
                transform=axes.transAxes,
                va="bottom",
                color=MUTED,
            )
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
    axes.plot(
        scale.place(apart["epsilon"]), apart["payoff"], linestyle="none", marker="o", markersize=3, color=PALETTE[0]
    )
    best = curve.loc[curve["payoff"].idxmax()]
    axes.plot(
        scale.place(best["epsilon"]),
        best["payoff"],
        marker="o",
        markersize=9,
        markerfacecolor="none",
        markeredgecolor=INK,
        markeredgewidth=1.1,
        linestyle="none",
        clip_on=False,
    )
    if owner.get("surplus") is not None:
        axes.plot(
            scale.place(as_epsilon(owner["epsilon"])),
            owner["surplus"],
            marker="o",
            markersize=5,
            color=PALETTE[1],
            linestyle="none",
            clip_on=False,
        )
    axes.set_xlim(*scale.limits(0.04))
    axes.set_xticks(*scale.ticks(4, apart=0.2))
    room = 0.14 * (float(curve["payoff"].max()) - floor) or 1.0
    axes.set_ylim(floor - room, float(curve["payoff"].max()) + room)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(lambda value, _: number(value))


def forecast(result: dict[str, Any], runs: np.ndarray) -> Figure:
    """Forecast, trained runs and outside option on one axis of model error."""
    rows = _forecast_rows(result, runs)
    values = np.concatenate([np.atleast_1d(np.asarray(v, float)) for _, _, v in rows] + [runs])
    values = 100 * values[np.isfinite(values)]
    scale = Scale.over(values) if (values > 0).all() else Scale(min(0.0, values.min()), max(values.max(), 1e-9), False)
    height = 1.5 + 0.42 * len(rows)
    figure = _page(
        height,
        "Forecast, training, and the learner alone",
        "Error above that of the best possible model, in percent; shaded: the forecast's interval",
    )
    axes = _panel(figure, 2.05, 0.7, 3.5, height - 1.3)
    low, high = _ends(result["forecast"])
    axes.axvspan(*scale.place([100 * low, 100 * high]), color=BAND, linewidth=0, zorder=0)
    for place, (label, kind, value) in enumerate(rows):
        DRAW[kind](axes, scale, place, runs, value)
        figure_y = place
        axes.annotate(
            label,
            (0, figure_y),
            (-8, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="right",
            va="center",
        )
        axes.annotate(
            _row_value(kind, value, runs),
            (1, figure_y),
            (8, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            ha="left",
            va="center",
            color=MUTED,
        )
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks([])
    axes.set_xlim(*scale.limits())
    axes.set_xticks(*scale.ticks())
    axes.grid(axis="x", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("model error above the best possible (%" + (", log scale)" if scale.log else ")"))
    return figure


def _ends(part: dict[str, Any]) -> tuple[float, float]:
    """The interval around a value; the value itself where there is none."""
    low, high = part.get("interval") or (None, None)
    value = part["relative_fitness"]
    return (value if low is None else low), (value if high is None else high)


def _forecast_rows(result: dict[str, Any], runs: np.ndarray) -> list[tuple[str, str, Any]]:
    """(label, how to draw it, numbers) from top to bottom."""
    made, alone, checked = result["forecast"], result["outside_option"], result.get("validation")
    basis = "public rows" if made.get("basis") == "public" else "pooled records"
    rows: list[tuple[str, str, Any]] = [
        (f"forecast from {basis}", "interval", (made["relative_fitness"], *_ends(made)))
    ]
    if checked:
        spread = checked["relative_fitness"]
        oracle = (made.get("oracle") or {}).get("relative_fitness")
        if oracle is not None and made.get("basis") == "public":
            rows.append(("oracle law (pooled records)", "point", oracle))
        error = 3 * (spread["std_error"] or 0.0)
        mean = spread["mean"]
        rows.append(("trained mean ± 3 std. errors", "mean", (mean, mean - error, mean + error)))
        if len(runs):
            rows.append((counted(len(runs), "trained run"), "runs", spread["median"]))
    rows.append(("learner alone, forecast", "alone", (alone["relative_fitness"], *_ends(alone))))
    if checked and alone.get("measured") is not None:
        rows.append(("learner alone, measured", "measured", alone["measured"]))
    return rows


def _row_value(kind: str, value: Any, runs: np.ndarray) -> str:
    if kind == "runs":
        return between(float(runs.min()), float(runs.max()), percent)
    return percent(value if kind in ("point", "measured") else value[0])


def _draw_interval(
    axes: Axes, scale: Scale, place: int, _: np.ndarray, value: Any, colour: str = PALETTE[0], marker: str = "o"
) -> None:
    low, high = (
        np.clip(scale.place([100 * value[1], 100 * value[2]]), *scale.limits())
        if (not scale.log or value[1] > 0)
        else (scale.limits()[0], float(scale.place(100 * value[2])))
    )
    axes.plot([low, high], [place, place], color=colour, linewidth=2)
    axes.plot(scale.place(100 * value[0]), place, marker=marker, markersize=7, color=colour, linestyle="none")


def _draw_mean(axes: Axes, scale: Scale, place: int, runs: np.ndarray, value: Any) -> None:
    _draw_interval(axes, scale, place, runs, value, INK, "D")


def _draw_alone(axes: Axes, scale: Scale, place: int, runs: np.ndarray, value: Any) -> None:
    _draw_interval(axes, scale, place, runs, value, PALETTE[1], "s")


def _draw_point(axes: Axes, scale: Scale, place: int, _: np.ndarray, value: Any) -> None:
    axes.plot(
        scale.place(100 * value),
        place,
        marker="D",
        markersize=6.5,
        markerfacecolor="none",
        markeredgewidth=1.4,
        color=PALETTE[2],
        linestyle="none",
    )


def _draw_measured(axes: Axes, scale: Scale, place: int, _: np.ndarray, value: Any) -> None:
    axes.plot(
        scale.place(100 * value),
        place,
        marker="s",
        markersize=6,
        markerfacecolor="none",
        markeredgewidth=1.4,
        color=PALETTE[1],
        linestyle="none",
    )


def _draw_runs(axes: Axes, scale: Scale, place: int, runs: np.ndarray, _: Any) -> None:
    placed = scale.place(100 * runs)
    # Golden-ratio heights scatter the dots evenly and the same way every time.
    heights = place + 0.34 * ((np.arange(len(runs)) * 0.6180339887498949) % 1 - 0.5) * 2
    axes.plot(placed, heights, linestyle="none", marker="o", markersize=2.6, color=MUTED, alpha=0.45, markeredgewidth=0)
    low, first, middle, third, high = np.quantile(placed, [0.05, 0.25, 0.5, 0.75, 0.95])
    axes.plot([low, first, math.nan, third, high], [place] * 5, color=INK, linewidth=1)
    axes.plot([first, third, third, first, first], place + 0.2 * np.array([-1, -1, 1, 1, -1]), color=INK, linewidth=1)
    axes.plot([middle, middle], [place - 0.2, place + 0.2], color=INK, linewidth=2)


DRAW = {
    "interval": _draw_interval,
    "point": _draw_point,
    "mean": _draw_mean,
    "runs": _draw_runs,
    "alone": _draw_alone,
    "measured": _draw_measured,
}
