"""Drivers: the shapes that a run may have, by the key of the scenario that asks for each."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.drivers.market import run_market
from scenarios.features import FEATURES
from scenarios.run import Run
from scenarios.schema.scenario import Scenario


def choose_driver(scenario: Scenario) -> Callable[..., Run]:
    """Driver of a scenario: a market held once, unless a feature changes the shape."""
    if FEATURES["time"].is_used(scenario):
        from scenarios.drivers.periods import run_periods

        return run_periods
    if FEATURES["learners"].is_used(scenario):
        from scenarios.drivers.learners import run_learners

        return run_learners
    if FEATURES["pricing"].is_used(scenario):
        from scenarios.drivers.pricing import run_learned_price

        return run_learned_price
    if FEATURES["bargaining"].is_used(scenario):
        from scenarios.drivers.bargaining import run_bargaining

        return run_bargaining
    return run_market
