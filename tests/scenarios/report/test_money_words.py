"""Money in words: whether buying pays, what was promised, what it came to."""

from reports import CASES, plain, told
from result_folders import result, without_questions

from scenarios.command.console import summary_lines
from scenarios.report.page import FIGURES, render
from scenarios.report.wording import format_percent


def test_an_owner_that_loses_is_shown_in_the_colour_of_a_loss_and_as_trained_where_it_uses_the_model():
    made = result()
    made["owners"][1] |= {"benefit": 40.0, "surplus": -12.5}
    made["validation"]["money"]["owners"][1]["surplus"] = -33.0
    page = render(made, dict.fromkeys(FIGURES, ""), "")
    assert (
        '<td class="n loss">−12.5</td><td class="n loss">−33</td>' in page and "As trained" in page
    )


def test_results_of_earlier_versions_have_no_money_measured():
    made = result()
    del made["validation"]["money"], made["validation"]["agrees_on_money"]
    assert "5,800 more than it pays" in told(made)
    assert not any("money" in line for line in summary_lines(made))


def test_where_nothing_is_asked_nothing_is_said_to_be_sold():
    text = told(without_questions())
    assert "the common one" not in text and "sells a" not in text and "What ε means" not in text


def test_rounding_is_not_shown_as_an_error():
    text = told(CASES["hinge, nothing to gain"])
    assert (
        "no more error than the best possible model" in text
        and "confirms the forecast of 0 %" in text
    )
    assert "10⁻" not in text and "−" not in text.replace("surplus −", "").replace("−2,000", "")
    assert (
        plain(format_percent(-7e-16)) == plain(format_percent(4.9e-15)) == "0 %"
        and plain(format_percent(-0.021)) == "−2.1 %"
    )


def test_a_loss_that_was_promised_as_a_gain_is_coloured_a_loss():
    made = result(outside_option__measured=0.04)
    assert made["validation"]["agrees"] and not made["validation"]["agrees_on_money"]
    page = render(made, dict.fromkeys(FIGURES, ""), "")
    assert '<div class="loss">' in page and '<p class="loss">Buying is a loss' in page
    assert 'class="loss"' not in render(result(epsilon=0.5), dict.fromkeys(FIGURES, ""), "")
