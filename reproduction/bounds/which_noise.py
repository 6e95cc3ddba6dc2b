"""JKY-1: l2 noise beside Laplace and Gaussian noise for the same promise."""

from __future__ import annotations

import numpy as np
import pandas as pd

from learning.privacy.composition import AccountedL2
from learning.privacy.gaussian import Gaussian
from learning.privacy.l2 import L2
from learning.privacy.l2_accounting import common_factor
from learning.privacy.laplace import Laplace
from reproduction.checks import select_rows
from reproduction.item import Setting
from reproduction.specification import Found, Law, Rows

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
    budgets = setting.pick_value(BUDGETS, BUDGETS[:2])
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


def check_noises(frame: pd.DataFrame) -> Found:
    """The paper's claims of one answer, and crossings of the noises over several."""
    single = select_rows(frame, answers=1)
    yield "one_answer", (single["l2_pld"] / single[["laplace_pld", "gaussian"]].min(axis=1)).max()
    one = select_rows(single, numbers=1)
    yield "one_number", (one["l2_pld"] / one["laplace_pld"] - 1).abs().max()
    wide = select_rows(single, numbers=WIDTHS[-1])
    yield "many_numbers", (wide["l2_pld"] / wide["gaussian"]).min()
    many = select_rows(frame, numbers=WIDTH)
    yield "many_answers", (many["l2_pld"] / many["gaussian"]).max()
    yield from list_crossings(select_usual(many).set_index("answers"))


def list_crossings(ten: pd.DataFrame) -> Found:
    """Numbers at the budget of the figure, by answers of ten numbers."""
    for name, label in NOISES.items():
        yield "variance", ten[name][1], {"label": label}
    for column, label in (("l2", "l2"), ("laplace", "Laplace")):
        yield "numbers", ten[f"{column}_below_gaussian_up_to"][1], {"label": label}
    for name in ("l2", "l2_pld"):
        below = ten.index[ten[name] < ten["gaussian"]]
        yield "answers", below.max(), {"label": NOISES[name]}


LAWS: dict[str, Law] = {
    "JKY-1": (compute_noises, check_noises),
}
