"""A market for a network of numbers: a curved target, errors in its units, the model handed over, the audit."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from learning.audit.checks import check_training
from scenarios.model_file import to_json
from scenarios.planning import prepare
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.trained_model import TrainedModel
from scenarios.training import train_at

UNIT = 1000.0
NETWORK = ("learning.loss=network_squared", "learning.hidden=3")
SCENARIO = """
title = "Curved"
seed = 3
[data]
path = "curved.csv"
target = "amount"
split = [600, 600, 600]
public_rows = 300
check_rows = 80
holdout = 0.12
bounds = {a = [-1, 1], b = [-1, 1], c = [-1, 1], amount = [-5000, 5000]}
[learning]
algorithm = "sgd2"
mechanism = "gaussian"
delta = 1e-5
horizon = 5
[owners]
epsilon = [2.0, 10.0]
[owners.cost]
kind = "linear"
price = [1.0, 2.0, 3.0]
[policy]
kind = "proportional"
budget = 100.0
[learner]
value = {per = "rmse", money = 5.0}
[market]
starts = 1
[validation]
runs = 4
"""


def curved(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    y = np.tanh(3 * x[:, 0]) + 2 * x[:, 0] * x[:, 1] + 1.5 * x[:, 2] ** 2
    y = np.clip(UNIT * (y + 0.4 * rng.normal(size=n)), -5 * UNIT, 5 * UNIT)
    return pd.DataFrame(x, columns=[*"abc"]).assign(amount=y)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    place = tmp_path_factory.mktemp("curved")
    curved(2500, 1).to_csv(place / "curved.csv", index=False)
    (place / "curved.toml").write_text(SCENARIO)
    return place / "curved.toml"


@cache
def found(path: Path, changes=NETWORK):
    return run(load(path, changes))


pytestmark = pytest.mark.slow


def test_the_network_beats_the_linear_model_and_its_forecast_holds(path):
    result = found(path)
    low, high = result["forecast"]["interval"]
    assert low <= result["validation"]["relative_fitness"]["mean"] <= high
    errors, linear = result["errors"], found(path, ())["errors"]
    assert errors["measured"]["trained"]["mean"] < 0.75 * linear["measured"]["trained"]["mean"]
    assert errors["measured"]["constant"]["error"] > 1.5 * errors["measured"]["trained"]["mean"]
    low, high = errors["forecast"]["interval"]
    assert 0.35 * UNIT < low < errors["measured"]["trained"]["mean"] < high < 0.8 * UNIT
    outside = result["outside_option"]["measured"]
    assert result["validation"]["relative_fitness"]["mean"] < outside


def test_the_model_handed_over_predicts_fresh_rows_within_the_range(path, tmp_path):
    model = TrainedModel(found(path).model)
    fresh = curved(3000, 99)
    said = model.predict(fresh)
    missed = np.sqrt(np.mean((said - fresh["amount"]) ** 2))
    assert missed == pytest.approx(found(path)["errors"]["measured"]["handed_over"], rel=0.1)
    assert said.between(-5 * UNIT, 5 * UNIT).all()
    assert model.to_sklearn().predict(fresh) == pytest.approx(said.to_numpy())
    (tmp_path / "model.json").write_text(to_json(model.made), encoding="utf-8")
    assert TrainedModel.read(tmp_path / "model.json").predict(fresh).tolist() == said.tolist()


def test_the_learner_tries_both_networks_on_rows_kept_aside_and_counts_their_parameters(path):
    assert (
        found(path)["data"]["parameters"] == 3 * (4 + 1) + 1 == len(found(path).model.model.theta)
    )
    seen = found(path)["validation"]["learner_sees"]["aside"]
    assert seen["records"] == 80 and np.isfinite(seen["relative_fitness"])


def test_a_sound_training_passes_every_check_of_the_audit(path, monkeypatch):
    monkeypatch.setattr("learning.audit.transcript.NUMBERS", 5000)
    monkeypatch.setattr("learning.audit.canaries.MOST", 250)
    scenario = load(path, NETWORK)
    _, planner = prepare(scenario)
    checks = check_training(train_at(scenario, planner, np.full(3, 5.0)).task)
    assert len(checks) > 5 and all(check.passed for check in checks), checks
