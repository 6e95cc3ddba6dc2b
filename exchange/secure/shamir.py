"""Shamir's secret sharing: any ``threshold`` of the shares give the secret, fewer say nothing.

The secret is the value at 0 of a polynomial of degree threshold - 1 over the field of 2^521 - 1
elements, its other coefficients uniform from the system's random source; share x is its value at x.

Source: Shamir, How to Share a Secret (1979). The kept libraries share 16 bytes at most.
"""

from __future__ import annotations

import secrets

PRIME = 2**521 - 1
SECRET = 32  # bytes
SHARE = 66  # bytes


def split_secret(secret: bytes, threshold: int, count: int) -> list[bytes]:
    """Make ``count`` shares of a secret of 32 bytes, those of x = 1, 2 ..."""
    if len(secret) != SECRET or not 1 <= threshold <= count:
        raise ValueError(f"{SECRET} bytes and 1 to {count} shares, got {len(secret)}, {threshold}")
    drawn = [secrets.randbelow(PRIME) for _ in range(threshold - 1)]
    coefficients = [int.from_bytes(secret), *drawn]
    return [evaluate(coefficients, x).to_bytes(SHARE) for x in range(1, count + 1)]


def evaluate(coefficients: list[int], x: int) -> int:
    """Evaluate a polynomial, lowest coefficient first.

    >>> evaluate([1234, 166, 94], 2)
    1942
    """
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * x + coefficient) % PRIME
    return value
