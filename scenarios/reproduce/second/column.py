"""A second column beside a published figure: the same question under this program's own protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.reproduce.drawing import GAP
from scenarios.reproduce.item import Check, Item, NotPossible, Setting

PUBLISHED, OURS = "published", "ours"
WIDE, APART, EDGE = 2.7, 0.95, 0.2  # inches: of a panel, between columns of panels, beside the last


@dataclass(frozen=True)
class Second:
    """What is computed, checked and drawn beside an item.

    Parameters
    ----------
    compute: gives the numbers of our protocol, in columns named as the item's where they are the same.
    checks: what is compared, from the item's own numbers and ours.
    draw: draws ours on new panels.
    panels: rows and columns of panels that it takes.
    says: what it shows, added to what the page says of the item.
    cost: seconds of one processor, about.
    """

    compute: Callable[[Setting], pd.DataFrame]
    checks: Callable[[pd.DataFrame, pd.DataFrame], Sequence[Check]]
    draw: Callable[[Sequence[Axes], pd.DataFrame], None]
    panels: tuple[int, int] = (1, 1)
    says: str = ""
    cost: float = 5.0


def joined(item: Item, second: Second) -> Item:
    """The item with a second column: its own checks and drawing see its own rows alone."""

    def compute(setting: Setting) -> pd.DataFrame:
        frames = {PUBLISHED: item.compute(setting)}
        with suppress(NotPossible):  # too few records for the learner's own: the figure is then as published
            frames[OURS] = second.compute(setting)
        return pd.concat([frame.assign(protocol=name) for name, frame in frames.items()], ignore_index=True)

    def checks(frame: pd.DataFrame) -> list[Check]:
        theirs, ours = part(frame, PUBLISHED), part(frame, OURS)
        return [*item.checks(theirs), *(second.checks(theirs, ours) if len(ours) else ())]

    def draw(frame: pd.DataFrame, note: str) -> Figure:
        assert item.draw is not None
        figure, ours = item.draw(part(frame, PUBLISHED), note), part(frame, OURS)
        if len(ours):
            second.draw(widened(figure, *second.panels), ours)
        return figure

    differs = f"{item.differs} With our protocol: {second.says}".strip()
    drawing = draw if item.draw else None
    return replace(item, compute=compute, checks=checks, draw=drawing, differs=differs, cost=item.cost + second.cost)


def part(frame: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """The rows of one protocol, whole numbers as such: as if nothing had stood beside them."""
    rows = frame[frame["protocol"] == protocol].reset_index(drop=True)
    whole = {
        name: "int64"
        for name in rows.select_dtypes("float")
        if len(rows) and rows[name].notna().all() and (rows[name] % 1 == 0).all() and (rows[name].abs() < 2**53).all()
    }
    return rows.astype(whole)


def widened(figure: Figure, rows: int, columns: int) -> list[Axes]:
    """New panels at the right of a figure, row by row, as high together as what is there; nothing else moves."""
    boxes = [axes.get_position() for axes in figure.axes]
    wide, high = figure.get_size_inches()
    page = wide - EDGE + columns * (APART + WIDE) + EDGE
    top, bottom, shrunk = max(box.y1 for box in boxes), min(box.y0 for box in boxes), wide / page
    for axes, box in zip(figure.axes, boxes, strict=True):
        axes.set_position((box.x0 * shrunk, box.y0, box.width * shrunk, box.height))
    for text in figure.texts:
        text.set_x(text.get_position()[0] * shrunk)
    figure.set_size_inches(page, high)
    gap = GAP / high
    each = (top - bottom - (rows - 1) * gap) / rows
    return [
        figure.add_axes(
            ((wide - EDGE + APART + column * (WIDE + APART)) / page, top - each - row * (each + gap), WIDE / page, each)
        )
        for row in range(rows)
        for column in range(columns)
    ]
