"""Forecast and training in words: what was expected, what came, and why they differ."""

import re

import pytest
from reports import CASES, DISAGREEING, WRONG, shown, told
from result_folders import calibrated, result

from scenarios.report import sentences_learning as how
from scenarios.report import sentences_market as market
from scenarios.report import sentences_model as model


def test_a_forecast_that_nothing_could_contradict_is_said_to_tell_little(tmp_path):
    text = shown(result(epsilon=[1.0, 2.0, 3.0], forecast__interval=[0.0042, 3.25]), tmp_path)
    assert "Training confirms the forecast of 0.42 to 325 %, which is so wide that it tells little." in text


def test_a_forecast_that_holds_is_said_to_hold_with_its_interval():
    assert told(result(), "trust").startswith(
        "Yes: 100 trainings with fresh noise came out at 2.21 % on average, inside the forecast's interval of 1.4 to 3.1 %."
    )


def test_a_mean_within_three_errors_of_the_interval_is_not_said_to_lie_inside():
    words = told(result(validation__relative_fitness__mean=0.032), "trust")
    assert "within 3 standard errors of the forecast's interval" in words


def test_a_forecast_that_misses_is_said_to_miss_by_how_much_and_why():
    text = told(result(**DISAGREEING), "trust")
    assert "No: 100 trainings with fresh noise came out at 28.9 % on average, 25.8 percentage points above" in text
    assert "point forecast 2.1 %, 26.8 points off" in text
    assert "20 percentage points of it are more in the error left after training (the public rows suggest" in text
    assert "5 percentage points of it are less in the noise that survives" in text
    assert "The best possible error is 21.4 on the owners' records, 14.3 by the public rows." in text
    assert (
        "That is chance as far as a test can tell: public rows drawn at random differ as much with a chance of 42 %"
        in text
    )
    assert "in kind" not in text
    assert (
        "1.2 percentage points are not explained by the law on the pooled records either (the projection moved 3.1 % of "
        "the coordinates)."
    ) in text
    assert "Training contradicts the forecast" in told(result(**DISAGREEING))


def test_a_forecast_above_the_truth_is_said_to_be_above():
    made = result(validation__agrees=False, validation__relative_fitness__mean=0.004)
    assert "1 percentage points below the forecast's interval" in told(made, "trust")


def test_without_training_nothing_is_claimed(tmp_path):
    text = shown(result(validation=None), tmp_path)
    assert "No model was trained, so the forecast is unchecked." in text
    assert "confirms" not in text and "trained mean" not in text


def test_the_z_score_is_explained_and_a_large_one_called_so():
    assert "0.7 standard errors away, as it should be. This tests the program" in told(result(), "trust")
    assert "more than chance allows" in told(result(validation__z_score=4.2), "trust")


def test_the_basis_of_the_forecast_is_named():
    assert "the learner's own 150 records and public facts only" in told(result(), "model")
    assert "the learner is assumed to know it" in told(CASES["oracle"], "model")


def test_a_projection_that_may_bind_is_warned_of():
    assert "Caution: the noise reaches the edge" in told(CASES["projection"], "trust")
    assert "3.1 % of the coordinates were moved back" in told(CASES["projection"], "trust")
    assert "Caution" not in told(result())


def test_non_private_access_is_named():
    assert "Measured with non-private access, which no party to the market has" in told(result(), "trust")


@pytest.mark.slow
def test_only_an_exact_forecast_is_called_a_law():
    for name, case in CASES.items():
        text = told(case)
        exact = case["forecast"]["kind"] == "exact"
        assert exact == ("No exact law is known" not in text or not market.sellers(case))
        assert exact or not re.search(r"\blaw\b", text.replace("No exact law is known", "")), name


@pytest.mark.slow
def test_a_rehearsed_forecast_says_where_it_was_rehearsed_and_how_it_is_checked():
    assert "the learner rehearses it on its own 150 records" in told(CASES["logistic"], "model")
    pooled = told(CASES["rehearsed on pooled records"], "model")
    assert "rehearsed" in pooled and "pooled records, which no learner could see" in pooled
    words = told(CASES["logistic"], "trust")
    assert "Trainings on the pooled records at other levels of noise (the simulator's privilege" in words
    assert "expect 2.25 %, give or take 0.04 points; the trained mean is 0.7 standard errors (of both) away" in words
    assert "the curve fitted to them does not describe it" in told(calibrated(validation__z_score=5.0), "trust")


def test_whether_owners_are_of_one_kind_is_told_by_their_first_answers():
    tests = {among: {"statistic": 9.0, "dof": 9, "p_value": 0.4} for among in ("owners", "public")}
    made = result(validation__homogeneity=tests)
    assert "no more than noise and chance make them (p = 0.4 and 0.4)" in told(made, "trust")
    tests["owners"]["p_value"] = 0.001
    assert model.unlike(made) == [
        "The owners' first answers differ by more than noise and chance (p = 0.001): not of one kind, or not as sold."
    ]
    assert "not of one kind" in told(made, "trust") and "no more than noise" not in told(made, "trust")
    assert "one kind" not in told(result(), "trust")  # where no test was made


def test_what_the_learner_sees_for_itself_is_told_with_its_error():
    sees = {"start": (0.0612, 0.011), "aside": (-0.04, 0.02)}
    sees = {of: {"relative_fitness": at, "std_error": error} for of, (at, error) in sees.items()}
    sees["aside"]["records"] = 100
    words = told(result(validation__learner_sees=sees), "trust")
    assert "training began with at 6.12 %, give or take 1.1 points." in words
    assert "On 100 public rows that it kept aside, the trained model is 4 percentage points worse" in words
    assert "kept aside" not in told(result(), "trust")


def test_held_out_labels_are_counted_wrong_or_right():
    assert (
        "On 400 fresh records that nobody trained on, the share of wrong labels is 7.1 % for the trained model, 8.3 % for "
        "the learner's own, 6.9 % for the best possible, and 7.75 % for always guessing the more frequent label. "
        "Measured"
    ) in told(CASES["labels held out"], "trust")
    guessing = WRONG | {"error_trained": 0.0775}
    assert "the model is no better than guessing. Measured" in told(calibrated(validation__holdout=guessing), "trust")
    assert "mean squared error is 5.14 for the trained model" in told(CASES["holdout"], "trust")


def test_nothing_asked_is_told_by_the_step_and_not_by_the_rounds():
    assert market.asks_nothing(CASES["asks nothing"]) and not market.asks_nothing(CASES["adassp"])
    text = told(CASES["asks nothing"])
    assert "nothing was trained, and the model kept, measured on all records, is at 11 %" in text
    assert "trainings with fresh noise" not in text
    assert "single trainings" not in text and "single trainings" in told(result())
    assert how.plan_line(CASES["asks nothing"]) == "nothing is asked: no answer is worth its noise"
