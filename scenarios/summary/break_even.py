"""Worth of a smaller error from which on buying pays, whatever a better model is worth."""

from __future__ import annotations

from typing import Any

import numpy as np

from learning.arrays import Array
from learning.forecast.measures import Measure
from learning.forecast.prediction import quantiles
from scenarios.run import Run
from scenarios.summary.errors import plain_measure, unit_of_errors
from scenarios.summary.verdict import LEVEL, STANDARD_ERRORS


def break_even_part(run: Run) -> dict[str, Any] | None:
    """Find the worth of a unit less of error at which the learner neither gains nor loses.

    It is payments / (own error - error of the market's model), by the forecast.

    Returns
    -------
    dict
        ``unit`` and ``amount``, money, of `price_units`; None where the error is not forecast to
        fall. ``interval``, in which the amount lies with chance ``level``; its upper end is None
        where the error may not fall, and the lower one, too, where it hardly can. ``fall`` of the
        error and its interval. The whole is None where nothing is asked, no law tells the errors,
        or payments depend on the worth.
    """
    measure = plain_measure(run)
    special = run.contest is not None or run.history is not None or run.game.policy.pays_for_fitness
    if measure is None or special or not run.asks:
        return None
    paid = float(run.game.payments(run.epsilon).sum())
    forecast = run.planner.forecast
    fall = float(measure.own(forecast.outside)) - float(measure(forecast.at(run.epsilon)))
    low, high = quantiles(possible_falls(run, measure), LEVEL)
    return {
        **price_units(run, paid, fall),
        "interval": [price_units(run, paid, end)["amount"] for end in (high, low)],
        "level": LEVEL,
        "fall": fall,
        "fall_interval": [low, high],
    }


def possible_falls(run: Run, measure: Measure) -> Array:
    """Fall of the error from the learner's own model to the market's, in each world, (m,)."""
    worlds = run.prediction
    return measure.own_in_worlds(worlds.outside) - measure.in_worlds(worlds.trained)


def price_units(run: Run, paid: float, fall: float) -> dict[str, Any]:
    """Divide what is paid by a fall of the error.

    Returns
    -------
    dict
        ``unit``: rmse; wrong_label, or percentage_point of wrong labels where the number of cases
        is not stated; or case, where wrong decisions have a cost. ``amount``: money of a unit, or
        the number of cases; None where the error does not fall.
    """
    worth = run.scenario.learner.worth
    per = unit_of_errors(run)
    cases = worth and worth.cases
    unit = {"cost": "case"}.get(per, per)
    counted = 1.0
    if per == "wrong_label":
        unit = "wrong_label" if cases else "percentage_point"
        counted = cases or 100.0
    return {"unit": unit, "amount": paid / (fall * counted) if fall > 0 else None}


def measured_break_even(run: Run, promised: dict[str, Any] | None) -> dict[str, Any] | None:
    """Find the same from the trained models, on all records, where the worth is unknown.

    Returns
    -------
    dict
        ``unit`` and ``amount`` as of `break_even_part`, ``fall`` and its ``std_error``, and
        ``agrees``: whether the fall lies in the forecast's interval, widened by three standard
        errors.
    """
    if promised is None or run.scenario.learner.knows_value:
        return None
    falls = run.own_error - run.errors
    fall = float(falls.mean())
    error = float(falls.std(ddof=1) / np.sqrt(len(falls)))
    low, high = promised["fall_interval"]
    slack = STANDARD_ERRORS * error + 1e-9 * (abs(low) + abs(high))
    paid = float(run.game.payments(run.epsilon).sum())
    return {
        **price_units(run, paid, fall),
        "fall": fall,
        "std_error": error,
        "agrees": bool(low - slack <= fall <= high + slack),
    }
