"""Tables and the progress of work on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Column, Table

from learning.phrases import escape_control
from learning.progress import Progress, ignore_progress
from learning.terminal import plain

BROKEN = 24  # characters: wider cells are broken
GAP = 2  # characters between two columns of a table


class PlainTable(Table):
    """A table which no terminal is too narrow for.

    Numbers are never cut or broken, for that would be another number: where columns do not fit
    beside one another, the table goes on below, each part beginning with the first column. Texts
    are broken at blanks.

    Parameters
    ----------
    title : above the table.
    columns : heads of the columns.
    left : number of columns that are aligned to the left; the others are aligned to the right.
    """

    def __init__(self, title: str, *columns: str, left: int = 1) -> None:
        name = escape_control(title) or None
        super().__init__(
            title=name, title_justify="left", box=None, pad_edge=False, header_style="bold"
        )
        for head in columns[:left]:
            self.add_column(head)
        for head in columns[left:]:
            self.add_column(head, justify="right")

    def add_row(self, *cells: Any, **style: Any) -> None:
        super().add_row(*(escape_control(plain(str(cell))) for cell in cells), **style)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        needed = []
        for column in self.columns:
            room = _full_width(column)
            column.overflow = "fold"
            column.no_wrap = room <= BROKEN
            column.min_width = min(room, BROKEN)
            needed.append(column.min_width + GAP)
        columns = self.columns
        for part in group_columns(needed, options.max_width + GAP):
            self.columns = [columns[0], *(columns[place] for place in part)]
            yield from super().__rich_console__(console, options)
            self.title = None
        self.columns = columns


def _full_width(column: Column) -> int:
    """Width of a column where nothing of it is broken."""
    return max(cell_len(str(cell)) for cell in (column.header, *column.cells))


def group_columns(widths: Sequence[int], room: int) -> list[list[int]]:
    """Group the columns after the first into parts that fit beside it.

    >>> group_columns([10, 8, 8, 8], 26)
    [[1, 2], [3]]
    """
    parts: list[list[int]] = [[]]
    for place in range(1, len(widths)):
        if parts[-1] and widths[0] + sum(widths[other] for other in (*parts[-1], place)) > room:
            parts.append([])
        parts[-1].append(place)
    return parts


def list_names(what: str, names: Sequence[str]) -> str:
    """Names with what they are; empty where there are none."""
    return f"{what}: {', '.join(names)}" * bool(names)


@contextmanager
def show_stages() -> Iterator[Progress]:
    """Show the stages of the work in one line on stderr, and wipe it in the end.

    Nothing is shown where stderr is no terminal.
    """
    if not sys.stderr.isatty():  # whatever FORCE_COLOR says: this is nothing to keep in a file
        yield ignore_progress
        return
    from rich import progress as bars

    console = Console(stderr=True)
    if console.is_dumb_terminal or not console.is_terminal:
        yield ignore_progress
        return
    names = Column(no_wrap=True, overflow="ellipsis")
    line = bars.Progress(
        bars.TextColumn("{task.description}", markup=False, table_column=names),
        bars.TaskProgressColumn(),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(),
        console=console,
        transient=True,
    )
    task = line.add_task("starting", total=1.0)

    def show_share(stage: str, share: float = 0.0, /) -> None:
        if stage != line.tasks[0].description or share == 0:
            # Rich counts shares too.
            line.reset(task, total=1, completed=share, description=stage)  # type: ignore[arg-type]
        else:
            line.update(task, completed=share)

    with line:
        yield show_share
