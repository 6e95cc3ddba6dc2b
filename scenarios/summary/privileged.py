"""Marks of the numbers of a result that rest on the owners' records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.schema.scenario import Scenario

ORACLE = "oracle"
MEASURED = "measured"
# Counted or judged on all records, which no party to the market can look at.
LOOKED_UP = {
    "data.filled_cells": MEASURED,
    "data.identical_records": MEASURED,
    "data.persons": MEASURED,
    "forecast.oracle": ORACLE,
    "outside_option.measured": MEASURED,
    "owners[].isolated_relative_fitness": MEASURED,
    "owners[].isolated_estimate": MEASURED,
    "owners[].gains": MEASURED,
    "learners[].trained_fitness": MEASURED,
    "learners[].agrees": MEASURED,
    "learners[].trained_gain": MEASURED,
    "time.periods[].agrees": MEASURED,
    "time.periods[].trained": MEASURED,
    "time.periods[].trained_std_error": MEASURED,
    "validation": MEASURED,
}
FOLLOWS = (
    "audit",
    "behaviours",
    "claims",
    "equilibrium",
    "externalities",
    "forecast",
    "learner",
    "learners",
    "network",
    "outside_option",
    "participation",
    "pricing",
    "public_good",
    "regulation",
    "time",
    "unions",
    "warnings",
    "welfare",
)
KNOWN_TO_ALL = ("name", "records")  # of an owner: its name and the number of its records


def records_decide(scenario: Scenario) -> bool:
    """Test whether budgets and payments themselves rest on the owners' records.

    So they do on the oracle basis, where forecasts are made from the pooled records, and where
    owners who want the model choose their budgets by how good their own is.
    """
    return scenario.data.public_rows == 0 or scenario.owners.wants_model


def mark_privileged(scenario: Scenario, content: Mapping[str, Any]) -> dict[str, str]:
    """Marks of the fields of a result that a private cell can move.

    Parameters
    ----------
    scenario : the scenario.
    content : the content of its result.

    Returns
    -------
    dict
        Path of a field, with all that is under it -> ``oracle``: computed from the owners' records
        in place of what the learner or an owner would know; or ``measured``: counted or judged on
        them afterwards. ``owners[]`` is every owner. trajectory.csv and payoff_curves.csv are
        marked as ``equilibrium`` is, validation.csv and paths.csv as ``validation``.
    """
    marks = dict(LOOKED_UP)
    if records_decide(scenario):
        decided = [f"owners[].{key}" for key in content["owners"][0] if key not in KNOWN_TO_ALL]
        marks = dict.fromkeys((*FOLLOWS, *decided), ORACLE) | marks
    return dict(sorted(marks.items()))
