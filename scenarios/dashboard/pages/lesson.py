"""The game in four steps, for a class: a picture that answers to a slider, and a question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import solara

from scenarios.dashboard.charts import draw_bars, draw_curve, draw_gains, draw_noise, draw_paths
from scenarios.dashboard.controls import Control, slide_numbers
from scenarios.dashboard.pages.widgets import (
    Controls,
    Panel,
    Show,
    frame_page,
    group_controls,
    show_controls,
    show_rounds,
)
from scenarios.dashboard.rendering import render_part
from scenarios.dashboard.screen import Screen, first_screen
from scenarios.dashboard.state import MONEY, PRICE

TITLES = {
    1: "Data and privacy",
    2: "What owners choose",
    3: "What the learner pays",
    4: "Equilibrium and training",
}
LEGEND = [("paid", "paid"), ("lost", "privacy cost"), ("left", "surplus")]

say = partial(render_part, of="lesson.html.j2")


@solara.component
def Lesson() -> None:
    """Four steps from a noisy answer to a trained model."""
    screen, show = solara.use_state(first_screen())
    with solara.Div(classes=["dp"]):
        frame_page("/lesson", "The game in four steps")
        with solara.Div(classes=["steps"]):
            _show_noise()
            _show_choice(screen, show)
            _show_payments(screen, show)
            _show_rest(screen, show)
        Panel(html=render_part("footer"))


@contextmanager
def _step(number: int) -> Iterator[None]:
    """Frame a step with what it says and asks."""
    with solara.Div(classes=["step"]):
        Panel(html=say(f"step_{number}"), title=f"{number}. {TITLES[number]}")
        yield
        Panel(html=say(f"question_{number}"))


def _show_noise() -> None:
    epsilon, set_epsilon = solara.use_state(1.0)
    answered, count = solara.use_state(0)
    dial = slide_numbers("epsilon", "Privacy budget ε", 1.0, epsilon, (0.1, 5.0))

    def turn(moved: dict[str, Any]) -> None:
        set_epsilon(dial.stops[moved["at"]])
        count(answered + 1)

    with _step(1):
        Controls(groups=group_controls([dial]), done=answered, event_move=turn)
        caption = "The probability density of the noisy answer, with your record and without it."
        Panel(html=draw_noise(epsilon) + say("sure", epsilon), caption=caption)


def _find_controls(screen: Screen, name: str) -> list[Control]:
    """Find one of the market's own sliders, where it has it."""
    return [replace(one, group="") for one in screen.sliders.controls if one.name == name]


def _show_choice(screen: Screen, show: Show) -> None:
    now = screen.played.rounds[-1]
    one = now.curves[0]
    place = [row["name"] for row in now.owners].index(one.name)
    own = _find_controls(screen, f"{PRICE}.{place}")
    caption = (
        f"The surplus of {one.name} at each ε, with the others' budgets fixed. "
        "The ring is its best response."
    )
    with _step(2):
        show_controls(screen, show, own or _find_controls(screen, PRICE))
        told = draw_curve(now, one) + say("kept", now.facts, one)
        Panel(html=told, caption=caption, kind="narrow")


def _show_payments(screen: Screen, show: Show) -> None:
    now = screen.played.rounds[-1]
    with _step(3):
        show_controls(screen, show, _find_controls(screen, MONEY))
        heading = "<h3>The learner's gain</h3>"
        bars = draw_bars(now) + render_part("legend", LEGEND)
        Panel(html=f"{bars}{heading}{draw_gains(now.facts)}")
        Panel(html=render_part("buying_pays", now), live=True)


def _show_rest(screen: Screen, show: Show) -> None:
    with _step(4):
        show_rounds(screen, show)
        said = render_part("standing", screen.played, screen.now)
        Panel(html=f"{draw_paths(screen.played, screen.now)}<p>{said}</p>")
