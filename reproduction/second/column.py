"""Second column of a published figure: the same question under this program's own protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.drawing import GAP
from reproduction.item import Check, Item, NotPossible, Setting

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
    compute: gives the numbers of our protocol, in columns named as those of the item.
    checks: compares the numbers of the item and ours.
    draw: draws ours on new panels.
    panels: rows and columns of panels.
    says: subject of the column, added to the text of the item.
    cost: seconds of one processor, about.
    """

    compute: Callable[[Setting], pd.DataFrame]
    checks: Callable[[pd.DataFrame, pd.DataFrame], Sequence[Check]]
    draw: Callable[[Sequence[Axes], pd.DataFrame], None]
    panels: tuple[int, int] = (1, 1)
    says: str = ""
    cost: float = 5.0


def join_column(item: Item, second: Second) -> Item:
    """Join a second column to an item, whose own checks and drawing see its own rows alone."""

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
            found += second.checks(theirs, ours)
        return found

    def draw(frame: pd.DataFrame, note: str) -> Figure:
        assert item.draw is not None
        figure = item.draw(select_protocol(frame, PUBLISHED), note)
        ours = select_protocol(frame, OURS)
        if len(ours):
            second.draw(add_panels(figure, *second.panels), ours)
        return figure

    return replace(
        item,
        compute=compute,
        checks=checks,
        draw=draw if item.draw else None,
        differs=f"{item.differs} With our protocol: {second.says}".strip(),
        cost=item.cost + second.cost,
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
