"""The game in four steps, for a class: a picture that answers to a slider in each, a question with its answer to unfold."""

from __future__ import annotations

from collections.abc import Callable
from math import exp

import numpy as np
import solara

from scenarios.dashboard import charts, words
from scenarios.dashboard.drawing import Axis, bottom, line, stroke, svg, text
from scenarios.dashboard.frame import FOOTER, framed
from scenarios.dashboard.screen import Screen, first
from scenarios.dashboard.state import MONEY, PRICE
from scenarios.dashboard.stops import Control, numbers
from scenarios.dashboard.training import Training
from scenarios.dashboard.widgets import Buttons, Controls, Panel, button, grouped
from scenarios.report.wording import in_money, number, percent

SCALES = 8.0  # of noise, left and right of the answers
Show = Callable[[Callable[[Screen], Screen]], None]


def noise(epsilon: float) -> str:
    """The noisy count with a person's record and without it: how well can an onlooker tell them apart?"""
    left, right, top, low = 20.0, 460.0, 16.0, 190.0
    x = Axis(-SCALES, SCALES, left, right)
    at = np.linspace(-SCALES, SCALES, 321)
    density = [epsilon / 2 * np.exp(-epsilon * np.abs(at - place)) for place in (0.0, 1.0)]
    y = Axis(0.0, float(max(one.max() for one in density)), low, top)
    parts = [bottom(x, low, low, most=8), stroke(left, low, right, low, "var(--muted)")]
    for curve, colour, words_ in zip(
        density, ("var(--c0)", "var(--c1)"), ("without the record", "with it"), strict=True
    ):
        parts.append(line(x.places(at), y.places(curve), colour, 2.4))
        peak = at[int(curve.argmax())]
        side = ("end", -8) if peak < 0.5 else ("start", 8)
        parts.append(text(x.place(peak) + side[1], top + 8, words_, at=side[0], colour=colour))
    told = f"Two curves of noisy answers at epsilon {number(epsilon)}: an even guess becomes at most {sure_of(epsilon)} sure."
    return svg(480, 214, told, *parts, name="noise")


def sure_of(epsilon: float) -> str:
    """How sure an even guess can become that a record is there, whatever else is known of it."""
    return percent(1 / (1 + exp(-epsilon)))


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
                said = f"<p>An even guess whether your record is among them becomes at most <b>{sure_of(epsilon)}</b> sure.</p>"
                Panel(
                    html=noise(epsilon) + said, caption="How likely each noisy answer is, with your record and without."
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
        told = f"<p>{one.name} sells ε = <b>{number(one.chosen[0])}</b> and keeps {money(one.chosen[1])}.</p>"
        caption = (
            f"What {one.name} would keep at each ε, everyone else staying where they are; the ring is its best answer."
        )
        Panel(html=charts.curve(one, now.facts["scenario"]["currency"], place) + told, caption=caption, kind="narrow")
        Panel(html=QUESTIONS[1])


def _paying(screen: Screen, show: Show) -> None:
    now = screen.played.rounds[-1]
    legend = words.legend([("paid", "paid"), ("lost", "what its privacy costs it"), ("left", "what it keeps")])
    with solara.Div(classes=["step"]):
        Panel(html=STEPS[2], title="3. What the learner pays")
        _slider(screen, show, MONEY)
        Panel(html=charts.bars(now) + legend + f"<h3>What is left to the learner</h3>{charts.gains(now.facts)}")
        Panel(html=words.answer(screen.played, now).split("</p>", 2)[2], live=True)
        Panel(html=QUESTIONS[2])


def _rest(screen: Screen, show: Show) -> None:
    training, tell = solara.use_state(Training())
    played, now = screen.played, screen.now
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
        Buttons(title="Rounds", buttons=asked, said=said, event_press=lambda name: show(lambda old: old.pressed(name)))
        bounds = np.column_stack([owners.epsilon_min, owners.epsilon_max])
        Panel(html=charts.paths(played, now, bounds) + f"<p>{words.standing(played, now)}</p>")
        Panel(html=QUESTIONS[3])


STEPS = (
    "<p>A learner asks an owner of records for an answer: how many, how much, which way to improve a model. Before it leaves "
    "the owner, noise is added, just so much that whoever reads it can hardly tell whether any one record was there. The "
    "privacy budget ε says how hardly: the smaller, the more noise. Move it.</p>",
    "<p>The owner chooses its ε itself. More ε brings more of the learner's money, and costs more: what leaks, and what people "
    "will say. Each has its own price of privacy. The best ε is where one more bit of it brings just what it costs. Make "
    "privacy dearer or cheaper to this owner, and see where it goes.</p>",
    "<p>The learner wants a better model than its own few records make, and pays for it by a rule known to all. What it gains "
    "is what the better model is worth, less what it pays. Move the money in its rule.</p>",
    "<p>What one owner sells changes what is best for the others. So they answer each other, round by round, until nobody "
    "gains by moving alone: an equilibrium. Only then is a model trained, with real noise at the ε that each settled on, and "
    "the forecast of its error, made before anything was asked, is put to the test (on the page of the market: Train).</p>",
)


def _asked(question: str, answer: str) -> str:
    return f"<p><b>{question}</b></p><details><summary>Answer</summary><p>{answer}</p></details>"


QUESTIONS = (
    _asked(
        "An owner answers twice, each time with ε = 1. How sure can somebody become who reads both answers?",
        "At most as sure as from one answer at ε = 2: budgets add up. An even guess becomes at most "
        f"{sure_of(2.0)} sure, not twice {sure_of(1.0)}. That is why ε is called a budget.",
    ),
    _asked(
        "All others suddenly sell twice as much. Must this owner sell more, too?",
        "It depends on what is paid for. In a contest for a fixed sum, an owner ahead of the others answers more competition "
        "with more, one far behind gives up and sells less. At a posted price the others do not matter to it at all.",
    ),
    _asked(
        "The learner doubles its money. Does the model become twice as good?",
        "No. In a contest with linear costs budgets double and noise falls to a quarter, so of the error that noise makes a "
        "quarter is left; what the learner's own records miss, no money mends. Each further coin buys less.",
    ),
    _asked(
        "Is where they come to rest best for all of them together?",
        "In general it is not. Each looks after itself alone: owners who compete for one sum sell more than would be best for "
        "them together; owners who like the model themselves wait for the others to pay for it with their privacy.",
    ),
)
