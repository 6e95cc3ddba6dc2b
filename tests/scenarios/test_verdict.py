"""The verdict on trained models: forecasts and promises of money that hold, and some that do not."""

import numpy as np
import pytest

from scenarios.summary.forecast import clip_interval
from scenarios.summary.verdict import (
    agrees_on_money,
    explain_difference,
    promises_kept,
    summarise_runs,
)


def surplus(mean, std_error=2.0):
    return {"mean": mean, "std_error": std_error}


def learner(buying_pays, interval=(-1000.0, 1000.0), *, forecast=None, doubt=False):
    left = (500.0 if buying_pays else -500.0) if forecast is None else forecast
    told = {"buying_pays": buying_pays, "gain": {"interval": interval}, "value": 100.0}
    return told | {"surplus": left, "kinds_in_doubt": doubt}


@pytest.mark.parametrize(
    ("mean", "promised", "true"),
    [
        (-216, True, False),
        (427, True, True),
        (427, False, False),
        (-216, False, True),
        (-5, True, True),
        (5, False, True),
    ],
)
def test_a_promised_gain_is_borne_out_by_a_gain_and_a_promised_loss_by_a_loss_give_or_take_chance(
    mean, promised, true
):
    assert agrees_on_money(surplus(mean), learner(promised)) is true


@pytest.mark.parametrize(
    ("mean", "true"), [(393, False), (395, True), (500, True), (605, True), (607, False)]
)
def test_a_gain_must_lie_in_the_interval_it_was_promised_in_give_or_take_three_standard_errors(
    mean, true
):
    assert agrees_on_money(surplus(mean), learner(True, (400.0, 600.0))) is true


def test_no_side_is_promised_where_a_gain_is_forecast_and_not_said_or_kinds_are_in_doubt():
    for told in (learner(False, forecast=500.0), learner(False, doubt=True)):
        assert agrees_on_money(surplus(427), told) and agrees_on_money(surplus(-216), told)
        assert not agrees_on_money(surplus(2000), told)
    assert not agrees_on_money(surplus(-216), learner(True, doubt=True))


def test_where_nothing_is_bought_nothing_is_promised_and_nothing_comes():
    assert agrees_on_money(surplus(0.0, 0.0), learner(False, (0.0, 0.0)))


def test_a_promise_of_money_that_is_not_kept_is_a_promise_not_kept():
    content = {
        "equilibrium": {"converged": True},
        "validation": {"agrees": True, "agrees_on_money": False},
    }
    assert not promises_kept(content)
    content["validation"]["agrees_on_money"] = True
    assert promises_kept(content) and promises_kept(content | {"validation": None})
    assert not promises_kept(content | {"equilibrium": {"converged": False}})


def test_rounding_needs_no_explanation():
    """Where every run is the same model, a difference of 5e-17 is many standard errors, and nothing to explain."""
    runs = summarise_runs(np.array([0.25, 0.25 + 1e-16, 0.25, 0.25 - 1e-16]) + 5e-17)
    oracle = {
        "bias": 0.25,
        "noise": 0.0,
        "optimum": 1.0,
        "std_error": 0.0,
        "relative_fitness": 0.25 - 3e-9,
    }
    runs["std_error"] = 3e-10
    forecast = oracle | {"bias": 0.1, "interval": [0.05, 0.15], "oracle": oracle}
    assert "unexplained" not in [
        fact["cause"] for fact in explain_difference(runs, forecast, projected=0.0)
    ]


@pytest.mark.parametrize(("share", "told"), [(0.09, False), (0.11, True)])
def test_a_part_is_a_cause_from_a_tenth_of_the_difference_on(share, told):
    runs = {"mean": 0.5, "std_error": 0.001}
    oracle = {"bias": 0.1 + 0.4 * share, "noise": 0.0, "optimum": 1.0, "std_error": 0.001}
    forecast = oracle | {"bias": 0.1, "interval": [0.05, 0.15]}
    forecast["oracle"] = oracle | {"relative_fitness": oracle["bias"]}
    causes = [one["cause"] for one in explain_difference(runs, forecast, projected=0.0)]
    assert ("bias_differs" in causes) == told


def test_no_interval_ends_below_zero_by_rounding():
    assert clip_interval((-9e-17, 0.00044)) == [0.0, 0.00044] and clip_interval((-0.05, 0.01)) == [
        -0.05,
        0.01,
    ]
