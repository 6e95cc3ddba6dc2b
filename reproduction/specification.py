"""Items as data: their texts, tables of checks and pages, from the file items.toml of a folder.

A folder has a table for each item: where, title, claim, differs, tables, cost, checks, figure. A
table "shared" has sentences that texts name in braces, a table "checks" has checks of several
items (`make_check`), a table "figures" has pages of several items (`draw_page`), by their names.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.drawing import add_caption, add_legend, make_page, set_scales
from reproduction.item import Check, Checks, Compute, Draw, Item, report_number

PROSE = ("where", "title", "claim", "differs")
Measure = Checks | Callable[[pd.DataFrame], Mapping[str, float | Check]]
Plot = Callable[[Sequence[Axes], pd.DataFrame], None]
Law = tuple[Compute, Measure, Plot | Draw]


def read_items(folder: Path, laws: Mapping[str, Law]) -> tuple[Item, ...]:
    """Read the items of a folder, in the order of their laws.

    Parameters
    ----------
    folder : folder with items.toml.
    laws : computation, numbers to check and drawing of each item, by its key; a drawing on panels
        where items.toml has a page, else of the whole figure.
    """
    texts = tomllib.loads((folder / "items.toml").read_text(encoding="utf-8"))
    return tuple(_read_item(texts, key, *law) for key, law in laws.items())


def _read_item(
    texts: Mapping[str, Any], key: str, compute: Compute, measure: Measure, draw: Any
) -> Item:
    """Read one item."""
    text = texts[key]
    shared = texts.get("shared", {})
    words = {name: text.get(name, "").format(**shared) for name in PROSE}
    rows = texts.get("checks", {}) | text.get("checks", {})
    for name, row in rows.items():
        rows[name] = [cell.format(**shared) if isinstance(cell, str) else cell for cell in row]
    if "figure" in text:
        page = text["figure"]
        if isinstance(page, str):
            page = texts["figures"][page]
        draw = partial(draw_page, {"title": words["title"], **page}, draw)
    return Item(
        key,
        compute=compute,
        checks=partial(_check_numbers, measure, rows),
        draw=draw,
        tables=tuple(text.get("tables", ())),
        cost=text.get("cost", 5.0),
        **words,
    )


def draw_page(page: Mapping[str, Any], plot: Plot, frame: pd.DataFrame, note: str) -> Figure:
    """Draw panels on a page.

    Parameters
    ----------
    page : title, note and size as in `make_page`; panels: for each its caption, the options of its
        legend, its logarithmic axes, and labels and limits as in matplotlib.
    plot : draws numbers on the panels.
    frame, note : numbers, and a note on the data.
    """
    size = {name: value for name, value in page.items() if name not in ("note", "panels")}
    words = page.get("panels", [])
    figure, panels = make_page(note=note + page.get("note", ""), **{"columns": len(words), **size})
    plot(panels, frame)
    for axes, panel in zip(panels, words, strict=True):
        _finish_panel(axes, dict(panel))
    return figure


def _finish_panel(axes: Axes, panel: dict[str, Any]) -> None:
    """Set scales, labels, caption and legend of a panel."""
    if "logs" in panel:
        set_scales(axes, panel.pop("logs"))
    if "caption" in panel:
        add_caption(axes, panel.pop("caption"))
    legend = panel.pop("legend", None)
    axes.set(**panel)
    if legend is not None:
        add_legend(axes, **legend)


def _check_numbers(
    measure: Measure, rows: Mapping[str, Sequence[Any]], frame: pd.DataFrame
) -> list[Check]:
    """Check numbers by the rows of their names; checks that were made already stay."""
    numbers = measure(frame)
    if not isinstance(numbers, Mapping):
        return list(numbers)
    return [
        found if isinstance(found, Check) else make_check(rows[name], float(found))
        for name, found in numbers.items()
    ]


def make_check(row: Sequence[Any], found: float) -> Check:
    """Make a check from a row of a table: what, low, high, published, kind, tolerance.

    The last three may be left out. Limits may be written "value ± relative"; a row of a text alone
    only reports its number.

    >>> make_check(["slope", -2.05, -1.95, "-2", "law"], -2.01).holds
    True
    >>> check = make_check(["share", "1/4 ± 0.1"], 0.3)
    >>> check.low, check.high, check.holds
    (0.225, 0.275, False)
    """
    what, *limits = row
    if not limits:
        return report_number(what, found)
    if isinstance(limits[0], str):
        value, relative = limits[0].split(" ± ")
        middle = float(Fraction(value))
        limits[:1] = [middle * (1 - float(relative)), middle * (1 + float(relative))]
    return Check(what, found, *limits)
