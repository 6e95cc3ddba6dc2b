"""How the command prints: plain text and tables, in which names can do nothing but be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table

from exchange.terminal import plain
from learning.phrases import escape_control
from scenarios.report.wording import currency_of

BROKEN = 24  # columns: wider cells than that are broken; between two columns of a table
GAP = 2


class PlainTable(Table):
    """A table with the first column left and the rest right, which no terminal is too narrow for.

    Numbers are never cut or broken, for that would be another number: where columns do not fit
    beside one another, the table goes on below, each part beginning with the first column. Texts
    are broken at blanks.
    """

    def __init__(self, title: str, *columns: str) -> None:
        super().__init__(
            title=escape_control(title) or None,
            title_justify="left",
            box=None,
            pad_edge=False,
            header_style="bold",
        )
        for i, name in enumerate(columns):
            self.add_column(name, justify="left" if i == 0 else "right")

    def add_row(self, *cells: Any, **style: Any) -> None:
        super().add_row(*(escape_control(plain(str(cell))) for cell in cells), **style)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = [self._wide(column) for column in self.columns]
        for column, room in zip(self.columns, wide, strict=True):
            column.overflow = "fold"
            column.no_wrap = room <= BROKEN
            column.min_width = min(room, BROKEN)
        needed = [min(room, BROKEN) + GAP for room in wide]
        if not self.columns or sum(needed) - GAP <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        columns = self.columns
        for part in in_parts(needed, options.max_width + GAP):
            self.columns = [columns[0], *(columns[place] for place in part)]
            yield from super().__rich_console__(console, options)
            self.title = None
        self.columns = columns

    def _wide(self, column: Column) -> int:
        """How wide a column is where nothing of it is broken."""
        return max((cell_len(str(cell)) for cell in (column.header, *column.cells)), default=0)


def in_parts(widths: Sequence[int], room: int) -> list[list[int]]:
    """Which columns but the first stand beside one another, the first being beside them all.

    >>> in_parts([10, 8, 8, 8], 26)
    [[1, 2], [3]]
    """
    parts: list[list[int]] = [[]]
    for place in range(1, len(widths)):
        if parts[-1] and widths[0] + sum(widths[other] for other in (*parts[-1], place)) > room:
            parts.append([])
        parts[-1].append(place)
    return parts


def in_title(title: str, content: Mapping[str, Any]) -> str:
    """The title of a table, with the currency that its money is in."""
    currency = currency_of(content)
    return f"{title} (money in {currency})" if currency else title


def noted(what: str, names: Sequence[str]) -> str:
    """Names with what they are; empty where there are none."""
    return f"{what}: {', '.join(names)}" if names else ""
