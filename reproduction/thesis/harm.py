"""TH-2.4, TH-cost: an adversary's belief and its cap, and the cost of a study to an individual."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import laplace

from learning.arrays import Array
from market.costs.leakage import belief_bound, expected_harm
from reproduction.checks import select_rows
from reproduction.drawing import DOTS, RINGS, Style, curve
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows
from reproduction.thesis.leakage import rows_over
from scenarios.report.figure_page import INK, MUTED, PALETTE

# True answers in each possible world, in units of the sensitivity Δf.
WORLDS = {
    "two worlds": np.array([0.0, 1.0]),
    "one of ten stands apart": np.array([0.0, *[1.0] * 9]),
    "ten in a row": np.linspace(0.0, 1.0, 10),
    "ten in a row, half as far": np.linspace(0.0, 0.5, 10),
}
WORST = ("two worlds", "one of ten stands apart")
CAPS = (0.2, 1 / 3, 0.5, 0.75, 0.9)  # on the belief
WORLDS_CAPPED = 10
DRAWS = 100_000


def posterior_beliefs(answers: Array, worlds: Array, epsilon: float) -> Array:
    """Posterior of each world after an answer, (m, answers).

    Laplace noise has scale 1/ε, and the prior is uniform.
    """
    distance = np.abs(answers - worlds[:, None])
    weights = np.exp(-epsilon * (distance - distance.min(axis=0)))
    return weights / weights.sum(axis=0)


def largest_belief(worlds: Array, epsilon: float) -> float:
    """The largest posterior of any world after any answer.

    Between two true answers the log of a belief is concave, or convex with kinks at true answers
    alone; beyond all of them it is constant. So the true answers and one beyond each end suffice.
    """
    answers = np.append(worlds, [worlds.min() - 1, worlds.max() + 1])
    return float(posterior_beliefs(answers, worlds, epsilon).max())


def epsilon_for_cap(belief: float, worlds: int) -> float:
    """The largest ε that keeps a belief at or below a cap: ``ln((m-1) r/(1-r))``, Δf = Δv."""
    return float(np.log((worlds - 1) * belief / (1 - belief)))


def compute_beliefs(setting: Setting) -> Rows:
    """Largest beliefs over ε beside the bound, drawn answers, and caps."""
    grid = np.linspace(0, 6, setting.pick_value(49, 13))
    fine = np.linspace(-3, 4, 2001)
    draws = setting.pick_value(DRAWS, DRAWS // 10)
    for name, worlds in WORLDS.items():
        count = len(worlds)
        spread = float(np.ptp(worlds))
        common = {"worlds": name, "m": count, "ratio": spread}
        for epsilon in grid:
            yield dict(
                panel="belief",
                **common,
                epsilon=epsilon,
                belief=largest_belief(worlds, epsilon),
                on_a_grid=float(posterior_beliefs(fine, worlds, epsilon).max()),
                bound=float(belief_bound(np.array(epsilon), count, spread)),
                as_printed=float(1 / (1 + (count - 1) * np.exp(-math.e * spread))),
            )
        rng = setting.streams("TH-2.4").rng(name)
        for epsilon in (0.5, 2.0):
            truth = rng.integers(count, size=draws)
            answers = worlds[truth] + rng.laplace(scale=1 / epsilon, size=draws)
            held = posterior_beliefs(answers, worlds, epsilon)
            # its mean is 0, since beliefs are posterior probabilities
            gap = held[truth, np.arange(draws)] - (held**2).sum(axis=0)
            yield dict(
                panel="drawn",
                **common,
                epsilon=epsilon,
                belief=float(held.max()),
                bound=float(belief_bound(np.array(epsilon), count, spread)),
                gap=float(gap.mean()),
                std_error=float(gap.std() / np.sqrt(draws)),
            )
    for belief in CAPS:
        epsilon = epsilon_for_cap(belief, WORLDS_CAPPED)
        reached = largest_belief(WORLDS["one of ten stands apart"], epsilon)
        cap = {"panel": "cap", "m": WORLDS_CAPPED, "epsilon": epsilon, "bound": belief}
        yield cap | {"belief": reached}


def check_beliefs(frame: pd.DataFrame) -> Found:
    """No belief passes the bound, one reaches it, and the caps hold."""
    held, drawn, caps = (select_rows(frame, panel=name) for name in ("belief", "drawn", "cap"))
    part = held["belief"] / held["bound"]
    yield "bound", part.max()
    yield "as_printed", (held["belief"] / held["as_printed"]).max()
    yield "attained", part[held["worlds"].isin(WORST)].min()
    yield "caps", (caps["belief"] - caps["bound"]).abs().max()
    yield "drawn", (drawn["belief"] / drawn["bound"]).max()
    yield "grid", (held["on_a_grid"] - held["belief"]).max()
    yield "calibration", (drawn["gap"] / drawn["std_error"]).abs().max()


def draw_worlds(axes: Axes, frame: pd.DataFrame) -> None:
    """A line and its bound for each set of worlds, and the bound as printed."""
    for number, name in enumerate(WORLDS):
        part = select_rows(frame, worlds=name).sort_values("epsilon")
        color = PALETTE[number]
        curve(axes, part, "epsilon", "belief", label=name, color=color, lw=1.5)
        some = part.iloc[:: max(1, len(part) // 13)]
        curve(axes, some, "epsilon", "bound", color=color, **RINGS)
    printed = select_rows(frame, worlds="one of ten stands apart")["as_printed"].iloc[0]
    axes.axhline(printed, color=MUTED, lw=1, ls="--")
    axes.text(3.2, printed + 0.015, "as printed (m = 10)", fontsize=7, color=MUTED)


def draw_caps(axes: Axes, frame: pd.DataFrame) -> None:
    """The ε for any cap, with some in numbers."""
    risks = np.linspace(0.11, 0.97, 200)
    budgets = [epsilon_for_cap(risk, WORLDS_CAPPED) for risk in risks]
    axes.plot(risks, budgets, color=PALETTE[0], lw=1.5)
    curve(axes, frame, "bound", "epsilon", color=INK, **DOTS)
    style: Style = {"textcoords": "offset points", "ha": "right", "fontsize": 7.5}
    for row in frame.itertuples():
        axes.annotate(f"{row.epsilon:.2f}", (row.bound, row.epsilon), (-4, 4), **style)


COUNT = 50  # of the others; a participant adds one
HARM = 1000.0  # money lost if the count comes out above the threshold
THRESHOLDS = (45, 50, 51, 55)
LOSSES_DRAWN = 1_000_000
STUDY_BUDGETS = (100.0, 1000.0, 10_000.0)  # of a study
BASE = 10.0  # expected loss of an individual without the study, money
RATE = 0.3  # of the individuals who count


def exceedance_probability(threshold: float, count: float, epsilon: Array) -> Array:
    """Probability that a count with Laplace noise of scale 1/ε exceeds a threshold."""
    return laplace.sf(epsilon * (threshold - count))


def study_error(people: Array, budget: float) -> Array:
    """Standard error of a rate, where each person is paid ``(e^ε - 1) E`` out of a budget.

    ``ε = ln(1 + B/(N E))``; the error is that of sampling and of Laplace noise of scale 1/ε on the
    count.
    """
    epsilon = np.log1p(budget / (people * BASE))
    return np.sqrt(RATE * (1 - RATE) / people + 2 / (people * epsilon) ** 2)


def compute_costs(setting: Setting) -> Rows:
    """Expected and drawn losses with and without taking part, and studies at three budgets."""
    grid = np.linspace(0.02, 2.5, setting.pick_value(32, 6))
    draws = setting.pick_value(LOSSES_DRAWN, LOSSES_DRAWN // 10)
    for threshold in THRESHOLDS:
        out, taking = (
            HARM * exceedance_probability(threshold, count, grid) for count in (COUNT, COUNT + 1)
        )
        columns = {"without": out, "with": taking, "bound": out + expected_harm(grid, out)}
        yield from rows_over(grid, columns, panel="harm", threshold=threshold)
        rng = setting.streams("TH-cost").rng(threshold)
        lost = float((COUNT + 1 + rng.laplace(size=draws) > threshold).mean())
        exact = float(exceedance_probability(threshold, COUNT + 1, np.array(1.0)))
        spread = HARM * float(np.sqrt(exact * (1 - exact) / draws))
        drawn = {"panel": "drawn", "threshold": threshold, "epsilon": 1.0}
        yield drawn | {"with": HARM * lost, "bound": HARM * exact, "std_error": spread}
    people = np.geomspace(3, 1e6, setting.pick_value(121, 25))
    for budget in STUDY_BUDGETS:
        for number, error in zip(people, study_error(people, budget), strict=True):
            yield dict(panel="study", budget=budget, people=number, error=error)


def check_costs(frame: pd.DataFrame) -> Found:
    """The bound holds and is reached, and more people at the same budget err less."""
    harm, drawn, study = (select_rows(frame, panel=name) for name in ("harm", "drawn", "study"))
    part = harm["with"] / harm["bound"]
    yield "bound", part.max()
    yield "attained", part[harm["threshold"] >= COUNT + 1].min()
    yield "drawn", (abs(drawn["with"] - drawn["bound"]) / drawn["std_error"]).max()
    errors = {
        budget: one.sort_values("people")["error"].to_numpy()
        for budget, one in study.groupby("budget")
    }
    yield "people", max(np.diff(np.log(one)).max() for one in errors.values())
    sampling = RATE * (1 - RATE) / study["people"].max()
    yield (
        "limit",
        max(
            abs(one[-1] / np.sqrt(sampling + 2 * (BASE / budget) ** 2) - 1)
            for budget, one in errors.items()
        ),
    )


def draw_losses(axes: Axes, frame: pd.DataFrame) -> None:
    """Ratio of the expected losses for each threshold, beside e^ε."""
    for number, (threshold, part) in enumerate(frame.groupby("threshold")):
        style = (0, (6, 4)) if threshold == max(THRESHOLDS) else "-"
        ratio = part["with"] / part["without"]
        look: Style = {"color": PALETTE[number], "lw": 1.6, "ls": style}
        axes.plot(part["epsilon"], ratio, label=f"above {threshold:g}", **look)
    grid = frame["epsilon"].drop_duplicates().sort_values()
    axes.plot(grid, np.exp(grid), color=MUTED, label="e^ε, the bound", **RINGS)
    axes.set_yscale("log")
    axes.set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    axes.minorticks_off()


def draw_studies(axes: Axes, frame: pd.DataFrame) -> None:
    """Error of each study over its people, beside its limit."""
    for number, (budget, part) in enumerate(frame.groupby("budget")):
        color = PALETTE[number]
        label = f"{budget:,.0f} to spend"
        curve(axes, part, "people", "error", order=True, label=label, color=color, lw=1.6)
        axes.axhline(np.sqrt(2) * BASE / budget, color=color, lw=0.8, ls=":")


LAWS: dict[str, Law] = {
    "TH-2.4": (compute_beliefs, check_beliefs, {"worlds": draw_worlds, "caps": draw_caps}),
    "TH-cost": (compute_costs, check_costs, {"losses": draw_losses, "studies": draw_studies}),
}
