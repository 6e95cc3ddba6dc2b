"""Rows of a frame, estimates with standard errors, and checks in one line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from learning.arrays import Array
from learning.audit.attack import lower_bound
from learning.privacy.guarantees import Measure
from reproduction.item import COUNTED, Check, Kind, report_number

SPREAD = 4.0  # standard errors within which a simulation must agree with a formula
AGAIN = 6.0  # standard errors by which another seed may move it
EXACT = 1e-6  # relative tolerance of a number without randomness
ROUNDING = 1e-9
REACH = 0.1  # of a slope around a power of the source: our choice
ATTACK_ERROR = 0.005  # error probability of an attack's lower bound


def select_rows(frame: pd.DataFrame, **values: Any) -> pd.DataFrame:
    """Rows with these values; floats are compared up to rounding."""
    for name, value in values.items():
        column = frame[name]
        frame = frame[np.isclose(column, value) if isinstance(value, float) else column == value]
    return frame


def pick_number(frame: pd.DataFrame, column: str, **values: Any) -> float:
    """The number in a column of the single row with these values.

    >>> pick_number(pd.DataFrame({"owners": [1, 2], "gap": [0.5, 0.25]}), "gap", owners=2)
    0.25
    """
    (found,) = select_rows(frame, **values)[column]
    return float(found)


def estimate_mean(values: Any, name: str = "measured") -> dict[str, float]:
    """Mean of independent draws, with its standard error."""
    return {name: values.mean(), "std_error": values.std(ddof=1) / np.sqrt(len(values))}


def estimate_share(share: float, draws: int) -> dict[str, float]:
    """Share of independent draws, with its standard error."""
    return {"measured": share, "std_error": np.sqrt(share * (1 - share) / draws)}


def error_of_median(ends: Any) -> Any:
    """Standard error of the median of runs, from their quartiles, as of a normal distribution.

    >>> float(round(error_of_median({"q25": 0.9, "q75": 1.1, "runs": 100}), 4))
    0.0186
    """
    return 0.929 * (ends["q75"] - ends["q25"]) / np.sqrt(ends["runs"])


def close_to(
    what: str,
    found: float,
    wanted: float,
    std_error: float,
    published: str = "",
    kind: Kind = "value",
) -> Check:
    """A simulated number within 4 standard errors of a formula."""
    reach = SPREAD * std_error
    return Check(what, found, wanted - reach, wanted + reach, published, kind, AGAIN * std_error)


def equal_to(
    what: str, found: float, wanted: float, published: str = "", kind: Kind = "law"
) -> Check:
    """An exact number, up to rounding."""
    slack = EXACT * max(abs(wanted), EXACT)
    return Check(what, found, wanted - slack, wanted + slack, published, kind, slack)


def at_least(
    what: str, found: float, low: float, published: str = "", tolerance: float = ROUNDING
) -> Check:
    """A law: a lower bound on a number."""
    return Check(what, found, low, np.inf, published, "law", tolerance)


def at_most(
    what: str, found: float, high: float, published: str = "", tolerance: float = ROUNDING
) -> Check:
    """A law: an upper bound on a number."""
    return Check(what, found, -np.inf, high, published, "law", tolerance)


def within_bound(
    what: str, found: float, published: str = "at most 1", kind: Kind = "law"
) -> Check:
    """A number over its bound, at most 1."""
    return Check(what, found, 0, 1 + ROUNDING, published, kind, ROUNDING)


def attains_bound(what: str, found: float, published: str = "tight") -> Check:
    """A number over its bound, equal to 1."""
    return Check(what, found, 1 - ROUNDING, 1 + ROUNDING, published, "law", ROUNDING)


def has_power(
    what: str,
    found: float,
    power: float,
    published: str,
    kind: Kind = "law",
    tolerance: float = ROUNDING,
) -> Check:
    """A slope within one reach, the same for all items, of a power of the source."""
    return Check(what, found, power - REACH, power + REACH, published, kind, tolerance)


def agrees_within(what: str, found: float, most: float = ROUNDING, published: str = "") -> Check:
    """A law: a small distance between two computations of one number."""
    return Check(what, found, 0, most, published, "law", most)


CHECKERS: dict[str, Callable[..., Check]] = {
    "within": Check,
    "close_to": close_to,
    "equal_to": equal_to,
    "at_least": at_least,
    "at_most": at_most,
    "within_bound": within_bound,
    "attains_bound": attains_bound,
    "agrees_within": agrees_within,
    "has_power": has_power,
    "told": report_number,
}


def make_check(row: Sequence[Any], *found: float) -> Check:
    """Make a check from a row of a table: what, low, high, published, kind, tolerance.

    The last three may be left out. Limits may be written "value ± relative", or as the name of a
    checker (`CHECKERS`) with its further arguments, after those found; a row of a text alone only
    reports its number. A check of which the source says nothing is a control.

    >>> make_check(["slope", -2.05, -1.95, "-2", "law"], -2.01).holds
    True
    >>> check = make_check(["share", "1/4 ± 0.1"], 0.3)
    >>> check.low, check.high, check.holds
    (0.225, 0.275, False)
    >>> make_check(["ratio", "at_least", 1.0, "at most 1"], 1.2).holds
    True
    >>> make_check(["ratio", "at_least", 1.0], 1.2).kind
    'control'
    """
    check = _read_check(row, *found)
    silent = not check.published and check.kind in COUNTED
    return replace(check, kind="control") if silent else check


def _read_check(row: Sequence[Any], *found: float) -> Check:
    """Read a check from its row."""
    what, *limits = row
    rule, *rest = limits or ["told"]
    if rule in CHECKERS:
        return CHECKERS[rule](what, *found, *rest)
    if isinstance(rule, str):
        value, relative = rule.split(" ± ")
        middle = float(Fraction(value))
        limits[:1] = [middle * (1 - float(relative)), middle * (1 + float(relative))]
    (number,) = found
    return Check(what, number, *limits)


def log_slope(x: Any, y: Any) -> float:
    """Slope of log y against log x, by least squares; nan for fewer than two places.

    >>> round(log_slope([1, 2, 4], [3, 12, 48]), 9)
    2.0
    """
    if len(set(x)) < 2:
        return float("nan")
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)), 1)[0])


def slope_error(x: Any, errors: Any) -> float:
    """Standard error of such a slope, from the relative errors of y.

    >>> round(slope_error([1, 10], [0.1, 0.1]), 4)
    0.0614
    """
    log = np.log(np.asarray(x, float))
    log -= log.mean()
    return float(np.linalg.norm(log * np.asarray(errors, float)) / np.sum(log**2))


def attack_epsilon(draws: Callable[[str, int], Array], measure: Measure) -> float:
    """Lower bound on epsilon by an attack, at 99 % confidence.

    A threshold is chosen on one half of the draws and tested on the other.

    Parameters
    ----------
    draws : (half, world) -> array (draws,), statistic of the attack under data set 0 or 1.
    measure : one of `learning.privacy.guarantees`.
    """
    choosing, testing = ([(draws(half, 0), draws(half, 1))] for half in ("choosing", "testing"))
    return lower_bound(choosing, testing, measure, ATTACK_ERROR)
