"""Money that is owed: amounts to the cent, in rounding and in words."""

from __future__ import annotations

from learning.phrases import HARD_SPACE, format_number

CENT = 0.01
MOST = 1e12  # from which floats do not tell cents apart well


def has_cents(amount: float) -> bool:
    """Test whether an amount is counted in cents; smaller and much larger ones are not."""
    return amount == 0 or CENT <= abs(amount) < MOST


def format_cents(amount: float | None, currency: str = "") -> str:
    """Format an amount to the cent, in its currency; a dash where it is unknown.

    >>> format_cents(1253.33, "EUR").replace(HARD_SPACE, " "), format_cents(-2.5)
    ('1,253.33 EUR', '−2.50')
    """
    if amount is None or not has_cents(amount):
        return " ".join(filter(None, [format_number(amount), currency]))
    text = f"{amount:,.2f}".replace("-", "−")
    return text + HARD_SPACE + currency if currency else text
