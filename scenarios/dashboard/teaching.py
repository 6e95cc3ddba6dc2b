"""What the lesson says and asks, and its picture of noise; in four steps."""

from __future__ import annotations

from math import exp

import numpy as np

from scenarios.dashboard.drawing import Axis, bottom, line, stroke, svg, text
from scenarios.report.wording import format_number, format_percent

REACH = 8.0  # of the axis of answers, on both sides of the truth


def noise(epsilon: float) -> str:
    """The noisy count with a person's record and without it: how well can an onlooker tell them apart?"""
    left = 20.0
    right = 460.0
    top = 16.0
    low = 190.0
    x = Axis(-REACH, REACH, left, right)
    at = np.linspace(-REACH, REACH, 321)
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
    told = (
        f"Two curves of noisy answers at epsilon {format_number(epsilon)}: an even guess "
        f"becomes at most {sure_of(epsilon)} sure."
    )
    return svg(480, 214, told, *parts, name="noise")


def sure_of(epsilon: float) -> str:
    """How sure an even guess can become that a record is there, whatever else is known of it."""
    return format_percent(1 / (1 + exp(-epsilon)))


STEPS = (
    "<p>A learner asks an owner of records for an answer: how many, how much, which way to "
    "improve a model. "
    "Before it leaves the owner, noise is added, just so much that whoever reads it can hardly "
    "tell whether "
    "any one record was there. The privacy budget ε says how hardly: the smaller, the more "
    "noise. Move "
    "it.</p>",
    "<p>The owner chooses its ε itself. More ε brings more of the learner's money, and costs "
    "more: what "
    "leaks, and what people will say. Each has its own price of privacy. The best ε is where one "
    "more bit of "
    "it brings just what it costs. Make privacy dearer or cheaper to this owner, and see where "
    "it goes.</p>",
    "<p>The learner wants a better model than its own few records make, and pays for it by a "
    "rule known to "
    "all. What it gains is what the better model is worth, less what it pays. Move the money in "
    "its rule.</p>",
    "<p>What one owner sells changes what is best for the others. So they answer each other, "
    "round by round, "
    "until nobody gains by moving alone: an equilibrium. Only then is a model trained, with real "
    "noise at the "
    "ε that each settled on, and the forecast of its error, made before anything was asked, is "
    "put to the "
    "test (on the page of the market: Train).</p>",
)


def _asked(question: str, answer: str) -> str:
    return f"<p><b>{question}</b></p><details><summary>Answer</summary><p>{answer}</p></details>"


QUESTIONS = (
    _asked(
        (
            "An owner answers twice, each time with ε = 1. How sure can somebody become who reads "
            "both answers?"
        ),
        "At most as sure as from one answer at ε = 2: budgets add up. An even guess becomes at "
        "most "
        f"{sure_of(2.0)} sure, not twice {sure_of(1.0)}. That is why ε is called a budget.",
    ),
    _asked(
        "All others suddenly sell twice as much. Must this owner sell more, too?",
        "It depends on what is paid for. In a contest for a fixed sum, an owner that sells more "
        "than all others "
        "together answers more competition with more; one that sells less than they do gives way "
        "and sells less. "
        "At a posted price the others do not matter to it at all.",
    ),
    _asked(
        "The learner doubles its money. Does the model become twice as good?",
        "No. In a contest with linear costs all budgets double with the money, and the noise in "
        "every answer "
        "spreads half as far. But the error above the best possible can only fall towards 0: "
        "each further coin "
        "saves less of it than the one before, and costs as much.",
    ),
    _asked(
        "Is where they come to rest best for all of them together?",
        "In general it is not. Each looks after itself alone: owners who compete for one sum "
        "sell more than "
        "would be best for them together; owners who like the model themselves wait for the "
        "others to pay for "
        "it with their privacy.",
    ),
)
