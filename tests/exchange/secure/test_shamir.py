"""Shamir's secret sharing against shares by hand; too few shares fit every secret."""

from itertools import combinations

import pytest

from exchange.secure.combining import combine_shares
from exchange.secure.shamir import PRIME, SHARE, split_secret

HAND = {1: 1494, 2: 1942, 3: 2578, 4: 3402, 5: 4414, 6: 5614}  # 1234 + 166 x + 94 x^2


def test_three_shares_by_hand_give_the_secret_and_two_do_not():
    shares = {x: value.to_bytes(SHARE) for x, value in HAND.items()}
    for chosen in combinations(shares, 3):
        assert combine_shares({x: shares[x] for x in chosen}) == (1234).to_bytes(32)
    assert combine_shares(shares) == (1234).to_bytes(32)
    for chosen in combinations(shares, 2):
        assert combine_shares({x: shares[x] for x in chosen}) != (1234).to_bytes(32)


@pytest.mark.parametrize(("threshold", "count"), [(1, 1), (2, 3), (3, 5), (5, 5)])
def test_any_threshold_of_the_shares_gives_the_secret(threshold, count):
    secret = bytes(range(32))
    shares = dict(enumerate(split_secret(secret, threshold, count), start=1))
    for chosen in combinations(shares, threshold):
        assert combine_shares({x: shares[x] for x in chosen}) == secret
    if threshold > 1:
        assert split_secret(secret, threshold, count) != list(shares.values())


def test_one_share_less_than_the_threshold_fits_any_secret():
    shares = split_secret(bytes(32), 2, 3)
    x, value = 2, int.from_bytes(shares[1])
    for secret in (0, 1, 2**255):  # the line through the secret at 0 and the share at 2 exists
        slope = (value - secret) * pow(x, -1, PRIME) % PRIME
        third = ((secret + 3 * slope) % PRIME).to_bytes(SHARE)
        assert combine_shares({x: shares[1], 3: third}) == secret.to_bytes(32)


def test_false_shares_give_no_secret_or_another_one_and_wrong_counts_are_refused():
    secret = bytes([7] * 32)
    shares = split_secret(secret, 2, 3)
    false = bytes([shares[0][0] ^ 1, *shares[0][1:]])
    assert combine_shares({1: false, 2: shares[1]}) != secret
    for threshold, count in ((0, 3), (4, 3)):
        with pytest.raises(ValueError, match="shares"):
            split_secret(secret, threshold, count)
    with pytest.raises(ValueError, match="32 bytes"):
        split_secret(secret[1:], 2, 3)
