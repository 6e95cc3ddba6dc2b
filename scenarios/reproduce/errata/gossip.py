"""Errata about the asynchronous walk of Farokhi et al.: which cost it descends on, who is noisy, how often who is asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from learning.arrays import Array
from learning.training.clocks import Clocks, most_talks
from scenarios.report.figure_page import INK, PALETTE
from scenarios.reproduce.drawing import legend, lines, page
from scenarios.reproduce.errata.showing import above, equal, near, pick
from scenarios.reproduce.item import Check, Item, Setting

RIDGE, CURVATURE = 1.0, 1.0  # of g and of every owner's part, one parameter


def tick(owner: int, owners: int, step: float, lead: float, reach: float = 1.0) -> tuple[Array, Array, Array]:
    """One tick of Algorithm 1 as an affine map of (theta_1 .. theta_N, theta_L): matrix, shift, and what noise moves.

    With m the mean of both copies, theta_i = m - N step reach (ridge m/(2N) + (curvature (m - a_i) + w)/N) and
    theta_L = m - step lead ridge m; shares n_i/n are alike, and the owners' optima a_i lie evenly from 0 to 2.
    """
    matrix, shift, noise = np.eye(owners + 1), np.zeros(owners + 1), np.zeros(owners + 1)
    middle = np.zeros(owners + 1)
    middle[[owner, -1]] = 0.5
    matrix[owner] = (1 - step * reach * (RIDGE / 2 + CURVATURE)) * middle
    matrix[-1] = (1 - step * lead * RIDGE) * middle
    shift[owner], noise[owner] = step * reach * CURVATURE * optima(owners)[owner], -step * reach
    return matrix, shift, noise


def optima(owners: int) -> Array:
    """Of the owners' own parts, 1 on average."""
    return np.linspace(0, 2, owners)


def lead_of(reading: str, owners: int) -> float:
    """The learner's part of g's gradient in (7): 1/2 as the proof needs it, (N - 1)/N as it is printed."""
    return 0.5 if reading == "proved" else (owners - 1) / owners


# ---- E-10: where the walk settles


def _settled(owners: int, reading: str, step: float) -> float:
    """Where the learner's copy settles on average, without noise: the fixed point of the mean of all ticks."""
    ticks = [tick(i, owners, step, lead_of(reading, owners)) for i in range(owners)]
    matrix, shift = (np.mean([one[part] for one in ticks], axis=0) for part in (0, 1))
    return float(np.linalg.solve(np.eye(owners + 1) - matrix, shift)[-1])


def _walked(owners: int, reading: str, step: float, runs: int, rng: np.random.Generator) -> tuple[float, float]:
    """The same by walking: mean of the learner's copy over runs at the end, and its standard error."""
    lead, copies, learner = lead_of(reading, owners), np.zeros((runs, owners)), np.zeros(runs)
    rows = np.arange(runs)
    for called in rng.integers(owners, size=(int(12 * owners / step), runs)):
        middle = (learner + copies[rows, called]) / 2
        copies[rows, called] = middle - step * (RIDGE / 2 * middle + CURVATURE * (middle - optima(owners)[called]))
        learner = middle - step * lead * RIDGE * middle
    return float(learner.mean()), float(learner.std(ddof=1) / np.sqrt(runs))


def _parts_of_g(setting: Setting) -> pd.DataFrame:
    rows, step, streams = [], 0.1, setting.streams("E-10")
    for owners in (2, 3, 5, 10, 86)[: 4 if setting.quick else None]:
        for reading in ("proved", "printed"):
            settles = _settled(owners, reading, 1e-6)
            walked, error = _walked(owners, reading, step, setting.runs, streams.rng("ticks", reading, owners))
            rows.append(
                {"owners": owners, "reading": reading, "settles": settles, "optimum": CURVATURE / (RIDGE + CURVATURE)}
                | {"weight_of_g": CURVATURE * (1 - settles) / (RIDGE * settles), "step": step}
                | {"walked": walked, "std_error": max(error, 1e-12), "expected": _settled(owners, reading, step)}
            )
    return pd.DataFrame(rows)


def _check_parts_of_g(frame: pd.DataFrame) -> list[Check]:
    ten = frame[(frame["owners"] == 10) & (frame["reading"] == "printed")].iloc[0]
    proved = frame[frame["reading"] == "proved"]
    return [
        Check(
            "weight of g that the printed steps descend on, 10 owners",
            ten["weight_of_g"],
            1.399,
            1.401,
            "1",
            "law",
            1e-5,
        ),
        Check(
            "the same, 2 owners",
            pick(frame, "weight_of_g", owners=2, reading="printed"),
            0.999,
            1.001,
            "1",
            "value",
            1e-5,
        ),
        Check(
            "the same with 1/2 in (7), worst of all numbers of owners",
            proved["weight_of_g"].max(),
            0.999,
            1.001,
            "1",
            "law",
            1e-5,
        ),
        near("learner's copy after a walk, printed, 10 owners", ten["walked"], ten["expected"], ten["std_error"]),
    ]


def _draw_parts_of_g(frame: pd.DataFrame, note: str) -> Figure:
    figure, (axes,) = page(
        "Where the noiseless walk settles, g = θ²/2, owners' parts (θ - a)²/2, a = 1 on average", note
    )
    words = {"printed": "(7) as printed, (N - 1)/N", "proved": "(7) with 1/2"}
    lines(axes, frame.drop(columns="std_error"), "owners", "settles", by="reading", label=words.__getitem__, logs="x")
    axes.axhline(0.5, color=INK, ls=":", lw=0.8, label="optimum of f")
    axes.set(xlabel="owners N", ylabel="θ_L, small steps")
    legend(axes)
    return figure


# ---- E-22: answers paid for and answers given


def _talks(setting: Setting) -> pd.DataFrame:
    rows, horizon, streams = [], 1000, setting.streams("E-22")
    for owners in (3, 10, 30, 86, 100):
        called = streams.rng("ticks", owners).multinomial(horizon, np.full(owners, 1 / owners), size=setting.runs)
        priced, mean = most_talks(Clocks(), owners, horizon), called[:, 0].mean()
        rows.append(
            {"owners": owners, "horizon": horizon, "paid_for": horizon, "expected": horizon / owners, "given": mean}
            | {"std_error": called[:, 0].std(ddof=1) / np.sqrt(setting.runs), "given_most": called.max()}
            | {"priced_here": priced, "epsilon_spent": mean / horizon, "variance": (horizon / priced) ** 2}
        )
    return pd.DataFrame(rows)


def _check_talks(frame: pd.DataFrame) -> list[Check]:
    three, many = (frame[frame["owners"] == owners].iloc[0] for owners in (3, 86))
    return [
        near(
            "answers that one of 3 owners gives of 1,000", three["given"], 1000 / 3, three["std_error"], "1000", "law"
        ),
        near(
            "share of its budget that one of 86 spends",
            many["epsilon_spent"],
            1 / 86,
            many["std_error"] / 1000,
            "1",
            "law",
        ),
        above(
            "noise variance over what one of 86 needs but for one training in a hundred", many["variance"], 86.0, "1"
        ),
    ]


def _draw_talks(frame: pd.DataFrame, note: str) -> Figure:
    figure, (left, right) = page("Answers of 1,000 ticks, and what the difference costs", note, columns=2)
    lines(left, frame, "owners", "given", law="expected")
    left.plot(
        frame["owners"],
        frame["priced_here"],
        marker="s",
        ms=4,
        ls="",
        color=PALETTE[2],
        label="hardly ever exceeded (1 %)",
    )
    left.axhline(1000, color=PALETTE[1], ls="--", lw=1, label="paid for")
    left.plot([], [], color=PALETTE[0], marker="o", ms=4, label="given on average")
    left.set(xlabel="owners N", ylabel="answers of one owner")
    legend(left)
    lines(right, frame.drop(columns="std_error"), "owners", "variance")
    right.set(xlabel="owners N", ylabel="noise variance over what would do")
    return figure


# ---- E-23: owners that talk less often


def _variance(rates: Array, step: float, ticks: int) -> float:
    """Variance of the learner's copy after so many ticks, exact, where every answer carries unit noise."""
    owners = len(rates)
    chances, moment = rates / rates.sum(), np.zeros((owners + 1, owners + 1))
    maps = [tick(i, owners, step, 0.5, 1 / (owners * chances[i])) for i in range(owners)]
    for _ in range(ticks):
        moment = sum(
            chance * (matrix @ moment @ matrix.T + np.outer(noise, noise))
            for chance, (matrix, _, noise) in zip(chances, maps, strict=True)
        )
    return float(moment[-1, -1])


def _rare(setting: Setting) -> pd.DataFrame:
    rows, step, ticks = [], 0.005, 400 if setting.quick else 2000
    alike = _variance(np.ones(3), step, ticks)
    for rate in (1.0, 0.5, 0.2, 0.1, 0.05):
        rates = np.array([1.0, 1.0, rate])
        share = rates / rates.sum()
        rows.append(
            {"rate": rate, "variance_over_alike": _variance(rates, step, ticks) / alike}
            | {"formula": np.sum(1 / share) / 9, "rare_owner_alone": 1 / share[-1] / 3}
        )
    return pd.DataFrame(rows)


def _check_rare(frame: pd.DataFrame) -> list[Check]:
    ratio = pick(frame, "variance_over_alike", rate=0.1)
    return [
        above("noise in the model over that of owners alike, one talks a tenth as often", ratio, 1.0 + 1e-6, "1"),
        Check(
            "the same over Σ 1/γ_i/N², its chances γ_i",
            ratio / pick(frame, "formula", rate=0.1),
            0.9,
            1.1,
            "",
            "value",
            0.02,
        ),
        equal("owners alike", pick(frame, "variance_over_alike", rate=1.0), 1.0, "1"),
    ]


def _draw_rare(frame: pd.DataFrame, note: str) -> Figure:
    figure, (axes,) = page("Noise in the learner's model where one of three owners talks less often", note)
    lines(axes, frame, "rate", "variance_over_alike", law="formula", logs="x")
    axes.axhline(1.0, color=PALETTE[1], ls="--", lw=1, label="the same, as Remark 4 has it")
    axes.plot([], [], color=PALETTE[0], marker="o", ms=4, label="exact, and Σ 1/γ_i/N²")
    axes.set(
        xlabel="how often it talks over how often each of the others does", ylabel="variance over that of owners alike"
    )
    legend(axes)
    return figure


WHO = "Farokhi et al."
ITEMS = (
    Item(
        key="E-10",
        where=f"{WHO}, (5) and (7) against Appendix B",
        title="Two copies that descend on more than the cost",
        claim=(
            "The talking owner's copy moves along ∇g/(2N), the learner's along (N - 1)/N of ∇g; the walk comes near to "
            "the optimum of f = g + losses."
        ),
        compute=_parts_of_g,
        checks=_check_parts_of_g,
        draw=_draw_parts_of_g,
        differs=(
            "The proof splits f into η g + losses for each owner and (1 - ηN) g for the learner, which add up to f. It "
            "takes η = 1/(2N), as (5) does, and then (7) needs 1/2; (N - 1)/N belongs to η = 1/N². With (5) and (7) as "
            "printed the walk descends on (3/2 - 1/N) g + losses and settles elsewhere, but for two owners. With the "
            "papers' g = 10⁻⁵θᵀθ that hardly shows; with a regulariser that matters it does. The program offers both, "
            "1/2 by default."
        ),
        cost=1,
    ),
    Item(
        key="E-22",
        where=f"{WHO}, Theorem 1 and Algorithm 1",
        title="T answers paid for, T/N given",
        claim="Of T ticks each owner's budget is split over T answers, since no more than T can be asked.",
        compute=_talks,
        checks=_check_talks,
        draw=_draw_talks,
        differs=(
            "At every tick one owner of N answers, so each gives about T/N answers and spends ε/N. The promise holds, "
            "but the noise is far more than needed: one of 86 hospitals gives more than 20 of 1,000 once in a hundred "
            "trainings, and noise for 20 has a 2,500th of the variance. An owner that falls silent after so many keeps "
            "its promise whatever the clocks do; that is what the program does by default."
        ),
        cost=1,
    ),
    Item(
        key="E-23",
        where=f"{WHO}, Remark 4",
        title="Owners that talk less often make the model noisier",
        claim=(
            "Where owners drop out, scaling each gradient by the inverse of how often its owner talks gives the same "
            "bounds."
        ),
        compute=_rare,
        checks=_check_rare,
        draw=_draw_rare,
        differs=(
            "The scaling mends the mean and multiplies the noise. With γ_i the chance that owner i talks, its step is "
            "1/(Nγ_i) times as long and its noise enters γ_i times as often with the square of that: the proof's N Σ "
            "ν_i² becomes Σ ν_i²/γ_i. An owner that talks a tenth as often as two others makes the model 2.8 times as "
            "noisy. The form of the bounds stays, with constants that hang on how often each owner talks."
        ),
        cost=2,
    ),
)
