"""Every scenario of the library, from its file to its result; those of published tables where the tables are there."""

import os
from pathlib import Path

import numpy as np
import pytest

from scenarios.runner import run
from scenarios.schema.data import DATA_VARIABLE, PUBLISHED
from scenarios.schema.loading import library_scenarios, load

CHOSEN = {  # plans near the learner's own choice, where choosing among hundreds takes half a minute
    "hospitals": ("learning.horizon=100", "learning.step_size=1300"),
    "adult_income": ("learning.horizon=17", "learning.step_size=0.92"),
}
SHARED = Path(__file__).parents[3] / "shared" / "data"


def data_folder() -> Path:
    """Where the published tables are looked for."""
    return Path(os.environ.get(DATA_VARIABLE) or SHARED)


def scenario(name, *changes):
    """A scenario of the library, skipped by the name of the file that is missing."""
    made = load(name, changes, data_folder=data_folder())
    needed = PUBLISHED.get(made.data.source or "")
    if needed is not None and not (data_folder() / needed).is_file():
        pytest.skip(f"{needed} is not there: set {DATA_VARIABLE} to the folder that holds it")
    return made


@pytest.mark.slow
@pytest.mark.in_full  # fewer resamples make narrower intervals
@pytest.mark.parametrize("name", sorted(library_scenarios()))
def test_every_scenario_of_the_library_runs_and_its_forecast_holds(name):
    made = scenario(name, "validation.runs=60", "market.starts=2", *CHOSEN.get(name, ()))
    result = run(made)
    learning = made.learning
    predicted = result["forecast"]
    checked = result["validation"]
    assert predicted["kind"] == (
        "exact"
        if learning.loss == "squared" and learning.algorithm in ("synchronous", "averaged", "sgd2")
        else "calibrated"
    )
    assert predicted["basis"] == "public" and result["warnings"] == []
    assert result["equilibrium"]["converged"]
    assert result["equilibrium"]["max_relative_regret"] <= 1e-6
    low, high = predicted["interval"]
    assert np.isfinite([low, high]).all() and low <= predicted["relative_fitness"] <= high
    assert 0 < predicted["relative_fitness"] <= result["outside_option"]["relative_fitness"]
    for row in result["owners"]:
        assert row["surplus"] == pytest.approx(
            row["payment"] + row["benefit"] - row["privacy_cost"], rel=1e-9, abs=1e-9
        )
    paid = sum(row["payment"] for row in result["owners"])
    assert result["learner"]["payments"] == pytest.approx(paid, rel=1e-9)
    selling = {row["name"] for row in result["owners"] if row["epsilon"] > 0}
    assert {claim["party"] for claim in result["claims"]} == (
        selling if predicted["step_size"] > 0 else set()
    )
    assert checked["runs"] == 60 and checked["explanation"]
    assert abs(checked["z_score"]) <= 4, (
        checked
    )  # a test of the engine, by seven scenarios: beyond 4 by chance once in 2,000
    assert checked["agrees"], checked["explanation"]


def test_the_library_says_what_data_it_needs(tmp_path):
    """Without the table, one line that names the file; with randhie nothing is needed."""
    from learning.errors import InputError
    from scenarios.tables.dataset import market_data

    for name in library_scenarios():
        made = load(name, data_folder=tmp_path)
        if made.data.source == "randhie":
            continue
        with pytest.raises(InputError) as error:
            market_data(made)
        assert PUBLISHED[made.data.source] in str(error.value) and "\n" not in str(error.value)
