"""The figures of a game without a table: every owner's budget from several starts, and what each would gain by moving."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from scenarios.report.figure_page import INK, MUTED, PALETTE, WIDTH, _page, _panel
from scenarios.report.figures import BUDGET, COLOURED, payoff_curves, shorten

HEIGHT = 2.7  # inches of the panel of paths


def draw_paths(axes: Axes, paths: pd.DataFrame, owners: Sequence[str], settled: Sequence[Sequence[float]] = ()) -> None:
    """Budgets by round from every start, a colour for each owner; what is settled on as broken lines.

    Parameters
    ----------
    axes : where to draw.
    paths : columns start, round, owner, epsilon.
    owners : names of those who are drawn, in the order of their colours.
    settled : budgets of all equilibria to mark, each as (n_owners,) of these owners.
    """
    last = int(paths["round"].max())
    for number, owner in enumerate(owners):  # ever thinner, so that paths that coincide stay visible
        colour, width = PALETTE[number % len(PALETTE)], 2.4 - 0.4 * (number % len(PALETTE))
        for _, path in paths[paths["owner"] == owner].groupby("start"):
            axes.plot(path["round"], path["epsilon"], color=colour, lw=width, alpha=0.85)
            axes.plot(
                [path["round"].iloc[-1], last], [path["epsilon"].iloc[-1]] * 2, color=colour, lw=width, alpha=0.85
            )
            axes.plot(path["round"].iloc[0], path["epsilon"].iloc[0], "o", ms=3.5, color=colour, clip_on=False)
    for profile in settled:
        for epsilon in sorted(set(profile)):
            axes.axhline(epsilon, color=INK, lw=0.7, ls=(0, (2, 3)), zorder=0)
    axes.set_xlim(0, max(last, 1))
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.set_xlabel("round (0 = start)")
    axes.grid(True, axis="y")


def paths_figure(content: Mapping[str, Any], paths: pd.DataFrame) -> Figure:
    """Play from every start, of the first few owners, with every equilibrium as a broken line."""
    owners = [owner["name"] for owner in content["owners"]]
    shown = owners[:COLOURED]
    note = f"Privacy budget of each owner, round by round, from {len(content['starts']):,} starts; broken: equilibria"
    if len(shown) < len(owners):
        note += f"\nThe first {len(shown)} of {len(owners):,} owners"
    figure = _page(HEIGHT + 1.4, "Where play leads", note)
    axes = _panel(figure, 0.62, 0.9, WIDTH - 2.1, HEIGHT)
    settled = [one["epsilon"][: len(shown)] for one in content["equilibria"]]
    draw_paths(axes, paths, shown, settled)
    axes.text(-0.52 / (WIDTH - 2.1), 1.03, BUDGET, transform=axes.transAxes, va="bottom", color=MUTED)
    marks = [Line2D([], [], color=colour, lw=2, marker="o", ms=3.5) for colour in PALETTE]
    names = [shorten(name, 16) for name in shown]
    axes.legend(marks[: len(names)], names, frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    return figure


def curves_figure(content: Mapping[str, Any], curves: pd.DataFrame, owners: pd.DataFrame, unit: str) -> Figure | None:
    """What each owner would be left with if it alone moved, at the equilibrium that most starts lead to."""
    found = content["equilibria"]
    if not found:
        return None
    number = shown_equilibrium(content)
    rows = owners[owners["equilibrium"] == number].rename(columns={"owner": "name"}).to_dict("records")
    return payoff_curves(curves[curves["equilibrium"] == number], rows, unit)


def shown_equilibrium(content: Mapping[str, Any]) -> int:
    """The number of the equilibrium that most starts lead to; of several, the one in which most is shared."""
    found = content["equilibria"]
    return 1 + max(range(len(found)), key=lambda at: (len(found[at]["starts"]), found[at]["stable"], at))
