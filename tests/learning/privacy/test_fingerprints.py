"""Fingerprints: rows in common are seen through order, size and changes; without the key no row can be guessed."""

import hashlib
import json

import numpy as np
import pytest

from learning.privacy.registry import (
    KEPT,
    Fingerprint,
    digest_records,
    nearly_same,
    share_in_common,
    take_fingerprint,
)

KEY = b"a" * 32


def table(seed, rows, width=5):
    return np.random.default_rng(seed).normal(size=(rows, width))


def taken(rows, key=KEY):
    return take_fingerprint(digest_records(rows[:, :-1], rows[:, -1]), key)


@pytest.mark.parametrize("rows", [40, 3_000, 20_000])
def test_the_same_rows_in_another_order_have_the_same_fingerprint(rows):
    made = table(1, rows)
    one = taken(made)
    other = taken(made[::-1])
    assert one.rows == rows and len(one.smallest) == min(rows, KEPT)
    assert np.array_equal(one.smallest, other.smallest) and share_in_common(one, other) == 1


@pytest.mark.parametrize("rows", [200, 20_000])
@pytest.mark.parametrize("share", [0.0, 0.05, 0.1, 0.2, 0.5, 0.9])
def test_the_share_of_rows_in_common_is_exact_for_small_tables_and_estimated_for_large_ones(
    rows, share
):
    made = table(2, rows)
    changed = table(2, rows)
    changed[int(share * rows) :, 0] += 0.01  # one cell of each other row
    one = taken(made)
    other = taken(changed)
    exact = rows <= KEPT
    assert share_in_common(one, other) == pytest.approx(share, abs=1e-12 if exact else 0.03)
    assert nearly_same(one, other) == (share >= 0.1)


def test_a_small_table_is_seen_in_a_large_one_by_the_share_of_its_own_rows():
    large = table(3, 100_000)
    one = taken(large)
    assert share_in_common(taken(large[:5_000]), one) == 1 and nearly_same(
        one, taken(large[:5_000])
    )
    mixed = np.vstack([large[:1_000], table(4, 4_000)])
    assert share_in_common(taken(mixed), one) == pytest.approx(0.2, abs=0.09) and nearly_same(
        taken(mixed), one
    )
    assert not nearly_same(taken(table(5, 5_000)), one)


def test_another_key_shows_nothing_and_no_public_hash_of_a_row_is_kept():
    made = table(6, 300)
    one = taken(made)
    other = taken(made, b"b" * 32)
    assert share_in_common(one, other) == 0 and not nearly_same(one, other)
    held = made + 0.0
    public = set()
    for row in held:
        for text in (row.astype("<f8").tobytes(), np.round(row, 9).tobytes()):
            for size in (8, 16, 32):
                plain = hashlib.blake2b(text, digest_size=size).digest()
                public |= {
                    plain[:8],
                    hashlib.sha256(text).digest()[:8],
                    hashlib.blake2b(plain, digest_size=8).digest(),
                }
    kept = {number.tobytes() for number in one.smallest.astype("<u8")}
    assert len(kept) == 300 and not kept & public


def test_last_digits_of_features_and_the_sign_of_zero_do_not_count():
    made = table(7, 50)
    made[:, 0] = 0.0
    near = made.copy()
    near[:, :-1] += 1e-14
    near[:, 0] = -0.0
    assert share_in_common(taken(made), taken(near)) == 1


def test_a_fingerprint_is_kept_in_little_room_and_read_back():
    one = taken(table(8, 6_000))
    text = json.dumps(one.to_json())
    again = Fingerprint.from_json(json.loads(text))
    assert (
        len(text) < 45_000
        and again.rows == one.rows
        and np.array_equal(again.smallest, one.smallest)
    )
