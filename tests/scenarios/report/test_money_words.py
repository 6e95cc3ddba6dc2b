"""Money in words: whether buying pays, what was promised, what it came to."""

from reports import CASES, DISAGREEING, WORSE, plain, shown, told
from result_folders import result, without_questions

from scenarios.command.console import summary_lines
from scenarios.command.terminal import plain as terminal
from scenarios.report import sentences_money as money
from scenarios.report.page import FIGURES, render
from scenarios.report.wording import percent


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
    assert "Learner's gain after paying ✓ 6,790 buying pays, measured; forecast 5,800; 0 % of trainings lose" in text
    assert "better than alone; measured; forecast 2.1 %; learner alone 11 %" in text


def test_before_training_the_gain_is_told_by_the_forecast():
    def untrained(**changes):
        return money.does_buying_pay(result(validation=None, **changes))

    pays = "Buying pays: the better model is worth 7,800 to the learner, 5,800 more than it pays."
    assert untrained(learner__gain=None) == pays and untrained().startswith(
        f"{pays} As far as the public rows can tell"
    )
    assert "Learner's gain after paying ✓ 5,800 buying pays" in told(result(validation=None))
    assert "Buying does not pay: the model is worse than the one the learner has for nothing" in untrained(**WORSE)
    too_dear = {"learner__payments": 9000.0, "learner__surplus": -1200.0, "learner__buying_pays": False}
    assert "worth 7,800 to the learner, less than the 9,000 it pays" in untrained(**too_dear)
    assert "Learner's loss after paying ✗ −1,200 a loss" in told(result(validation=None, **too_dear))
    assert "noise would drown" in money.does_buying_pay(CASES["asks nothing"])


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
        and "What ε means" not in text
    )
    assert "Learner's gain after paying = 0 buying does not pay" in text
    assert "not paid" in terminal(" ".join(summary_lines(made)))
    made["learner"] |= {"payments": 2000.0, "surplus": -2000.0}
    assert "2,000 are paid all the same, as the policy says." in money.does_buying_pay(made)


def test_rounding_is_not_shown_as_an_error():
    text = told(CASES["hinge, nothing to gain"])
    assert "no more error than the best possible model" in text and "confirms the forecast of 0 %" in text
    assert "10⁻" not in text and "−" not in text.replace("surplus −", "").replace("−2,000", "")
    assert plain(percent(-7e-16)) == plain(percent(4.9e-15)) == "0 %" and plain(percent(-0.021)) == "−2.1 %"


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
    assert "Learner's loss after paying ✗ −210 a loss, measured; forecast 5,800; 17 % of trainings lose" in text
    page = render(made, dict.fromkeys(FIGURES, ""), "")
    assert '<div class="loss">' in page and '<p class="loss">Buying is a loss' in page
    assert 'class="loss"' not in render(result(epsilon=0.5), dict.fromkeys(FIGURES, ""), "")
    lines = terminal(" ".join(" ".join(summary_lines(made)).split()))
    assert "it pays, by the forecast" in lines
    assert "measured, buying is worth 1,790, costs 2,000: A LOSS of 210 17 % of single trainings lose money" in lines
    assert "forecast and training agree; on money they DISAGREE" in lines
