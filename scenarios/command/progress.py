"""Which stage a command is at, on the terminal."""

from __future__ import annotations

from contextlib import contextmanager


@contextmanager
def stages():
    """A progress line on stderr that names the stage; silent when not a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda stage: None
        return
    with console.status("starting") as status:
        yield lambda stage: status.update(f"{stage} ...")
