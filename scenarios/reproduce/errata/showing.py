"""What demonstrations of errata share: looking numbers up in a frame, checks in a line, and an attack that bounds epsilon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from learning.arrays import Array
from learning.audit.attack import lower_bound
from learning.privacy.guarantees import Measure
from scenarios.reproduce.item import Check

SPREAD = 4.0  # standard errors within which a simulation must agree with a formula
AGAIN = 6.0  # standard errors by which another seed may move it
EXACT = 1e-6  # relative, of what no seed moves
ATTACK_ERROR = 0.005  # chance that an attack shows more than is there


def pick(frame: pd.DataFrame, column: str, **where: Any) -> float:
    """The number in a column of the one row with these values.

    >>> pick(pd.DataFrame({"owners": [1, 2], "gap": [0.5, 0.25]}), "gap", owners=2)
    0.25
    """
    rows = frame
    for name, value in where.items():
        same = np.isclose(rows[name], value) if isinstance(value, float) else rows[name] == value
        rows = rows[same]
    (found,) = rows[column]
    return float(found)


def near(what: str, found: float, wanted: float, std_error: float, published: str = "", kind: Any = "value") -> Check:
    """A simulated number that must lie within 4 standard errors of what a formula says."""
    reach = SPREAD * std_error
    return Check(what, found, wanted - reach, wanted + reach, published, kind, AGAIN * std_error)


def equal(what: str, found: float, wanted: float, published: str = "", kind: Any = "law") -> Check:
    """An exact number, up to rounding."""
    slack = EXACT * max(abs(wanted), EXACT)
    return Check(what, found, wanted - slack, wanted + slack, published, kind, slack)


def above(what: str, found: float, low: float, published: str = "", *, tolerance: float = 1e-9) -> Check:
    """A law: a number that must be at least so large."""
    return Check(what, found, low, np.inf, published, "law", tolerance)


def below(what: str, found: float, high: float, published: str = "", *, tolerance: float = 1e-9) -> Check:
    """A law: a number that must be at most so large."""
    return Check(what, found, -np.inf, high, published, "law", tolerance)


def slope(x: Any, y: Any) -> float:
    """Of a straight line through log y over log x, by least squares.

    >>> round(slope([1, 2, 4], [3, 12, 48]), 9)
    2.0
    """
    return float(np.polyfit(np.log(np.asarray(x, float)), np.log(np.asarray(y, float)), 1)[0])


def attacked(draws: Callable[[str, int], Array], measure: Measure) -> float:
    """What an attacker shows at 99 % confidence: a threshold chosen on one half of the draws, tested on the other.

    Parameters
    ----------
    draws : (half, world) -> array (draws,), what the attacker computes under either data set, world 0 and 1.
    measure : one of `learning.privacy.guarantees`.
    """
    choosing, testing = ([(draws(half, 0), draws(half, 1))] for half in ("choosing", "testing"))
    return lower_bound(choosing, testing, measure, ATTACK_ERROR)
