"""Figures as data: a page of panels, and the marks that a panel draws from the frame of an item."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.checks import select_rows
from reproduction.drawing import (
    add_caption,
    add_legend,
    make_page,
    plot_band,
    plot_series,
    plot_surface,
    set_scales,
)
from scenarios.report.figure_page import INK, MUTED, PALETTE

Style = dict[str, Any]
Mark = Callable[..., object]  # axes, rows, options
Plot = Callable[[Sequence[Axes], pd.DataFrame], None]
DOTS: Style = {"marker": "o", "ms": 4, "ls": ""}
RINGS: Style = {"marker": "o", "ms": 3, "ls": "", "mfc": "none"}
STYLES: dict[str, Style] = {
    "marked": {"marker": "o", "ms": 4},
    "dots": DOTS,
    "rings": RINGS,
    "dotted": {"color": INK, "ls": ":", "lw": 0.8},
}
COLOURS = {"ink": INK, "muted": MUTED}


def draw_page(
    page: Mapping[str, Any],
    plot: Plot | Mapping[str, Mark] | None,
    frame: pd.DataFrame,
    note: str,
) -> Figure:
    """Draw panels on a page.

    Parameters
    ----------
    page : title and size as in `make_page`; a line above the note (``says``), its end (``note``)
        and what stands in for it (``default``); ``sort``, columns that rows are sorted by;
        ``share``, "all" for the same vertical limits of all panels, "first" for those of the
        first; the ``panels``, and what
        is ``common`` to them (`_draw_panel`), or what those of each row (``down``) and of each
        column (``across``) have.
    plot : a function that draws on all panels, or marks of the item's own, by their names.
    frame, note : numbers, and a note on the data.
    """
    frame = choose_rows(frame, {name: page[name] for name in ("query",) if name in page})
    frame = frame.sort_values(page["sort"]) if "sort" in page else frame
    panels = list_panels(page, frame)
    columns = page.get("columns", len(panels) // len(page.get("down", "1")))
    text = (note or page.get("default", "")) + page.get("note", "")
    text = "\n".join(filter(None, [page.get("says"), text]))
    size = {name: page[name] for name in ("width", "height", "grid") if name in page}
    figure, places = make_page(page["title"], text, columns, len(panels) // columns, **size)
    draw_panels(places, panels, plot, frame)
    if "share" in page:
        shared = places[:1] if page["share"] == "first" else places
        low, high = np.transpose([axes.get_ylim() for axes in shared])
        for axes in places:
            axes.set_ylim(low.min(), high.max())
    return figure


def draw_panels(
    places: Sequence[Axes],
    panels: Sequence[Style],
    plot: Plot | Mapping[str, Mark] | None,
    frame: pd.DataFrame,
) -> None:
    """Draw panels by a function of all of them, if there is one, and by their specifications."""
    if callable(plot):
        plot(places, frame)
    own = plot if isinstance(plot, Mapping) else {}
    for axes, panel in zip(places, panels, strict=True):
        _draw_panel(axes, panel, MARKS | own, frame)


def list_panels(page: Mapping[str, Any], frame: pd.DataFrame) -> list[Style]:
    """List the panels of a page that have rows."""
    panels = _cross_panels(page, frame) if "across" in page else page["panels"]
    panels = [{**page.get("common", {}), **panel} for panel in panels]
    return [panel for panel in panels if len(choose_rows(frame, dict(panel)))]


def _cross_panels(page: Mapping[str, Any], frame: pd.DataFrame) -> list[Style]:
    """Panels in rows and columns, but for columns without rows; words on the outer ones alone."""
    shown = [panel for panel in page["across"] if len(choose_rows(frame, dict(panel)))]
    panels = []
    for row, below in enumerate(page["down"]):
        for column, panel in enumerate(shown):
            left_out = ["caption"] * (row > 0) + ["ylabel", "legend"] * (column > 0)
            made = {**below, **panel}
            panels.append({name: made[name] for name in made if name not in left_out})
    return panels


def choose_rows(frame: pd.DataFrame, options: Style) -> pd.DataFrame:
    """Rows by the options ``where``, ``query`` and ``few``, which are taken out.

    In ``where``, "max" and "min" stand for the largest and the smallest value of a column; ``few``
    has numbers of distinct values of columns, from the smallest to the largest.
    """
    for name, value in options.pop("where", {}).items():
        wanted = frame[name].agg(value) if value in ("max", "min") else value
        frame = select_rows(frame, **{name: wanted})
    for name, most in options.pop("few", {}).items():
        there = np.sort(frame[name].unique())
        places = np.linspace(0, len(there) - 1, min(most, len(there)))
        frame = frame[frame[name].isin(there[places.round().astype(int)])]
    return frame.query(options.pop("query")) if "query" in options else frame


def _draw_panel(
    axes: Axes, panel: Style, marks: Mapping[str, Mark], everything: pd.DataFrame
) -> None:
    """Draw one panel.

    Its keys: those of `choose_rows`, ``marks``, ``caption`` with values of its first row in braces,
    ``logs`` as in `set_scales`, options of its ``legend``, ``room``: how many times lower its
    bottom is to be, ``bottom`` and ``top``: a number, or a column and how many times its least and
    its largest value; all others are properties of the axes.
    """
    frame = choose_rows(everything, panel)
    for mark in panel.pop("marks", ()):
        options = dict(mark)
        rows = choose_rows(frame, options)
        draw = options.pop("draw")
        options = STYLES.get(options.pop("style", ""), {}) | options
        if "color" in options:
            options["color"] = pick_colour(options["color"])
        if "span" in options:  # of powers of ten, the same in all panels
            options["span"] = tuple(np.log10(everything[options["span"]]).agg(["min", "max"]))
        if draw not in marks:
            getattr(axes, draw)(**options)
        elif len(rows):
            marks[draw](axes, rows, **options)
    if "logs" in panel:
        set_scales(axes, panel.pop("logs"))
    if "caption" in panel:
        add_caption(axes, panel.pop("caption").format(**frame.iloc[0]))
    ends = {name: panel.pop(name) for name in ("bottom", "top") if name in panel}
    legend = panel.pop("legend", None)
    if "room" in panel:
        axes.set_ylim(bottom=axes.get_ylim()[0] / panel.pop("room"))
    axes.set(**panel)
    for end, value in ends.items():
        if isinstance(value, Mapping):
            ((column, times),) = value.items()
            value = times * everything[column].agg("max" if end == "top" else "min")
        axes.set_ylim(**{end: value})
    if legend is not None:
        add_legend(axes, **legend)


def pick_colour(colour: int | str) -> str:
    """Colour by its number in the palette, or by its name."""
    return PALETTE[colour] if isinstance(colour, int) else COLOURS.get(colour, colour)


def curve(
    axes: Axes, frame: pd.DataFrame, x: str, y: str, *, order: bool = False, **style: Any
) -> None:
    """Draw a column, or an expression of columns, over another; sorted by it with ``order``."""
    rows = frame.sort_values(x) if order else frame
    axes.plot(rows[x], rows.eval(y), **{"color": PALETTE[0], **style})


def curves_by(
    axes: Axes,
    frame: pd.DataFrame,
    by: str,
    x: str,
    y: str,
    label: str = "{}",
    labels: Sequence[str] = (),
    **style: Any,
) -> None:
    """Draw one line for each value of a column, in the order of the rows."""
    names = labels or repeat(label)
    for (value, rows), name in zip(frame.groupby(by, sort=False), names, strict=False):
        axes.plot(rows[x], rows[y], label=name.format(value), **style)


def estimates(
    axes: Axes,
    frame: pd.DataFrame,
    x: str,
    y: str = "measured",
    error: str = "std_error",
    **style: Any,
) -> None:
    """Draw markers with two standard errors."""
    look = {"color": PALETTE[0], **DOTS, **style}
    axes.errorbar(frame[x], frame[y], 2 * frame[error], **look)


def series(axes: Axes, frame: pd.DataFrame, x: str, y: str = "measured", **options: Any) -> None:
    """Draw markers with their standard errors where there are any, and a law through them."""
    plot_series(axes, frame, x, y, **{"logs": "", **options})


def entry(axes: Axes, frame: pd.DataFrame, label: str, **style: Any) -> None:
    """Add an entry of the legend without a line: a marker in the first colour."""
    axes.plot([], [], label=label, **{"color": PALETTE[0], **STYLES["marked"], **style})


def level(
    axes: Axes,
    frame: pd.DataFrame,
    at: float | str,
    label: str | None = None,
    upright: bool = False,
    **style: Any,
) -> None:
    """Draw a horizontal or upright line at a number, or at the largest number of a column.

    Without a style it is dashed, in the second colour.
    """
    draw = axes.axvline if upright else axes.axhline
    look = style or {"color": PALETTE[1], "ls": "--", "lw": 1}
    draw(float(frame[at].max()) if isinstance(at, str) else at, label=label, **look)


MARKS: dict[str, Mark] = {
    "curve": curve,
    "curves_by": curves_by,
    "estimates": estimates,
    "series": series,
    "entry": entry,
    "level": level,
    "surface": plot_surface,
    "band": plot_band,
}
