"""Money to the cent: whatever is owed, amounts sum to the total that is named."""

import numpy as np
import pytest

from learning.money import format_cents
from learning.rounding import round_payments, round_to_cent


@pytest.mark.parametrize("seed", range(20))
def test_rounded_payments_sum_to_the_rounded_total_and_none_is_a_cent_off(seed):
    rng = np.random.default_rng(seed)
    given = rng.gamma(1.0, 400.0, size=int(rng.integers(1, 60))) + 0.01
    found = round_payments(given)
    assert round(sum(found), 2) == pytest.approx(round(float(given.sum()), 2), abs=1e-9)
    assert np.abs(np.array(found) - given).max() < 0.01
    assert all(amount == round(amount, 2) for amount in found)


def test_shown_amounts_add_up_digit_by_digit():
    found = round_payments([533.3333, 400.0, 320.0])
    shown = [float(format_cents(amount).replace(",", "")) for amount in found]
    assert f"{sum(shown):,.2f}" == format_cents(round_to_cent(sum(found))) == "1,253.33"


@pytest.mark.parametrize("amounts", [[1e-5, 3.0], [np.inf, 1.0], [1e13, 1.0]])
def test_amounts_that_are_not_counted_in_cents_stay_as_they_are(amounts):
    assert round_payments(amounts) == amounts
