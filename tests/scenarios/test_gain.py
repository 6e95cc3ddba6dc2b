"""The learner's gain before training: the same worlds for both models, chances, and the words for them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from result_folders import result, without_questions

from scenarios.gain import chance_above, gain_part, promise
from scenarios.planning import prepare
from scenarios.report.sentences_gain import chance, chance_of_paying
from scenarios.runner import market_game
from scenarios.schema.loading import load

AT = np.array([1.0, 1.0, 0.5])


@cache
def insurers(*changes):
    scenario = load("three_insurers", changes)
    data, planner = prepare(scenario)
    return planner, market_game(scenario, data, planner)


def test_a_gain_is_what_both_models_come_to_in_one_world_less_the_payments():
    planner, game = insurers()
    made = promise(planner, game, AT)
    predicted, paid = planner.predict(AT), game.payments(AT).sum()
    assert len(made.possible) == len(predicted.trained) == 200 and made.payments == pytest.approx(paid)
    np.testing.assert_allclose(made.possible, 100_000 * (predicted.outside - predicted.trained) - paid)
    data_fitness = planner.inputs.pooled.fitness
    assert made.outside == pytest.approx(float(data_fitness.relative(planner.own_model)))
    assert made.realised == pytest.approx(100_000 * (made.outside - planner.oracle(AT).relative_fitness) - paid)
    # a public sample far from the optimum spoils the start of training too
    assert np.corrcoef(predicted.outside, predicted.trained)[0, 1] > 0.3
    apart = predicted.outside - np.roll(predicted.trained, 1)
    assert (predicted.outside - predicted.trained).std() < apart.std()


def test_no_gain_is_certain_before_training_but_a_bill_for_nothing_is():
    planner, game = insurers()
    told = gain_part(promise(planner, game, AT).possible)
    assert told["interval"][0] < told["median"] < told["interval"][1] and 0 < told["chance_pays"] < 1
    drowned = promise(planner, game, np.full(3, 0.01))
    assert np.ptp(drowned.possible) == 0 and gain_part(drowned.possible)["chance_pays"] == 0
    known = promise(replace(planner, bootstrap=None), game, AT)
    point = 100_000 * (planner.forecast.outside - planner.forecast.at(AT)) - 2000
    assert known.possible == pytest.approx([point]) and chance_above(known.possible) == 1.0


def test_chances_are_never_0_or_1_while_worlds_differ():
    worlds = np.arange(24.0)
    assert [chance_above(worlds, amount) for amount in (-1, 11.5, 30)] == [0.98, 0.5, 0.02]


def test_the_chance_is_told_in_words():
    told = chance_of_paying(result()).replace("\u00a0", " ")
    assert "the chance that buying pays is 97 %" in told and "between 700 and 9,400" in told
    sure = result(learner__gain={"median": 5.0, "interval": [1.0, 9.0], "level": 0.9, "chance_pays": 0.998})
    assert chance(sure).replace("\u00a0", " ") == "over 99 %"
    nothing = {"median": -2000.0, "interval": [-2000.0, -2000.0], "level": 0.9, "chance_pays": 0.0}
    assert chance_of_paying(without_questions(learner__gain=nothing)) == ""
