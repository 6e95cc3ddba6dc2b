"""What figures of the reproduction book share: a page with panels, lines by group, quartile bands, and surfaces as maps."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import Any

import matplotlib
import matplotlib.colors
import matplotlib.ticker
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.report.figure_page import INK, MUTED, PALETTE, STYLE, _page, _panel, _svg

MARKERS = ("o", "s", "D", "^", "v")
PER_INCH = 15  # letters of a note
GAP, LEFT, TOP, BOTTOM, RIGHT = 0.75, 0.75, 0.85, 0.55, 0.2  # inches


def drawn(draw: Callable[[pd.DataFrame, str], Figure], frame: pd.DataFrame, note: str) -> str:
    """A figure of an item as SVG, in the house's style."""
    with matplotlib.rc_context(STYLE):
        return _svg(draw(frame, note))


def page(
    title: str, note: str, columns: int = 1, rows: int = 1, *, width: float = 7.2, height: float = 2.6
) -> tuple[Figure, list[Axes]]:
    """A page with panels in rows and columns, row by row.

    Parameters
    ----------
    title, note : what it shows, and on what data; a long note is broken into lines.
    columns, rows : of panels.
    width : inches, of the page.
    height : inches, of a panel.
    """
    note = "\n".join(textwrap.fill(line, int(PER_INCH * width)) for line in note.splitlines())
    top = TOP + 0.15 * note.count("\n")
    figure = _page(top + rows * height + (rows - 1) * GAP + BOTTOM, title, note, width)
    wide = (width - LEFT - RIGHT - (columns - 1) * GAP) / columns
    panels = [
        _panel(figure, LEFT + column * (wide + GAP), top + row * (height + GAP), wide, height)
        for row in range(rows)
        for column in range(columns)
    ]
    for axes in panels:
        axes.set_prop_cycle(color=PALETTE)
    return figure, panels


def lines(
    axes: Axes,
    frame: pd.DataFrame,
    x: str,
    y: str,
    by: str | None = None,
    *,
    label: Callable[[Any], str] = str,
    law: str | None = None,
    logs: str = "xy",
) -> None:
    """Measured points as markers, one series for each value of ``by``, with two standard errors where there are some.

    Parameters
    ----------
    axes : where to draw.
    frame : one row for each point; a column ``std_error`` belongs to ``y``.
    x, y, by : columns; a single series without ``by``.
    label : words for a value of ``by``.
    law : the column of what a law says at each point, drawn as a line through them.
    logs : the axes with a logarithmic scale: "xy", "x", "y" or "".
    """
    for number, (value, part) in enumerate(_groups(frame, by)):
        colour, marker = PALETTE[number % len(PALETTE)], MARKERS[number % len(MARKERS)]
        part = part.sort_values(x)
        errors = 2 * part["std_error"] if "std_error" in part else None
        text = None if by is None else label(value)
        axes.errorbar(part[x], part[y], errors, color=colour, marker=marker, ms=4, ls="", elinewidth=0.8, label=text)
        if law is not None:
            axes.plot(part[x], part[law], color=colour, lw=1.1)
    scales(axes, logs)


def _groups(frame: pd.DataFrame, by: str | None) -> Iterable[tuple[Any, pd.DataFrame]]:
    return [(None, frame)] if by is None else frame.groupby(by, sort=True)


def scales(axes: Axes, logs: str) -> None:
    """Logarithmic scales on the axes named, with numbers as people write them."""
    for name in logs:
        axes.set(**{f"{name}scale": "log"})
        axis = getattr(axes, f"{name}axis")
        axis.set_major_formatter(matplotlib.ticker.FuncFormatter(written))
        axis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    axes.grid(True)


def written(value: float, place: int | None = None) -> str:
    """A number beside a tick.

    >>> written(10_000), written(0.001), written(1e7)
    ('10,000', '0.001', '1e+07')
    """
    return f"{value:,.6g}" if 1e-4 <= abs(value) < 1e6 or value == 0 else f"{value:.3g}"


def band(
    axes: Axes,
    frame: pd.DataFrame,
    x: str,
    low: str,
    middle: str,
    high: str,
    *,
    number: int = 0,
) -> None:
    """A median with the range from one quartile to the other shaded, in the colour of this number."""
    colour = PALETTE[number % len(PALETTE)]
    axes.fill_between(frame[x], frame[low], frame[high], color=colour, alpha=0.2, lw=0)
    axes.plot(frame[x], frame[middle], color=colour, lw=1.3)


def surface(
    axes: Axes,
    frame: pd.DataFrame,
    x: str,
    y: str,
    z: str,
    *,
    law: str | None = None,
    span: tuple[float, float] | None = None,
) -> None:
    """A positive quantity over two: its powers of ten as shades with numbered lines, those of a law dashed over them.

    Parameters
    ----------
    axes : where to draw; both scales are logarithmic.
    frame : one row for each point of a full grid.
    x, y, z : columns.
    law : the column of what a law says, in dashed lines.
    span : lowest and highest power of ten, where several panels share their shades.
    """
    grid = frame.pivot(index=y, columns=x, values=z)
    height = np.log10(grid.to_numpy())
    low, high = (np.nanmin(height), np.nanmax(height)) if span is None else span
    powers = _powers(float(low), float(high))
    shades = matplotlib.colors.LinearSegmentedColormap.from_list("paper", ["#f4f8fb", "#9cc3dd", "#2b6c99"])
    axes.contourf(grid.columns, grid.index, height, 24, cmap=shades, vmin=low, vmax=high)
    measured = axes.contour(grid.columns, grid.index, height, powers, colors=INK, linewidths=0.8, linestyles="solid")
    axes.clabel(measured, fmt=lambda power: written(float(f"{10**power:.3g}")), fontsize=7)
    if law is not None:
        over = np.log10(frame.pivot(index=y, columns=x, values=law).to_numpy())
        axes.contour(grid.columns, grid.index, over, powers, colors=PALETTE[1], linewidths=1, linestyles="dashed")
    scales(axes, "xy")
    axes.grid(False)


def _powers(low: float, high: float) -> np.ndarray:
    """Whole powers of ten between two, or halves where there are fewer than three."""
    for step in (1, 0.5, 0.25, 0.1, 0.05):
        powers = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
        if len(powers) >= 3:
            return powers
    return np.array([(low + high) / 2])


def legend(axes: Axes, **where: Any) -> None:
    """A legend without a frame, in small type."""
    axes.legend(frameon=False, fontsize=7.5, **where)


def say(axes: Axes, text: str) -> None:
    """A word in the panel's upper left corner, above it."""
    axes.set_title(text, loc="left", fontsize=8.5, color=MUTED)
