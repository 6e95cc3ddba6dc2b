"""A run whose answers grow keeps the learner's own model, and a plan that lets them grow goes on."""

import numpy as np
import pytest

from scenarios.planning import prepare
from scenarios.schema.loading import load
from scenarios.training import train_at, training_task

PLANNED = (
    "learning.algorithm=sgd2",
    "learning.mechanism=l2",
    "learning.clipping=record",
    "learning.horizon=2",
    "data.order=as_is",
    "seed=41",
    "validation.runs=5",
)
ONES = np.ones(3)


@pytest.fixture(scope="module")
def market():
    scenario = load("three_insurers", PLANNED)
    return scenario, prepare(scenario)


def test_insurers_in_file_order_are_stopped_and_the_own_model_is_kept(market):
    scenario, (data, planner) = market
    trained = train_at(scenario, planner, ONES)
    assert trained.stopped == 1.0
    assert np.array_equal(trained.theta, np.tile(data.public.model, (5, 1)))


@pytest.mark.parametrize("change", ["learning.step_size=2.0", "learning.start=zero"])
def test_a_plan_under_which_gradients_may_grow_is_not_stopped(market, change):
    scenario = load("three_insurers", [*PLANNED, change])
    planner = prepare(scenario, market[1].data).planner
    assert training_task(*market[:1], market[1].planner, ONES).stops
    assert not training_task(scenario, planner, ONES).stops
