"""The pricing study: its table, its drawing, and its best policy run as a scenario of its own."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ElementTree
from functools import cache

import numpy as np
import pytest
from commands import INSURERS

from learning.errors import InputError
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.studies.pricing import pricing_study

SCENARIO = (
    INSURERS.replace("public_rows", 'names = ["North <&>", "South"]\npublic_rows')
    .replace("epsilon = [0.1, 10.0]", "epsilon = [0.1, 30.0]")
    .replace("[market]", "{learner}\n[regulation]\nepsilon_cap = 12.0\n[market]")
)


def scenario(tmp_path, learner=""):
    (tmp_path / "s.toml").write_text(SCENARIO.format(learner=learner))
    return load(tmp_path / "s.toml")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pricing")


@cache
def studied(folder):
    """A study of the budget by a learner that may spend as much as it likes."""
    return pricing_study(scenario(folder), "budget", 1.0, 1000.0, folder / "new" / "study", points=4)


@pytest.mark.slow
def test_a_study_of_a_budget(folder):
    """Second route: the best budget, and one swept, each run as a scenario; none that was swept is better."""
    swept, best = studied(folder)
    with (folder / "new" / "study" / "frontier.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert (
        [float(row["policy.budget"]) for row in rows] == np.geomspace(1, 1000, 4).tolist() == swept.parameter.tolist()
    )
    assert [float(row["epsilon North <&>"]) for row in rows] == swept.epsilon[:, 0].tolist()
    assert best.feasible and best.surplus >= swept.surplus[swept.feasible].max()
    for budget, surplus, fitness in (
        (best.parameters[0], best.surplus, best.fitness),
        (swept.parameter[2], swept.surplus[2], swept.fitness[2]),
    ):
        alone = run(load(folder / "s.toml", [f"policy.budget={float(budget)}"]), training=False)
        assert alone["learner"]["surplus"] == pytest.approx(surplus, rel=1e-6)
        assert alone["forecast"]["relative_fitness"] == pytest.approx(fitness, rel=1e-6)
    assert swept.epsilon.max() <= 12.0  # the scenario's cap holds in the study
    drawing = (folder / "new" / "study" / "frontier.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(drawing)
    assert "best for the learner" in drawing and "the learner alone" in drawing


@pytest.mark.slow
def test_a_learner_that_cannot_spend_more(tmp_path, folder):
    _, short = pricing_study(scenario(tmp_path, "budget = 30.0"), "budget", 1.0, 1000.0, tmp_path / "a", points=4)
    _, free = studied(folder)
    assert free.spending > 31 and short.spending == pytest.approx(30, rel=1e-6) and short.feasible
    assert free.surplus > short.surplus


@pytest.mark.parametrize(
    ("key", "low", "high", "message"),
    [
        (
            "price",
            1,
            2,
            'key: must be a number of .policy.; found "price" with kind "proportional". Known here: budget.',
        ),
        ("basis", 1, 2, "key: must be a number of"),
        ("budget", 0, 2, "low, high: must be a range above 0; found 0 to 2"),
        ("budget", 3, 2, "low, high: must be a range above 0; found 3 to 2"),
    ],
)
def test_studies_that_cannot_be(tmp_path, key, low, high, message):
    with pytest.raises(InputError, match=message):
        pricing_study(scenario(tmp_path), key, low, high, tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_a_study_takes_no_other_folders_place(tmp_path):
    """Refused before anything is computed; an earlier study is replaced."""
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "frontier.csv").write_text("my own table")
    with pytest.raises(InputError, match="folder: must be a new folder.* found frontier.csv in"):
        pricing_study(scenario(tmp_path), "budget", 1.0, 1000.0, tmp_path / "study")
    assert (tmp_path / "study" / "frontier.csv").read_text() == "my own table"
