"""Drivers: the shapes that a run may have, by the key of the scenario that asks for each."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.drivers.learners import run_learners
from scenarios.drivers.market import run_market
from scenarios.drivers.periods import run_periods
from scenarios.drivers.pricing import run_learned_price
from scenarios.features import FEATURES
from scenarios.run import Run
from scenarios.schema.scenario import Scenario

DRIVERS: dict[str, Callable[..., Run]] = {
    "time": run_periods,
    "learners": run_learners,
    "pricing": run_learned_price,
}


def choose_driver(scenario: Scenario) -> Callable[..., Run]:
    """Driver of a scenario: a market held once, unless a feature changes the shape."""
    shaped = (driver for name, driver in DRIVERS.items() if FEATURES[name].is_used(scenario))
    return next(shaped, run_market)
