"""This program's learner: the protocol that a scenario has by default, at stated budgets."""

from __future__ import annotations

from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from learning.arrays import Array
from reproduction.beside.learners import DELTA, Learner
from reproduction.beside.rows import Predict, open_table
from scenarios.planning import Prepared, prepare
from scenarios.schema.scenario import Scenario
from scenarios.training import train_at

SHARED = {"aggregation": "secure"}


def prepare_market(
    table: str, seed: int, data: Path | None, one: Learner
) -> tuple[Scenario, Prepared, float]:
    """Choose the protocol on public rows; return it with the seconds of CPU that this took.

    It is chosen once, at epsilon = 1, for all budgets.
    """
    began = process_time()
    keys: dict[str, Any] = {} if one.pure else {"delta": DELTA}
    if one.features:
        keys["features"] = one.features
    if one.shared:
        keys["trust"] = SHARED
    with open_table(table, seed, data, **keys) as scenario:
        prepared = prepare(scenario)
    return scenario, prepared, process_time() - began


def train_ours(scenario: Scenario, prepared: Prepared, epsilon: float) -> Predict:
    """Train once, every owner at the same budget, and return the model's prediction."""
    budgets = np.full(len(prepared.data.owners), epsilon)
    theta = train_at(scenario, prepared.planner, budgets).theta[0]

    def predict(x: Array) -> Array:
        return np.asarray(x @ theta)

    return predict
