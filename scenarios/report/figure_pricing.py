"""Figure of a learned price: prices posted and the profit at them, with the best price."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.report.figure_page import (
    DASHED,
    MUTED,
    PALETTE,
    add_note,
    add_panels,
    format_axis,
    new_page,
)
from scenarios.report.figure_scale import Scale
from scenarios.report.wording import money_heading

HEIGHT = 3.3  # inches
NOTE = (
    "Each dot is a price that owners answered."
    "\u2003Dashed: the best, for who knew every owner's costs"
)


def pricing_figure(result: dict[str, Any]) -> Figure | None:
    """Draw price and profit by round, with the best of known costs dashed. None: no pricing."""
    found = result.get("pricing")
    if found is None:
        return None
    rows = found["path"]
    best = found["best"]
    rounds = np.array([row["rounds"] for row in rows], dtype=float)
    posted = np.array([row["price"] for row in rows])
    made = np.array([row["profit"] for row in rows])
    figure = new_page(HEIGHT, "How the learner learned its price", NOTE)
    scale = Scale.over(np.append(posted, best["price"]))
    place = (0.75, 0.85)
    both = add_panels(figure, (2, 2), place, HEIGHT - 1.45, apart=1.15, right=0.4)
    prices, profits = both
    _draw_path(prices, rounds, scale.place(posted), float(scale.place(best["price"])))
    scale.rule(prices, "y")
    add_note(prices, 0.0, 1.04, scale.named(f"{found['money']}, times that of the scenario"))
    _draw_path(profits, rounds, made, best["profit"])
    top = max(made.max(), best["profit"], 0.0)
    lowest = max(made.min(), min(best["profit"], 0.0) - top)
    room = 0.08 * (top - lowest) or 1.0
    profits.set_ylim(lowest - room, top + room)
    format_axis(profits, "y", 5)
    title = money_heading(result, "profit by the forecast")
    add_note(profits, 0.0, 1.04, title + "; far below is cut off" * bool(made.min() < lowest))
    return figure


def _draw_path(axes: Axes, rounds: np.ndarray, values: np.ndarray, best: float) -> None:
    axes.axhline(best, color=MUTED, linewidth=1, linestyle=DASHED)
    axes.plot(rounds, values, "o-", color=PALETTE[0], markersize=3.5, linewidth=1.2)
    axes.plot(rounds[-1], values[-1], "D", color=PALETTE[1], markersize=6)
    format_axis(axes, "x", 6, 6, integer=True)
    axes.set_xlim(0, rounds[-1] * 1.04)
    axes.set_xlabel("rounds of the owners")
