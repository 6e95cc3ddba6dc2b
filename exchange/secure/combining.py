"""Secrets put together from shares of `exchange.secure.shamir`."""

from __future__ import annotations

from collections.abc import Mapping

from exchange.secure.shamir import PRIME, SECRET, SHARE


def combine_shares(shares: Mapping[int, bytes]) -> bytes | None:
    """Interpolate the secret from as many shares, by their x, as the threshold is.

    Returns
    -------
    None where they are shares of no secret of 32 bytes. False shares may give another secret.
    """
    total = 0
    for x, share in shares.items():
        weight = 1
        for other in shares:
            if other != x:
                weight = weight * other * pow(other - x, -1, PRIME) % PRIME
        total = (total + weight * int.from_bytes(share)) % PRIME
    return total.to_bytes(SHARE)[-SECRET:] if total < 2 ** (8 * SECRET) else None
