"""Screen of somebody who looks: sliders, the market that follows, a round of it, its training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from learning.errors import InputError
from learning.progress import Progress
from learning.threads import one_blas_thread
from scenarios.dashboard.rounds import Played, Round, play
from scenarios.dashboard.state import Opened, Sliders
from scenarios.drivers.market import train_market
from scenarios.planning import Prepared
from scenarios.runner import result_of

FAULTS = (ArithmeticError, RuntimeWarning, MemoryError, np.linalg.LinAlgError)  # of computing


@dataclass(frozen=True)
class Screen:
    """Sliders, market and round that somebody looks at.

    Parameters
    ----------
    sliders: their positions.
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
        """Move a slider and settle the market anew; the old one stays where that cannot be."""
        try:
            control = next(one for one in self.sliders.controls if one.name == name)
            sliders = self.sliders.to(name, control.stops[stop])
            played = play(sliders)
            played.rounds[-1].facts  # noqa: B018  what it raises belongs here
        except InputError as error:
            return replace(self, done=self.done + 1, fault=str(error), playing=False)
        except FAULTS as error:
            fault = (
                f"This market cannot be computed ({error}): bring its numbers closer to what "
                "they were."
            )
            return replace(self, done=self.done + 1, fault=fault, playing=False)
        return Screen(sliders, played, played.last, done=self.done + 1)

    def pressed(self, name: str) -> Screen:
        """Answer a button, or a beat while playing."""
        last = self.played.last
        if name in ("step", "tick"):
            at = min(self.at + 1, last)
            return replace(self, at=at, playing=self.playing and name == "tick" and at < last)
        if name == "play":
            at = self.at if self.at < last else 0
            return replace(self, at=at, playing=not self.playing)
        return replace(self, at={"reset": 0, "end": last}[name], playing=False)


_SHOWN: list[Screen] = []  # Solara calls a page without telling it anything


def open_screen(opened: Opened) -> Screen:
    """Settle a scenario as whoever opens the page first sees it."""
    sliders = Sliders(opened)
    played = play(sliders)
    return Screen(sliders, played, played.last)


def put_up(screen: Screen) -> None:
    """Make a screen what everybody sees first who opens the page of this process."""
    _SHOWN[:] = [screen]


def first_screen() -> Screen:
    """Return the screen that was put up."""
    return _SHOWN[0]


@dataclass(frozen=True)
class Training:
    """One training, or none yet.

    Parameters
    ----------
    of: the market that is trained at; None before any was asked for.
    stage, share: where the work is, and how much of that stage is done.
    result: what a run of the same scenario would have in result.json; None until it is there.
    error: why there is none; empty where there was no fault.
    """

    of: Played | None = None
    stage: str = ""
    share: float = 0.0
    result: Mapping[str, Any] | None = None
    error: str = ""

    @property
    def under_way(self) -> bool:
        """Test whether the work is not done yet."""
        return self.of is not None and self.result is None and not self.error


@one_blas_thread()
def train(played: Played, progress: Progress) -> Mapping[str, Any]:
    """Train at the end of a market and check the forecast, as ``dpmarket run`` does.

    Returns
    -------
    dict
        The content of such a run's result.json.
    """
    run = played.run
    planner = replace(run.planner, inputs=replace(run.planner.inputs, progress=progress))
    progress("training at the equilibrium")
    prepared = Prepared(run.data, planner)
    trained = train_market(run.scenario, prepared, run.game, run.equilibrium, training=True)
    progress("checking the forecast")
    return result_of(trained).content
