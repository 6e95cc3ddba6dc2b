"""Laws of measured relative fitness: exact or with one constant, its slopes, and their checks."""

from __future__ import annotations

import numpy as np
import pandas as pd

from reproduction.item import Check, check_law

SLOPE = -2.0
WIDTH = 0.05
FEWEST_POINTS = 3  # of a fitted slope
DOMINATED = 30.0  # ratio of noise to bias from which noise dominates a point
DEALT_ANEW = 0.03  # change of a slope between one random order of the records and another
STANDARD_ERRORS = 5.0  # distance of a measured point from the exact law, at most
NEAR = (0.8, 1.25)  # ratio to the law with one constant, where noise dominates


def add_law(frame: pd.DataFrame) -> pd.DataFrame:
    """Add the values of the law, domination by noise, and the forms of both theorems.

    Theorem 2 bounds by a multiple of S, Theorem 3 by one of its root, both drawn through the
    noisiest point; where no exact law is known, noise is the same multiple of S/f*.
    """
    noisiest = frame.loc[frame["power"].idxmax()]
    top = noisiest["relative_fitness"]
    share = frame["power"] / noisiest["power"]
    added = (top - noisiest["bias"]) * share * noisiest["optimum"] / frame["optimum"]
    noise = frame["noise"].fillna(added)
    return frame.assign(
        noise=noise,
        law=frame["bias"] + noise,
        dominated=(noise >= DOMINATED * frame["bias"]).astype(int),
        theorem_2=top * share,
        theorem_3=top * np.sqrt(share),
        exact_law=int(frame["noise"].notna().all()),
        protocol="published",
    )


def fit_slope(frame: pd.DataFrame, x: str, y: str = "relative_fitness") -> tuple[float, float, int]:
    """Logarithmic slope over the dominated points, its standard error, and the number of points.

    >>> points = pd.DataFrame({"x": [1, 10, 100], "relative_fitness": [8.0, 0.08, 8e-4]})
    >>> points = points.assign(std_error=0.0, dominated=1)
    >>> [round(value, 9) for value in fit_slope(points, "x")]
    [-2.0, 0.0, 3]
    """
    points = frame[frame["dominated"] > 0]
    if len(points) < FEWEST_POINTS:
        return np.nan, np.nan, len(points)
    log = np.log(points[x].to_numpy(float))
    weights = (log - log.mean()) / np.sum((log - log.mean()) ** 2)
    errors = (points["std_error"] / points["relative_fitness"]).to_numpy(float)
    found = float(weights @ np.log(points[y].to_numpy(float)))
    return found, float(np.sqrt(np.sum((weights * errors) ** 2))), len(points)


def check_slopes(frame: pd.DataFrame, by: str, x: str, what: str) -> list[Check]:
    """Check a slope of -2 in each group."""
    checks = []
    for value, part in frame.groupby(by):
        found, error, points = fit_slope(part, x)
        if points >= FEWEST_POINTS:
            text = f"{what.format(value)}, {points} points"
            limits = (SLOPE - WIDTH, SLOPE + WIDTH)
            checks.append(check_law(text, found, *limits, "-2", 4 * error + DEALT_ANEW))
    return checks


def check_fit(frame: pd.DataFrame) -> list[Check]:
    """Check all points against the exact law, or the noisy ones against that of one constant."""
    if frame["exact_law"].all():
        distance = (frame["relative_fitness"] - frame["law"]) / frame["std_error"]
        what = f"furthest of {len(frame)} points from the exact law, in standard errors"
        limits = (0.0, STANDARD_ERRORS)
        return [check_law(what, distance.abs().max(), *limits, tolerance=STANDARD_ERRORS)]
    part = frame[frame["dominated"] > 0]
    ratio = part["relative_fitness"] / part["law"]
    tolerance = 4 * float((part["std_error"] / part["law"]).max()) + 0.05
    what = "of measured over B + K S/f*, one K for all"
    return [
        Check(f"{word} {what}", value, *NEAR, tolerance=tolerance)
        for word, value in (("least", float(ratio.min())), ("most", float(ratio.max())))
    ]
