"""Page and figure of a comparison: what is drawn of whom, and differences that are none."""

import pytest
from reports import alternative, compared, left_end

from scenarios.report.comparison_page import draw_comparison
from scenarios.report.facts_outcome import unwilling_owners
from scenarios.report.figure_comparison import comparison_figure
from scenarios.report.figure_page import PALETTE
from scenarios.report.phrases import render_phrase


@pytest.mark.parametrize(
    "name", ["policy.budget = 500", "three_insurers of the north and the west"]
)
def test_no_name_of_an_alternative_is_cut_by_the_edge(name):
    assert left_end(comparison_figure, compared(alternative(), alternative(name=name))) >= 0


@pytest.mark.parametrize("others", [("A", "B", "C", "D", "E", "F"), ("B",)])
def test_owners_who_differ_between_alternatives_have_no_colours(others):
    """With more owners in the second, the figure ended in an IndexError."""
    same = draw_comparison(compared(alternative(), alternative()))
    other = draw_comparison(compared(alternative(), alternative(others)))
    assert PALETTE[0] in same and ">A<" in same and ">A<" not in other


def test_a_difference_that_is_rounding_is_told_as_none():
    change = {
        "learner": 3e-13,
        "owners": [-2e-13],
        "treasury": 1e-14,
        "welfare": 1e-13,
        "paired": True,
        "learner_by_world": {"interval": [-1e-13, 4e-13]},
    }
    content = compared(alternative(), alternative(name="b"), differences=[change])
    assert render_phrase("comparison", "against_first", content) == (
        "B instead of a: the learner has as much by the forecast (0 in 90 % of possible worlds); owners "
        "have as much; the treasury takes as much; all together have as much."
    )
    assert "5 (forecast), as much as under b." in render_phrase("comparison", "best", content)


def test_a_surplus_below_nothing_by_less_than_a_millionth_of_the_payment_is_no_loss():
    owner = {"name": "A", "rational": False, "payment": 30.9, "surplus": -7e-6}
    assert unwilling_owners({"owners": [owner, owner | {"name": "B", "surplus": -7e-3}]}) == ["B"]
    assert unwilling_owners({"owners": [owner | {"payment": None}]}) == ["A"]


def test_a_floor_under_payments_names_its_unit_in_words():
    row = alternative(rules={"price_floor": 2.0, "price_floor_per": "record_epsilon"})
    said = render_phrase("comparison", "offer_words", compared(row), row)
    assert "Nobody may be paid less than 2 per record and unit of ε." in said
