"""Figure of a forecast: the forecast, the trained runs, and the learner alone on one axis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.report.facts_outcome import best_short, describe_measure, is_exact, loss_of
from scenarios.report.figure_page import (
    BAND,
    INK,
    MUTED,
    PALETTE,
    add_panel,
    label_row,
    make_rows,
    new_page,
)
from scenarios.report.figure_scale import Scale
from scenarios.report.phrases import render_phrase
from scenarios.report.wording import count_noun, format_interval, format_percent

BASES = {"public": "public rows", "oracle": "pooled records"}
FINEST = 1e-3  # percent: no axis is finer than errors are shown
GOLDEN = 0.6180339887498949
HOLLOW = {"markerfacecolor": "none", "markeredgewidth": 1.4}
MARKS: dict[str, dict[str, Any]] = {
    "interval": {"marker": "o", "markersize": 7, "color": PALETTE[0]},
    "point": {"marker": "D", "markersize": 6.5, "color": PALETTE[2], **HOLLOW},
    "mean": {"marker": "D", "markersize": 7, "color": INK},
    "alone": {"marker": "s", "markersize": 7, "color": PALETTE[1]},
    "measured": {"marker": "s", "markersize": 6, "color": PALETTE[1], **HOLLOW},
}
RUN: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 2.6, "color": MUTED}


def forecast_figure(result: dict[str, Any], runs: np.ndarray) -> Figure:
    """Draw forecast, trained runs and outside option on one axis of model error.

    Parameters
    ----------
    result: the content of result.json.
    runs: relative fitness of each trained run, (n_runs,).
    """
    if result["forecast"]["step_size"] <= 0:  # nothing was trained
        runs = runs[:0]
    rows = _forecast_rows(result, runs)
    scale = _error_scale([*(np.ravel(value) for _, _, value in rows), runs])
    height = 1.5 + 0.42 * len(rows)
    measure = describe_measure(loss_of(result)).capitalize()
    best = render_phrase("learning", "best_words", result)
    note = f"{measure} above that of {best}, in percent; shaded: the forecast's interval"
    figure = new_page(height, "Forecast, training, and the learner alone", note)
    axes = add_panel(figure, 2.05, 0.7, 3.5, height - 1.3)
    low, high = _interval_ends(result["forecast"])
    axes.axvspan(*scale.place([100 * low, 100 * high]), color=BAND, linewidth=0, zorder=0)
    for place, (label, kind, value) in enumerate(rows):
        if kind == "runs":
            _draw_runs(axes, scale, place, runs)
            text = format_interval(float(runs.min()), float(runs.max()), format_percent)
        else:
            _draw_mark(axes, scale, place, value, MARKS[kind])
            text = format_percent(np.ravel(value)[0])
        label_row(axes, place, label, text)
    make_rows(axes, len(rows))
    scale.rule(axes, "x")
    log = ", log scale" * scale.log
    axes.set_xlabel(f"model error above the {best_short(loss_of(result))} (%{log})")
    return figure


def _error_scale(values: list[np.ndarray]) -> Scale:
    percents = 100 * np.concatenate(values)
    known = percents[np.isfinite(percents)]
    if (known > 0).all():
        return Scale.over(known)
    return Scale(known.min(), max(known.max(), FINEST), False)


def _interval_ends(part: dict[str, Any]) -> tuple[float, float]:
    """Return the interval around a value; the value itself where there is none."""
    low, high = part.get("interval") or (None, None)
    value = part["relative_fitness"]
    return (value if low is None else low), (value if high is None else high)


def _forecast_rows(result: dict[str, Any], runs: np.ndarray) -> list[tuple[str, str, Any]]:
    """List label, kind of mark, and numbers of each row from top to bottom."""
    made = result["forecast"]
    alone = result["outside_option"]
    checked = result.get("validation")
    how, law = {True: ("exact law", "law"), False: ("rehearsed", "fit")}[is_exact(result)]
    basis = made["basis"]
    value = (made["relative_fitness"], *_interval_ends(made))
    rows: list[tuple[str, str, Any]] = [
        (f"forecast from {BASES[basis]}\n({how})", "interval", value)
    ]
    if checked and made["step_size"] > 0:
        spread = checked["relative_fitness"]
        if made["oracle"] and basis == "public":
            oracle = made["oracle"]["relative_fitness"]
            rows.append((f"oracle {law} (pooled records)", "point", oracle))
        mean = spread["mean"]
        error = 3 * (spread["std_error"] or 0.0)
        rows.append(("trained mean ± 3 std. errors", "mean", (mean, mean - error, mean + error)))
        if len(runs):
            rows.append((count_noun(len(runs), "trained run"), "runs", spread["median"]))
    value = (alone["relative_fitness"], *_interval_ends(alone))
    rows.append(("learner alone, forecast", "alone", value))
    if checked and alone.get("measured") is not None:
        rows.append(("learner alone, measured", "measured", alone["measured"]))
    return rows


def _draw_mark(axes: Axes, scale: Scale, place: int, value: Any, style: dict[str, Any]) -> None:
    """Draw a value, or a value and the interval around it."""
    middle, *around = np.ravel(value)
    if around:
        low, high = scale.place([100 * end for end in around])
        if scale.log and around[0] <= 0:
            low = scale.limits()[0]
        else:
            low, high = np.clip([low, high], *scale.limits())
        axes.plot([low, high], [place, place], color=style["color"], linewidth=2)
    axes.plot(scale.place(100 * middle), place, linestyle="none", **style)


def _draw_runs(axes: Axes, scale: Scale, place: int, runs: np.ndarray) -> None:
    """Draw every run as a dot, and a box around the middle half of them."""
    placed = scale.place(100 * runs)
    # Golden-ratio heights scatter the dots evenly and the same way every time.
    heights = place + 0.34 * ((np.arange(len(runs)) * GOLDEN) % 1 - 0.5) * 2
    axes.plot(placed, heights, alpha=0.45, markeredgewidth=0, **RUN)
    low, first, middle, third, high = np.quantile(placed, [0.05, 0.25, 0.5, 0.75, 0.95])
    box = [first, third, third, first, first]
    sides = place + 0.2 * np.array([-1, -1, 1, 1, -1])
    axes.plot([low, first, math.nan, third, high], [place] * 5, color=INK, linewidth=1)
    axes.plot(box, sides, color=INK, linewidth=1)
    axes.plot([middle, middle], [place - 0.2, place + 0.2], color=INK, linewidth=2)
