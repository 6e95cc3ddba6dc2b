"""Numbers, percentages and intervals as people read them."""

import math

import pytest
from reports import plain

from scenarios.report.wording import format_interval, format_number, format_percent, format_small


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
    assert plain(format_number(value)) == text


def test_small_numbers_percentages_and_intervals():
    assert (
        format_small(1e-12) == format_small(0.0) == "less than 0.001" and format_small(0.5) == "0.5"
    )
    assert (
        plain(format_percent(0.0)) == "0 %"
        and plain(format_percent(2e-9)) == "less than 0.001 %"
        and format_percent(None) == "–"
    )
    assert plain(format_percent(-7e-16)) == plain(format_percent(4.9e-15)) == "0 %"
    assert plain(format_percent(-0.021)) == "−2.1 %"
    assert (
        plain(format_interval(0.01, 0.025, format_percent)) == "1 to 2.5 %"
        and format_interval(None, None) == "–"
    )
