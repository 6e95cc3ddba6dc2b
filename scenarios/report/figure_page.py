"""The page that every figure is drawn on: colours, style, title, panels, and the drawing as text."""

from __future__ import annotations

import io
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, MUTED, FAINT, PAPER = "#24292f", "#636c76", "#d5dae0", "#ffffff"
PALETTE = ("#0072b2", "#c44d00", "#00805f", "#a0488a", "#8a6d00")  # told apart by the colour-blind, legible as text
BAND = "#e3eef6"
WIDTH = 7.2  # inches
FONTS = "'DejaVu Sans', Verdana, Arial, sans-serif"
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
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "figure.facecolor": PAPER,
    "axes.facecolor": "none",
    "savefig.facecolor": PAPER,
    "path.simplify": False,
    "lines.solid_capstyle": "round",
}


def _page(height: float, title: str, note: str, width: float = WIDTH) -> Figure:
    figure = Figure(figsize=(width, height))
    figure.text(0.1 / width, 1 - 0.1 / height, title, va="top", fontsize=10.5, fontweight="bold")
    for line, text in enumerate(note.split("\n")):
        figure.text(0.1 / width, 1 - (0.33 + 0.15 * line) / height, text, va="top", fontsize=8.5, color=MUTED)
    return figure


def _panel(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes placed in inches from the figure's upper left corner."""
    wide, page = figure.get_figwidth(), figure.get_figheight()
    return figure.add_axes((left / wide, 1 - (top + height) / page, width / wide, height / page))


def _svg(figure: Figure) -> str:
    """The drawing as text, without date or program, with fonts to fall back on."""
    page = io.BytesIO()
    figure.savefig(page, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return page.getvalue().decode().replace("font-family: 'DejaVu Sans'", f"font-family: {FONTS}")
