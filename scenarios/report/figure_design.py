"""Figure of a design: payments against the model's error, for every policy tried."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.report.facts_outcome import policy_name
from scenarios.report.figure_page import (
    BAND,
    DASHED,
    INK,
    MUTED,
    PALETTE,
    WIDTH,
    add_panel,
    new_page,
)
from scenarios.report.figure_scale import Scale
from scenarios.report.wording import money_heading

HEIGHT = 4.2  # inches
NOTE = "Each mark is a policy with its owners in equilibrium. Hollow: an owner would lose."
MARKS = (("o", "●○"), ("s", "■□"), ("^", "▲△"), ("D", "◆◇"))
RING: dict[str, Any] = {"markersize": 9, "markerfacecolor": "none", "markeredgewidth": 1.6}


def design_figure(content: dict[str, Any]) -> Figure:
    """Draw payments against error: a dot for each policy tried, efficient ones joined."""
    rows = [row for row in content["frontier"] if row["payments"] > 0]
    figure = new_page(HEIGHT, "What a model costs", NOTE)
    axes = add_panel(figure, 0.85, 0.8, WIDTH - 2.75, HEIGHT - 1.4)
    paid = Scale.over(np.array([row["payments"] for row in rows] or [1.0]))
    errors = [*(row["relative_fitness"] for row in rows), content["outside"]]
    error = Scale.over(100 * np.array(errors))
    drawn: dict[str, list[dict[str, Any]]] = {
        policy_name(row): [] for row in content["policies"] if not row["refused"]
    }
    for row in rows:
        if policy_name(row) in drawn:
            drawn[policy_name(row)].append(row)
    for rank, name in enumerate(filter(drawn.get, drawn)):
        colour = PALETTE[rank % len(PALETTE)]
        mark, (solid, hollow) = MARKS[rank // len(PALETTE) % len(MARKS)]
        faces = {True: colour, False: "none"}
        for row in drawn[name]:
            x, y = _place_policy(row, paid, error)
            face = faces[bool(row["feasible"])]
            axes.plot(x, y, mark, markersize=5, color=colour, markerfacecolor=face)
        sign = solid if any(row["feasible"] for row in drawn[name]) else hollow
        top = 1 - (1.0 + 0.2 * rank) / HEIGHT
        figure.text(1 - 1.75 / WIDTH, top, f"{sign} {name}", color=colour, fontsize=8)
    best = [row for row in rows if row["efficient"]]
    line = [
        paid.place([row["payments"] for row in best]),
        error.place([100 * row["relative_fitness"] for row in best]),
    ]
    axes.plot(*line, color=MUTED, linewidth=1, zorder=0)
    alone = float(error.place(100 * content["outside"]))
    axes.axhline(alone, color=MUTED, linewidth=1, linestyle=DASHED)
    _write_beside(axes, "the learner alone", (paid.limits()[1], alone), (-4, 3), MUTED)
    if content["buys"]:
        _draw_chosen(axes, content["chosen"], paid, error)
    paid.rule(axes, "x")
    error.rule(axes, "y", 0.08)
    axes.set_xlabel(paid.named(f"paid in all, {money_heading(content['chosen'])}"))
    axes.set_ylabel(error.named("model error above best possible (%)"))
    return figure


def _place_policy(row: dict[str, Any], paid: Scale, error: Scale) -> tuple[float, float]:
    return float(paid.place(row["payments"])), float(error.place(100 * row["relative_fitness"]))


def _draw_chosen(axes: Axes, made: dict[str, Any], paid: Scale, error: Scale) -> None:
    """Draw the policy chosen, with the interval of its forecast."""
    x, y = _place_policy({**made["learner"], **made["forecast"]}, paid, error)
    interval = np.clip(100 * np.array(made["forecast"]["interval"]), error.low, error.high)
    ends = error.place(interval)
    axes.plot([x, x], ends, color=BAND, linewidth=6, zorder=0, solid_capstyle="butt")
    axes.plot(x, y, "D", color=INK, **RING)
    _write_beside(axes, "chosen", (x, y), (-9, -13), INK)


def _write_beside(
    axes: Axes, text: str, place: tuple[float, float], offset: tuple[float, float], colour: str
) -> None:
    axes.annotate(text, place, offset, textcoords="offset points", color=colour, ha="right")
