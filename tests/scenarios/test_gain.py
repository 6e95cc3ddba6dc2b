"""The learner's gain before training: the same worlds for both models, chances, and the words for them."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from result_folders import result, without_questions

from scenarios.planning import prepare
from scenarios.report.phrases import render_phrase
from scenarios.schema.loading import load
from scenarios.settling.game import market_game
from scenarios.summary.verdict import chance_above, gain_part

AT = np.array([1.0, 1.0, 0.5])


@cache
def insurers(*changes):
    scenario = load("three_insurers", changes)
    data, planner = prepare(scenario)
    return planner, market_game(scenario, data, planner)


def possible(planner, game, epsilon):
    """The learner's gain in each world."""
    return planner.predict(epsilon).gain(game.value, float(game.payments(epsilon).sum()))


@pytest.mark.slow
@pytest.mark.in_full
def test_both_models_go_together_in_a_world():
    """A public sample far from the optimum spoils the start of training too, so the gain is surer than both apart."""
    planner, game = insurers.__wrapped__()  # with a user's worlds, whichever test runs first
    told = planner.predict(AT)
    assert len(told.trained) == len(told.outside) == 200
    assert np.corrcoef(told.outside, told.trained)[0, 1] > 0.3
    together = told.outside - told.trained
    apart = told.outside - np.roll(told.trained, 1)
    assert together.std() < apart.std()
    np.testing.assert_allclose(
        possible(planner, game, AT), 100_000 * together - game.payments(AT).sum()
    )


def test_no_gain_is_certain_before_training_but_a_bill_for_nothing_is():
    planner, game = insurers()
    told = gain_part(possible(planner, game, AT))
    assert (
        told["interval"][0] < told["median"] < told["interval"][1] and 0 < told["chance_pays"] < 1
    )
    drowned = possible(planner, game, np.full(3, 0.01))
    assert np.ptp(drowned) == 0 and gain_part(drowned)["chance_pays"] == 0
    known = possible(replace(planner, bootstrap=None), game, AT)
    point = 100_000 * (planner.forecast.outside - planner.forecast.at(AT)) - 2000
    assert known == pytest.approx([point]) and chance_above(known) == 1.0


def test_chances_are_never_0_or_1_while_worlds_differ():
    worlds = np.arange(24.0)
    assert [chance_above(worlds, amount) for amount in (-1, 11.5, 30)] == [0.98, 0.5, 0.02]


def test_the_chance_is_told_in_words():
    told = render_phrase("gain", "chance_of_paying", result()).replace("\u00a0", " ")
    assert "buying pays with a chance of 97 %" in told and "between 700 and 9,400" in told
    sure = result(
        learner__gain={"median": 5.0, "interval": [1.0, 9.0], "level": 0.9, "chance_pays": 0.998}
    )
    assert render_phrase("gain", "chance", sure).replace("\u00a0", " ") == "over 99 %"
    narrow = {"median": -400.0, "interval": [-400.0001, -400.0], "level": 0.9, "chance_pays": 0.02}
    told = render_phrase("gain", "chance_of_paying", result(learner__gain=narrow))
    assert "the learner gains about −400" in told and "between" not in told
    nothing = {"median": -2000.0, "interval": [-2000.0, -2000.0], "level": 0.9, "chance_pays": 0.0}
    assert render_phrase("gain", "chance_of_paying", without_questions(learner__gain=nothing)) == ""
