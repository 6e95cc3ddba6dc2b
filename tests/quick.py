"""Runs in half the time: fewer bootstrap resamples, no look at what kind of game it is, no figures, tables read once."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learning.progress import Progress, ignore_progress
from learning.table_file import WrittenTable, read_as_written
from scenarios.planning import Prepared, prepare
from scenarios.schema.scenario import Scenario
from scenarios.sweeping import cells, work
from scenarios.tables.dataset import MarketData

BLANK = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1" width="1" height="1"></svg>'
OF_PARTS = {
    "periods": "time",
    "network": "network",
    "prices": "pricing",
}  # figures of a part that a result may lack


@lru_cache(8)
def written_once(path: Path, names: tuple[str, ...], changed: int, size: int) -> WrittenTable:
    """A table as written, read anew once its file has changed."""
    return read_as_written(path, names)


def read_once(path: Path, names: list[str]) -> WrittenTable:
    """Columns of a table as `read_as_written` reads them, of every file once."""
    state = path.stat()
    return written_once(path, tuple(names), state.st_mtime_ns, state.st_size)


QUICK = {
    "scenarios.tables.described.read_as_written": read_once,
    "scenarios.report.figures.draw_figure": lambda name, result, tables: (
        BLANK if name not in OF_PARTS or result.get(OF_PARTS[name]) else ""
    ),
    "scenarios.summary.market.DIAGNOSED": 0,
    "scenarios.studies.design.PRECISION": 1e-2,
    "scenarios.studies.money.PRECISION": 1e-2,
    "learning.forecast.exact_planner.RESAMPLES": 60,
    "learning.forecast.calibrated_planner.RESAMPLES": 12,
    "learning.forecast.calibrated_planner.TRUTHS": 24,
}
DESIGNED = {  # fewer bounds and steps are tried where it is not their choice that is tested
    "learning.forecast.protocol.DESIGN_RESAMPLES": 4,
    "learning.forecast.protocol.PUBLIC_QUANTILES": (0.4, 0.85, 1.0),
    "learning.forecast.law.STEPS_PER_CURVATURE": np.geomspace(0.02, 2.5, 34),
}
COARSE = {  # plans and protocols are compared at fewer places where any of them would do
    "learning.forecast.ways.RESAMPLES": 8,
    "learning.forecast.ways.REPEATS": 3,
    "learning.forecast.choice.ROUNDS": (1, 2, 3, 5, 10, 22, 60),
    "learning.forecast.one_step.RADII": np.geomspace(1.2, 4.6, 4),
    "learning.forecast.one_step.SCORES": np.geomspace(1.8, 9.0, 5),
    "learning.forecast.one_step.SHARES": tuple(np.geomspace(0.08, 0.9, 5)),
    "learning.forecast.one_step.STEP_RESAMPLES": 8,
    "learning.forecast.rehearsal.FINE_LENGTHS": np.geomspace(0.15, 3, 5),
    "learning.forecast.calibrated_planner.COMPARED": 300,
    "learning.forecast.calibrated_planner.REPEATS": 8,
    "learning.forecast.calibrated_planner.RUNS": 60,
}


def quickly(
    put: Callable[[Any, str, Any], None] = setattr, *, designed: bool = False, coarse: bool = False
) -> None:
    """Make the runs of this process quick; ``designed``: bounds are still chosen among all; ``coarse``: plans among few."""
    values = QUICK if designed else QUICK | DESIGNED
    for place, value in (values | COARSE if coarse else values).items():
        module, _, name = place.rpartition(".")
        put(import_module(module), name, value)


@pytest.fixture(scope="module", autouse=True)
def quick_module() -> Iterator[None]:
    """What a module's own fixtures run is quick too, in modules that import this, with bounds chosen among all."""
    with pytest.MonkeyPatch.context() as patch:
        quickly(patch.setattr, designed=True)
        yield


@pytest.fixture(autouse=True)
def shared_plans(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Scenarios of a test that plan alike share data and plan, as a sweep's cells do, in modules that import this."""

    def prepare_once(
        scenario: Scenario, data: MarketData | None = None, progress: Progress = ignore_progress
    ) -> Prepared:
        if data is not None:
            return prepare(scenario, data, progress)
        return work.planned(scenario, cells.planned_on(scenario) + cells._hash_table(scenario))

    monkeypatch.setattr("scenarios.runner.prepare", prepare_once)
    monkeypatch.setattr(request.module, "prepare", prepare_once, raising=False)
    yield
    work.forget()
