"""What the sources leave out of beliefs and of records with several owners."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy
from matplotlib.figure import Figure

from learning.arrays import Array
from learning.privacy.gaussian import exact_distance, surest_gaussian
from learning.privacy.guarantees import pure
from learning.privacy.laplace import Laplace
from scenarios.report.figure_page import BAND, PALETTE
from scenarios.reproduce.drawing import legend, lines, page
from scenarios.reproduce.errata.showing import above, attacked, equal, near, pick
from scenarios.reproduce.item import Check, Item, Setting

# ---- E-14: belief under (epsilon, delta)


def _surer(setting: Setting) -> pd.DataFrame:
    rows, draws, streams = [], 20_000 if setting.quick else 200_000, setting.streams("E-14")
    budgets = [*((epsilon, 1e-6) for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0)), (1.0, 1e-9), (1.0, 1e-3)]
    for number, (epsilon, delta) in enumerate(budgets):
        distance = float(exact_distance(epsilon, delta))
        # answers beyond it leave one version more than e^epsilon/(1 + e^epsilon) likely
        cap = epsilon / distance + distance / 2
        right, wrong = scipy.special.ndtr(distance - cap), scipy.special.ndtr(-cap)
        # importance sampling: answers drawn around the cap, weighed by the odds of what was drawn
        drawn = cap + streams.rng("answers", number).exponential(1 / cap, draws)
        weight = (np.exp(-(drawn**2) / 2) + np.exp(-((drawn - distance) ** 2) / 2)) / np.sqrt(2 * np.pi)
        weight *= np.exp(cap * (drawn - cap)) / cap
        rows.append(
            {
                "epsilon": epsilon,
                "delta": delta,
                "distance": distance,
                "right_over_delta": right / delta,
                "over_delta": (right + wrong) / delta,
            }
            | {"measured": weight.mean() / delta, "std_error": weight.std(ddof=1) / np.sqrt(draws) / delta}
            | {"cap": np.exp(epsilon) / (1 + np.exp(epsilon)), "surest": float(surest_gaussian(distance, delta))}
        )
    return pd.DataFrame(rows)


def _check_surer(frame: pd.DataFrame) -> list[Check]:
    one = frame[np.isclose(frame["epsilon"], 1.0) & np.isclose(frame["delta"], 1e-6)].iloc[0]
    return [
        Check(
            "chance that the true version becomes too likely, over δ, ε = 1, δ = 1e-6",
            one["right_over_delta"],
            19.5,
            20.5,
            "0 (1 at most)",
            "law",
            1e-3,
        ),
        above("chance that either does, over δ", one["over_delta"], one["right_over_delta"], "0 (1 at most)"),
        near("the same, simulated", one["measured"], one["over_delta"], one["std_error"]),
        above("least over all budgets tried", frame["over_delta"].min(), 1.0, "at most 1"),
        above(
            "belief that all but a chance of δ stays below, over the cap, ε = 1", one["surest"] / one["cap"], 1.0, "1"
        ),
    ]


def _draw_surer(frame: pd.DataFrame, note: str) -> Figure:
    figure, (axes,) = page("Gaussian noise at just (ε, δ): how often an even guess ends above e^ε/(1 + e^ε)", note)
    part = frame[np.isclose(frame["delta"], 1e-6)]
    lines(axes, part, "epsilon", "measured", law="over_delta")
    axes.axhline(1.0, color=PALETTE[1], ls="--", lw=1, label="δ itself")
    axes.plot([], [], color=PALETTE[0], marker="o", ms=4, label="measured, and exact, δ = 1e-6")
    axes.set(xlabel="ε", ylabel="chance over δ")
    legend(axes)
    return figure


# ---- E-15: records with several owners


def _together(budgets: Array, added: bool, draws: int, rng: np.random.Generator) -> Array:
    """Evidence in one answer of each of kappa owners, noise for epsilon/kappa: log-likelihood of the record's version."""
    kept = budgets / len(budgets)
    noise = Laplace().draw(1.0, (draws, len(budgets)), rng=rng)  # sensitivity over scale is kept
    seen = noise + kept * added
    return np.asarray((np.abs(seen) - np.abs(seen - kept)).sum(axis=1))


def _overlap(setting: Setting) -> pd.DataFrame:
    rows, draws, streams = [], 10_000 if setting.quick else 100_000, setting.streams("E-15")
    for number, budgets in enumerate(
        ((1.0, 1.0), (0.5, 0.5, 0.5), (0.5, 2.0), (0.5, 5.0), (0.2, 1.0, 4.0), (0.1, 8.0))
    ):
        held = np.array(budgets)

        def draw(half: str, world: int, held: Array = held, number: int = number) -> Array:
            return _together(held, world == 0, draws, streams.rng(half, world, number))

        told = " and ".join(f"{one:g}" for one in budgets)
        rows.append(
            {
                "budgets": told,
                "owners": len(held),
                "strictest": held.min(),
                "formula": held.mean(),
                "shown": attacked(draw, pure),
            }
        )
    return pd.DataFrame(rows)


def _check_overlap(frame: pd.DataFrame) -> list[Check]:
    return [
        equal(
            "exact loss of a record with owners at 0.5 and 5, over the 0.5 promised",
            pick(frame, "formula", budgets="0.5 and 5") / 0.5,
            5.5,
            "1",
        ),
        above(
            "the same, shown by an attack",
            pick(frame, "shown", budgets="0.5 and 5") / 0.5,
            1.0,
            "at most 1",
            tolerance=0.5,
        ),
        above(
            "exact over shown, the least of all",
            (frame["formula"] / frame["shown"]).min(),
            1.0,
            "at least 1",
            tolerance=0.2,
        ),
        equal("owners alike, 1 and 1", pick(frame, "formula", budgets="1 and 1"), 1.0, "1", "value"),
    ]


def _draw_overlap(frame: pd.DataFrame, note: str) -> Figure:
    figure, (axes,) = page("What one record loses to who sees all its owners' answers", note)
    places = np.arange(len(frame))
    axes.bar(places, frame["formula"], width=0.55, color=BAND, edgecolor=PALETTE[0], label="Σ ε_l/κ")
    axes.plot(places, frame["shown"], marker="o", ms=5, ls="", color=PALETTE[0], label="shown by an attack (99 %)")
    axes.plot(
        places,
        frame["strictest"],
        marker="_",
        ms=26,
        mew=2,
        ls="",
        color=PALETTE[1],
        label="promised by the strictest owner",
    )
    axes.set(xlabel="budgets of the owners that hold the record", ylabel="ε", xticks=places)
    axes.set_xticklabels(frame["budgets"], fontsize=7.5)
    legend(axes, loc="upper left")
    return figure


ITEMS = (
    Item(
        key="E-14",
        where="Wu, thesis, (2.4), is of pure ε; multi-party write-up and Kang et al. promise (ε, δ)",
        title="How sure an attacker becomes under (ε, δ)",
        claim=(
            "ε bounds what an attacker may believe: of two versions of a record held for equally likely, none becomes "
            "more than e^ε/(1 + e^ε) likely. Under (ε, δ) this is often read, though by none of these, as failing with "
            "a chance of δ."
        ),
        compute=_surer,
        checks=_check_surer,
        draw=_draw_surer,
        differs=(
            "The cap is a statement of pure ε. Of Gaussian noise that is just (ε, δ)-private the chance of a belief "
            "above it is many times δ: at ε = 1 and δ = 10⁻⁶ the true version becomes so likely with 20 δ, either of "
            "both with 27 δ. δ measures by how much probabilities can exceed e^ε times each other, not how often the "
            "loss exceeds ε. The program reports the belief that stays below but for a chance of δ, by the noise's own "
            "trade-off curve."
        ),
        cost=1,
    ),
    Item(
        key="E-15",
        where="Wu et al., after Assumption 1",
        title="A record with several owners who sell different budgets",
        claim="If a record may sit with up to κ owners, each answers with ε_l/κ, and the record keeps owner l's ε_l.",
        compute=_overlap,
        checks=_check_overlap,
        draw=_draw_overlap,
        differs=(
            "Who sees all answers sees the sum of what each gives: Σ ε_l/κ over the record's owners. That is ε where "
            "all budgets are alike. A record with an owner at 0.5 and one at 5 loses 2.75, five and a half times what "
            "the stricter one promised, and an attack shows it. The program states the joint loss of such records "
            "beside each owner's own."
        ),
        cost=1,
    ),
)
