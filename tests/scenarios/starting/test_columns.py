"""Columns as public cells show them: which of them number the rows, and which name owners."""

import numpy as np
import pytest

from scenarios.starting.columns import Column

ROWS = 200  # of the whole table
NUMBERS = "it names rows or persons"


def column(cells, name="amount"):
    return Column(name, np.array(cells, dtype=float), ROWS)


def spread(count, last):
    """Different whole numbers in no order, from 0 to a last one."""
    return np.random.default_rng(0).permutation([*range(count - 1), last])


@pytest.mark.parametrize(
    ("cells", "unfit"),
    [
        (spread(50, ROWS), NUMBERS),
        (spread(50, ROWS + 1), ""),  # further apart than there are rows: amounts
        (spread(49, ROWS), ""),  # too few to tell
        ([*spread(50, ROWS), 3], ""),  # one of them twice
        (spread(50, ROWS) + 5000, NUMBERS),
        (spread(50, ROWS) / 2, ""),  # not whole
    ],
)
def test_numbers_as_close_as_rows_number_them_whatever_they_are_called(cells, unfit):
    one = column(cells)
    assert one.unfit == unfit and one.can_be_target == (not unfit)


def test_numbers_that_are_called_so_number_the_rows_where_most_differ():
    far = 1000 * spread(30, 70)
    assert column(far).unfit == "" and column(far, "claim_no").unfit == NUMBERS
    repeated = np.tile(far[:5], 6)
    assert column(repeated, "claim_no").unfit == ""
    assert column(repeated, "id").unfit == NUMBERS


def test_whole_numbers_under_the_name_of_an_owner_stand_for_names():
    repeated = np.tile([1, 2, 3], 20)
    assert column(repeated, "bank_code").unfit == "codes of owners"
    assert column(repeated, "bank_fee").unfit == ""


@pytest.mark.parametrize("name", ["年齢", "возраст", "ηλικία"])
def test_a_name_in_another_script_says_nothing_against_a_column(name):
    assert column(np.tile([31, 42, 53], 20), name).unfit == ""
