"""What is read off measured fitness: slopes where noise rules, constants of the paper's bound, where training together "
"pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import scipy

from learning.arrays import Array

RULES = 30.0  # noise rules where fitness is so many times that of the same training without noise


def aggregate(epsilon: Any, n_records: Any, owners: Any) -> Array:
    """A = sum 1/epsilon_i^2 / n^2 of N owners with as many records and one budget: what (11) of the paper goes by."""
    return np.asarray(owners / (np.asarray(epsilon) * n_records * owners) ** 2, dtype=float)


def fitted(values: Array, a: Array) -> tuple[float, float]:
    """c1 and c2, neither negative, of values = c1 sqrt(A) + c2 A: least squares of relative errors.

    Source: Farokhi et al., The Cost of Privacy, (11), fitted by eye there: 0 and 2.1e9.

    >>> a = np.geomspace(1e-3, 10, 5)
    >>> [round(c, 9) for c in fitted(2 * np.sqrt(a) + 3 * a, a)]
    [2.0, 3.0]
    """
    terms = np.column_stack([np.sqrt(a), a]) / np.asarray(values)[:, None]
    scale = np.linalg.norm(terms, axis=0)
    found, _ = scipy.optimize.nnls(terms / scale, np.ones(len(a)))
    return tuple((found / scale).tolist())


def slope(frame: pd.DataFrame, x: str, y: str) -> float:
    """Slope of log y against log x by least squares; nan of fewer than two points.

    >>> slope(pd.DataFrame({"x": [1.0, 10.0, 100.0], "y": [5.0, 0.05, 0.0005]}), "x", "y")
    -2.0
    """
    if frame[x].nunique() < 2:
        return float("nan")
    return round(float(np.polyfit(np.log(frame[x]), np.log(frame[y]), 1)[0]), 12)


def slopes(frame: pd.DataFrame, x: str, y: str, by: str) -> pd.Series:
    """Slope in x at each value of ``by``, of the points where noise rules; none where fewer than two are left."""
    ruled = frame[frame[y] >= RULES * frame["noiseless"]]
    found = {value: slope(part, x, y) for value, part in ruled.groupby(by)}
    return pd.Series(found, dtype=float).dropna()


def first_paying(frame: pd.DataFrame, x: str, gain: str, bar: str) -> float:
    """The smallest x from which on a falling measure is at most the bar, between points on logarithmic scales; or inf.

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
