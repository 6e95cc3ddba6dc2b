"""Errata of the thesis's measures: e for epsilon, a utility that is a loss, a bound that forgets the prior."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from market.costs.channels import bayes_utility, channel, truncated_geometric
from market.costs.leakage import belief_bound, utility_bound
from scenarios.report.figure_page import INK, PALETTE
from scenarios.reproduce.drawing import legend, lines, page, say
from scenarios.reproduce.errata.showing import above, below, equal, near
from scenarios.reproduce.item import Check, Item, Setting

# ---- E-7: e for epsilon


def _beliefs(setting: Setting) -> pd.DataFrame:
    draws, rows = 20_000 if setting.quick else 200_000, []
    for worlds in (2, 10):
        for number, epsilon in enumerate((0.1, 0.5, 1.0, 2.0, 2.718281828, 3.0, 4.0, 5.0)):
            rng = setting.streams("E-7").rng("answers", worlds, number)
            # randomised response: the true world's name with odds e^epsilon, every other's with 1
            right = np.exp(epsilon) / (np.exp(epsilon) + worlds - 1)
            answer_is_true = rng.random(draws) < right  # among equally likely worlds, a named one is true so often
            measured = answer_is_true.mean()
            rows.append(
                {"worlds": worlds, "epsilon": epsilon, "printed": 1 / (1 + (worlds - 1) * np.exp(-np.e))}
                | {"meant": float(belief_bound(np.array(epsilon), worlds)), "measured": measured}
                | {"std_error": np.sqrt(measured * (1 - measured) / draws)}
            )
    return pd.DataFrame(rows)


def _check_beliefs(frame: pd.DataFrame) -> list[Check]:
    part = frame[frame["worlds"] == 10].set_index("epsilon")
    strict, lax = part.loc[0.1], part.loc[5.0]
    return [
        equal("bound printed, ε = 5 over ε = 0.1, ten worlds", lax["printed"] / strict["printed"], 1.0, "rises with ε"),
        above(
            "how often the likeliest world is true over the bound printed, ε = 5",
            lax["measured"] / lax["printed"],
            1.0,
            "at most 1",
            tolerance=0.01,
        ),
        Check(
            "the same over the bound with ε, ε = 5",
            lax["measured"] / lax["meant"],
            1 - 4 * lax["std_error"],
            1 + 4 * lax["std_error"] / lax["meant"],
            "at most 1",
            "law",
            0.01,
        ),
        Check(
            "the same at ε = 0.1",
            strict["measured"] / strict["meant"],
            1 - 4 * strict["std_error"] / strict["meant"],
            1 + 4 * strict["std_error"] / strict["meant"],
            "",
            "value",
            0.2,
        ),
    ]


def _draw_beliefs(frame: pd.DataFrame, note: str) -> Figure:
    figure, panels = page("How sure an attacker becomes of one world of m, randomised response", note, columns=2)
    for axes, worlds in zip(panels, (2, 10), strict=True):
        part = frame[frame["worlds"] == worlds]
        axes.plot(part["epsilon"], part["meant"], color=PALETTE[0], label="bound with ε")
        axes.plot(part["epsilon"], part["printed"], color=PALETTE[1], ls="--", label="bound as printed, with e")
        axes.errorbar(
            part["epsilon"],
            part["measured"],
            2 * part["std_error"],
            color=PALETTE[0],
            marker="o",
            ms=4,
            ls="",
            label="measured",
        )
        axes.set(xlabel="ε", ylabel="belief", ylim=(0, 1.05))
        axes.grid(True)
        say(axes, f"m = {worlds}")
    legend(panels[1], loc="lower right")
    return figure


# ---- E-28: a utility that is a loss


def _far_answers(setting: Setting) -> pd.DataFrame:
    rows, answers, draws = [], 6, 20_000 if setting.quick else 200_000
    places = np.arange(answers)
    apart = np.abs(places[:, None] - places)
    for number, epsilon in enumerate((0.1, 0.5, 1.0, 2.0, 3.0, 5.0)):
        channel = truncated_geometric(np.array(epsilon), answers)[0]
        rng = setting.streams("E-28").rng("answers", number)
        true = rng.integers(answers, size=draws)
        noise = rng.geometric(-np.expm1(-epsilon), draws) - rng.geometric(-np.expm1(-epsilon), draws)
        distance = np.abs(np.clip(true + noise, 0, answers - 1) - true)
        rows.append(
            {"epsilon": epsilon, "right_guesses": float(channel.max(axis=0).sum() / answers)}
            | {"printed": float((channel * apart).sum() / answers), "measured": distance.mean()}
            | {"std_error": distance.std(ddof=1) / np.sqrt(draws)}
        )
    return pd.DataFrame(rows)


def _check_far_answers(frame: pd.DataFrame) -> list[Check]:
    one = frame[np.isclose(frame["epsilon"], 1.0)].iloc[0]
    return [
        below(
            "largest rise of the utility printed, from one budget to the next",
            frame["printed"].diff().max(),
            0.0,
            "rises",
        ),
        above("least rise of the chance of a right guess", frame["right_guesses"].diff().min(), 0.0, "rises"),
        near("the utility printed at ε = 1, simulated", one["measured"], one["printed"], one["std_error"]),
    ]


def _draw_far_answers(frame: pd.DataFrame, note: str) -> Figure:
    figure, (left, right) = page("Two utilities of a truncated geometric answer, six values", note, columns=2)
    left.plot(frame["epsilon"], frame["right_guesses"], marker="o", ms=4)
    left.set(xlabel="ε", ylabel="chance of a right guess")
    left.grid(True)
    lines(right, frame, "epsilon", "measured", law="printed", logs="")
    right.set(xlabel="ε", ylabel="Σ p(y, z) |y - z|")
    return figure


# ---- E-29: a bound that forgets the prior

SETTINGS = {
    "even": "a ring of eleven, all values as likely",
    "prior": "a ring of eleven, one value with 0.9",
    "line": "a line of eleven, all values as likely",
}


def _guesses(setting: Setting) -> pd.DataFrame:
    rows, values, draws = [], 11, 20_000 if setting.quick else 200_000
    for place in SETTINGS:
        prior = np.full(values, 0.01 if place == "prior" else 1 / values)
        prior[5] = 0.9 if place == "prior" else 1 / values
        for number, epsilon in enumerate((0.0, 0.1, 0.5, 1.0, 2.0, 4.0)):
            name = "truncated_geometric" if place == "line" else "ring_geometric"
            odds = channel(name, np.array(epsilon), values, 1)
            rng = setting.streams("E-29").rng(place, number)
            true = rng.choice(values, draws, p=prior)
            answer = (odds[true].cumsum(axis=1) < rng.random((draws, 1))).sum(axis=1)
            right = ((prior[:, None] * odds).argmax(axis=0)[np.minimum(answer, odds.shape[1] - 1)] == true).mean()
            rows.append(
                {"place": place, "epsilon": epsilon, "bound": float(utility_bound(np.array(epsilon), 5, 2))}
                | {"right_guesses": float(bayes_utility(odds, prior)), "measured": right}
                | {"std_error": np.sqrt(right * (1 - right) / draws)}
            )
    return pd.DataFrame(rows)


def _check_guesses(frame: pd.DataFrame) -> list[Check]:
    over = (frame["right_guesses"] / frame["bound"]).groupby(frame["place"]).max()
    skewed = frame[(frame["place"] == "prior") & np.isclose(frame["epsilon"], 0.5)].iloc[0]
    return [
        equal("right guesses over the bound, ring, all values as likely, largest", over["even"], 1.0, "at most 1"),
        above("the same where one value has probability 0.9", over["prior"], 1.0 + 1e-9, "at most 1"),
        above("the same on a line, distance and border as at its middle", over["line"], 1.0 + 1e-9, "at most 1"),
        near(
            "right guesses at ε = 0.5, probability 0.9, simulated",
            skewed["measured"],
            skewed["right_guesses"],
            skewed["std_error"],
        ),
    ]


def _draw_guesses(frame: pd.DataFrame, note: str) -> Figure:
    figure, (axes,) = page("How often the best guess is right, and the bound of (2.3) with n = 5, c = 2", note)
    lines(axes, frame, "epsilon", "measured", by="place", label=SETTINGS.__getitem__, law="right_guesses", logs="")
    part = frame[frame["place"] == "even"]
    axes.plot(part["epsilon"], part["bound"], color=INK, ls="--", lw=1.2, label="bound as printed")
    axes.set(xlabel="ε between neighbouring values", ylabel="chance of a right guess", ylim=(0, 1.05))
    legend(axes)
    return figure


ITEMS = (
    Item(
        key="E-7",
        where="Wu, thesis, (2.4), after Lee and Clifton",
        title="The number e where ε is meant",
        claim="An attacker's belief in the true world is at most 1/(1 + (m - 1) e^(-eΔv/Δf)).",
        compute=_beliefs,
        checks=_check_beliefs,
        draw=_draw_beliefs,
        differs=(
            "With e in the exponent the bound does not depend on the budget. It is far too wide for small ε and wrong "
            "for any above e = 2.718: randomised response at ε = 5 lets an attacker be right more often. With ε it "
            "holds, and is met."
        ),
        cost=1,
    ),
    Item(
        key="E-28",
        where="Wu, thesis, section 2.4.1.2",
        title="A utility that is a loss",
        claim=(
            "In general the utility of an answer z to a true answer y is the mean of their distance, Σ p(y, z) |y - z|."
        ),
        compute=_far_answers,
        checks=_check_far_answers,
        draw=_draw_far_answers,
        differs=(
            "A distance is a loss: it falls as ε grows and answers get better, while the utility by right guesses "
            "rises. A game that pays for it pays for noise, and bound (2.3) says nothing of it. The utility of a "
            "distance is what it leaves of the largest one, or its negative; the program takes any gain or distance so."
        ),
        cost=1,
    ),
    Item(
        key="E-29",
        where="Wu, thesis, (2.3), after Alvim et al.",
        title="A bound that forgets the prior",
        claim="The chance of a right guess is at most e^(nε)(1 - e^ε)/(e^(nε)(1 - e^ε) + c(1 - e^(nε))).",
        compute=_guesses,
        checks=_check_guesses,
        draw=_draw_guesses,
        differs=(
            "Where it is printed the bound names no prior and no graph; section 4.4 asks for borders of c answers or "
            "none, and names no prior either. It holds where all true answers are as likely, and have c answers at each "
            "distance up to n: on a ring it is met. Where one value has chance 0.9 a guess is right nine times in ten "
            "without any answer at all, and on a line, where the ends have fewer neighbours (which 4.4 rules out), the "
            "truncated geometric answer beats the bound of its middle value. TH-2.3 has the bound for any prior and "
            "gain."
        ),
        cost=1,
    ),
)
