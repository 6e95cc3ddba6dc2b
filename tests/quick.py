"""Runs in half the time: fewer bootstrap resamples, no look at what kind of game it is, and no figures drawn."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

BLANK = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" width="1" height="1"></svg>'
OF_PARTS = {
    "periods": "time",
    "network": "network",
    "prices": "pricing",
}  # figures of a part that a result may lack
QUICK = {
    "scenarios.report.figures.draw_figure": lambda name, result, tables: (
        BLANK if name not in OF_PARTS or result.get(OF_PARTS[name]) else ""
    ),
    "scenarios.summary.market.DIAGNOSED": 0,
    "learning.forecast.exact_planner.RESAMPLES": 60,
    "learning.forecast.calibrated_planner.RESAMPLES": 12,
    "learning.forecast.planner.RESAMPLED": 2,
}


def quickly(put: Callable[[Any, str, Any], None] = setattr) -> None:
    """Make the runs of this process quick."""
    for place, value in QUICK.items():
        module, _, name = place.rpartition(".")
        put(import_module(module), name, value)


@pytest.fixture(scope="module", autouse=True)
def quick_module() -> Iterator[None]:
    """What a module's own fixtures run is quick too, in modules that import this."""
    with pytest.MonkeyPatch.context() as patch:
        quickly(patch.setattr)
        yield
