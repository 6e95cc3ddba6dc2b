"""Money that is owed: amounts to the cent, in rounding and in words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learning.phrases import HARD_SPACE, format_number

CENT = 0.01
MOST = 1e12  # from which floats do not tell cents apart well


def has_cents(amount: float) -> bool:
    """Test whether an amount is counted in cents; smaller and much larger ones are not."""
    return amount == 0 or CENT <= abs(amount) < MOST


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


def format_cents(amount: float | None, currency: str = "") -> str:
    """Format an amount to the cent, in its currency; a dash where it is unknown.

    >>> format_cents(1253.33, "EUR").replace(HARD_SPACE, " "), format_cents(-2.5)
    ('1,253.33 EUR', '−2.50')
    """
    if amount is None or not has_cents(amount):
        return " ".join(filter(None, [format_number(amount), currency]))
    text = f"{amount:,.2f}".replace("-", "−")
    return text + HARD_SPACE + currency if currency else text
