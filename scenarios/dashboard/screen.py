"""What somebody looks at: sliders, the market that follows, a round of it; pure, and moved by what is clicked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from learning.errors import InputError
from scenarios.dashboard.rounds import Played, Round, play
from scenarios.dashboard.state import Opened, Sliders


@dataclass(frozen=True)
class Screen:
    """What somebody looks at.

    Parameters
    ----------
    sliders: what the sliders stand at.
    played: the market that follows.
    at: the round that is shown.
    playing: whether rounds go by.
    done: how many moves of a slider were answered.
    fault: what the last of them would have broken; empty where nothing.
    """

    sliders: Sliders
    played: Played
    at: int
    playing: bool = False
    done: int = 0
    fault: str = ""

    @property
    def now(self) -> Round:
        """The round that is shown."""
        return self.played.rounds[self.at]

    def moved(self, name: str, stop: int) -> Screen:
        """With a slider moved, the market settled anew; as before, with the fault, where that cannot be."""
        try:
            control = next(one for one in self.sliders.controls if one.name == name)
            sliders = self.sliders.to(name, control.stops[stop])
            played = play(sliders)
            played.rounds[-1].facts  # noqa: B018  what it raises belongs here
        except InputError as error:
            return replace(self, done=self.done + 1, fault=str(error), playing=False)
        except (ArithmeticError, RuntimeWarning, MemoryError, np.linalg.LinAlgError) as error:
            fault = (
                f"This market cannot be computed ({error}): bring its numbers closer to what "
                "they were."
            )
            return replace(self, done=self.done + 1, fault=fault, playing=False)
        return Screen(sliders, played, played.last, done=self.done + 1)

    def pressed(self, name: str) -> Screen:
        """After a button was pressed, or a beat while playing."""
        if name in ("step", "tick"):
            at = min(self.at + 1, self.played.last)
            return replace(
                self, at=at, playing=self.playing and name == "tick" and at < self.played.last
            )
        if name == "play":
            at = 0 if self.at == self.played.last else self.at
            return replace(self, at=at, playing=not self.playing)
        return replace(self, at=0 if name == "reset" else self.played.last, playing=False)


_SHOWN: list[Screen] = []  # Solara calls a page without telling it anything


def opened(what: Opened) -> Screen:
    """A scenario as whoever opens the page first sees it: settled."""
    sliders = Sliders(what)
    played = play(sliders)
    return Screen(sliders, played, played.last)


def put_up(screen: Screen) -> None:
    """Make a screen what everybody sees first who opens the page of this process."""
    _SHOWN[:] = [screen]


def first() -> Screen:
    """What is seen first."""
    return _SHOWN[0]
