"""Rounding of money that is owed, to the cent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learning.money import has_cents


def round_to_cent(amount: float) -> float:
    """Round an amount to the cent, where it is counted in cents.

    >>> round_to_cent(533.3333), round_to_cent(0.0031)
    (533.33, 0.0031)
    """
    return round(amount, 2) if has_cents(amount) else amount


def round_payments(amounts: Sequence[float]) -> list[float]:
    """Round payments to the cent, so that they sum to the rounded sum.

    Cents that rounding down leaves over go to the payments that lost most by it.

    >>> round_payments([666.6666, 666.6666, 666.6668])
    [666.67, 666.66, 666.67]
    >>> round_payments([0.001, 5.0])
    [0.001, 5.0]
    """
    given = np.asarray(amounts, dtype=float)
    if not all(has_cents(amount) for amount in [*given.tolist(), float(given.sum())]):
        return given.tolist()
    exact = 100 * given
    whole = np.floor(exact + 1e-6)
    left = int(round(exact.sum() - whole.sum()))
    order = np.argsort(-(exact - whole), kind="stable")
    whole[order[:left]] += 1
    return [round(cents / 100, 2) for cents in whole.tolist()]
