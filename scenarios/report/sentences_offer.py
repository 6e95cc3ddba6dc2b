"""What a scenario offers the owners, in words: policy, cost of privacy, choices; from its tables alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scenarios.report import wording
from scenarios.report.wording import amount, limit, number
from scenarios.schema.kinds import from_table

Content = dict[str, Any]


@dataclass(frozen=True)
class Pen:
    """What policies and costs write their sentences with: the functions of `wording`, and money in its currency."""

    currency: str = ""
    number: Callable[..., str] = wording.number
    percent: Callable[..., str] = wording.percent
    amount: Callable[..., str] = wording.amount
    listed: Callable[..., str] = wording.listed

    def money(self, value: float | None, /) -> str:
        """An amount of money."""
        return wording.money(value, self.currency)


def policy_words(policy: Content, currency: str = "") -> str:
    """What the learner offers.

    >>> policy_words({"kind": "proportional", "budget": 2000.0})
    'The learner pays 2,000 in all, shared out in proportion to records times privacy budget ε.'
    """
    return _declared("policy", policy, "The learner pays under the policy", currency)


def privacy_words(cost: Content, currency: str = "") -> str:
    """What sharing costs an owner.

    >>> privacy_words({"kind": "linear", "price": [1.0, 2.0]})
    'Privacy costs an owner 1 to 2 (each owner its own) per unit of privacy budget ε.'
    """
    return _declared("owners.cost", cost, "Privacy has a cost of the kind", currency)


def _declared(table: str, given: Content, otherwise: str, currency: str) -> str:
    """The sentence that the class of a kind has; where it has none, or the kind is not known here, its parameters."""
    found = from_table(table, given)
    sentence = found.sentence(Pen(currency)) if found else ""
    if sentence:
        return sentence
    terms = ", ".join(f"{key} = {value}" for key, value in given.items() if key != "kind")
    return f"{otherwise} {given['kind']}" + (f" ({terms})." if terms else ".")


def cost_words(owners: Content, currency: str = "") -> str:
    """What sharing costs an owner, and what it may choose."""
    said, fixed = [privacy_words(owners["cost"], currency)], owners.get("fixed_cost", 0.0)
    if np.any(fixed):
        said.append(f"Whoever shares also bears a fixed cost of {amount(fixed, Pen(currency).money)}.")
    if owners.get("cost_at") == "claimed":
        said.append("That is counted at the ε that the noise is claimed to give, not at the one sold.")
    said.append(choice_words(owners["epsilon"]))
    if np.any(owners.get("benefit", 0.0)):
        said.append("Owners that share also use the model themselves.")
    return " ".join(said)


def choice_words(interval: Any) -> str:
    """The budgets an owner may choose from."""
    pairs = interval if isinstance(interval[0], (list, tuple)) else [interval]
    lows, highs = {limit(low) for low, _ in pairs}, {limit(high) for _, high in pairs}
    if len(lows) == len(highs) == 1:
        return f"Each may choose any ε from {number(lows.pop())} to {number(highs.pop())}: the smaller, the more noise."
    return f"Each may choose ε within limits of its own, {number(min(lows))} to {number(max(highs))} at the widest."
