"""The page of the dashboard: sliders, buttons and pictures of one market; Solara calls it for whoever opens it."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from time import monotonic
from typing import Any

import numpy as np
import solara

from learning.errors import InputError
from scenarios.dashboard import charts, words
from scenarios.dashboard.pages.frame import FOOTER, framed
from scenarios.dashboard.pages.lesson import Lesson
from scenarios.dashboard.pages.widgets import Buttons, Controls, Panel, Source, button, grouped
from scenarios.dashboard.rounds import Played
from scenarios.dashboard.screen import Screen, first
from scenarios.dashboard.training import Training, train

TELL_EVERY = 0.15  # seconds between two tellings of how far a training is
SLOWEST = 700  # milliseconds: between two rounds, and for all of them
QUICKEST = 120
PLAYED_IN = 9000


@solara.component
def Market() -> None:
    """The market: its sliders, its rounds, its training, its scenario."""
    screen, show = solara.use_state(first())
    training, tell = solara.use_state(Training())
    with solara.Div(classes=["dp"]):
        framed("/", screen.sliders.opened.title)
        with solara.Div(classes=["market"]):
            with solara.Div(classes=["side"]):
                Controls(
                    groups=grouped(screen.sliders.controls),
                    done=screen.done,
                    event_move=lambda moved: show(
                        lambda old: old.moved(moved["name"], moved["at"])
                    ),
                )
            with solara.Div(classes=["main"]):
                with solara.Div(classes=["first"]):
                    _first(screen, show)
                with solara.Div(classes=["pictures"]):
                    _pictures(screen, training)
                    _trained(screen, training, tell)
                    Source(
                        lines=screen.sliders.toml(),
                        command=screen.sliders.command,
                        changes=len(screen.sliders.overrides),
                    )
        Panel(html=FOOTER)


def _first(screen: Screen, show: Callable[[Callable[[Screen], Screen]], None]) -> None:
    """What the market comes to, in words and numbers, and the buttons that play it."""
    played = screen.played
    ended = screen.at == screen.played.last
    Panel(
        html=words.answer(played, screen.now, screen.fault), kind="answer", live=not screen.playing
    )
    beat = max(QUICKEST, min(SLOWEST, PLAYED_IN // max(played.last, 1)))
    Buttons(
        title="Rounds",
        buttons=[
            button("reset", "Reset", disabled=screen.at == 0),
            button("step", "Step", disabled=ended),
            button(
                "play", "Pause" if screen.playing else "Play", disabled=not played.last, kind="main"
            ),
            button("end", "To the end", disabled=ended),
        ],
        said=f"round {screen.now.number} of {played.rounds[-1].number}",
        every=beat if screen.playing else 0,
        event_press=lambda name: show(lambda old: old.pressed(name)),
    )
    Panel(html=words.tiles(screen.now))


def _pictures(screen: Screen, training: Training) -> None:
    """The charts of the round that is shown."""
    played = screen.played
    now = screen.now
    owners = played.run.game.owners
    facts = now.facts
    bounds = np.column_stack([owners.epsilon_min, owners.epsilon_max])
    same = training.result is not None and training.of is played and now.last
    result = training.result["validation"] if same and training.result else None
    Panel(
        html=charts.paths(played, now, bounds),
        title="What owners sell, round by round",
        kind="card",
    )
    key = words.legend([("scale", "sells little … much"), ("left", "wider line: is paid more")])
    Panel(html=charts.network(now, bounds) + key, title="Who deals with whom", kind="card")
    order = {row["name"]: place for place, row in enumerate(now.owners)}
    curves = [
        (one.name, charts.curve(one, facts["scenario"]["currency"], order[one.name]))
        for one in now.curves
    ]
    marks = words.legend([("stands", "where it stands"), ("best", "its best answer to the others")])
    caption = (
        "What an owner would keep (up) at each privacy budget ε (across), everyone else "
        "staying where they are."
    )
    if len(curves) < len(now.owners):
        caption += f" The {len(curves)} owners with most money at stake, of {len(now.owners):,}."
    Panel(
        html=marks + words.together(curves),
        title="Could an owner do better alone?",
        caption=caption,
        kind="card whole",
    )
    legend = [("paid", "paid"), ("lost", "what its privacy costs it"), ("left", "what it keeps")]
    used = [("used", "use of the model")] if any(row["benefit"] for row in now.owners) else []
    Panel(
        html=charts.bars(now) + words.legend(legend[:1] + used + legend[1:]),
        title="Who keeps what",
        kind="card",
    )
    told = (
        charts.errors(facts, result)
        + f"<h3>What the learner gains</h3>{charts.gains(facts, result)}"
    )
    caption = (
        "Dots: the number; bars: where it lies 95 times in 100 (error), nine times in ten (gain)"
    )
    caption += ", and nine single trainings in ten." if result else "."
    Panel(html=told, title="What model comes out, and does it pay?", caption=caption, kind="card")


def _trained(screen: Screen, training: Training, tell: Callable[[Any], None]) -> None:
    """The button that trains, how far that is, and what came of it."""

    def begin(_: str) -> None:
        if not training.under_way:
            tell(Training(screen.played, "starting"))
            Thread(target=_train, args=(screen.played, tell), daemon=True).start()

    with solara.Div(classes=["panel", "card", "whole"]):
        Panel(
            html=words.checked(
                training, stale=training.of is not None and training.of is not screen.played
            ),
            title="Is it true? Train, and see",
            live=True,
        )
        runs = screen.sliders.scenario.validation.runs
        Buttons(
            title="Training",
            buttons=[
                button(
                    "train",
                    f"Train {runs:,} times with real noise",
                    disabled=training.under_way,
                    kind="main",
                )
            ],
            said=training.stage if training.under_way else "",
            share=(training.share or -1.0) if training.under_way else None,
            event_press=begin,
        )


def _train(played: Played, tell: Callable[[Any], None]) -> None:
    """Train, telling now and then how far it is."""
    told = 0.0

    def progress(stage: str, share: float = 0.0, /) -> None:
        nonlocal told
        if monotonic() - told > TELL_EVERY or not share:
            told = monotonic()
            tell(Training(played, stage, share))

    try:
        tell(Training(played, result=train(played, progress)))
    except InputError as error:
        tell(Training(played, error=str(error)))
    except (ArithmeticError, RuntimeWarning, MemoryError, np.linalg.LinAlgError) as error:
        tell(Training(played, error=f"The training cannot be computed ({error})."))


@solara.component
def Bare(children: list[Any]) -> None:
    """Nothing around a page but the page."""
    solara.Div(children=children)


routes = [
    solara.Route("/", component=Market, layout=Bare),
    solara.Route("lesson", component=Lesson),
]
