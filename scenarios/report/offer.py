"""Sentences that policies and costs of privacy declare of themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scenarios.report import wording
from scenarios.schema.kinds import from_table


@dataclass(frozen=True)
class Pen:
    """Formats for sentences of policies and costs: those of `wording`, with a currency."""

    currency: str = ""
    number: Callable[..., str] = wording.format_number
    percent: Callable[..., str] = wording.format_percent
    amount: Callable[..., str] = wording.format_amounts
    listed: Callable[..., str] = wording.join_words

    def money(self, value: float | None, /) -> str:
        """Format an amount of money."""
        return wording.format_money(value, self.currency)


def declared_sentence(table: str, given: dict[str, Any], otherwise: str, currency: str) -> str:
    """Return the sentence of a kind; of an unknown kind, or one without a sentence, its parameters.

    Parameters
    ----------
    table: the table of the scenario, such as policy.
    given: its content.
    otherwise: the beginning of the sentence for an unknown kind.
    currency: the currency of money, or an empty text.
    """
    found = from_table(table, given)
    sentence = found.sentence(Pen(currency)) if found else ""
    if sentence:
        return sentence
    terms = ", ".join(f"{key} = {value}" for key, value in given.items() if key != "kind")
    return f"{otherwise} {given['kind']} ({terms})." if terms else f"{otherwise} {given['kind']}."
