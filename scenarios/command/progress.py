"""Stage, finished share and time of the work, in one line on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from learning.progress import Progress, ignore_progress


@contextmanager
def show_stages() -> Iterator[Progress]:
    """Show the stages of the work in one line on stderr, and wipe it in the end.

    Nothing is shown where stderr is no terminal.
    """
    if not sys.stderr.isatty():  # whatever FORCE_COLOR says: this is nothing to keep in a file
        yield ignore_progress
        return
    from rich import progress as bars
    from rich.console import Console
    from rich.table import Column

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
            line.reset(task, total=1.0, completed=share, description=stage)  # type: ignore[arg-type]
        else:
            line.update(task, completed=share)

    with line:
        yield show_share
