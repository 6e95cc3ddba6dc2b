"""Which stage a command is at, how much of it is done, and how long it may still take, in one line on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from learning.progress import Progress, ignore_progress

EVERY = 0.1  # seconds between two looks at the share that is done
KNOWN = 1.0  # seconds of work before a pace is told


class Pace:
    """One stage: what share of it is done, since when, and what its own pace says of the rest.

    Parameters
    ----------
    name : the stage.
    share : what was done of it, 0 to 1, when it was first told of: kept from an earlier run, and no
        sign of the pace.
    now : seconds, the time.
    """

    def __init__(self, name: str, share: float, now: float) -> None:
        self.name = name
        self.first = share
        self.share = share
        self.began = now
        self.told = now

    def reached(self, share: float, now: float) -> None:
        """A share of the stage is done."""
        if share > self.share:
            self.share = share
            self.told = now

    def left(self, now: float) -> float | None:
        """Seconds left at the pace so far; None while nothing tells, and where the rest took longer than the pace says."""
        worked = self.told - self.began
        done = self.share - self.first
        if done <= 0 or worked < KNOWN:
            return None
        rest = worked * (1 - self.share) / done - (now - self.told)
        return rest if rest > 0 else None

    def line(self, now: float) -> str:
        """The stage in a line.

        >>> pace = Pace("training", 0.0, now=0.0)
        >>> pace.line(0.5), pace.line(2.0)
        ('training', 'training  0:02')
        >>> pace.reached(0.25, now=20.0)
        >>> pace.line(30.0)
        'training  25 %  0:30, about 0:50 left'
        """
        parts = [self.name]
        left = self.left(now)
        if self.share > 0:
            parts.append(f"{int(100 * self.share)} %")
        if now - self.began >= KNOWN:
            parts.append(
                clock(now - self.began) + ("" if left is None else f", about {clock(left)} left")
            )
        return "  ".join(parts)


def clock(seconds: float) -> str:
    """Hours, minutes and seconds.

    >>> clock(7), clock(61.2), clock(7322)
    ('0:07', '1:01', '2:02:02')
    """
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def stages() -> Iterator[Progress]:
    """Tells the stages of the work in one line on stderr that is gone in the end; nothing where that is no terminal."""
    if not sys.stderr.isatty():  # whatever FORCE_COLOR says: this is nothing to keep in a file
        yield ignore_progress
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    if console.is_dumb_terminal or not console.is_terminal:
        yield ignore_progress
        return
    pace = Pace("starting", 0.0, monotonic())
    looked = 0.0

    def line() -> Text:
        return Text(pace.line(monotonic()), no_wrap=True, overflow="ellipsis")

    def tell(stage: str, share: float = 0.0, /) -> None:
        nonlocal pace, looked
        now = monotonic()
        if stage != pace.name or share == 0:
            pace = Pace(stage, share, now)
            looked = now
        elif now - looked >= EVERY:
            pace.reached(share, now)
            looked = now

    with Live(get_renderable=line, console=console, transient=True, refresh_per_second=8):
        yield tell
