"""Rounds that cost money: how many are agreed on, and from which price of a round on one is dropped."""

import numpy as np
import pytest

from learning.forecast.calibration import Curves, fit_curve
from learning.forecast.fitness import FitnessForecast, agree_rounds, forecast_fitness
from learning.forecast.inputs import Settings
from learning.forecast.law import HORIZONS
from learning.privacy.laplace import Laplace
from learning.training.law import Problem
from learning.training.plan import Plan

CURVATURE, STEP, BOUND, RECORDS, EPSILON = 2.0, 0.2, 3.0, 5000.0, 1.0
ROWS = ([[CURVATURE]], [[[1.0]]], [[[CURVATURE]]], [[1.0]], [[0.0]], [1.0])


def by_hand(rounds):
    """Excess over f* = 1 after gradient steps with Laplace noise, by its own loop over the rounds."""
    error, variance = 1.0, 0.0
    scale = 2 * BOUND * rounds / (RECORDS * EPSILON)
    for _ in range(rounds):
        error *= 1 - STEP * CURVATURE
        variance = (1 - STEP * CURVATURE) ** 2 * variance + STEP**2 * 2 * scale**2
    return CURVATURE / 2 * (error**2 + variance)


def thresholds():
    """Prices of a round at which another number of rounds costs least, with both numbers, by hand."""
    excess = {rounds: by_hand(rounds) for rounds in HORIZONS}
    now = min(excess, key=excess.get)
    while fewer := [one for one in HORIZONS if one < now]:
        prices = {one: (excess[one] - excess[now]) / (now - one) for one in fewer}
        following = min(prices, key=prices.get)
        yield prices[following], now, following
        now = following


def market():
    return forecast_fitness(
        Problem(*(np.array(row) for row in ROWS)),
        Settings("sgd2", step_size=STEP, step_decline=0.0, returned=("last",)),
        sizes=[RECORDS],
        mechanism=Laplace(),
        gradient_bound=BOUND,
        dispersion=0.0,
        basis="oracle",
    )


def test_the_threshold_at_which_a_round_is_dropped_is_the_one_by_hand():
    free = market()
    found = list(thresholds())
    assert len(found) >= 4 and found[-1][2] == min(HORIZONS)
    for price, more, fewer in found:
        asked = [agree_rounds(free, price * factor, [EPSILON]) for factor in (1 - 1e-6, 1 + 1e-6)]
        assert [one.rounds for one in asked] == [more, fewer]
        for one in asked:
            assert one.at([EPSILON]) == pytest.approx(by_hand(one.rounds), rel=1e-6)
            assert one.plan([EPSILON]).horizon == one.rounds


def test_free_rounds_stay_open():
    free = market()
    assert agree_rounds(free, 0.0, [EPSILON]) is free


def test_measured_curves_agree_on_rounds_as_lines_do():
    levels = np.array([0.0, *np.geomspace(1e-3, 1.0, 6)])
    heights = {2: 0.30, 5: 0.15, 17: 0.10}
    plans = tuple(Plan("sgd2", "last", rounds, 0.1) for rounds in heights)
    curves = tuple(fit_curve(levels, low + 0.2 * levels) for low in heights.values())
    free = FitnessForecast(
        np.array([100.0]),
        Laplace(),
        Curves(plans, curves),
        Curves(plans, curves).lowest(1.0),
        1.0,
        0.0,
        "",
        "calibrated",
    )
    first, second = (0.15 - 0.10) / 12, (0.30 - 0.15) / 3
    prices = first * (1 - 1e-3), first * (1 + 1e-3), second * (1 - 1e-3), second * (1 + 1e-3)
    assert [agree_rounds(free, one, [1e3]).rounds for one in prices] == [17, 5, 5, 2]


@pytest.mark.parametrize(
    ("algorithm", "rounds", "times"),
    [("sgd2", 7, 7), ("averaged", 7, 6), ("weighted", 40, 1), ("one_step", 1, 1)],
)
def test_local_training_is_sent_once_and_others_answer_every_question(algorithm, rounds, times):
    assert Plan(algorithm, "last", rounds, 0.1).exchanges == times
    assert Plan(algorithm, "last", rounds, 0.0).exchanges == 0
