"""Checks and marks of items that compare trainings with bounds."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from reproduction.checks import log_slope
from reproduction.claims import Checks
from reproduction.item import Check
from reproduction.plots import DOTS, Mark, curve, estimates
from scenarios.report.figure_page import PALETTE

BUDGET_LABEL = "ε of each of three owners"


def largest_ratio(frame: pd.DataFrame, bound: str, measured: str = "excess") -> float:
    """Largest measured number over its bound, three standard errors below."""
    return float((frame[f"{measured}_least"] / frame[bound]).max())


def check_bounds(*rows: tuple[str, pd.DataFrame, str, str, float, str]) -> Checks:
    """Laws: measured numbers stay below bounds.

    Parameters
    ----------
    rows : words, frame, measured column, column of the bound, tolerance, claim of the source.
    """
    for what, part, measured, bound, tolerance, published in rows:
        ratio = largest_ratio(part, bound, measured)
        yield Check(what, ratio, 0, 1, published, "law", tolerance)


def distance_from_law(measured: pd.Series, law: pd.Series, error: pd.Series) -> float:
    """Largest distance between measured numbers and a law, in standard errors."""
    return float(((measured - law).abs() / error.clip(lower=1e-12)).max())


def mean_slope(
    frame: pd.DataFrame, keys: list[str], x: str = "epsilon", y: str = "excess"
) -> float:
    """Mean log slope of y against x over groups of at least two rows, nan without any."""
    groups = (part for _, part in frame.groupby(keys) if len(part) > 1)
    slopes = [log_slope(part[x], part[y]) for part in groups]
    return float(np.mean(slopes)) if slopes else np.nan


def bound_marks(
    x: str = "epsilon",
    measured: str = "excess",
    printed: tuple[str, str] = ("printed", "as printed"),
    corrected: tuple[str, str] = ("corrected", "with every factor"),
    trained: str = "trained",
) -> tuple[Mark, Mark, Mark]:
    """Measured points with two standard errors, and both labelled readings of the bound."""
    return (
        estimates(x, measured, trained, error=f"{measured}_error"),
        curve(x, printed[0], printed[1], 1, lw=1.1, ls="--"),
        curve(x, corrected[0], corrected[1], 2, lw=1.1),
    )


def marks_by_size(label: str, styles: dict[str, str], width: float) -> Mark:
    """Measured excess and other columns over epsilon, in a colour for each number of records.

    Parameters
    ----------
    label : words with {n}.
    styles : columns of bounds and the styles of their lines.
    width : of these lines.
    """

    def mark(axes: Axes, frame: pd.DataFrame) -> None:
        for number, (n, part) in enumerate(frame.groupby("n_records")):
            look = {**DOTS, "color": PALETTE[number], "label": label.format(n=n)}
            axes.errorbar(part["epsilon"], part["excess"], 2 * part["excess_error"], **look)
            for column, style in styles.items():
                curve("epsilon", column, None, number, lw=width, ls=style)(axes, part)

    return mark
