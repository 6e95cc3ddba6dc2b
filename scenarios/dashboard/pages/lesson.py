"""The game in four steps, for a class: a picture that answers to a slider in each, a question with its answer to unfold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import solara

from scenarios.dashboard import charts, words
from scenarios.dashboard.pages.frame import FOOTER, framed
from scenarios.dashboard.pages.widgets import Buttons, Controls, Panel, button, grouped
from scenarios.dashboard.screen import Screen, first
from scenarios.dashboard.state import MONEY, PRICE
from scenarios.dashboard.stops import Control, numbers
from scenarios.dashboard.teaching import QUESTIONS, STEPS, noise, sure_of
from scenarios.dashboard.training import Training
from scenarios.report.wording import format_number, in_money

Show = Callable[[Callable[[Screen], Screen]], None]


@solara.component
def Lesson() -> None:
    """Four steps from a noisy answer to a trained model."""
    screen, show = solara.use_state(first())
    epsilon, set_epsilon = solara.use_state(1.0)
    answered, count = solara.use_state(0)
    with solara.Div(classes=["dp"]):
        framed("/lesson", "The game in four steps")
        with solara.Div(classes=["steps"]):

            def turned(moved: dict) -> None:
                set_epsilon(_dial(epsilon).stops[moved["at"]])
                count(answered + 1)

            with solara.Div(classes=["step"]):
                Panel(html=STEPS[0], title="1. Data and privacy")
                Controls(groups=grouped([_dial(epsilon)]), done=answered, event_move=turned)
                said = (
                    "<p>An even guess whether your record is there becomes at most "
                    f"<b>{sure_of(epsilon)}</b> sure.</p>"
                )
                Panel(
                    html=noise(epsilon) + said,
                    caption="How likely each noisy answer is, with your record and without.",
                )
                Panel(html=QUESTIONS[0])
            _choice(screen, show)
            _paying(screen, show)
            _rest(screen, show)
        Panel(html=FOOTER)


def _dial(epsilon: float) -> Control:
    return numbers("epsilon", "Privacy budget ε", 1.0, epsilon, least=0.1, most=5.0)


def _slider(screen: Screen, show: Show, name: str) -> None:
    """One of the market's own sliders, where it has it."""
    found = [one for one in screen.sliders.controls if one.name == name]
    Controls(
        groups=grouped([Control(**(vars(one) | {"group": ""})) for one in found]),
        done=screen.done,
        event_move=lambda moved: show(lambda old: old.moved(moved["name"], moved["at"])),
    )


def _choice(screen: Screen, show: Show) -> None:
    now = screen.played.rounds[-1]
    one = now.curves[0]
    place = [row["name"] for row in now.owners].index(one.name)
    own = f"{PRICE}.{place}"
    known = any(control.name == own for control in screen.sliders.controls)
    money = in_money(now.facts)
    with solara.Div(classes=["step"]):
        Panel(html=STEPS[1], title="2. What owners choose")
        _slider(screen, show, own if known else PRICE)
        told = (
            f"<p>{one.name} sells ε = <b>{format_number(one.chosen[0])}</b> and keeps "
            f"{money(one.chosen[1])}.</p>"
        )
        caption = (
            f"What {one.name} would keep at each ε, everyone else staying where they are; "
            "the ring is its best answer."
        )
        Panel(
            html=charts.curve(one, now.facts["scenario"]["currency"], place) + told,
            caption=caption,
            kind="narrow",
        )
        Panel(html=QUESTIONS[1])


def _paying(screen: Screen, show: Show) -> None:
    now = screen.played.rounds[-1]
    legend = words.legend(
        [("paid", "paid"), ("lost", "what its privacy costs it"), ("left", "what it keeps")]
    )
    with solara.Div(classes=["step"]):
        Panel(html=STEPS[2], title="3. What the learner pays")
        _slider(screen, show, MONEY)
        Panel(
            html=charts.bars(now)
            + legend
            + f"<h3>What is left to the learner</h3>{charts.gains(now.facts)}"
        )
        Panel(html=words.buying(now), live=True)
        Panel(html=QUESTIONS[2])


def _rest(screen: Screen, show: Show) -> None:
    training, tell = solara.use_state(Training())
    played = screen.played
    now = screen.now
    owners = played.run.game.owners
    with solara.Div(classes=["step"]):
        Panel(html=STEPS[3], title="4. Equilibrium and training")
        ended = screen.at == played.last
        asked = [
            button("reset", "Reset", disabled=screen.at == 0),
            button("step", "Step", disabled=ended, kind="main"),
            button("end", "To the end", disabled=ended),
        ]
        said = f"round {now.number} of {played.rounds[-1].number}"
        Buttons(
            title="Rounds",
            buttons=asked,
            said=said,
            event_press=lambda name: show(lambda old: old.pressed(name)),
        )
        bounds = np.column_stack([owners.epsilon_min, owners.epsilon_max])
        Panel(html=charts.paths(played, now, bounds) + f"<p>{words.standing(played, now)}</p>")
        Panel(html=QUESTIONS[3])
