"""What a scenario offers the owners, in words: policy, cost of privacy, choices; from its tables alone."""

from __future__ import annotations

from typing import Any

from scenarios.report.sentences_kinds import POLICY_WORDS, cost_units
from scenarios.report.wording import between, limit, number, percent

Content = dict[str, Any]


def policy_words(policy: Content) -> str:
    """What the learner offers."""
    kind = policy["kind"]
    if kind == "posted":
        unit = {
            "epsilon": "unit of privacy budget ε",
            "record_epsilon": "record and unit of privacy budget ε",
            "bit": "record and bit it may leak",
        }.get(policy.get("per", "epsilon"), str(policy.get("per")))
        return f"The learner pays each owner a fixed price: {amount(policy['price'])} per {unit}."
    if kind == "proportional":
        basis = {
            "records_epsilon": "records times privacy budget ε",
            "records_epsilon2": "records times ε squared",
            "epsilon": "privacy budget ε",
        }.get(policy.get("basis", "records_epsilon"), str(policy.get("basis")))
        return f"The learner pays {number(policy['budget'])} in all, shared out in proportion to {basis}."
    if kind == "marginal":
        against = "none of it" if policy.get("reference", "absent") == "absent" else "the least it may share"
        return (
            f"The learner pays each owner {percent(policy['share'])} of what the model gains by what "
            "the owner shares, "
            f"compared with {against}; an owner whose noise harms the model is charged."
        )
    if kind in POLICY_WORDS:
        return POLICY_WORDS[kind](policy)
    terms = ", ".join(f"{key} = {value}" for key, value in policy.items() if key != "kind")
    return f"The learner pays under the policy {kind}" + (f" ({terms})." if terms else ".")


def cost_words(owners: Content) -> str:
    """What sharing costs an owner, and what it may choose."""
    cost = owners["cost"]
    unit = {
        "leakage": "bit that may leak about each record",
        "linear": "unit of privacy budget ε",
        "quadratic": "unit of half its privacy budget ε squared",
        **cost_units(cost),
    }.get(cost["kind"])
    price = f"costs an owner {amount(cost['price'])} per {unit}" if unit else f"has a cost of the kind {cost['kind']}"
    fixed = fixed_words(owners.get("fixed_cost", 0.0))
    return f"Privacy {price}. {fixed}" + choice_words(owners["epsilon"]) + benefit_words(owners.get("benefit", 0.0))


def fixed_words(fixed: Any) -> str:
    """What an owner loses by sharing at all, whatever its budget."""
    values = fixed if isinstance(fixed, (list, tuple)) else [fixed]
    return f"Whoever shares also bears a fixed cost of {amount(fixed)}. " if any(values) else ""


def amount(value: Any) -> str:
    """A price: one for all, or a range of prices.

    >>> amount(0.02), amount([1, 2, 3])
    ('0.02', '1 to 3 (each owner its own)')
    """
    if isinstance(value, (list, tuple)):
        ends = between(min(value), max(value))
        return f"{ends} (each owner its own)" if min(value) < max(value) else ends
    return number(value)


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
