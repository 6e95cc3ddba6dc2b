"""Figures of a game without a table: budgets from several starts, and payoff curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from scenarios.report.figure_page import (
    INK,
    PALETTE,
    WIDTH,
    add_note,
    add_panel,
    new_page,
    shorten,
)
from scenarios.report.figures import BUDGET, COLOURED, payoff_figure

HEIGHT = 2.7  # inches of the panel of paths
WIDE = WIDTH - 2.1


def draw_paths(
    axes: Axes, paths: pd.DataFrame, owners: Sequence[str], settled: Sequence[Sequence[float]] = ()
) -> None:
    """Draw budgets by round from every start, a colour for each owner; equilibria as broken lines.

    Parameters
    ----------
    axes: where to draw.
    paths: columns start, round, owner, epsilon.
    owners: names of those who are drawn, in the order of their colours.
    settled: budgets of all equilibria to mark, each as (n_owners,) of these owners.
    """
    last = int(paths["round"].max())
    for rank, owner in enumerate(owners):  # ever thinner, so that coinciding paths stay visible
        place = rank % len(PALETTE)
        style: dict[str, Any] = {"color": PALETTE[place], "lw": 2.4 - 0.4 * place, "alpha": 0.85}
        for _, path in paths[paths["owner"] == owner].groupby("start"):
            rounds = path["round"]
            epsilon = path["epsilon"]
            axes.plot(rounds, epsilon, **style)
            axes.plot([rounds.iloc[-1], last], [epsilon.iloc[-1]] * 2, **style)
            start = (rounds.iloc[0], epsilon.iloc[0])
            axes.plot(*start, "o", ms=3.5, color=PALETTE[place], clip_on=False)
    for profile in settled:
        for epsilon in sorted(set(profile)):
            axes.axhline(epsilon, color=INK, lw=0.7, ls=(0, (2, 3)), zorder=0)
    axes.set_xlim(0, max(last, 1))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_xlabel("round (0 = start)")
    axes.grid(True, axis="y")


def paths_figure(content: Mapping[str, Any], paths: pd.DataFrame) -> Figure:
    """Draw play of the first few owners from every start, with equilibria as broken lines."""
    owners = [owner["name"] for owner in content["owners"]]
    shown = owners[:COLOURED]
    starts = f"{len(content['starts']):,} starts"
    note = f"Privacy budget of each owner, round by round, from {starts}; dashed: equilibria"
    if len(shown) < len(owners):
        note += f"\nThe first {len(shown)} of {len(owners):,} owners"
    figure = new_page(HEIGHT + 1.4, "Where play leads", note)
    axes = add_panel(figure, 0.62, 0.9, WIDE, HEIGHT)
    settled = [one["epsilon"][: len(shown)] for one in content["equilibria"]]
    draw_paths(axes, paths, shown, settled)
    add_note(axes, -0.52 / WIDE, 1.03, BUDGET)
    names = [shorten(name, 16) for name in shown]
    marks = [Line2D([], [], color=colour, lw=2, marker="o", ms=3.5) for colour in PALETTE]
    style: dict[str, Any] = {"frameon": False, "fontsize": 8, "loc": "center left"}
    axes.legend(marks[: len(names)], names, bbox_to_anchor=(1.01, 0.5), **style)
    return figure


def curves_figure(
    content: Mapping[str, Any], curves: pd.DataFrame, owners: pd.DataFrame, unit: str
) -> Figure | None:
    """Draw each owner's payoff if it alone moved, at the equilibrium that most starts lead to."""
    if not content["equilibria"]:
        return None
    shown = shown_equilibrium(content)
    rows = owners[owners["equilibrium"] == shown].rename(columns={"owner": "name"})
    there = curves[curves["equilibrium"] == shown]
    return payoff_figure(there, rows.to_dict("records"), unit)


def shown_equilibrium(content: Mapping[str, Any]) -> int:
    """Number the equilibrium that most starts lead to; a stable one wins a tie, then the last."""
    found = content["equilibria"]
    ranks = [(len(one["starts"]), one["stable"], place) for place, one in enumerate(found)]
    return 1 + max(ranks)[-1]
