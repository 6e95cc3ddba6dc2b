"""Page of the dashboard: sliders, buttons and pictures of one market, as Solara calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Thread
from time import monotonic
from typing import Any

import solara

from learning.errors import InputError
from scenarios.dashboard.charts import (
    draw_bars,
    draw_curve,
    draw_errors,
    draw_gains,
    draw_network,
    draw_paths,
)
from scenarios.dashboard.pages.lesson import Lesson
from scenarios.dashboard.pages.widgets import (
    Buttons,
    Panel,
    Show,
    Source,
    frame_page,
    make_button,
    show_controls,
    show_rounds,
)
from scenarios.dashboard.rendering import render_part
from scenarios.dashboard.rounds import Played, Round
from scenarios.dashboard.screen import FAULTS, Screen, Training, first_screen, train

TELL_EVERY = 0.15  # seconds between two tellings of how far a training is
SLOWEST = 700  # milliseconds: between two rounds, and for all of them
QUICKEST = 120
PLAYED_IN = 9000
LINKS = [("scale", "darker: sells more"), ("left", "wider line: is paid more")]
MARKS = [("stands", "its present ε"), ("best", "its best response")]
PAID = ("paid", "paid")
USED = ("used", "use of the model")
LEFT = [("lost", "privacy cost"), ("left", "surplus")]
INTERVALS = "Dots: forecasts. Bars: intervals, 95 % for the error and 90 % for the gain"


@solara.component
def Market() -> None:
    """The market: its sliders, its rounds, its training, its scenario."""
    screen, show = solara.use_state(first_screen())
    training, tell = solara.use_state(Training())
    sliders = screen.sliders
    with solara.Div(classes=["dp"]):
        frame_page("/", sliders.opened.title)
        with solara.Div(classes=["market"]):
            with solara.Div(classes=["side"]):
                show_controls(screen, show, sliders.controls)
            with solara.Div(classes=["main"]):
                with solara.Div(classes=["first"]):
                    _show_first(screen, show)
                with solara.Div(classes=["pictures"]):
                    _show_pictures(screen.played, screen.now)
                    _show_model(screen, training)
                    _show_training(screen, training, tell)
                    changes = len(sliders.overrides)
                    Source(lines=sliders.toml(), command=sliders.command, changes=changes)
        Panel(html=render_part("footer"))


def _show_first(screen: Screen, show: Show) -> None:
    """Show what the market comes to, in words and numbers, and the buttons that play it."""
    told = render_part("answer", screen.played, screen.now, screen.fault)
    Panel(html=told, kind="answer", live=not screen.playing)
    beat = max(QUICKEST, min(SLOWEST, PLAYED_IN // max(screen.played.last, 1)))
    show_rounds(screen, show, beat=beat)
    Panel(html=render_part("tiles", screen.now))


def _show_pictures(played: Played, now: Round) -> None:
    """Show the charts of the owners in a round."""
    Panel(html=draw_paths(played, now), title="What owners sell, round by round", kind="card")
    links = draw_network(now) + render_part("legend", LINKS)
    Panel(html=links, title="Who deals with whom", kind="card")
    curves = [(one.name, draw_curve(now, one)) for one in now.curves]
    caption = "An owner's surplus at each privacy budget ε, with the others' budgets fixed."
    if len(curves) < len(now.owners):
        caption += f" The {len(curves)} owners with most money at stake, of {len(now.owners):,}."
    told = render_part("legend", MARKS) + render_part("together", curves)
    title = "Could an owner do better alone?"
    Panel(html=told, title=title, caption=caption, kind="card whole")
    used = [USED] * any(row["benefit"] for row in now.owners)
    legend = render_part("legend", [PAID, *used, *LEFT])
    Panel(html=draw_bars(now) + legend, title="Payments and surplus", kind="card")


def _show_model(screen: Screen, training: Training) -> None:
    """Show the learner's error and gain, as trained too where this market was."""
    facts = screen.now.facts
    result = _trained_result(screen, training)
    gains = draw_gains(facts, result)
    told = f"{draw_errors(facts, result)}<h3>What the learner gains</h3>{gains}"
    caption = INTERVALS + ", and nine single trainings in ten" * (result is not None) + "."
    Panel(html=told, title="How good is the model, and does it pay?", caption=caption, kind="card")


def _trained_result(screen: Screen, training: Training) -> Mapping[str, Any] | None:
    if training.result is None or training.of is not screen.played or not screen.now.last:
        return None
    validation: Mapping[str, Any] | None = training.result["validation"]
    return validation


def _show_training(screen: Screen, training: Training, tell: Callable[[Any], None]) -> None:
    """Show the button that trains, how far that is, and what came of it."""

    def begin(_: str) -> None:
        if not training.under_way:
            tell(Training(screen.played, "starting"))
            Thread(target=_train, args=(screen.played, tell), daemon=True).start()

    busy = training.under_way
    runs = screen.sliders.scenario.validation.runs
    title = f"Train {runs:,} times with real noise"
    with solara.Div(classes=["panel", "card", "whole"]):
        told = render_part("checked", training, screen.played)
        Panel(html=told, title="Test the forecast by training", live=True)
        Buttons(
            title="Training",
            buttons=[make_button("train", title, disabled=busy, kind="main")],
            said=training.stage * busy,
            share=(training.share or -1.0) if busy else None,
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
    except FAULTS as error:
        tell(Training(played, error=f"The training cannot be computed ({error})."))


@solara.component
def Bare(children: list[Any]) -> None:
    """Nothing around a page but the page."""
    solara.Div(children=children)


routes = [
    solara.Route("/", component=Market, layout=Bare),
    solara.Route("lesson", component=Lesson),
]
