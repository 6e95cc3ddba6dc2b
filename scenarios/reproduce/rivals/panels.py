"""Pages of these items: panels with a grid, whose lines take the house's colours one after another."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.report.figure_page import PALETTE
from scenarios.reproduce.drawing import page


def panels(title: str, note: str, columns: int = 1, **size: Any) -> tuple[Figure, list[Axes]]:
    """A page with panels side by side; what is drawn without a colour takes the next one of the palette."""
    figure, made = page(title, note, columns, **size)
    for axes in made:
        axes.set_prop_cycle(color=PALETTE)
        axes.grid(True)
    return figure, made
