"""What is kept of a comparison of ways to train: whatever forecasts depend on is in the key, and what is recalled is what was found."""

from dataclasses import fields, replace

import numpy as np
import pytest

from learning.forecast import choice
from learning.forecast.choice import make_planner
from learning.forecast.inputs import PlanningInputs, Settings
from learning.forecast.kept import _digest
from learning.privacy.laplace import Laplace
from learning.privacy.wrapped import Trust
from scenarios.planning import planning_inputs
from scenarios.schema.loading import load
from scenarios.tables.dataset import market_data

CHANGES = {
    "settings": lambda of: replace(of, settings=replace(of.settings, regularisation=0.01)),
    "owners": lambda of: replace(of, owners=replace(of.owners, sizes=of.owners.sizes + 1)),
    "sample": lambda of: replace(of, sample=replace(of.sample, y=of.sample.y + 1e-12)),
    "feature_bound": lambda of: replace(of, feature_bound=of.feature_bound + 1e-12),
    "target_bound": lambda of: replace(of, target_bound=of.target_bound + 1e-12),
    "seed": lambda of: replace(of, seed=of.seed + 1),
    "reports": lambda of: replace(of, reports=(0.1, 0.2)),
    "trust": lambda of: replace(of, trust=Trust("secure")),
    "spread": lambda of: replace(of, spread=0.5),
    "round_cost": lambda of: replace(of, round_cost=0.01),
}
UNUSED = {"pooled", "progress", "among"}  # records, who listens, and what the ways' settings tell


@pytest.fixture(scope="module")
def inputs() -> PlanningInputs:
    scenario = load("three_insurers", ["learning.protocol=best", "seed=7"])
    return planning_inputs(scenario, market_data(scenario))


def key_of(inputs: PlanningInputs) -> bytes:
    return _digest(inputs.key_of([(inputs.settings, Laplace())]))


def test_each_field_is_in_the_key_or_has_no_part_in_a_forecast(inputs):
    assert {one.name for one in fields(PlanningInputs)} == CHANGES.keys() | UNUSED


@pytest.mark.parametrize("name", CHANGES)
def test_whatever_forecasts_depend_on_is_in_the_key(inputs, name):
    again = replace(inputs, progress=lambda stage, share=0.0: None)
    assert key_of(again) == key_of(inputs)
    assert key_of(CHANGES[name](inputs)) != key_of(inputs)


def test_the_mechanism_is_in_the_key(inputs):
    assert _digest(inputs.key_of([(Settings(), Laplace(2))])) != _digest(
        inputs.key_of([(Settings(), Laplace())])
    )


def test_a_comparison_is_recalled_as_it_was_found(inputs, tmp_path, monkeypatch):
    monkeypatch.setenv("DPMARKET_CACHE", str(tmp_path))
    first = make_planner(inputs)
    monkeypatch.setattr(choice, "compare_ways", None)  # would fail if it were called
    again = make_planner(inputs)
    assert again.choices == first.choices
    budgets = inputs.owners.reference
    assert again.at(budgets) == first.at(budgets)
    assert again.forecast.plan(budgets) == first.forecast.plan(budgets)
    found = first.predict(budgets), again.predict(budgets)
    assert np.array_equal(found[0].trained, found[1].trained)
