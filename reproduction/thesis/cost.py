"""TH-cost: the expected cost to an individual of an ε-private study, after Hsu et al."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy.stats import laplace

from learning.arrays import Array
from market.costs.leakage import expected_harm
from reproduction.checks import agrees_within, attains_bound, select_rows, within_bound
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.item import Check, Setting
from reproduction.plots import RINGS, Style, curve, draw_panels, make_panel
from reproduction.thesis.channels import rows_over
from scenarios.report.figure_page import MUTED, PALETTE

COUNT = 50  # of the others; a participant adds one
HARM = 1000.0  # money lost if the count comes out above the threshold
THRESHOLDS = (45, 50, 51, 55)
DRAWS = 1_000_000
BUDGETS = (100.0, 1000.0, 10_000.0)  # of a study
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
    grid = np.linspace(0.02, 2.5, quick_or_full(setting, 6, 32))
    draws = quick_or_full(setting, DRAWS // 10, DRAWS)
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
    people = np.geomspace(3, 1e6, quick_or_full(setting, 25, 121))
    for budget in BUDGETS:
        for number, error in zip(people, study_error(people, budget), strict=True):
            yield dict(panel="study", budget=budget, people=number, error=error)


def check_costs(frame: pd.DataFrame) -> Checks:
    """The bound holds and is reached, and more people at the same budget err less."""
    harm, drawn, study = (select_rows(frame, panel=name) for name in ("harm", "drawn", "study"))
    part = harm["with"] / harm["bound"]
    yield within_bound("bound", float(part.max()))
    least = float(part[harm["threshold"] >= COUNT + 1].min())
    yield attains_bound("attained", least, "(e^ε - 1) E more")
    off = float((abs(drawn["with"] - drawn["bound"]) / drawn["std_error"]).max())
    yield agrees_within("drawn", off, 4)
    errors = {
        budget: one.sort_values("people")["error"].to_numpy()
        for budget, one in study.groupby("budget")
    }
    rise = max(float(np.diff(np.log(one)).max()) for one in errors.values())
    yield Check("people", rise, -np.inf, 0, "", "law", 1e-6)
    sampling = RATE * (1 - RATE) / study["people"].max()
    far = max(
        abs(float(one[-1] / np.sqrt(sampling + 2 * (BASE / budget) ** 2)) - 1)
        for budget, one in errors.items()
    )
    yield agrees_within("limit", far, 1e-2)


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
        line = curve("people", "error", f"{budget:,.0f} to spend", number, order=True, lw=1.6)
        line(axes, part)
        axes.axhline(np.sqrt(2) * BASE / budget, color=PALETTE[number], lw=0.8, ls=":")


draw_costs = draw_panels(
    "TH-cost",
    make_panel(
        draw_losses,
        labels=("privacy budget ε", "expected loss with / without"),
        heading="(a) loss of who takes part",
        where={"panel": "harm"},
        legend={"loc": "upper left"},
    ),
    make_panel(
        draw_studies,
        labels=("people paid (e^ε - 1) E each", "standard error of the rate"),
        heading=f"(b) a study, E = {BASE:g}; dotted: √2 E/B",
        where={"panel": "study"},
        logs="xy",
        legend={"loc": "upper right"},
        xticks=[10, 1000, 100_000],
    ),
    says=(
        f"(a) {HARM:,.0f} is lost if a noisy count of {COUNT} comes out above a threshold; who"
        " takes part adds one"
    ),
    height=2.7,
)

COST = make_item("TH-cost", compute_costs, check_costs, draw_costs)
