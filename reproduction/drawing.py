"""Common parts of the figures: a page of panels, series by group, quartile bands, contour maps."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from scenarios.report.figure_page import INK, MUTED, PALETTE, STYLE, add_panel, new_page, svg_text

MARKERS = ("o", "s", "D", "^", "v")
PER_INCH = 15  # letters of a note
GAP = 0.75  # inches
LEFT = 0.75
TOP = 0.85
BOTTOM = 0.55
RIGHT = 0.2
Style = dict[str, Any]  # options of a line or a marker
SHADES = ("#f4f8fb", "#9cc3dd", "#2b6c99")
ORANGE = PALETTE[1]


def render_svg(draw: Callable[[pd.DataFrame, str], Figure], frame: pd.DataFrame, note: str) -> str:
    """Render the figure of an item as SVG, in the style of the report."""
    with matplotlib.rc_context(STYLE):
        return svg_text(draw(frame, note))


def make_page(
    title: str,
    note: str,
    columns: int = 1,
    rows: int = 1,
    *,
    width: float = 7.2,
    height: float = 2.6,
    grid: bool = False,
) -> tuple[Figure, list[Axes]]:
    """Make a page with panels in rows and columns, row by row.

    Parameters
    ----------
    title, note : subject and data of the figure; a long note is broken into lines.
    columns, rows : number of panels.
    width : inches, of the page.
    height : inches, of a panel.
    grid : True for a grid in every panel.
    """
    note = "\n".join(textwrap.fill(line, int(PER_INCH * width)) for line in note.splitlines())
    top = TOP + 0.15 * note.count("\n")
    figure = new_page(top + rows * height + (rows - 1) * GAP + BOTTOM, title, note, width)
    wide = (width - LEFT - RIGHT - (columns - 1) * GAP) / columns
    panels = [
        add_panel(figure, LEFT + column * (wide + GAP), top + row * (height + GAP), wide, height)
        for row in range(rows)
        for column in range(columns)
    ]
    for axes in panels:
        axes.set_prop_cycle(color=PALETTE)
        if grid:
            axes.grid(True)
    return figure, panels


def plot_series(
    axes: Axes,
    frame: pd.DataFrame,
    x: str,
    y: str,
    by: str | None = None,
    *,
    label: str = "{}",
    labels: Sequence[str] = (),
    law: str | None = None,
    error: str = "std_error",
    logs: str = "xy",
) -> None:
    """Plot measured points as markers, one series for each value of ``by``.

    Parameters
    ----------
    axes : panel.
    frame : one row for each point.
    x, y, by : columns; a single series without ``by``.
    label : text of the legend, with a value of ``by`` in braces.
    labels : such texts for each value.
    law : column of the values of a law, drawn as a line through the points.
    error : column of standard errors, two of which are drawn, where there is one.
    logs : axes with a logarithmic scale: "xy", "x", "y" or "".
    """
    groups: Any = [(None, frame)]
    if by is not None:
        groups = frame.groupby(by, sort=True)
    for number, (value, part) in enumerate(groups):
        colour = PALETTE[number % len(PALETTE)]
        part = part.sort_values(x)
        errors = None
        if error in part:
            errors = 2 * part[error]
        style: Style = {
            "color": colour,
            "marker": MARKERS[number % len(MARKERS)],
            "ms": 4,
            "ls": "",
            "elinewidth": 0.8,
        }
        name = labels[number] if labels else label
        text = None if by is None else name.format(value)
        axes.errorbar(part[x], part[y], errors, label=text, **style)
        if law is not None:
            axes.plot(part[x], part[law], color=colour, lw=1.1)
    set_scales(axes, logs)


def set_scales(axes: Axes, logs: str) -> None:
    """Set logarithmic scales with plain numbers on the axes named, and a grid."""
    for name in logs:
        axes.set(**{f"{name}scale": "log"})
        axis = getattr(axes, f"{name}axis")
        axis.set_major_formatter(FuncFormatter(format_number))
        axis.set_minor_formatter(NullFormatter())
    axes.grid(True)


def format_number(value: float, place: int | None = None) -> str:
    """Format a number for a tick.

    >>> format_number(10_000), format_number(0.001), format_number(1e7)
    ('10,000', '0.001', '1e+07')
    """
    return f"{value:,.6g}" if 1e-4 <= abs(value) < 1e6 or value == 0 else f"{value:.3g}"


def plot_band(
    axes: Axes,
    frame: pd.DataFrame,
    x: str,
    low: str,
    middle: str,
    high: str,
    color: str = PALETTE[0],
) -> None:
    """Plot a median with its quartile range shaded."""
    axes.fill_between(frame[x], frame[low], frame[high], color=color, alpha=0.2, lw=0)
    axes.plot(frame[x], frame[middle], color=color, lw=1.3)


def plot_surface(
    axes: Axes,
    frame: pd.DataFrame,
    x: str,
    y: str,
    z: str,
    *,
    law: str | None = None,
    span: tuple[float, float] | None = None,
) -> None:
    """Plot a positive quantity over two: shades and numbered contours at powers of ten.

    Parameters
    ----------
    axes : panel; both scales are logarithmic.
    frame : one row for each point of a full grid.
    x, y, z : columns.
    law : column of the values of a law, drawn as dashed contours.
    span : lowest and highest power of ten, where several panels share their shades.
    """
    grid = frame.pivot(index=y, columns=x, values=z)
    places = (grid.columns, grid.index)
    height = np.log10(grid.to_numpy())
    low, high = span or (np.nanmin(height), np.nanmax(height))
    powers = _contour_powers(float(low), float(high))
    shades = LinearSegmentedColormap.from_list("paper", list(SHADES))
    axes.contourf(*places, height, 24, cmap=shades, vmin=low, vmax=high)
    measured = axes.contour(*places, height, powers, colors=INK, linewidths=0.8, linestyles="solid")
    axes.clabel(measured, fmt=lambda power: format_number(float(f"{10**power:.3g}")), fontsize=7)
    if law is not None:
        over = np.log10(frame.pivot(index=y, columns=x, values=law).to_numpy())
        axes.contour(*places, over, powers, colors=ORANGE, linewidths=1, linestyles="dashed")
    set_scales(axes, "xy")
    axes.grid(False)


def _contour_powers(low: float, high: float) -> np.ndarray:
    """Whole powers of ten between two, or halves where there are fewer than three."""
    for step in (1, 0.5, 0.25, 0.1, 0.05):
        powers = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
        if len(powers) >= 3:
            return powers
    return np.array([(low + high) / 2])


def add_legend(axes: Axes, **where: Any) -> None:
    """Add a legend without a frame, in small type."""
    axes.legend(frameon=False, fontsize=7.5, **where)


def add_caption(axes: Axes, text: str) -> None:
    """Add a caption above the upper left corner of a panel."""
    axes.set_title(text, loc="left", fontsize=8.5, color=MUTED)
