"""The figure of a design: what is paid against the model's error, for every policy tried."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from scenarios.report.figure_page import BAND, INK, MUTED, PALETTE, WIDTH, _page, _panel
from scenarios.report.figure_scale import Scale
from scenarios.report.sentences_design import named
from scenarios.report.wording import money_heading

HEIGHT, MOST = 4.2, 5


def design_figure(content: dict[str, Any]) -> Figure:
    """Payment against error: a dot for each policy tried, hollow where somebody would rather leave; efficient ones joined."""
    rows = [row for row in content["frontier"] if row["payments"] > 0]
    note = "Each dot is a policy, its owners in equilibrium; hollow: an owner would rather not take part"
    figure = _page(HEIGHT, "What a model costs", note)
    axes = _panel(figure, 0.85, 0.8, WIDTH - 2.75, HEIGHT - 1.4)
    paid = Scale.over(np.array([row["payments"] for row in rows] or [1.0]))
    error = Scale.over(100 * np.array([*(row["relative_fitness"] for row in rows), content["outside"]]))
    names = [named(row) for row in content["policies"] if not row["refused"]]
    for rank, name in enumerate(names):
        colour = PALETTE[rank] if rank < MOST else MUTED
        mine = [row for row in rows if named(row) == name]
        for row in mine:
            face = colour if row["feasible"] else "none"
            at = float(paid.place(row["payments"])), float(error.place(100 * row["relative_fitness"]))
            axes.plot(*at, "o", markersize=5, color=colour, markerfacecolor=face)
        y = 1 - (1.0 + 0.2 * rank) / HEIGHT
        figure.text(1 - 1.75 / WIDTH, y, f"● {name}", color=colour, fontsize=8)
    best = [row for row in rows if row["efficient"]]
    line = [paid.place([row["payments"] for row in best]), error.place([100 * row["relative_fitness"] for row in best])]
    axes.plot(*line, color=MUTED, linewidth=1, zorder=0)
    alone = float(error.place(100 * content["outside"]))
    axes.axhline(alone, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    right = paid.limits()[1]
    axes.annotate("the learner alone", (right, alone), (-4, 3), textcoords="offset points", color=MUTED, ha="right")
    if content["buys"]:
        made = content["chosen"]
        x, y = (
            float(paid.place(made["learner"]["payments"])),
            float(error.place(100 * made["forecast"]["relative_fitness"])),
        )
        ends = error.place(np.clip(100 * np.array(made["forecast"]["interval"]), error.low, error.high))
        axes.plot([x, x], ends, color=BAND, linewidth=6, zorder=0, solid_capstyle="butt")
        axes.plot(x, y, "D", markersize=9, markerfacecolor="none", markeredgewidth=1.6, color=INK)
        axes.annotate("chosen", (x, y), (-9, -13), textcoords="offset points", color=INK, ha="right")
    paid.rule(axes, "x")
    error.rule(axes, "y", 0.08)
    axes.set_xlabel(paid.named(f"paid in all, {money_heading(content['chosen'])}"))
    axes.set_ylabel(error.named("model error above best possible (%)"))
    return figure
