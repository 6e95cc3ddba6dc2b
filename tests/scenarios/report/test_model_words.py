"""The model in words: the question, the error, how it is trained, under what noise and bounds."""

import pytest
from reports import CASES, told
from result_folders import calibrated, result

from scenarios.report import sentences_learning as how
from scenarios.report import sentences_model as model


def test_the_published_bound_stands_beside_the_law():
    two = result(forecast__published_bound={"theorem": "Theorem 2", "excess": 0.0355}, forecast__excess=0.153)
    words = model.published_bound(two["forecast"])
    assert "Theorem 2" in words and "0.0355" in words and "0.153" in words and words in told(two, "small-print")
    three = result(forecast__published_bound={"theorem": "Theorem 3", "constant": 8.65})
    words = model.published_bound(three["forecast"])
    assert "leaves its constant open" in words and "8.65" in words
    whole = {
        "theorem": "Theorem 2",
        "point": "best",
        "excess": 0.5,
        "distance": 2.0,
        "corrected": 0.7,
        "unmet": ["ball"],
    }
    words = model.published_bound({"published_bound": whole, "excess": 0.6})
    assert "of the best round by 0.5" in words and "from the best ones by 2." in words and "excess by 0.7" in words
    assert words.endswith("models are held in a ball, and it supposes none.")
    assert model.published_bound({"published_bound": None}) == ""


def test_the_headline_of_a_network_counts_from_the_best_one_found():
    text = told(CASES["network"])
    assert "2.1 % more error than the best network found" in text and "Error above the best found" in text
    assert "the best possible model" not in text and "No search is sure to find the best network" in text
    below = told(CASES["network below the best found"], "model")
    assert "forecast to make 2 % less error than the best network found" in below
    assert "buying makes the model 11.9 percentage points better" in below  # 9.9 + 2
    assert "adds 1 percentage points to the model's error; without it the model would make 3 % less error" in below


@pytest.mark.parametrize(
    ("case", "asked"),
    [
        ("logistic", "A learner wants to tell whether defaulted is yes rather than no, from 9 inputs."),
        ("hinge, unnamed labels", "A learner wants to tell whether defaulted is 1, from 9 inputs."),
        (
            "agreeing",
            "A learner wants to predict mdvis (between 0 and 20; values beyond count as these) from 9 inputs.",
        ),
    ],
)
def test_the_question_names_labels_as_labels_and_numbers_as_numbers(case, asked):
    assert told(CASES[case], "asked").startswith(asked)
    neither = calibrated("hinge", data__labels=None)
    assert told(neither, "asked").startswith("A learner wants to predict defaulted, which has one of two values, from")


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ("agreeing", "mean squared error over all owners' records."),
        ("hinge, unnamed labels", "mean hinge loss (with the charge for large parameters) over"),
        (
            "logistic",
            "mean logistic loss (with the charge for large parameters) over all owners' records, not the share of",
        ),
    ],
)
def test_what_error_means_is_said(case, error):
    assert f"Error means the {error}" in told(CASES[case], "model")
    assert error.split(" over")[0] + " of the best possible model (" in told(CASES[case], "trust")


@pytest.mark.parametrize(
    ("case", "trained", "plan"),
    [
        (
            "agreeing",
            "every owner answers in every round, and the steps shrink with the root",
            "averaged, T = 4, weights by records",
        ),
        (
            "asynchronous",
            "owners answer one at a time, as random clocks tick",
            "asynchronous, T = 300 ticks, weights by",
        ),
        ("sgd1", "each round asks one owner about one record", "sgd1, T = 1,000, gaussian (pld) noise"),
        ("sgd2", "every owner answers in every round with the sum", "sgd2, T = 4, weights by records, laplace noise"),
        (
            "weighted",
            "every owner trains alone with noise, and the models are averaged once",
            "weighted, T = 4 local steps, equal",
        ),
        ("adassp", "every owner answers once, with noisy sums", "adassp, T = 1, gaussian (pld) noise"),
        (
            "precision",
            "each owner's answer counts by its precision",
            "averaged, T = 4, weights by precision, laplace noise",
        ),
        (
            "best",
            "Gaussian noise, whose cost over all answers is counted exactly at δ",
            "gaussian (pld) noise (the best of those compared)",
        ),
        ("printed", "Gaussian noise, as much as the paper's formula says", "sgd1, T = 4, gaussian (printed) noise"),
    ],
)
def test_how_the_model_is_trained_is_told(case, trained, plan):
    assert trained in told(CASES[case])
    assert plan in how.plan_line(CASES[case])


def test_synchronous_training_is_told():
    made = result(forecast__algorithm="synchronous")
    assert (
        "every owner answers in every round, and the steps shrink with the rounds (synchronous)"
        in how.training_words(made)
    )


def test_the_noise_in_words():
    def noise(named, **changes):
        return how.noise_words(result(protocol__mechanism=named, **changes))

    assert noise("laplace") == "Laplace noise, whose budget is split evenly over all answers"
    assert noise("laplace (pld)") == "Laplace noise, whose cost over all answers is counted exactly"
    assert noise("gaussian (printed)") == "Gaussian noise, as much as the paper's formula says"
    assert noise("gaussian (zcdp)") == "Gaussian noise, whose cost over all answers is bounded by zCDP"
    assert noise("laplace (pld)", scenario__learning__mechanism="best").endswith(
        "chosen because it promises the best model"
    )
    assert noise(None, scenario__learning__mechanism="best").startswith("whichever noise")


@pytest.mark.parametrize(
    ("case", "bounds", "never"),
    [
        ("agreeing", "a record counts up to 4.2 (sum of absolute inputs), its target up to 6 from", "root of"),
        (
            "best",
            "(root of summed squares of inputs), its target up to 6 from the starting model; the parameters together",
            "each",
        ),
        ("logistic", "a record counts up to 4.2 (sum of absolute inputs); each parameter moves", "target"),
        ("network", "a record's gradient counts up to 4.2 (sum of absolute entries); each parameter", "target"),
        ("adassp", "its target up to 6 from the starting model. Training: adassp, 1 answer, start at", "gradients"),
        ("asks nothing", "Training: none, the learner keeps its own model.", "step size"),
        ("asynchronous", "Training: asynchronous, 300 ticks, step size 0.31", "rounds"),
    ],
)
def test_bounds_and_plan_in_the_small_print(case, bounds, never):
    words = told(CASES[case], "small-print")
    assert bounds in words and never not in words
