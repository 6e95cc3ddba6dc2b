"""JKY-1: l2 noise beside Laplace and Gaussian noise for the same promise."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from learning.privacy.composition import AccountedL2
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.l2_accounting import common_factor
from learning.privacy.laplace import Laplace
from reproduction.checks import select_rows
from reproduction.claims import Checks, Rows, make_item, quick_or_full
from reproduction.drawing import MARKERS
from reproduction.item import Check, Setting, report_number
from reproduction.plots import Mark, Style, draw_panels, make_panel
from scenarios.report.figure_page import PALETTE

WIDTH = 10  # numbers in an answer where answers differ
EPSILON = 1.0  # budget of the figure
DELTA = 1e-6
BUDGETS = ((EPSILON, DELTA), (0.1, 1e-6), (5.0, 1e-6), (1.0, 1e-9))
WIDTHS = (1, 2, 3, 5, 10, 20, 50, 100, 300, 1000)
ANSWERS = (*range(1, 13), 17, 30)
NOISES: dict[str, str] = {
    "laplace": "Laplace, pure",
    "laplace_pld": "Laplace, exactly counted",
    "gaussian": "Gaussian, exactly counted",
    "l2": "l2, pure",
    "l2_pld": "l2, exactly counted",
}


def compute_variances(width: int, answers: int, epsilon: float, delta: float) -> dict[str, float]:
    """Variance per number of each noise, for 2-sensitivity 1 and 1-sensitivity sqrt(p)."""
    laplace = float(Laplace().variance(epsilon, 1, 0.5 * np.sqrt(width), answers))
    # of `AccountedLaplace`, without its whole table
    ratio = common_factor(((1.0, 1),) * answers, epsilon, delta)
    noises = {
        "gaussian": Gaussian(delta, "pld"),
        "l2": L2(width),
        "l2_pld": AccountedL2(delta, answers, width),
    }
    return {
        "laplace": laplace,
        "laplace_pld": 2 * width / ratio**2,
        **{name: float(one.variance(epsilon, 1, 0.5, answers)) for name, one in noises.items()},
    }


def compute_noises(setting: Setting) -> Rows:
    """Variance of every noise, by numbers in one answer and by answers of ten numbers."""
    budgets = quick_or_full(setting, BUDGETS[:2], BUDGETS)
    grid = [(width, 1, *budget) for budget in budgets for width in WIDTHS]
    grid += [(WIDTH, count, *budget) for budget in budgets for count in ANSWERS[1:]]
    for width, count, epsilon, delta in grid:
        found = compute_variances(width, count, epsilon, delta)
        # p + 1 of pure l2 noise, 2 p of Laplace noise
        needed = found["gaussian"] * epsilon**2 / count**2
        yield dict(
            numbers=width,
            answers=count,
            epsilon=epsilon,
            delta=delta,
            **found,
            l2_below_gaussian_up_to=largest_below(needed - 1),
            laplace_below_gaussian_up_to=largest_below(needed / 2),
        )
        setting.did(1 / len(grid))


def largest_below(limit: float) -> int:
    """The largest whole number below a limit, at least 0.

    >>> largest_below(16.8), largest_below(16.0), largest_below(-3.0)
    (16, 15, 0)
    """
    return max(0, int(np.ceil(limit)) - 1)


def select_usual(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows at the budget of the figure."""
    rows = select_rows(frame, epsilon=EPSILON)
    return rows[np.isclose(rows["delta"], DELTA, rtol=0.1, atol=0)]


def check_noises(frame: pd.DataFrame) -> Checks:
    """The paper's claims of one answer, and crossings of the noises over several."""
    single = select_rows(frame, answers=1)
    least = single[["laplace_pld", "gaussian"]].min(axis=1)
    ratio = float((single["l2_pld"] / least).max())
    yield Check("one_answer", ratio, -np.inf, 1.0005, "lower error than both", "law", 1e-4)
    one = select_rows(single, numbers=1)
    off = float((one["l2_pld"] / one["laplace_pld"] - 1).abs().max())
    yield Check("one_number", off, -np.inf, 1e-3, "matches Laplace at d = 1", "law", 1e-4)
    wide = select_rows(single, numbers=WIDTHS[-1])
    ratio = float((wide["l2_pld"] / wide["gaussian"]).min())
    yield Check("many_numbers", ratio, 0.98, np.inf, "approaches the Gaussian", "law", 1e-4)
    many = select_rows(frame, numbers=WIDTH)
    ratio = float((many["l2_pld"] / many["gaussian"]).max())
    yield Check("many_answers", ratio, -np.inf, 1 + 1 / WIDTH, "", "law", 1e-4)
    yield from list_crossings(select_usual(many).set_index("answers"))


def list_crossings(ten: pd.DataFrame) -> Checks:
    """Numbers at the budget of the figure, by answers of ten numbers."""
    for name, label in NOISES.items():
        what = f"one answer of 10 numbers, ε = 1, δ = 1e-6: variance of {label}"
        yield report_number(what, float(ten[name][1]), 1e-3)
    for column, label in (("l2", "l2"), ("laplace", "Laplace")):
        what = (
            f"one answer, ε = 1, δ = 1e-6: numbers up to which pure {label} noise is below Gaussian"
        )
        yield report_number(what, float(ten[f"{column}_below_gaussian_up_to"][1]))
    for name in ("l2", "l2_pld"):
        what = f"10 numbers, ε = 1, δ = 1e-6: answers up to which {NOISES[name]} is below Gaussian"
        yield report_number(what, float(ten.index[ten[name] < ten["gaussian"]].max()))


def draw_shares(x: str) -> Mark:
    """Variance of each noise over that of Gaussian noise."""

    def mark(axes: Axes, frame: pd.DataFrame) -> None:
        part = select_usual(frame).sort_values(x)
        for number, (name, label) in enumerate(NOISES.items()):
            # dashed where it lies on that of pure noise for long
            style = "--" if name == "laplace_pld" else "-"
            look: Style = {"color": PALETTE[number], "marker": MARKERS[number], "ms": 3, "lw": 1.1}
            axes.plot(part[x], part[name] / part["gaussian"], style, label=label, **look)

    return mark


draw_noises = draw_panels(
    "JKY-1",
    make_panel(
        draw_shares("numbers"),
        labels=("numbers p in one answer", "variance over that of Gaussian noise"),
        where={"answers": 1},
        logs="xy",
        ylim=(0.1, 40),
    ),
    make_panel(
        draw_shares("answers"),
        labels=("answers T of ten numbers each", ""),
        where={"numbers": WIDTH},
        logs="xy",
        legend={},
        ylim=(0.1, 40),
    ),
)

ITEMS = (make_item("JKY-1", compute_noises, check_noises, draw_noises),)
