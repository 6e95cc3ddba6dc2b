"""Page of all figures: colours, style, title, panels, rows, and the drawing as text."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any
from unicodedata import bidirectional

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from scenarios.report.wording import format_number

INK = "#24292f"
MUTED = "#636c76"
FAINT = "#d5dae0"
PAPER = "#ffffff"
# Distinct for the colour-blind, legible as text.
PALETTE = ("#0072b2", "#c44d00", "#00805f", "#a0488a", "#8a6d00")
BAND = "#e3eef6"
DASHED = (0, (4, 3))
WIDTH = 7.2  # inches
GREY_LINES = 200  # of owners not in colour
FONTS = "'DejaVu Sans', Verdana, Arial, sans-serif"
STYLE: dict[Any, Any] = {
    # Text stays text: it can be searched, read aloud, and shown in scripts that the drawing machine
    # has no font for.
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
BESIDE: dict[str, Any] = {
    "xycoords": ("axes fraction", "data"),
    "textcoords": "offset points",
    "va": "center",
}


def new_page(height: float, title: str, note: str, width: float = WIDTH) -> Figure:
    """Make a figure with a title and a note of one or more lines; sizes in inches."""
    figure = Figure(figsize=(width, height))
    left = 0.1 / width
    figure.text(left, 1 - 0.1 / height, title, va="top", fontsize=10.5, fontweight="bold")
    for line, text in enumerate(note.split("\n")):
        top = 1 - (0.33 + 0.15 * line) / height
        figure.text(left, top, text, va="top", fontsize=8.5, color=MUTED)
    return figure


def add_panel(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Add axes, placed in inches from the figure's upper left corner."""
    wide = figure.get_figwidth()
    page = figure.get_figheight()
    return figure.add_axes((left / wide, 1 - (top + height) / page, width / wide, height / page))


def add_panels(
    figure: Figure, shape: tuple[int, int], place: tuple[float, float], tall: float, **room: float
) -> list[Axes]:
    """Add panels in rows, so wide that they fill the page; all in inches.

    Parameters
    ----------
    shape : their number, and how many stand in a row.
    place : upper left corner of the first.
    tall : height of each.
    room : ``apart`` between two of a row, ``down`` between rows, ``right`` of the last column.
    """
    count, columns = shape
    left, top = place
    apart = room.get("apart", 0.0)
    wide = figure.get_figwidth() - left - room.get("right", 0.1) + apart
    across = wide / columns
    down = tall + room.get("down", 0.0)
    places = (divmod(i, columns) for i in range(count))
    return [
        add_panel(figure, left + column * across, top + row * down, across - apart, tall)
        for row, column in places
    ]


def add_note(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write a text at a place in fractions of the axes."""
    style = {"va": "bottom", "color": MUTED, **style}
    axes.text(x, y, text, transform=axes.transAxes, **style)


def add_legend(
    figure: Figure, names: Sequence[str], marks: str, columns: int, left: float = 0.1
) -> None:
    """Write names in the colours and marks of their lines, under the panels."""
    colours = [PALETTE[i % len(PALETTE)] for i in range(len(names))]
    handles = [
        Line2D([], [], color=colour, marker=marks[i % len(marks)], linestyle="none")
        for i, colour in enumerate(colours)
    ]
    place = (left / figure.get_figwidth(), 0.02 / figure.get_figheight())
    style: dict[str, Any] = {"frameon": False, "borderpad": 0, "handletextpad": 0.1}
    style |= {"markerscale": 0.8, "handlelength": 1.2, "labelcolor": colours, "fontsize": 8}
    figure.legend(handles, names, loc="lower left", bbox_to_anchor=place, ncols=columns, **style)


def shorten(name: str, most: int = 22) -> str:
    """Cut a name to at most so many letters; one written from the right is kept together."""
    cut = name
    if len(name) > most:
        cut = name[: most - 1].rstrip() + "…"
    if any(bidirectional(letter) in ("R", "AL") for letter in cut):
        return f"\u2068{cut}\u2069"
    return cut


def make_rows(axes: Axes, count: int) -> None:
    """Number rows from the top, without an axis at the left."""
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def label_row(axes: Axes, place: int, label: str, value: str = "") -> None:
    """Write a row's label of one or more lines at its left, and its value at its right."""
    lines = label.split("\n")
    for line, text in enumerate(lines):
        rise = 5.5 * (len(lines) - 1) - 11 * line
        axes.annotate(text, (0, place), (-8, rise), ha="right", **BESIDE)
    if value:
        axes.annotate(value, (1, place), (8, 0), ha="left", color=MUTED, **BESIDE)


def format_axis(axes: Axes, name: str, ticks: int, digits: int = 3, **options: Any) -> None:
    """Put a few round numbers on an axis, x or y."""
    axis = {"x": axes.xaxis, "y": axes.yaxis}[name]
    axis.set_major_locator(MaxNLocator(ticks, **options))
    axis.set_major_formatter(lambda value, _: format_number(value, digits))


def thin_out(names: list[str]) -> list[str]:
    """Pick evenly at most `GREY_LINES` names."""
    return names[:: -(-len(names) // GREY_LINES) or 1]


def svg_text(figure: Figure) -> str:
    """Save a drawing as text, without date or program, with fonts to fall back on."""
    page = io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(page, format="svg", metadata=nothing)
    return page.getvalue().decode().replace("font-family: 'DejaVu Sans'", f"font-family: {FONTS}")


def draw_svg(draw: Callable[..., Figure | None], *values: Any) -> str:
    """Draw a figure in the style of all figures; empty where there is nothing to draw.

    Parameters
    ----------
    draw: makes the figure, or None.
    values: its arguments.

    Returns
    -------
    str
        The drawing as SVG text.
    """
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # The reader's machine has the font, or a substitute.
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        figure = draw(*values)
        return "" if figure is None else svg_text(figure)
