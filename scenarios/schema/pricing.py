"""A learner that learns its price, [learner.pricing]: which number of the policy it moves, and what that does not go with."""

from __future__ import annotations

from typing import Any

import numpy as np

from learning.errors import InputError
from scenarios.schema.fields import show
from scenarios.schema.kinds import KINDS, made

APART = {  # what is settled by search alone, for a price that stands
    "unions": "whose members choose as one by search",
    "learners": "who would each move a price while the others do",
    "externalities": "which are settled at a price that stands",
    "time": "whose periods are each settled at a price that stands",
}


def money_of(scenario: Any) -> str:
    """The key of [policy] that payments rise with; empty where there is none, as with a function of the user's."""
    return str(getattr(KINDS["policy"][scenario.policy.kind], "money", ""))


def times(scenario: Any, factor: float) -> Any:
    """The scenario with so many times the money in its policy.

    Raises
    ------
    InputError
        If no number of the policy is its money.
    """
    key = money_of(scenario)
    if not key:
        raise InputError("policy.kind", "must have a number that payments rise with", scenario.policy.kind)
    given = getattr(scenario.policy, key)
    scaled = factor * given if np.ndim(given) == 0 else tuple(factor * value for value in given)
    return scenario.model_copy(update={"policy": scenario.policy.model_copy(update={key: scaled})})


def check_pricing(scenario: Any) -> None:
    """Refuse a learner that would learn a price where there is none to move, or where markets settle otherwise.

    Raises
    ------
    InputError
        On the first rule broken.
    """
    pricing, key = scenario.learner.pricing, money_of(scenario)
    if pricing is None:
        return
    if not key:
        found = f"policy.kind = {show(scenario.policy.kind)}"
        rule = "needs a policy with a number that payments rise with, such as a price or a budget"
        raise InputError("learner.pricing", rule, found, "Leave it out, or choose another policy.")
    given = getattr(scenario.policy, key)
    if not isinstance(given, dict) and not np.any(np.asarray(given) > 0):
        raise InputError(f"policy.{key}", "must be above 0 with [learner.pricing], which moves it by factors", given)
    if made(pricing).needs_budget and not scenario.learner.budget:
        raise InputError("learner.budget", 'is required with learner.pricing.aim = "budget"', "nothing")
    for other, why in APART.items():
        if getattr(scenario, other):
            raise InputError(other, f"must be left out with [learner.pricing], {why}", "it", "Leave one of them out.")
    if scenario.market.participation == "free":
        rule = 'must be "bound" with [learner.pricing]: who would rather leave is found at a price that stands'
        raise InputError("market.participation", rule, show("free"), "Leave one of them out.")


def standing(scenario: Any) -> Any:
    """The scenario with its price as written, which nobody moves."""
    return scenario.model_copy(update={"learner": scenario.learner.model_copy(update={"pricing": None})})
