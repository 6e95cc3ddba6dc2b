"""What taking part in an ε-private study costs an individual at most, after Hsu et al., against what it does cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from market.costs.leakage import expected_harm
from scenarios.report.figure_page import MUTED, PALETTE
from scenarios.reproduce.drawing import legend, page, say, scales
from scenarios.reproduce.item import Check, Item, Setting
from scenarios.reproduce.thesis.guessing import agrees, at_most_one, attained

COUNT = 50  # of the others; who takes part and counts adds one
HARM = 1000.0  # money lost if the count comes out above the threshold
THRESHOLDS = (45, 50, 51, 55)
DRAWS = 1_000_000
BUDGETS = (100.0, 1000.0, 10_000.0)  # of a study
BASE = 10.0  # money that an individual expects to lose anyhow, in the study
RATE = 0.3  # of the individuals who count


def above(threshold: float, count: float, epsilon: np.ndarray) -> np.ndarray:
    """The odds that a count with Laplace noise of scale 1/ε comes out above a threshold."""
    gap = epsilon * (threshold - count)
    return np.where(gap >= 0, 0.5 * np.exp(-np.abs(gap)), 1 - 0.5 * np.exp(-np.abs(gap)))


def error(people: np.ndarray, budget: float) -> np.ndarray:
    """Standard error of a rate estimated from people who are each paid the most that it costs them, out of a budget.

    ``(e^ε - 1) E`` each: ``ε = ln(1 + B/(N E))``; the error of sampling, and Laplace noise of scale 1/ε on the count.
    """
    epsilon = np.log1p(budget / (people * BASE))
    return np.sqrt(RATE * (1 - RATE) / people + 2 / (people * epsilon) ** 2)


def compute(setting: Setting) -> pd.DataFrame:
    """Expected losses with and without taking part, over ε and thresholds; drawn ones; studies at three budgets."""
    rows: list[dict[str, Any]] = []
    grid = np.linspace(0.02, 2.5, 6 if setting.quick else 32)
    for threshold in THRESHOLDS:
        out, taking = (HARM * above(threshold, count, grid) for count in (COUNT, COUNT + 1))
        most = out + expected_harm(grid, out)
        about = {"panel": "harm", "threshold": threshold}
        quads = zip(grid, out, taking, most, strict=True)
        rows += [about | {"epsilon": e, "without": base, "with": cost, "bound": top} for e, base, cost, top in quads]
        rng, draws = setting.streams("TH-cost").rng(threshold), DRAWS // 10 if setting.quick else DRAWS
        lost = float((COUNT + 1 + rng.laplace(size=draws) > threshold).mean())
        exact = float(above(threshold, COUNT + 1, np.array(1.0)))
        spread = HARM * float(np.sqrt(exact * (1 - exact) / draws))
        rows.append(
            {
                "panel": "drawn",
                "threshold": threshold,
                "epsilon": 1.0,
                "with": HARM * lost,
                "bound": HARM * exact,
                "std_error": spread,
            }
        )
    people = np.geomspace(3, 1e6, 25 if setting.quick else 121)
    for budget in BUDGETS:
        errors = error(people, budget)
        pairs = zip(people, errors, strict=True)
        rows += [{"panel": "study", "budget": budget, "people": n, "error": one} for n, one in pairs]
    return pd.DataFrame(rows)


def checks(frame: pd.DataFrame) -> list[Check]:
    """Nobody loses more than the bound, some lose as much, and what more people at the same budget are good for."""
    panels = dict(list(frame.groupby("panel")))
    harm, drawn, study = panels["harm"], panels["drawn"], panels["study"]
    part = harm["with"] / harm["bound"]
    reached = part[harm["threshold"] >= COUNT + 1]
    ordered = [one.sort_values("people")["error"].to_numpy() for _, one in study.groupby("budget")]
    rise = max(float(np.diff(np.log(one)).max()) for one in ordered)
    budgets = sorted(study["budget"].unique())
    limit = [np.sqrt(RATE * (1 - RATE) / study["people"].max() + 2 * (BASE / budget) ** 2) for budget in budgets]
    far = max(abs(float(one[-1] / end) - 1) for one, end in zip(ordered, limit, strict=True))
    drawn_off = float((abs(drawn["with"] - drawn["bound"]) / drawn["std_error"]).max())
    return [
        at_most_one("largest loss of who takes part, as a part of e^ε E", float(part.max())),
        attained("thresholds that only a larger count passes: smallest part", float(reached.min()), "(e^ε - 1) E more"),
        agrees("losses drawn, standard errors", drawn_off, 4),
        Check(
            "a study at a fixed budget: largest rise of its error with more people", rise, -np.inf, 0, "", "law", 1e-6
        ),
        agrees("its error with a million people against sampling and √2 E/B", far, 1e-2),
    ]


def draw(frame: pd.DataFrame, note: str) -> Figure:
    """What taking part costs as a part of the base cost, beside e^ε; and what studies make of a budget."""
    said = f"(a) {HARM:,.0f} is lost if a noisy count of {COUNT} comes out above a threshold; who takes part adds one"
    title = "What taking part costs at most, and what a study can do for it"
    figure, (first, second) = page(title, "\n".join(filter(None, [said, note])), 2, height=2.7)
    harm = frame[frame["panel"] == "harm"]
    for number, (threshold, part) in enumerate(harm.groupby("threshold")):
        style = (0, (6, 4)) if threshold == max(THRESHOLDS) else "-"
        ratio = part["with"] / part["without"]
        first.plot(part["epsilon"], ratio, color=PALETTE[number], lw=1.6, ls=style, label=f"above {threshold:g}")
    line = harm.drop_duplicates("epsilon").sort_values("epsilon")
    first.plot(line["epsilon"], np.exp(line["epsilon"]), "o", ms=3, mfc="none", color=MUTED, label="e^ε, the bound")
    first.set(xlabel="privacy budget ε", ylabel="expected loss with / without", yscale="log")
    first.set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    first.minorticks_off()
    first.grid(True)
    legend(first, loc="upper left")
    say(first, "(a) loss of who takes part")
    study = frame[frame["panel"] == "study"]
    for number, (budget, part) in enumerate(study.groupby("budget")):
        part = part.sort_values("people")
        second.plot(part["people"], part["error"], color=PALETTE[number], lw=1.6, label=f"{budget:,.0f} to spend")
        second.axhline(np.sqrt(2) * BASE / budget, color=PALETTE[number], lw=0.8, ls=":")
    second.set(xlabel="people paid (e^ε - 1) E each", ylabel="standard error of the rate")
    scales(second, "xy")
    second.set_xticks([10, 1000, 100_000])
    legend(second, loc="upper right")
    say(second, f"(b) a study, E = {BASE:g}; dotted: √2 E/B")
    return figure


COST = Item(
    key="TH-cost",
    where="Wu, MRes thesis, section 2.4.2 (after Hsu et al.)",
    title="The expected cost to an individual",
    claim=(
        "Whatever may happen to an individual by the outcome of an ε-private study, its expected cost E without taking "
        "part rises by (e^ε - 1) E at most when it does; a study that pays each of N people that much can choose ε and N "
        "by its budget."
    ),
    compute=compute,
    checks=checks,
    draw=draw,
    differs=(
        "The thesis tells of the model in words; the count, the loss and the study here are ours. The bound is reached "
        "where only answers above the larger count do harm. What each is paid falls as fast as ε, so that at a fixed "
        "budget B more people at a smaller ε always err less: the error of sampling vanishes, that of the noise stays at "
        "√2 E/B, which money alone lowers."
    ),
    cost=1.0,
)
