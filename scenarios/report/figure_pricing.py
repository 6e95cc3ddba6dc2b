"""The figure of a learned price: what was posted, and the profit at it, post by post, with the best price beside."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from scenarios.report.figure_page import MUTED, PALETTE, WIDTH, _page, _panel
from scenarios.report.figure_scale import Scale
from scenarios.report.wording import money_heading, number

HEIGHT = 3.3


def prices(result: dict[str, Any]) -> Figure | None:
    """Price and profit by round; dashed, what is best for whom every cost is known."""
    found = result.get("pricing")
    if found is None:
        return None
    rows, best = found["path"], found["best"]
    rounds = np.array([row["rounds"] for row in rows], dtype=float)
    note = "Each dot is a price that owners answered.\u2003Dashed: the best, for who knew every owner's costs"
    figure = _page(HEIGHT, "How the learner learned its price", note)
    wide = (WIDTH - 2.3) / 2
    posted = np.array([row["price"] for row in rows])
    made = np.array([row["profit"] for row in rows])
    scale = Scale.over(np.append(posted, best["price"]))
    left = _panel(figure, 0.75, 0.85, wide, HEIGHT - 1.45)
    _path(left, rounds, scale.place(posted), float(scale.place(best["price"])))
    scale.rule(left, "y")
    _title(left, scale.named(f"{found['money']}, times that of the scenario"))
    right = _panel(figure, 1.9 + wide, 0.85, wide, HEIGHT - 1.45)
    _path(right, rounds, made, best["profit"])
    top = max(made.max(), best["profit"], 0.0)
    lowest = max(made.min(), min(best["profit"], 0.0) - top)
    room = 0.08 * (top - lowest) or 1.0
    right.set_ylim(lowest - room, top + room)
    right.yaxis.set_major_locator(MaxNLocator(5))
    right.yaxis.set_major_formatter(lambda value, _: number(value))
    cut = "; far below is cut off" if made.min() < lowest else ""
    _title(right, f"{money_heading(result, 'profit by the forecast')}{cut}")
    return figure


def _path(axes: Axes, rounds: np.ndarray, values: np.ndarray, best: float) -> None:
    axes.axhline(best, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    axes.plot(rounds, values, "o-", color=PALETTE[0], markersize=3.5, linewidth=1.2)
    axes.plot(rounds[-1], values[-1], "D", color=PALETTE[1], markersize=6)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: number(value, 6))
    axes.set_xlim(0, rounds[-1] * 1.04)
    axes.set_xlabel("rounds of the owners")


def _title(axes: Axes, text: str) -> None:
    axes.text(0.0, 1.04, text, transform=axes.transAxes, va="bottom", color=MUTED)
