"""Errata about the gradient bound of Wu et al.: read off the records, or of a set that a noisy model leaves."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learning.arrays import Array
from learning.privacy.guarantees import pure
from learning.privacy.laplace import Laplace
from scenarios.report.figure_page import INK
from scenarios.reproduce.drawing import legend, lines, page, say
from scenarios.reproduce.errata.showing import above, attacked, below, equal, near, pick
from scenarios.reproduce.item import Check, Item, Setting

NOISE = Laplace()


# ---- E-9: a gradient bound read off the records

RULES = {
    "own": "bound of the first table for both",
    "each": "bound of each table for itself",
    "public": "public bound, records clipped to it",
}


def _answers(rule: str, reach: float, outlier: bool, rng: np.random.Generator, draws: int) -> Array:
    """One answer that spends epsilon = 1, in units of bound/records: the longest gradient -1, or ``reach`` for it."""
    bound = reach if outlier and rule == "each" else 1.0
    longest = (1.0 if rule == "public" else reach) if outlier else -1.0
    answers = NOISE.draw(2 * bound, (draws,), rng=rng) + longest
    return np.abs(answers) if rule == "each" else answers


def _bound_of_records(setting: Setting) -> pd.DataFrame:
    draws, streams = 5000 if setting.quick else 20_000, setting.streams("E-9")
    rows = []
    for rule in RULES:
        for reach in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0):
            exact = {"own": (1 + reach) / 2, "each": np.inf if reach > 1 else 1.0, "public": 1.0}[rule]

            def seen(half: str, world: int, rule: str = rule, reach: float = reach) -> Array:
                return _answers(rule, reach, world == 0, streams.rng(half, world, rule, int(10 * reach)), draws)

            rows.append({"rule": rule, "reach": reach, "promised": 1.0, "loss": exact, "shown": attacked(seen, pure)})
    return pd.DataFrame(rows)


def _check_bound_of_records(frame: pd.DataFrame) -> list[Check]:
    return [
        equal(
            "exact loss at epsilon = 1, record 3 times as long, bound of the first table",
            pick(frame, "loss", rule="own", reach=3.0),
            2.0,
            "1",
        ),
        above(
            "the same, shown by an attack", pick(frame, "shown", rule="own", reach=3.0), 1.0, "at most 1", tolerance=0.3
        ),
        above(
            "shown where each table has its own bound",
            pick(frame, "shown", rule="each", reach=3.0),
            1.0,
            "at most 1",
            tolerance=2.0,
        ),
        below(
            "shown with a public bound and clipping, any record",
            frame["shown"][frame["rule"] == "public"].max(),
            1.0,
            "at most 1",
            tolerance=0.2,
        ),
    ]


def _draw_bound_of_records(frame: pd.DataFrame, note: str) -> Figure:
    figure, (axes,) = page("What one answer gives away of a record that is longer than all others", note)
    for rule, part in frame.groupby("rule", sort=False):
        (line,) = axes.plot(part["reach"], part["shown"], marker="o", ms=4, ls="", label=RULES[str(rule)])
        if np.isfinite(part["loss"]).all():
            axes.plot(part["reach"], part["loss"], color=line.get_color(), lw=1.1)
    axes.axhline(1.0, color=INK, lw=0.8, ls=":")
    axes.set(xlabel="length of its gradient over the longest in the other table", ylabel="ε given away")
    say(axes, "markers: shown by an attack (99 %); lines: exact, without end for the second; dotted: promised")
    axes.grid(True)
    legend(axes)
    return figure


# ---- E-19: strong convexity keeps no noisy model in a compact set

LEFT = {"records": 20, "epsilon": 1.0, "step": 0.25, "bound": 4.0}  # 2 |x| (|y| + |theta| |x|), all at most 1


def _two_answers(draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Mean coordinate of the unprojected model at the second answer, and the loss of both answers of one record of two.

    Squared loss with two features, from theta = (1, 1). The record is x = (1, 0), y = -1, or else x = (0, 1), y = -1; all
    others are 0. Both gradients are as long as any, and as far apart.
    """
    records, step = LEFT["records"], LEFT["step"]
    scale = float(NOISE.scale([LEFT["epsilon"]], [records], LEFT["bound"], 2)[0])
    theta, loss = np.ones((draws, 2)), np.zeros(draws)
    for _ in range(2):
        asked, here, there = theta, *(2 * (theta[:, [i]] + 1) * np.eye(2)[i] / records for i in (0, 1))
        answer = here + NOISE.draw(scale, (draws, 2), rng=rng)
        loss += (np.abs(answer - there) - np.abs(answer - here)).sum(axis=1) / scale
        theta = theta - step * answer
    return asked.mean(axis=1), loss


def _leaving(setting: Setting) -> pd.DataFrame:
    draws = 20_000 if setting.quick else 400_000
    reached, loss = _two_answers(draws, setting.streams("E-19").rng("noise"))
    scale = LEFT["step"] * float(NOISE.scale([LEFT["epsilon"]], [LEFT["records"]], LEFT["bound"], 2)[0]) / 2
    mean = 1 - LEFT["step"] * 4 / LEFT["records"] / 2
    rows = []
    for far in (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0, 2.5, 3.0):
        measured, beyond = float((reached > far).mean()), (far - mean) / scale
        rows.append(
            {
                "model": far,
                "chance": np.exp(-beyond) * (0.5 + beyond / 4),  # of the sum of two Laplace variables
                "measured": measured,
                "std_error": np.sqrt(measured * (1 - measured) / draws),
                "promised": LEFT["epsilon"],
                "most_lost": LEFT["epsilon"] / 2 * (1 + (1 + far) / 2),
                "share_over": float((loss > LEFT["epsilon"] * (1 + 1e-9)).mean()),
                "largest_seen": loss.max(),
            }
        )
    return pd.DataFrame(rows)


def _check_leaving(frame: pd.DataFrame) -> list[Check]:
    beyond = frame[np.isclose(frame["model"], 1.5)].iloc[0]
    return [
        above("share of trainings that lose more than ε", beyond["share_over"], 1e-12, "0", tolerance=0.008),
        above("largest loss seen, ε = 1", beyond["largest_seen"], 1.0, "at most 1", tolerance=0.5),
        near(
            "chance that the model reaches 1.5 of 1, simulated",
            beyond["measured"],
            beyond["chance"],
            beyond["std_error"],
            "0",
        ),
        equal("most that two answers lose where it reached 3", pick(frame, "most_lost", model=3.0), 1.5, "at most 1"),
    ]


def _draw_leaving(frame: pd.DataFrame, note: str) -> Figure:
    figure, (left, right) = page("Two answers without a projection", note, columns=2)
    lines(left, frame[frame["measured"] > 0], "model", "measured", law="chance", logs="y")
    left.set(xlabel="model that the second answer is asked at", ylabel="chance of as far")
    right.plot(frame["model"], frame["most_lost"], marker="o", ms=4)
    right.axhline(1.0, color=INK, lw=0.8, ls=":")
    right.set(xlabel="model that the second answer is asked at", ylabel="most that both give away, ε")
    right.grid(True)
    return figure


WHO = "Wu et al."
ITEMS = (
    Item(
        key="E-9",
        where=f"{WHO}, Assumption 3; Farokhi et al., Assumption 2",
        title="A gradient bound that is read off the records promises nothing",
        claim=(
            "Noise is scaled to Ξ, the largest 1-norm of a record's gradient, which is assumed to be finite; the "
            "experiments do not say what Ξ was for features and targets without a bound."
        ),
        compute=_bound_of_records,
        checks=_check_bound_of_records,
        draw=_draw_bound_of_records,
        differs=(
            "The assumption is sound: it takes the longest gradient over all records that there could be, which must be "
            "known beforehand. Whoever takes the longest one found in a table instead has a promise for that table "
            "only. Replace one record by one whose gradient is three times as long, and an answer promised at ε = 1 "
            "gives away 2. Where both tables set their own noise it is worse: the length of the noise tells them apart "
            "without any limit. The program takes ranges that are public, and clips records to them."
        ),
        cost=1,
    ),
    Item(
        key="E-19",
        where=f"{WHO}, remark after Assumption 3, and Theorem 2",
        title="Strong convexity keeps no noisy model in a compact set",
        claim=(
            "For strongly convex losses the model stays in a compact set, so gradients are bounded and no projection is "
            "needed; Theorem 2 has θ_max = ∞."
        ),
        compute=_leaving,
        checks=_check_leaving,
        draw=_draw_leaving,
        differs=(
            "Laplace noise has no bound, so the first step can lead anywhere, and a squared loss has gradients as long "
            "as the model is far. Here twenty records answer twice, with noise for models up to 1, from a model at 1. "
            "After the first step the model is beyond 1 in nearly half of all trainings, and the second answer may then "
            "lose more than its half of the budget: one training in forty loses more than ε, and how much more has no "
            "limit. Without a projection there is no finite Ξ under squared loss, and no pure ε. The program projects, "
            "or claims nothing."
        ),
        cost=1,
    ),
)
