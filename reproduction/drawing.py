"""Figures as data: pages of panels, and marks, series, bands and contour maps drawn on them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import repeat
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from reproduction.checks import select_rows
from scenarios.report.figure_page import INK, MUTED, PALETTE, STYLE, add_panel, new_page, svg_text

MARKERS = ("o", "s", "D", "^", "v")
PER_INCH = 15  # letters of a note
GAP = 0.75  # inches
LEFT = 0.75
TOP = 0.85
BOTTOM = 0.55
RIGHT = 0.2
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
    label: str | Sequence[str] = "{}",
    law: str | None = None,
    logs: str = "xy",
) -> None:
    """Plot measured points as markers, one series for each value of ``by``.

    Parameters
    ----------
    axes : panel.
    frame : one row for each point; two standard errors are drawn from a column "y_std_error", or
        ``std_error``.
    x, y, by : columns; a single series without ``by``.
    label : text of the legend, with a value of ``by`` in braces; or such a text for each value.
    law : column of the values of a law, drawn as a line through the points.
    logs : axes with a logarithmic scale: "xy", "x", "y" or "".
    """
    groups: Any = [(None, frame)]
    if by is not None:
        groups = frame.groupby(by, sort=True)
    for number, (value, part) in enumerate(groups):
        colour = PALETTE[number % len(PALETTE)]
        part = part.sort_values(x)
        errors = [2 * part[name] for name in (f"{y}_std_error", "std_error") if name in part]
        style: Style = {
            "color": colour,
            "marker": MARKERS[number % len(MARKERS)],
            "ms": 4,
            "ls": "",
            "elinewidth": 0.8,
        }
        name = label if isinstance(label, str) else label[number]
        text = None if by is None else name.format(value)
        axes.errorbar(part[x], part[y], errors[0] if errors else None, label=text, **style)
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
        first; the ``panels``, and what is ``common`` to them (`_draw_panel`), or what those of
        each row (``down``) and of each column (``across``) have.
    plot : a function that draws on all panels, or marks of the item's own, by their names.
    frame, note : numbers, and a note on the data.
    """
    frame = choose_rows(frame, {name: page[name] for name in ("query",) if name in page})
    frame = frame.sort_values(page["sort"]) if "sort" in page else frame
    panels = list_panels(page, frame)
    columns = page.get("columns", len(panels) // len(page.get("down", [None])))
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
    own = dict(plot) if isinstance(plot, Mapping) else {}
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

    Its keys: those of `choose_rows`; ``marks``, each by a name in ``marks`` or by that of a method
    of the axes; ``caption`` with values of its first row in braces; ``logs`` as in `set_scales`;
    options of its ``legend``; ``room``, how many times lower its bottom is to be; ``bottom`` and
    ``top``, a number, or a column and how many times its least and its largest value. All others
    are properties of the axes.
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
    label: str | Sequence[str] = "{}",
    **style: Any,
) -> None:
    """Draw one line for each value of a column, in the order of the rows."""
    names = repeat(label) if isinstance(label, str) else label
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
