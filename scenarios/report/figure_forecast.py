"""The figure of a forecast: beside it the trained runs, and the learner alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.report.figure_page import BAND, INK, MUTED, PALETTE, _page, _panel
from scenarios.report.figure_scale import Scale
from scenarios.report.sentences_learning import BASES, best_short, best_words, is_exact, loss_of, measure_of
from scenarios.report.wording import between, counted, percent

FINEST = 1e-3  # percent: no axis is finer than what is told of errors
HOLLOW = {"markerfacecolor": "none", "markeredgewidth": 1.4}
MARKS: dict[str, dict[str, Any]] = {
    "interval": {"marker": "o", "markersize": 7, "color": PALETTE[0]},
    "point": {"marker": "D", "markersize": 6.5, "color": PALETTE[2], **HOLLOW},
    "mean": {"marker": "D", "markersize": 7, "color": INK},
    "alone": {"marker": "s", "markersize": 7, "color": PALETTE[1]},
    "measured": {"marker": "s", "markersize": 6, "color": PALETTE[1], **HOLLOW},
}
BESIDE: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}


def forecast(result: dict[str, Any], runs: np.ndarray) -> Figure:
    """Forecast, trained runs and outside option on one axis of model error."""
    runs = runs if result["forecast"]["step_size"] > 0 else runs[:0]  # else nothing was trained
    rows = _forecast_rows(result, runs)
    values = 100 * np.concatenate([np.atleast_1d(np.asarray(value, float)) for _, _, value in rows] + [runs])
    shown = values[np.isfinite(values)]
    scale = Scale.over(shown) if (shown > 0).all() else Scale(shown.min(), max(shown.max(), FINEST), False)
    height = 1.5 + 0.42 * len(rows)
    measure = measure_of(loss_of(result)).capitalize()
    note = f"{measure} above that of {best_words(result)}, in percent; shaded: the forecast's interval"
    figure = _page(height, "Forecast, training, and the learner alone", note)
    axes = _panel(figure, 2.05, 0.7, 3.5, height - 1.3)
    low, high = _ends(result["forecast"])
    axes.axvspan(*scale.place([100 * low, 100 * high]), color=BAND, linewidth=0, zorder=0)
    for place, (label, kind, value) in enumerate(rows):
        if kind == "runs":
            _draw_runs(axes, scale, place, runs)
            told = between(float(runs.min()), float(runs.max()), percent)
        else:
            _draw_mark(axes, scale, place, value, MARKS[kind])
            told = percent(np.ravel(value)[0])
        lines = label.split("\n")
        for line, text in enumerate(lines):
            axes.annotate(text, (0, place), (-8, 5.5 * (len(lines) - 1) - 11 * line), ha="right", **BESIDE)
        axes.annotate(told, (1, place), (8, 0), ha="left", color=MUTED, **BESIDE)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks([])
    scale.rule(axes, "x")
    axes.spines["left"].set_visible(False)
    best = best_short(loss_of(result))
    axes.set_xlabel(f"model error above the {best} (%" + (", log scale)" if scale.log else ")"))
    return figure


def _ends(part: dict[str, Any]) -> tuple[float, float]:
    """The interval around a value; the value itself where there is none."""
    low, high = part.get("interval") or (None, None)
    value = part["relative_fitness"]
    return (value if low is None else low), (value if high is None else high)


def _forecast_rows(result: dict[str, Any], runs: np.ndarray) -> list[tuple[str, str, Any]]:
    """(label, how to draw it, numbers) from top to bottom."""
    made, alone, checked = result["forecast"], result["outside_option"], result.get("validation")
    how, law = ("exact law", "law") if is_exact(result) else ("rehearsed", "fit")
    basis, oracle = made["basis"], made["oracle"]
    rows: list[tuple[str, str, Any]] = [
        (f"forecast from {BASES[basis]}\n({how})", "interval", (made["relative_fitness"], *_ends(made)))
    ]
    if checked and made["step_size"] > 0:
        spread = checked["relative_fitness"]
        if oracle and basis == "public":
            rows.append((f"oracle {law} (pooled records)", "point", oracle["relative_fitness"]))
        mean, error = spread["mean"], 3 * (spread["std_error"] or 0.0)
        rows.append(("trained mean ± 3 std. errors", "mean", (mean, mean - error, mean + error)))
        if len(runs):
            rows.append((counted(len(runs), "trained run"), "runs", spread["median"]))
    rows.append(("learner alone, forecast", "alone", (alone["relative_fitness"], *_ends(alone))))
    if checked and alone.get("measured") is not None:
        rows.append(("learner alone, measured", "measured", alone["measured"]))
    return rows


def _draw_mark(axes: Axes, scale: Scale, place: int, value: Any, style: dict[str, Any]) -> None:
    """A value, or a value and the interval around it."""
    middle, *around = np.atleast_1d(np.asarray(value, float))
    if around:
        low, high = scale.place([100 * end for end in around])
        if scale.log and around[0] <= 0:
            low = scale.limits()[0]
        else:
            low, high = np.clip([low, high], *scale.limits())
        axes.plot([low, high], [place, place], color=style["color"], linewidth=2)
    axes.plot(scale.place(100 * middle), place, linestyle="none", **style)


def _draw_runs(axes: Axes, scale: Scale, place: int, runs: np.ndarray) -> None:
    """Every run as a dot, and a box around the middle half of them."""
    placed = scale.place(100 * runs)
    # Golden-ratio heights scatter the dots evenly and the same way every time.
    heights = place + 0.34 * ((np.arange(len(runs)) * 0.6180339887498949) % 1 - 0.5) * 2
    axes.plot(placed, heights, linestyle="none", marker="o", markersize=2.6, color=MUTED, alpha=0.45, markeredgewidth=0)
    low, first, middle, third, high = np.quantile(placed, [0.05, 0.25, 0.5, 0.75, 0.95])
    axes.plot([low, first, math.nan, third, high], [place] * 5, color=INK, linewidth=1)
    axes.plot([first, third, third, first, first], place + 0.2 * np.array([-1, -1, 1, 1, -1]), color=INK, linewidth=1)
    axes.plot([middle, middle], [place - 0.2, place + 0.2], color=INK, linewidth=2)
