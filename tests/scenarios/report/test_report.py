"""The report: what it says in each case, that it stands alone, and that names cannot break it."""

import json
import math
import re
import shutil
import xml.etree.ElementTree as ElementTree
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from result_folders import NAMES, calibrated, result, without_questions, write

from learning.privacy.laplace import Laplace
from learning.privacy.promises import promises
from scenarios.command.console import print_result, summary_lines
from scenarios.command.terminal import plain as terminal
from scenarios.report import sentences_learning as how
from scenarios.report import sentences_market as market
from scenarios.report import sentences_model as model
from scenarios.report import sentences_money as money
from scenarios.report import sentences_offer as offer
from scenarios.report import sentences_privacy as privacy
from scenarios.report.page import FIGURES, render, write_report
from scenarios.report.wording import between, number, percent, small

MANY = tuple(f"Hospital {i:02d}" for i in range(86))
VOID = {"meta", "link", "br", "hr", "img", "input"}
DISAGREEING = {
    "validation__agrees": False,
    "validation__relative_fitness__mean": 0.289,
    "validation__explanation": [
        {
            "cause": "outside_interval",
            "mean": 0.289,
            "point": 0.021,
            "interval": [0.014, 0.031],
            "edge": 0.031,
            "amount": 0.258,
        },
        {"cause": "bias_differs", "amount": 0.2},
        {"cause": "noise_differs", "amount": -0.05},
        {"cause": "best_error_differs", "pooled": 21.4, "forecast": 14.3},
        {"cause": "public_sample_by_chance", "p_value": 0.42},
        {"cause": "unexplained", "amount": 0.012, "projected": 0.031},
    ],
}
WORSE = {
    "outside_option__relative_fitness": 0.015,
    "outside_option__measured": 0.016,
    "learner__gross_value": -600.0,
    "learner__surplus": -2600.0,
    "learner__buying_pays": False,
}
BELOW = {
    "forecast__relative_fitness": -0.02,
    "forecast__bias": -0.03,
    "forecast__noise": 0.01,
    "forecast__interval": [-0.05, 0.01],
    "validation__relative_fitness__mean": -0.021,
}
TINY = -7.2e-16
NOTHING = {
    "claims": [],
    "forecast__horizon": 1,
    "forecast__step_size": 0.0,
    "forecast__relative_fitness": TINY,
    "forecast__bias": TINY,
    "forecast__noise": 0.0,
    "forecast__interval": [TINY, TINY],
    "outside_option__relative_fitness": TINY,
    "outside_option__interval": [TINY, TINY],
    "outside_option__measured": 4.9e-15,
    "learner__gross_value": 0.0,
    "learner__surplus": -2000.0,
    "learner__buying_pays": False,
    "validation__relative_fitness": dict.fromkeys(("mean", "q05", "q25", "median", "q75", "q95"), 4.9e-15)
    | {"std_error": 0.0},
    "validation__z_score": None,
}
WRONG = {
    "records": 400,
    "error_trained": 0.071,
    "error_nonprivate": 0.069,
    "error_outside": 0.083,
    "error_guessing": 0.0775,
}
GAUSSIAN_NOISE = {"scenario__learning__mechanism": "gaussian", "scenario__learning__delta": 1e-6}
CLAIMS = [claim | {"mechanism": "gaussian (pld)", "delta": 1e-6} for claim in result()["claims"]]
GAUSSIAN = {**GAUSSIAN_NOISE, "claims": CLAIMS, "protocol__mechanism": "gaussian (pld)"}
LOOKERS = {"the learner, who picks": 9.5, "anyone who does not know the picks": 1.2}
PRINTED = [
    claim
    | {"mechanism": "gaussian noise as MP prints it for epsilon = 3.21; exact", "protects_against": who, "epsilon": e}
    for claim in CLAIMS
    for who, e in LOOKERS.items()
]
CASES = {
    "agreeing": result(),
    "disagreeing": result(**DISAGREEING),
    "no training": result(validation=None),
    "one owner": result(("Only Clinic",)),
    "many": result(MANY, epsilon=np.geomspace(0.01, 10, 86)),
    "ends": result(epsilon=[0.0, math.inf, 2.0]),
    "nobody": result(
        epsilon=0.0, learner__payments=0.0, learner__surplus=0.0, learner__gross_value=0.0, learner__buying_pays=False
    ),
    "all open": result(epsilon=math.inf),
    "oracle": result(forecast__basis="oracle", data__public_rows=0),
    "no end": result(
        equilibrium__converged=False,
        equilibrium__reason="not converged",
        equilibrium__max_regret=12.5,
        equilibrium__max_relative_regret=0.2,
        equilibrium__iterations=1000,
    ),
    "cycle": result(equilibrium__converged=False, equilibrium__reason="cycle found", equilibrium__max_regret=3.0),
    "jump": result(equilibrium__converged=False, equilibrium__reason="no best response (jump at 0)"),
    "several": result(equilibrium__reason="several", equilibrium__distinct=[[3.21] * 3, [0.01] * 3]),
    "worse": result(**WORSE),
    "too dear": result(learner__payments=9000.0, learner__surplus=-1200.0, learner__buying_pays=False),
    "asks nothing": without_questions(),
    "projection": result(forecast__projection_may_bind=True, validation__projected=0.031, validation__z_score=-9.0),
    "holdout": result(
        validation__holdout={
            "records": 9003,
            "mse_trained": 5.14,
            "mse_nonprivate": 5.13,
            "mse_outside": 5.17,
            "variance": 19.3,
        }
    ),
    "unknown numbers": result(
        welfare__price_of_anarchy=None,
        welfare__total=-5.0,
        validation__z_score=None,
        equilibrium__max_relative_regret=None,
        forecast__interval=None,
        forecast__oracle=None,
        outside_option__measured=None,
        outside_option__interval=None,
    ),
    "logistic": calibrated(),
    "hinge, unnamed labels": calibrated("hinge", data__labels=None, scenario__data__positive=1.0),
    "hinge, nothing to gain": calibrated("hinge", **NOTHING),
    "network": calibrated("network"),
    "network below the best found": calibrated("network", **BELOW),
    "labels held out": calibrated(validation__holdout=WRONG),
    "rehearsed on pooled records": calibrated(forecast__basis="oracle", data__public_rows=0),
    "rehearsed, no training": calibrated(validation=None),
    "asynchronous": calibrated("squared", "asynchronous", forecast__horizon=300),
    "sgd1": calibrated("squared", "sgd1", forecast__horizon=1000, **GAUSSIAN),
    "sgd2": calibrated("logistic", "sgd2"),
    "weighted": calibrated("logistic", "weighted", scenario__learning__weights="equal"),
    "adassp": calibrated("squared", "adassp", forecast__horizon=1, forecast__step_size=1.0, **GAUSSIAN),
    "precision": result(scenario__learning__weights="precision"),
    "best": result(**GAUSSIAN | {"scenario__learning__mechanism": "best"}),
    "printed": calibrated(
        "logistic",
        "sgd1",
        claims=PRINTED,
        protocol__mechanism="gaussian (printed)",
        warnings=[{"cause": "weaker_than_sold", "epsilon": 9.5, "sold": 3.21}],
        **GAUSSIAN_NOISE,
    ),
}


class Balanced(HTMLParser):
    """Fails on tags that do not match, and keeps ids and the text shown."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "svg"} & set(self.open):
            self.words.append(data)


DRAWN_FROM = ("owners", "scenario", "forecast", "outside_option", "validation")  # what figures show of a result
drawn: dict[str, Path] = {}


def page(made, tmp_path) -> str:
    """The report of a result; what has been drawn for another with the same owners and forecast is not drawn again."""
    folder, key = write(tmp_path / "r", json.loads(json.dumps(made))), json.dumps([made[part] for part in DRAWN_FROM])
    if key in drawn and drawn[key] != folder / "figures":
        shutil.copytree(drawn[key], folder / "figures", dirs_exist_ok=True)
    text = write_report(folder).read_text(encoding="utf-8")
    drawn[key] = folder / "figures"
    return text


def shown(made, tmp_path) -> str:
    """The text of a report as read, hard spaces as spaces."""
    parser = Balanced()
    parser.feed(page(made, tmp_path))
    return plain(" ".join(parser.words))


def told(made, section: str = "") -> str:
    """The text of a report, or of one of its sections without its heading, around drawings that are left blank."""
    text = render(json.loads(json.dumps(made)), dict.fromkeys(FIGURES, ""), "")
    if section:
        text = text.split(f'<section id="{section}"')[1].split("</h2>", 1)[1].split("</section>")[0]
    parser = Balanced()
    parser.feed(text)
    return plain(" ".join(parser.words))


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", unescape(text)).strip()


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=pytest.mark.slow if i % 6 else ()) for i, case in enumerate(CASES)]
)
def test_every_report_is_well_formed_and_needs_nothing_else(case, tmp_path):
    text = page(CASES[case], tmp_path)
    parser = Balanced()
    parser.feed(text)
    assert parser.open == [] and len(parser.ids) == len(set(parser.ids))
    assert "<script" not in text and "http://" not in text and "https://" not in text
    for tag, name, value in parser.attributes:
        assert not name.startswith("on")
        if name in ("href", "src", "xlink:href", "action", "data"):
            assert value.startswith("#") and value[1:] in parser.ids or (tag, value) == ("link", "data:,")
    assert all(target in parser.ids for target in re.findall(r"url\(#([^)]+)\)", text))
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ElementTree.fromstring(svg)
    words = plain(" ".join(parser.words))
    assert not re.search(r"\b(nan|None|inf|NaN|True|False)\b", words), words
    for title in (
        "What was asked",
        "Who sells what",
        "Did the market settle?",
        "What model comes out",
        "Can the forecast be trusted?",
        "What exactly is promised to whom",
        "Small print",
    ):
        assert title in words


def test_the_headline_answers_who_sells_what_comes_out_held_it_does_it_pay(tmp_path):
    text = shown(result(epsilon=[1.0, 2.0, 3.0]), tmp_path)
    assert (
        "Aurora Health sells a privacy budget ε of 1 for 667, Beacon Mutual 2 for 667 and Cedar Life 3 for 667: "
        "2,000 in all."
    ) in text
    assert (
        "The model that comes out makes 2.21 % more error than the best possible model on average; the learner's own, "
        "without buying, 11 % more."
    ) in text
    assert "Training confirms the forecast of 1.4 to 3.1 %." in text
    assert (  # 100,000 (0.11 - 0.0221), less 2,000
        "Buying pays: measured on all records, the better model is worth 8,790 to the learner, 6,790 more than it pays. "
        "The forecast promised a gain of 5,800 (between 700 and 9,400; chance to pay 97 %). "
        "No single training loses money; nine in ten come to between 5,600 and 7,800."
    ) in text
    assert "Learner's gain after paying 6,790 buying pays, measured; forecast 5,800; 0 % of trainings lose" in text
    assert "measured; forecast 2.1 %; learner alone 11 %" in text


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


def test_before_training_the_gain_is_told_by_the_forecast():
    def untrained(**changes):
        return money.does_buying_pay(result(validation=None, **changes))

    pays = "Buying pays: the better model is worth 7,800 to the learner, 5,800 more than it pays."
    assert untrained(learner__gain=None) == pays and untrained().startswith(
        f"{pays} As far as the public rows can tell"
    )
    assert "Learner's gain after paying 5,800 buying pays" in told(result(validation=None))
    assert "Buying does not pay: the model is worse than the one the learner has for nothing" in untrained(**WORSE)
    too_dear = {"learner__payments": 9000.0, "learner__surplus": -1200.0, "learner__buying_pays": False}
    assert "worth 7,800 to the learner, less than the 9,000 it pays" in untrained(**too_dear)
    assert "Learner's loss after paying −1,200 a loss" in told(result(validation=None, **too_dear))
    assert "noise would drown" in money.does_buying_pay(CASES["asks nothing"])


def test_a_loss_that_was_promised_as_a_gain_is_called_and_coloured_a_loss():
    made = result(outside_option__measured=0.04)
    assert made["validation"]["agrees"] and not made["validation"]["agrees_on_money"]
    text = told(made)
    assert (  # 100,000 (0.04 - 0.0221), less 2,000
        "Buying is a loss: measured on all records, the better model is worth 1,790 to the learner, 210 less than it pays. "
        "The forecast promised a gain of 5,800 (between 700 and 9,400; chance to pay 97 %), which did not come true. "
        "17 % of single trainings lose money; nine in ten "
        "come to between −1,400 and 800."
    ) in text
    assert "Buying pays" not in text and "buying pays" not in text
    assert "Learner's loss after paying −210 a loss, measured; forecast 5,800; 17 % of trainings lose" in text
    page = render(made, dict.fromkeys(FIGURES, ""), "")
    assert '<div class="loss">' in page and '<p class="loss">Buying is a loss' in page
    assert 'class="loss"' not in render(result(), dict.fromkeys(FIGURES, ""), "")
    lines = terminal(" ".join(" ".join(summary_lines(made)).split()))
    assert "it pays, by the forecast" in lines
    assert "measured, buying is worth 1,790, costs 2,000: A LOSS of 210 17 % of single trainings lose money" in lines
    assert "forecast and training agree; on money they DISAGREE" in lines


def test_a_model_that_is_no_better_is_told_with_both_errors():
    text = plain(money.does_buying_pay(result(**DISAGREEING)))
    assert text.startswith(
        "Buying is a loss: measured on all records, the trained model makes 28.9 % more error than the best possible model, "
        "the learner's own 11 % more, so 2,000 are paid for nothing better."
    )


def test_an_owner_that_loses_is_shown_in_the_colour_of_a_loss_and_as_trained_where_it_uses_the_model():
    made = result()
    made["owners"][1] |= {"benefit": 40.0, "surplus": -12.5}
    made["validation"]["money"]["owners"][1]["surplus"] = -33.0
    page = render(made, dict.fromkeys(FIGURES, ""), "")
    assert '<td class="n loss">−12.5</td><td class="n loss">−33</td>' in page and "As trained" in page


def test_results_of_earlier_versions_have_no_money_measured():
    made = result()
    del made["validation"]["money"], made["validation"]["agrees_on_money"]
    assert "5,800 more than it pays" in told(made)
    assert not any("money" in line for line in summary_lines(made))


def test_where_nothing_is_asked_nothing_is_said_to_be_sold_lost_or_paid():
    made = without_questions()
    text = told(made)
    assert "3 of 3 owners offer a privacy budget ε of 3.21, and the learner asks nothing of anybody." in text
    assert "Nothing is asked, so nothing leaks, and the 2,000 promised for answers are not paid." in text
    assert "Privacy budget ε offered 3.21 nothing is asked Paid in all 0 nothing is asked" in text
    assert (
        "total: nothing is asked" in text
        and "the common one" not in text
        and "sells a" not in text
        and "an even guess about a record" not in text
    )
    assert "Learner's gain after paying 0 buying does not pay" in text
    assert "not paid" in terminal(" ".join(summary_lines(made)))
    made["learner"] |= {"payments": 2000.0, "surplus": -2000.0}
    assert "2,000 are paid all the same, as the policy says." in money.does_buying_pay(made)


def test_one_seller_and_many_sellers_and_none():
    assert market.who_sells(CASES["one owner"]) == "Only Clinic sells a privacy budget ε of 3.21 for 2,000."
    assert (
        market.who_sells(CASES["many"]) == "All 86 owners sell privacy budgets ε between 0.01 and 10, for 2,000 in all."
    )
    assert market.who_sells(CASES["nobody"]).startswith("No owner sells anything")


@pytest.mark.slow
def test_what_has_no_noise_is_never_called_private(tmp_path):
    made = result(epsilon=[0.0, math.inf, 2.0])
    assert market.who_sells(made) == (
        "Beacon Mutual shares its records without protection for 667 and Cedar Life sells a "
        "privacy budget ε of 2 for 667: 2,000 in all; Aurora Health shares nothing."
    )
    promises = told(made, "promised")
    assert "Sharing without protection (ε = ∞, no noise): Beacon Mutual. Nothing is promised" in promises
    assert "Sharing nothing (ε = 0): Aurora Health." in promises
    text = shown(CASES["all open"], tmp_path)
    assert "No promise is made to anyone." in text and "sells a privacy" not in text


@pytest.mark.slow
def test_claims_are_listed_with_unit_adjacency_rounds_mechanism_and_against_whom(tmp_path):
    text = shown(result(), tmp_path)
    assert (
        "Aurora Health one record replace one record 3.21 0 4 laplace, simulated anyone who sees all of the owner's "
        "answers"
    ) in text
    assert "Simulation, not for release" in text
    assert "Simulation, not for release" not in shown(CASES["asks nothing"], tmp_path)


@pytest.mark.parametrize(("epsilon", "sure"), [(0.5, 0.622459), (1.0, 0.731059), (3.0, 0.952574)])
def test_protection_in_words_is_the_posterior_of_an_even_guess(epsilon, sure):
    """Bayes with likelihood ratio e^epsilon and even odds."""
    assert sure == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)), rel=1e-5)
    assert f"at most {percent(sure)} sure" in privacy.protection(epsilon)


def test_under_delta_protection_is_told_by_what_comes_with_the_promise():
    """At (1, 1e-6) under exact Gaussian accounting e/(1 + e) = 73.1 % was said, which 27 delta exceed; 77 % is true."""
    told_of = {"epsilon": 1.0, "delta": 1e-6, "mechanism": "gaussian (pld)", "surest": 0.7704, "but_for": 1e-6}
    made = result(epsilon=1.0, **GAUSSIAN_NOISE)
    made["claims"] = [claim | told_of for claim in made["claims"]]
    assert set(map(privacy.promised, privacy.weakest_promises(made).values())) == {
        f"strong: an even guess about a record becomes at most {percent(0.7704)} sure"
    }
    text = plain(told(made))
    assert "can come to hold one for 70 % likely, not more, but for a chance of 1 × 10⁻⁶." in text
    assert "73.1" not in text and "but for probability" not in text and "and δ on top" in text
    earlier = [{key: claim[key] for key in claim if key not in ("surest", "but_for")} for claim in made["claims"]]
    allowed = percent((math.e + 0.5) / (1 + math.e))  # what any (1, delta) mechanism keeps but for 2 delta
    assert f"at most {allowed} sure" in privacy.promised(
        privacy.weakest_promises(made | {"claims": earlier})["Cedar Life"]
    )
    assert privacy.exceptions(privacy.weakest_promises(made | {"claims": earlier})).endswith("2\u00a0×\u00a010⁻⁶")
    assert "κ = 1" in text and privacy.exceptions(privacy.weakest_promises(result())) == ""


def test_joint_promises_stand_beside_each_owners_and_are_those_that_count():
    """Budgets 1.664, 1.152, 0.384 of one record's three owners: 1.067 for all of them, and not 0.384 for the last."""
    sold = np.array([1.664, 1.152, 0.384])
    made = result(epsilon=sold)
    made["claims"] = [vars(one) for one in promises(Laplace(overlap=3), list(NAMES), [9] * 3, sold, 2, "one record")]
    text = plain(told(made))
    assert text.count(f"becomes at most {plain(percent(0.74396))} sure") == 3 and "59.5" not in text
    assert "A record may sit with 3 owners (κ). Who sees all their answers learns of it as at ε = 1.07" in text
    assert "Cedar Life one record replace one record at all of up to 3 owners 1.07 0 2" in text
    assert privacy.weaker_than_sold(made) == "" == privacy.published_noise(made)
    assert privacy.joint_promises(result()) == ""
    alone = [claim for claim in made["claims"] if not claim["joint"]]
    assert "who adds no noise is not protected" in privacy.joint_promises(made | {"claims": alone})


def test_protection_in_words_at_the_ends_and_in_order():
    assert "nothing is shared" in privacy.protection(0.0)
    assert "without protection" in privacy.protection(math.inf)
    assert "all but certain" in privacy.protection(9.0)
    strengths = [privacy.protection(e).split(":")[0] for e in (0.1, 1, 3, 8, 9)]
    assert strengths == ["very strong", "strong", "moderate", "weak", "very weak"]


def test_a_certified_market_says_how_it_is_known():
    assert told(result(), "settled").startswith(
        "Yes: after 5 rounds of moves no owner wants to change its choice. From 16 starting points, no other "
        "equilibrium was found. An independent search over each owner's whole interval finds that the most any "
        "owner could still gain by moving alone is less than 0.001 (less than 0.001 % of what it has at "
        "stake near its best choice)."
    )


@pytest.mark.slow
def test_no_end_a_cycle_and_several_equilibria_are_stated_plainly(tmp_path):
    text = told(CASES["no end"], "settled")
    assert text.startswith("No: after 1,000 rounds the owners were still moving.")
    assert "could still gain by moving alone is 12.5" in text
    assert "No: the owners keep circling" in told(CASES["cycle"], "settled")
    text = shown(CASES["no end"], tmp_path)
    assert "The market did not settle" in text and "they did not come to rest" in text and "nobody wants" not in text
    text = shown(CASES["several"], tmp_path)
    assert "Yes, but not in one way only" in text and "2 equilibria" in text
    assert "Aurora Health 0.01, Beacon Mutual 0.01, Cedar Life 0.01" in text


@pytest.mark.slow
def test_welfare_and_price_of_anarchy_in_words():
    assert "would reach 7,100, 7.58 % more (price of anarchy 1.076)" in told(result(), "settled")
    loose = result(welfare__optimum_at_most=7300.0, welfare__price_of_anarchy_at_most=7300 / 6600)
    assert "No choice whatever can exceed 7,300, a price of anarchy of 1.106." in told(loose, "settled")
    unknown = result(welfare__optimum_at_most=None, welfare__price_of_anarchy_at_most=None)
    assert "how much better another could be is not known here" in told(unknown, "settled")
    best = result(welfare__optimum=6600.0, welfare__optimum_at_most=6600.0, welfare__price_of_anarchy=1.0)
    assert "No central choice of all budgets would do better." in told(best, "settled")
    assert "loss of 5" in told(CASES["unknown numbers"], "settled")
    assert "is not defined" in told(CASES["unknown numbers"], "settled")


def test_the_basis_of_the_forecast_is_named():
    assert "the learner's own 150 records and public facts only" in told(result(), "model")
    assert "the learner is assumed to know it" in told(CASES["oracle"], "model")


def test_a_projection_that_may_bind_is_warned_of():
    assert "Caution: the noise reaches the edge" in told(CASES["projection"], "trust")
    assert "3.1 % of the coordinates were moved back" in told(CASES["projection"], "trust")
    assert "Caution" not in told(result())


def test_non_private_access_is_named():
    assert "Measured with non-private access, which no party to the market has" in told(result(), "trust")


def test_what_was_left_out_is_told():
    made = result(
        data__dropped_rows=2284,
        data__left_over_rows=1,
        data__constant_columns=["grade"],
        data__owners_left_out=["Small Bank"],
        data__filled_cells=3,
        data__source="/home/someone/loans.csv",
        privileged={"data.filled_cells": "measured"},
    )
    assert told(made, "small-print").startswith(
        "20,190 rows read from loans.csv. 2,284 rows of the public ones dropped for missing values. 1 row left over, given "
        "to nobody. 3 cells are missing from the owners' records, or not what the public rows show of the column (counted by "
        "the simulator's privilege): filled from the public rows. "
        "Dropped because they do not vary in the public rows: grade. Left out for too few records: Small Bank."
    )
    assert "Under privileged it marks every number that the owners' records decide" in told(made, "small-print")


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"kind": "posted", "price": 2.0, "per": "bit"}, "a fixed price: 2 per record and bit"),
        (
            {"kind": "proportional", "budget": 2000.0, "basis": "epsilon"},
            "2,000 in all, shared out in proportion to privacy",
        ),
        ({"kind": "marginal", "share": 0.6, "reference": "absent"}, "60 % of what the model gains"),
        ({"kind": "auction", "reserve": 3}, "under the policy auction (reserve = 3)"),
    ],
)
def test_policies_in_words(policy, words):
    assert words in plain(offer.policy_words(policy))


def test_whether_the_model_beats_the_owners_own_is_told():
    made = result()
    assert told(made, "sells").startswith("As trained, for no owner that sells is the common model better")
    made["owners"][0]["gains"] = True
    assert "own model of 1 of the 3 owners" in told(made, "sells")
    for owner in made["owners"]:
        owner["gains"] = True
    assert "better than what any seller could train" in told(made, "sells")


def test_owners_with_limits_and_prices_of_their_own():
    assert "limits of its own, 0.1 to 5" in offer.choice_words([[0.1, 2.0], [0.5, 5.0]])
    assert offer.amount([300.0, 550.0]) == "300 to 550 (each owner its own)"


@pytest.mark.slow
def test_many_owners_fold_away_behind_the_best_paid(tmp_path):
    text = page(CASES["many"], tmp_path)
    assert "The other 74 owners" in text and all(name in text for name in MANY)


def test_a_page_lists_some_hundred_owners_and_says_where_the_others_stand():
    made = result(tuple(f"Owner {i:04d}" for i in range(1000)))
    text = told(made, "sells")
    assert text.count("Owner 0") == 300
    assert "The next 288 owners" in text and "The other 700 owners stand in owners.csv only." in text


def test_malicious_names_are_shown_and_not_obeyed(tmp_path):
    bad = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7 * 7 }} & </svg><b>")
    made = result(bad, title="<script>x</script>", data__target="<i>y</i>")
    text = page(made, tmp_path)
    parser = Balanced()
    parser.feed(text)
    assert (
        parser.open == [] and "<script" not in text and "<img" not in text and "<b>" not in text and "<i>" not in text
    )
    assert not any(name.startswith("on") for _, name, _ in parser.attributes)
    words = "".join(parser.words)
    assert bad[0] in words and bad[2] in words


@pytest.mark.slow
def test_a_report_is_the_same_twice_and_comes_from_saved_files_alone(tmp_path):
    folder = write(tmp_path / "r", result())
    first = write_report(folder).read_bytes()
    assert write_report(folder).read_bytes() == first
    (folder / "figures" / "forecast.svg").unlink()
    assert "Forecast, training and the learner" not in write_report(folder).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_resolved_scenario_is_there_but_folded(tmp_path):
    text = page(result(), tmp_path)
    assert re.search(r"<details><summary>The scenario in full.*?seed = 1", text, re.DOTALL)
    assert "ab" * 32 in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0, "0"),
        (-0.0, "0"),
        (999.96, "1,000"),
        (0.00099996, "0.001"),
        (123456789, "123,000,000"),
        (-1234.5, "−1,230"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (1e-300, "1 × 10⁻³⁰⁰"),
        (1e300, "1 × 10³⁰⁰"),
        (2.50, "2.5"),
    ],
)
def test_numbers_for_people(value, text):
    assert plain(number(value)) == text


def test_small_numbers_percentages_and_intervals():
    assert small(1e-12) == small(0.0) == "less than 0.001" and small(0.5) == "0.5"
    assert plain(percent(0.0)) == "0 %" and plain(percent(2e-9)) == "less than 0.001 %" and percent(None) == "–"
    assert plain(between(0.01, 0.025, percent)) == "1 to 2.5 %" and between(None, None) == "–"


def test_the_published_bound_stands_beside_the_law():
    two = result(forecast__published_bound={"theorem": "Theorem 2", "excess": 0.0355}, forecast__excess=0.153)
    words = model.published_bound(two["forecast"])
    assert "Theorem 2" in words and "0.0355" in words and "0.153" in words and words in told(two, "small-print")
    three = result(forecast__published_bound={"theorem": "Theorem 3", "constant": 8.65})
    words = model.published_bound(three["forecast"])
    assert "leaves its constant open" in words and "8.65" in words
    assert model.published_bound({"published_bound": None}) == ""


@pytest.mark.slow
def test_warnings_stand_with_the_promises(tmp_path):
    folder = write(tmp_path / "r", result(warnings=[{"cause": "large_delta", "delta": 0.5, "records": 6680}]))
    page = write_report(folder).read_text(encoding="utf-8")
    promised = page[page.index('id="promised"') :]
    assert "delta = 0.5 is not below one over the 6,680 records of the smallest owner" in promised


def test_the_kind_of_game_is_told_as_far_as_samples_go():
    assert market.kind_of_game(result()) == ""
    made = result(equilibrium__diagnosis={"dominance_solvable": True, "potential_game": False, "contraction": False})
    assert market.kind_of_game(made) == (
        "Samples of the game suggest: whatever the others do, sensible choices narrow down to this one outcome."
    )
    assert market.kind_of_game(result(equilibrium__diagnosis=None)) == ""


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
        "The owners' first answers differ by more than noise and chance (p = 0.001): not of one kind."
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


def test_what_owners_could_train_alone_is_unknown_where_it_was_not_fitted():
    case = result(owners=[owner | {"isolated_relative_fitness": None} for owner in result()["owners"]])
    assert "What model each owner could train on its own is not known here." in told(case, "sells")
    assert market.own_model(case["owners"][0]) == "–"
    assert "the common one is worse" in market.own_model(CASES["logistic"]["owners"][0])


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


def test_held_out_labels_are_counted_wrong_or_right():
    assert (
        "On 400 fresh records that nobody trained on, the share of wrong labels is 7.1 % for the trained model, 8.3 % for "
        "the learner's own, 6.9 % for the best possible, and 7.75 % for always guessing the more frequent label. "
        "Measured"
    ) in told(CASES["labels held out"], "trust")
    guessing = WRONG | {"error_trained": 0.0775}
    assert "the model is no better than guessing. Measured" in told(calibrated(validation__holdout=guessing), "trust")
    assert "mean squared error is 5.14 for the trained model" in told(CASES["holdout"], "trust")


def test_rounding_is_not_shown_as_an_error():
    text = told(CASES["hinge, nothing to gain"])
    assert "no more error than the best possible model" in text and "confirms the forecast of 0 %" in text
    assert "10⁻" not in text and "−" not in text.replace("surplus −", "").replace("−2,000", "")
    assert plain(percent(-7e-16)) == plain(percent(4.9e-15)) == "0 %" and plain(percent(-0.021)) == "−2.1 %"


def test_nothing_asked_is_told_by_the_step_and_not_by_the_rounds():
    assert market.asks_nothing(CASES["asks nothing"]) and not market.asks_nothing(CASES["adassp"])
    text = told(CASES["asks nothing"])
    assert "nothing was trained, and the model kept, measured on all records, is at 11 %" in text
    assert "trainings with fresh noise" not in text
    assert "single trainings" not in text and "single trainings" in told(result())
    assert how.plan_line(CASES["asks nothing"]) == "nothing is asked: no answer is worth its noise"


def test_every_promise_to_an_owner_is_shown_and_the_weakest_counts():
    case = CASES["printed"]
    text = told(case)
    assert text.count("as MP prints it") == len(case["claims"]) == 6 and all(text.count(who) == 3 for who in LOOKERS)
    assert "has one against each kind of onlooker" in text
    assert text.count("ε is 9.5 where 3.21 was sold") == 2  # at the top and beside the promises
    assert "very weak: an even guess about a record becomes all but certain" in text  # at 9.5, not at 3.21
    assert privacy.weaker_than_sold(CASES["best"]) == privacy.published_noise(CASES["best"]) == ""
    kept = [claim | {"epsilon": 0.5} for claim in case["claims"]]
    assert privacy.weaker_than_sold(case | {"claims": kept}) == "" and "protects more" in privacy.published_noise(
        case | {"claims": kept}
    )


def test_an_unbounded_promise_is_shown_as_one():
    claims = [claim | {"epsilon": None} for claim in CASES["printed"]["claims"]]
    text = told(CASES["printed"] | {"claims": claims})
    assert "ε is ∞ where 3.21 was sold" in text and "shared without protection" in text and "∞ 1 × 10⁻⁶ 4" in text


@pytest.mark.parametrize(
    ("case", "line"),
    [
        (
            "agreeing",
            "forecast     2.1 % above the best possible mean squared error [1.4 to 3.1 %], public basis, exact law",
        ),
        ("logistic", "above the best possible mean logistic loss [1.4 to 3.1 %], public basis, rehearsed"),
        ("network", "above the best mean logistic loss found [1.4 to 3.1 %]"),
        ("hinge, nothing to gain", "forecast     0 % above the best possible mean hinge loss [0 %]"),
        ("printed", "protects less: against who sees most, epsilon is 9.5 where 3.21 was sold."),
        ("asynchronous", "plan         asynchronous, T = 300 ticks, weights by records, laplace noise"),
        (
            "asks nothing",
            "training     nothing was trained, and the model kept, measured on all records, is at 11 %, inside",
        ),
        (
            "agreeing",
            "training     100 trainings with fresh noise came out at 2.21 % on average, inside the forecast's",
        ),
    ],
)
def test_what_the_terminal_shows(case, line):
    assert line in terminal("\n".join(summary_lines(CASES[case])))


def test_the_terminal_shows_owners_without_protection_and_names_in_brackets(tmp_path, capsys):
    print_result(result(("[red]A", "B", "C"), epsilon=[math.inf, 0.0, 2.0]), tmp_path)
    rows = capsys.readouterr().out.splitlines()
    assert rows[2].split()[:3] == ["[red]A", "6,680", "inf"] and rows[3].split()[:3] == ["B", "6,680", "0"]


def test_a_folder_without_its_scenario_file_shows_what_the_result_says_of_it(tmp_path):
    folder = write(tmp_path / "r", result())
    (folder / "scenario.toml").unlink(missing_ok=True)
    assert "three insurers" in write_report(folder).read_text(encoding="utf-8").lower()
