"""What a scenario offers the owners, in words: policy, cost of privacy, choices; from its tables alone."""

from __future__ import annotations

from typing import Any

from scenarios.report import wording
from scenarios.report.wording import amount, limit, number
from scenarios.schema.kinds import from_table

Content = dict[str, Any]


def policy_words(policy: Content) -> str:
    """What the learner offers.

    >>> policy_words({"kind": "proportional", "budget": 2000.0})
    'The learner pays 2,000 in all, shared out in proportion to records times privacy budget ε.'
    """
    return _declared("policy", policy) or f"The learner pays under the policy {_parameters(policy)}."


def privacy_words(cost: Content) -> str:
    """What sharing costs an owner.

    >>> privacy_words({"kind": "linear", "price": [1.0, 2.0]})
    'Privacy costs an owner 1 to 2 (each owner its own) per unit of privacy budget ε.'
    """
    return _declared("owners.cost", cost) or f"Privacy has a cost of the kind {_parameters(cost)}."


def _declared(table: str, given: Content) -> str:
    """The sentence that the class of a kind has; empty where it has none, or the kind is not known here."""
    found = from_table(table, given)
    return found.sentence(wording) if found else ""


def _parameters(given: Content) -> str:
    terms = ", ".join(f"{key} = {value}" for key, value in given.items() if key != "kind")
    return f"{given['kind']} ({terms})" if terms else given["kind"]


def cost_words(owners: Content) -> str:
    """What sharing costs an owner, and what it may choose."""
    fixed = fixed_words(owners.get("fixed_cost", 0.0))
    price = privacy_words(owners["cost"])
    return f"{price} {fixed}" + choice_words(owners["epsilon"]) + benefit_words(owners.get("benefit", 0.0))


def fixed_words(fixed: Any) -> str:
    """What an owner loses by sharing at all, whatever its budget."""
    values = fixed if isinstance(fixed, (list, tuple)) else [fixed]
    return f"Whoever shares also bears a fixed cost of {amount(fixed)}. " if any(values) else ""


def choice_words(interval: Any) -> str:
    """The budgets an owner may choose from."""
    nested = isinstance(interval[0], (list, tuple))
    pairs = interval if nested else [interval]
    lows, highs = {limit(low) for low, _ in pairs}, {limit(high) for _, high in pairs}
    if len(lows) == len(highs) == 1:
        return f"Each may choose any ε from {number(lows.pop())} to {number(highs.pop())}: the smaller, the more noise."
    return f"Each may choose ε within limits of its own, {number(min(lows))} to {number(max(highs))} at the widest."


def benefit_words(benefit: Any) -> str:
    """Whether owners gain from the model themselves."""
    values = benefit if isinstance(benefit, (list, tuple)) else [benefit]
    return " Owners that share also use the model themselves." if any(values) else ""
