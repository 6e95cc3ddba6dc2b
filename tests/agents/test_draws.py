"""Draws by seed, purpose, round and owner."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from agents.traders import Draws, as_seed


@pytest.mark.parametrize("m", [1, 3])
def test_owners_at_the_end_change_nobodys_numbers(m):
    many = Draws(5).draw_uniform("choices", 2, 50, m)
    assert many.shape == (50, m)
    for n_owners in (1, 2, 49):
        np.testing.assert_array_equal(
            Draws(5).draw_uniform("choices", 2, n_owners, m), many[:n_owners]
        )


def test_numbers_belong_to_seed_purpose_and_round():
    asked = [(5, "choices", 2), (6, "choices", 2), (5, "orders", 2), (5, "choices", 3)]
    found = [
        Draws(seed).draw_uniform(purpose, round_, 1000)[:, 0] for seed, purpose, round_ in asked
    ]
    off_diagonal = np.corrcoef(found)[~np.eye(4, dtype=bool)]
    assert np.abs(off_diagonal).max() < 0.13  # four standard deviations of 1/sqrt(1000)
    np.testing.assert_array_equal(
        found[0], Draws(5).draw_uniform("choices", 2, 1000)[:, 0]
    )  # however much was drawn since
    assert kstest(np.concatenate(found), "uniform").pvalue > 0.001


def test_a_seed_is_a_number_or_comes_from_a_generator():
    assert as_seed(3) == as_seed(np.int64(3)) == 3
    one, two = (as_seed(np.random.default_rng(1)) for _ in range(2))
    assert one == two >= 0
    assert as_seed("42") == 42  # as a page hands over what was typed
    for wrong in (None, True, 1.5, "one"):
        with pytest.raises(TypeError, match="seed must be a whole number"):
            as_seed(wrong)
    with pytest.raises(ValueError, match="found -1"):
        as_seed(-1)
