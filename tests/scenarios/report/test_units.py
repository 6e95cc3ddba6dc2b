"""Names and units that the scenario gives: every amount of money has its currency, every column its name."""

import re

import pytest
from reports import alternative, compared
from result_folders import result

from learning.errors import InputError
from scenarios import result as saved
from scenarios.command.console import print_result, summary_lines
from scenarios.opened import Result
from scenarios.report.comparison_page import render_comparison
from scenarios.report.page import render
from scenarios.report.phrases import render_phrase
from scenarios.runner import run
from scenarios.schema.loading import load
from scenarios.studies.comparison import Alternative, compare
from scenarios.tables.dataset import market_data

EUROS = {
    "scenario__currency": "EUR",
    "scenario__labels": {"mdvis": "visits to a doctor, visits a year"},
}


def test_every_sentence_with_money_names_its_currency():
    made = result(**EUROS)
    told = render_phrase("buying", "does_buying_pay", made)
    assert told.count("EUR") == 6 and re.findall(
        r"\d{3}(?! ?EUR)\b(?=[ .;)])", told.replace(chr(160), " ")
    ) == ["700"]
    assert "10,000\N{NO-BREAK SPACE}EUR in all" in render_phrase(
        "offer", "policy_words", {"kind": "proportional", "budget": 1e4}, "EUR"
    )
    cost = {
        "cost": {"kind": "linear", "price": [1.0, 2.0]},
        "epsilon": [0.1, 1.0],
        "fixed_cost": 3.0,
    }
    assert "costs an owner 1 to 2\N{NO-BREAK SPACE}EUR" in render_phrase(
        "offer", "cost_words", cost, "EUR"
    )
    assert "fixed cost of 3\N{NO-BREAK SPACE}EUR" in render_phrase(
        "offer", "cost_words", cost, "EUR"
    )


def test_the_edge_of_refusal_is_told_with_the_currency():
    edge = {"cause": "edge_of_refusal", "learner": "", "payments": 40.0, "sellers": 2}
    made = result(warnings=[edge], **EUROS)
    told = "it pays 40\N{NO-BREAK SPACE}EUR for a model"
    assert render(made, {}, "").count(told) == 2 and told in "".join(summary_lines(made))


def test_the_terminal_says_first_what_money_is_counted_in(tmp_path, capsys):
    print_result(result(**EUROS), tmp_path)
    out = capsys.readouterr().out
    assert out.index("Three insurers (money in EUR)") < out.index("Aurora Health")


def test_a_memo_names_the_currency():
    row = {
        "name": "a",
        "payments": 10.0,
        "scaled": None,
        "trained_gain": None,
        "gain": 5.0,
        "owners": [],
    }
    content = {
        "currency": "USD",
        "aim": {"spending": 10.0, "fitness": None},
        "alternatives": [row, row | {"gain": 2.0}],
    }
    assert render_phrase("comparison", "aim", content).endswith("spends 10\N{NO-BREAK SPACE}USD.")
    assert render_phrase(
        "comparison", "best", content
    ) == "The learner gains most under a: 5 USD (forecast), 3 USD more than under a.".replace(
        " USD", "\N{NO-BREAK SPACE}USD"
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            'currency="euros and cents"',
            'currency: must be a text of at most 12 characters, such as "EUR"',
        ),
        ('currency="\\u001b[1m"', "currency: must be a text"),
        ("currency=3", "currency: must be a text"),
        (
            "labels={mdvis=3}",
            'labels.mdvis: must be a text of at most 100 characters, "Name" or "Name, unit"; found 3',
        ),
        ('labels=["a"]', "labels: must be a table of texts"),
    ],
)
def test_units_that_cannot_be_shown_are_refused(change, told):
    with pytest.raises(InputError) as caught:
        load("three_insurers", [change])
    assert told in str(caught.value)


def test_a_label_for_a_column_that_is_not_there_is_refused():
    with pytest.raises(InputError, match='labels.mdvsi: must name columns.*Did you mean "mdvis"'):
        market_data(load("three_insurers", ['labels={mdvsi="visits"}']))


def test_currencies_are_not_compared():
    scenarios = [
        Alternative(name, load("three_insurers", [f"currency={name}"])) for name in ("EUR", "USD")
    ]
    with pytest.raises(InputError, match="currency.*must be the same.*EUR, USD"):
        compare(scenarios, training=False)


def test_latex_and_the_page_of_a_comparison_have_the_currency():
    opened = Result(saved.Result(result(scenario__currency="$")))
    assert (
        r"payment, \$ & privacy cost, \$" in opened.to_latex()
        and "surplus, $" in opened._repr_html_()
    )
    content = compared(alternative(), alternative(gain=2.0), currency="EUR")
    page = render_comparison(content)
    assert ">Paid in all, EUR<" in page and "learner&#39;s gain, EUR" in page.replace(
        "'s gain", "&#39;s gain"
    )
    assert (
        "the learner has 1\N{NO-BREAK SPACE}EUR more" in page
        and "pays 10\N{NO-BREAK SPACE}EUR in all" in page
    )


def test_the_table_of_errors_has_no_empty_column(tmp_path, capsys):
    print_result(result(), tmp_path)
    trained = capsys.readouterr().out
    print_result(result(validation=None), tmp_path)
    untrained = capsys.readouterr().out
    assert "nine trainings in ten" in trained
    assert "in nine trainings in ten  " not in untrained and "not trained" in untrained


def test_what_is_forecast_stands_beside_what_is_forecast():
    """A forecast error of the market's model is never compared with a measured one of the learner's own."""
    result = run(load("three_insurers", ["market.starts=1"]), training=False)
    ahead, found = result["errors"]["forecast"], result["errors"]["measured"]
    said = render_phrase("errors", "headline", result.content)
    market, own = (f"{ahead[name]:.4g}" for name in ("trained", "outside"))
    assert f"forecast at {market} with the market's model and {own} with the learner's own." in said
    assert (
        own != f"{found['outside']:.4g}"
        and f"true error of the learner's own is {found['outside']:.4g}" in said
    )
    below = render_phrase("errors", "below_the_amount", result.content)
    assert f"learner's own {own}, forecast too" in below
