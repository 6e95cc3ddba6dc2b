"""Laws of measured fitness: slopes where noise dominates, and the fitted bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy
from matplotlib.axes import Axes

from learning.arrays import Array
from reproduction.drawing import plot_series
from reproduction.item import Check

DOMINATED = 30.0  # ratio of fitness to that without noise from which noise dominates
SQUARE = (-2.05, -1.95)  # slope of an inverse square
PSI = "relative_fitness"


def noise_aggregate(epsilon: Any, n_records: Any, owners: Any) -> Array:
    """A = sum 1/epsilon_i^2 / n^2 of N owners with as many records and one budget, of (11)."""
    return np.asarray(owners / (np.asarray(epsilon) * n_records * owners) ** 2, dtype=float)


def fit_bound(values: Array, a: Array) -> tuple[float, float]:
    """Fit c1 and c2, neither negative, of values = c1 sqrt(A) + c2 A: least relative squares.

    Source: Farokhi et al., The Cost of Privacy, (11), fitted by eye there: 0 and 2.1e9.

    >>> a = np.geomspace(1e-3, 10, 5)
    >>> [round(c, 9) for c in fit_bound(2 * np.sqrt(a) + 3 * a, a)]
    [2.0, 3.0]
    """
    terms = np.column_stack([np.sqrt(a), a]) / np.asarray(values)[:, None]
    scale = np.linalg.norm(terms, axis=0)
    found, _ = scipy.optimize.nnls(terms / scale, np.ones(len(a)))
    return tuple((found / scale).tolist())


def add_bound(frame: pd.DataFrame, a: Array) -> pd.DataFrame:
    """Add the constants and the values of the fitted bound (11)."""
    c1, c2 = fit_bound(frame[PSI], a)
    return frame.assign(c1=c1, c2=c2, law=c1 * np.sqrt(a) + c2 * a)


def fit_slope(frame: pd.DataFrame, x: str, y: str) -> float:
    """Slope of log y against log x by least squares; nan of fewer than two points.

    >>> fit_slope(pd.DataFrame({"x": [1.0, 10.0, 100.0], "y": [5.0, 0.05, 0.0005]}), "x", "y")
    -2.0
    """
    if frame[x].nunique() < 2:
        return float("nan")
    return round(float(np.polyfit(np.log(frame[x]), np.log(frame[y]), 1)[0]), 12)


def noisy_slopes(frame: pd.DataFrame, x: str, by: str) -> pd.Series:
    """Slope of fitness in x at each value of ``by``, over the points that noise dominates."""
    noisy = frame[frame[PSI] >= DOMINATED * frame["noiseless"]]
    found = {value: fit_slope(part, x, PSI) for value, part in noisy.groupby(by)}
    return pd.Series(found, dtype=float).dropna()


def falls_along(frame: pd.DataFrame, x: str, by: str) -> bool:
    """True where fitness falls along x at every value of ``by``."""
    return all((np.diff(part.sort_values(x)[PSI]) < 0).all() for _, part in frame.groupby(by))


def check_extreme_slopes(
    frame: pd.DataFrame, x: str, by: str, words: str, kind: Literal["law", "value"]
) -> list[Check]:
    """Check the smallest and the largest slope against the inverse square."""
    found = noisy_slopes(frame, x, by)
    what = f"slope of ψ in {words}, of {len(found)} lines where noise rules"
    return [
        Check(f"{end} {what}", float(value), *SQUARE, "−2", kind, 0.02)
        for end, value in (("smallest", found.min()), ("largest", found.max()))
    ]


def first_paying(frame: pd.DataFrame, x: str, gain: str, bar: str) -> float:
    """Smallest x from which a falling measure stays below the bar, interpolated; inf for none.

    >>> measured = pd.DataFrame({"x": [1.0, 10.0, 100.0], "psi": [9.0, 0.09, 0.0009], "own": 0.9})
    >>> round(first_paying(measured, "x", "psi", "own"), 6)
    3.162278
    """
    frame = frame.sort_values(x)
    above = np.log(frame[gain].to_numpy() / frame[bar].to_numpy())
    places = frame[x].to_numpy()
    late = np.flatnonzero(above > 0)
    if len(late) == 0:
        return float(places[0])
    last = late[-1]
    if last == len(places) - 1:
        return float("inf")
    part = above[last] / (above[last] - above[last + 1])
    return float(np.exp(np.log(places[last]) + part * np.log(places[last + 1] / places[last])))


def draw_slopes(panels: Sequence[Axes], sizes: pd.DataFrame, budgets: pd.DataFrame) -> None:
    """Draw fitness against the budget for some sizes, and against records for some budgets."""
    sides = (
        (sizes, "epsilon", "n_records", "{:,} records each"),
        (budgets, "n_records", "epsilon", "ε = {:,.6g}"),
    )
    for axes, (frame, x, by, label) in zip(panels, sides, strict=True):
        plot_series(axes, frame, x, PSI, by, law="law", label=label)
