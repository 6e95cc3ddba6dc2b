"""Money in words: whether buying pays, what was promised, what it came to."""

from reports import told
from result_folders import result

from scenarios.command.console import summary_lines
from scenarios.report.page import FIGURES, render
from scenarios.report.phrases import render_phrase


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
    assert "5,800 more than it costs" in told(made)
    assert not any("money" in line for line in summary_lines(made))


def test_a_loss_that_was_promised_as_a_gain_is_coloured_a_loss():
    made = result(outside_option__measured=0.04)
    assert made["validation"]["agrees"] and not made["validation"]["agrees_on_money"]
    page = render(made, dict.fromkeys(FIGURES, ""), "")
    assert '<div class="loss">' in page and '<p class="loss">Buying is a loss' in page
    assert 'class="loss"' not in render(result(epsilon=0.5), dict.fromkeys(FIGURES, ""), "")


def test_a_verdict_says_in_which_direction_the_money_differs():
    made = result(outside_option__measured=0.04)
    money = made["validation"]["money"]["learner_surplus"]
    promised = made["learner"]["surplus"]
    for mean, said in ((promised + 1, "gains more than forecast"), (promised - 1, "gains LESS")):
        money["mean"] = mean
        assert said in render_phrase("model", "verdict_line", made)
    made["validation"]["agrees_on_money"] = True
    assert "forecast;" not in render_phrase("model", "verdict_line", made)


def test_one_end_of_a_break_even_range_states_the_chance_of_its_side():
    """Of 90 % between two ends, 5 % lie beyond either: so 95 % lie above the lower one."""
    found = {"unit": "wrong_label", "amount": 3.0, "interval": [12.0, None], "level": 0.9}
    said = render_phrase("break_even", "reach", found, {"currency": ""})
    assert "a chance of 95\N{NO-BREAK SPACE}% this break-even is at least 12 or does not" in said
    both = render_phrase("break_even", "reach", found | {"interval": [2.0, 5.0]}, {"currency": ""})
    assert both.startswith("With a chance of 90\N{NO-BREAK SPACE}% this break-even lies between 2 ")
