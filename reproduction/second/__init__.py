"""Figures of the papers with this program's own protocol as a second column."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.drawing import GAP, Plot, draw_panels, list_panels
from reproduction.item import Check, Item, NotPossible, Setting
from reproduction.second.markets import (
    ASYNCHRONOUS,
    ASYNCHRONOUS_FRAUD,
    FRAUD,
    LENDING,
    check_better,
    check_curve,
    check_gains,
    check_owners,
    check_ranks,
    compute_grid,
    compute_hospitals,
    compute_owners,
    compute_scenarios,
    draw_hospitals,
    draw_owners,
)
from reproduction.specification import Found, make_checks

TEXTS = tomllib.loads((Path(__file__).parent / "items.toml").read_text(encoding="utf-8"))
PUBLISHED = "published"
OURS = "ours"
WIDE = 2.7  # inches, of a panel
APART = 0.95  # inches between columns of panels
EDGE = 0.2


@dataclass(frozen=True)
class Second:
    """Computation, checks and drawing of a second column.

    Parameters
    ----------
    text: its table of items.toml: words on the column, added to the text of the item; cost in
        seconds; figure, a page without a title, with its number of rows.
    compute: gives the numbers of our protocol, in columns named as those of the item.
    measure: compares the numbers of the item and ours.
    plot: draws on all new panels, where the page has not all.
    """

    text: str
    compute: Callable[[Setting], pd.DataFrame]
    measure: Callable[[pd.DataFrame, pd.DataFrame], Found]
    plot: Plot | None = None


def join_column(item: Item, second: Second) -> Item:
    """Join a second column to an item, whose own checks and drawing see its own rows alone."""
    text = TEXTS.get(TEXTS[second.text].get("like"), {}) | TEXTS[second.text]

    def compute(setting: Setting) -> pd.DataFrame:
        parts = [item.compute(setting).assign(protocol=PUBLISHED)]
        with suppress(NotPossible):  # too few records for the learner: the figure is as published
            parts.append(second.compute(setting).assign(protocol=OURS))
        return pd.concat(parts, ignore_index=True)

    def checks(frame: pd.DataFrame) -> list[Check]:
        theirs = select_protocol(frame, PUBLISHED)
        ours = select_protocol(frame, OURS)
        found = list(item.checks(theirs))
        if len(ours):
            found += make_checks(second.measure(theirs, ours), TEXTS["checks"], {}, {})
        return found

    def draw(frame: pd.DataFrame, note: str) -> Figure:
        assert item.draw is not None
        figure = item.draw(select_protocol(frame, PUBLISHED), note)
        ours = select_protocol(frame, OURS)
        if len(ours):
            page = text["figure"]
            panels = list_panels(page, ours)
            rows = page.get("rows", 1)
            draw_panels(add_panels(figure, rows, len(panels) // rows), panels, second.plot, ours)
        return figure

    says = text["says"].format(**TEXTS["shared"])
    return replace(
        item,
        compute=compute,
        checks=checks,
        draw=draw,
        differs=f"{item.differs} With our protocol: {says}".strip(),
        cost=item.cost + text["cost"],
    )


def select_protocol(frame: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """Select the rows of one protocol, with columns of whole numbers as integers."""
    rows = frame[frame["protocol"] == protocol].reset_index(drop=True)
    if rows.empty:
        return rows
    floats = rows.select_dtypes("float")
    whole = (floats % 1 == 0).all() & (floats.abs() < 2**53).all()
    return rows.astype(dict.fromkeys(whole.index[whole], "int64"))


def add_panels(figure: Figure, rows: int, columns: int) -> list[Axes]:
    """Add panels at the right of a figure, row by row, as high together as those that are there."""
    boxes = [axes.get_position() for axes in figure.axes]
    wide, high = figure.get_size_inches()
    page = wide - EDGE + columns * (APART + WIDE) + EDGE
    top = max(box.y1 for box in boxes)
    bottom = min(box.y0 for box in boxes)
    shrunk = wide / page
    for axes, box in zip(figure.axes, boxes, strict=True):
        axes.set_position((box.x0 * shrunk, box.y0, box.width * shrunk, box.height))
    for text in figure.texts:
        text.set_x(text.get_position()[0] * shrunk)
    figure.set_size_inches(page, high)
    gap = GAP / high
    each = (top - bottom - (rows - 1) * gap) / rows
    lefts = [(wide - EDGE + APART + column * (WIDE + APART)) / page for column in range(columns)]
    bottoms = [top - each - row * (each + gap) for row in range(rows)]
    return [figure.add_axes((x, y, WIDE / page, each)) for y in bottoms for x in lefts]


def _make_seconds() -> dict[str, Second]:
    """Second columns of figures, by their keys."""
    seconds = {}
    for setup, *keys in (
        (LENDING, "VC-4", "VC-5"),
        (FRAUD, "VC-9", "VC-10"),
        (ASYNCHRONOUS, "AS-5"),
        (ASYNCHRONOUS_FRAUD, "AS-11"),
    ):
        for key in keys:
            seconds[key] = Second(key, partial(compute_grid, setup), check_better)
    for key, setup in (("VC-6", LENDING), ("VC-11", FRAUD)):
        seconds[key] = Second(key, partial(compute_scenarios, setup), check_ranks)
    seconds["AS-6"] = Second("AS-6", compute_owners, check_owners, draw_owners)
    seconds["AS-9"] = Second("AS-9", compute_hospitals, check_curve)
    seconds["AS-10"] = Second("AS-10", compute_hospitals, check_gains, draw_hospitals)
    return seconds


SECOND = _make_seconds()


def add_second_column(item: Item) -> Item:
    """Add our protocol to an item, if there is a second column for it."""
    return join_column(item, SECOND[item.key]) if item.key in SECOND else item
