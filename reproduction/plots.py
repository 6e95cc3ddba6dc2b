"""Figures as specifications: panels of marks, drawn from the frame of an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.checks import select_rows
from reproduction.claims import Draw, read_text
from reproduction.drawing import add_caption, add_legend, make_page, plot_series, set_scales
from scenarios.report.figure_page import INK, PALETTE

Style = dict[str, Any]
Mark = Callable[[Axes, pd.DataFrame], object]
MARKED: Style = {"marker": "o", "ms": 4}
DOTS: Style = {"marker": "o", "ms": 4, "ls": ""}
RINGS: Style = {"marker": "o", "ms": 3, "ls": "", "mfc": "none"}
LEGEND: Mapping[str, Any] = {}
DOTTED: Style = {"color": INK, "ls": ":", "lw": 0.8}


@dataclass(frozen=True)
class Panel:
    """One panel of a figure.

    Parameters
    ----------
    marks : drawn in this order.
    labels : of the axes x and y; none where one is empty.
    heading : words above it.
    where : values of the rows that it shows.
    logs : axes with a logarithmic scale, "xy", "x", "y" or ""; None for a panel without a grid.
    legend : options of its legend; None for none.
    options : other properties of the axes, such as ``ylim``.
    """

    marks: tuple[Mark, ...]
    labels: tuple[str, str] = ("", "")
    heading: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)
    logs: str | None = ""
    legend: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def draw_on(self, axes: Axes, frame: pd.DataFrame) -> None:
        """Draw all marks, then set scales, labels and legend."""
        part = select_rows(frame, **self.where)
        for mark in self.marks:
            mark(axes, part)
        if self.logs is not None:
            set_scales(axes, self.logs)
        labels = zip(("xlabel", "ylabel"), self.labels, strict=True)
        axes.set(**{name: text for name, text in labels if text}, **self.options)
        if self.heading:
            add_caption(axes, self.heading)
        if self.legend is not None:
            add_legend(axes, **self.legend)


def make_panel(*marks: Mark, **more: Any) -> Panel:
    """A panel of marks; names that `Panel` does not have are properties of the axes."""
    names = ("labels", "heading", "where", "logs", "legend")
    own = {name: more.pop(name) for name in names if name in more}
    return Panel(marks, options=more, **own)


def draw_panels(
    key: str,
    *panels: Panel,
    columns: int | None = None,
    says: str = "",
    default: str = "",
    title: str = "",
    **size: Any,
) -> Draw:
    """A function that draws a figure.

    Parameters
    ----------
    key : table of ``claims.toml`` with the title of the figure.
    panels : row by row.
    columns : number of panels in a row; all of them where it is None.
    says : a line above the note.
    default : the note where there is none.
    title : a title instead of that of the table.
    size : ``width`` of the page and ``height`` of a panel, inches.
    """
    across = columns or len(panels)

    def draw(frame: pd.DataFrame, note: str) -> Figure:
        text = "\n".join(filter(None, [says, note or default]))
        above = title or read_text(key, "figure")
        figure, axes = make_page(above, text, across, len(panels) // across, **size)
        for panel, place in zip(panels, axes, strict=True):
            panel.draw_on(place, frame)
        return figure

    return draw


def draw_panel(
    key: str, *marks: Mark, legend: Mapping[str, Any] | None = LEGEND, **more: Any
) -> Draw:
    """A function that draws a figure of one panel, with a legend unless it is None.

    Parameters
    ----------
    key : table of ``claims.toml`` with the title of the figure.
    marks, legend, more : as in `make_panel`.
    """
    return draw_panels(key, make_panel(*marks, legend=legend, **more))


def curve(
    x: str,
    y: str,
    label: str | None = None,
    color: int | str = 0,
    where: Mapping[str, Any] | None = None,
    order: bool = False,
    **style: Any,
) -> Mark:
    """One column over another, as a line or as markers.

    Parameters
    ----------
    x, y : columns.
    label : words in the legend.
    color : number in the palette, or a colour.
    where : values of the rows that are drawn.
    order : sort the rows by x.
    style : properties of the line.
    """
    shade = PALETTE[color] if isinstance(color, int) else color

    def mark(axes: Axes, frame: pd.DataFrame) -> None:
        part = select_rows(frame, **(where or {}))
        part = part.sort_values(x) if order else part
        axes.plot(part[x], part[y], color=shade, label=label, **style)

    return mark


def curves_by(column: str, x: str, y: str, label: Callable[[Any], str] = str, **style: Any) -> Mark:
    """One line for each value of a column, in the order of the rows."""

    def mark(axes: Axes, frame: pd.DataFrame) -> None:
        for value, part in frame.groupby(column, sort=False):
            axes.plot(part[x], part[y], label=label(value), **style)

    return mark


def estimates(
    x: str,
    y: str = "measured",
    label: str | None = None,
    color: int = 0,
    error: str = "std_error",
    **style: Any,
) -> Mark:
    """Markers with two standard errors."""

    def mark(axes: Axes, frame: pd.DataFrame) -> None:
        errors = 2 * frame[error]
        look = {"color": PALETTE[color], **DOTS, **style}
        axes.errorbar(frame[x], frame[y], errors, label=label, **look)

    return mark


def estimates_and_law(
    x: str,
    y: str = "measured",
    law: str | None = None,
    by: str | None = None,
    label: Mapping[Any, str] | Callable[[Any], str] = str,
) -> Mark:
    """Markers with their standard errors where there are any, and a law as a line through them."""
    words = label.__getitem__ if isinstance(label, Mapping) else label

    def mark(axes: Axes, frame: pd.DataFrame) -> None:
        plot_series(axes, frame, x, y, by, label=words, law=law, logs="")

    return mark


def legend_entry(label: str, **style: Any) -> Mark:
    """An entry of the legend without a line: a marker in the first colour."""
    look = {"color": PALETTE[0], **MARKED, **style}
    return lambda axes, frame: axes.plot([], [], label=label, **look)


def level(value: float | str, label: str | None = None, **style: Any) -> Mark:
    """A horizontal line at a number, or at the largest number of a column.

    Without a style it is dashed, in the second colour.
    """
    look = style or {"color": PALETTE[1], "ls": "--", "lw": 1}

    def mark(axes: Axes, frame: pd.DataFrame) -> None:
        at = float(frame[value].max()) if isinstance(value, str) else value
        axes.axhline(at, label=label, **look)

    return mark
