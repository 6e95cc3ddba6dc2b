"""Learned prices: a learner that moves the money in its policy by what it sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from agents.pricing import Observation
from learning.errors import InputError
from learning.phrases import format_value
from scenarios.features.base import Feature
from scenarios.schema.kinds import KINDS, make_declared

if TYPE_CHECKING:
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario


class LearnedPrice(Feature):
    """A price that the learner learns by posting one after another."""

    key = "learner.pricing"
    title = "[learner.pricing]"
    example = ("learner.pricing={kind='golden_section'}",)
    result = "pricing"
    excludes = {
        "unions": "whose members choose as one by search",
        "learners": "who would each move a price while the others do",
        "externalities": "which are settled at a price that stands",
        "time": "whose periods are each settled at a price that stands",
        "participation": "since who would rather leave is found at a price that stands",
    }

    def check(self, scenario: Scenario) -> None:
        """Refuse a policy without a price to move, and an aim without a budget."""
        key = money_key(scenario)
        if not key:
            found = f"policy.kind = {format_value(scenario.policy.kind)}"
            rule = (
                "needs a policy with a number that payments rise with, such as a price or a budget"
            )
            remedy = "Leave it out, or choose another policy."
            raise InputError("learner.pricing", rule, found, remedy)
        given = getattr(scenario.policy, key)
        if not isinstance(given, dict) and not np.any(np.asarray(given) > 0):
            rule = "must be above 0 with [learner.pricing], which moves it by factors"
            raise InputError(f"policy.{key}", rule, given)
        if make_declared(table_of(scenario)).needs_budget and not scenario.learner.budget:
            rule = 'is required with learner.pricing.aim = "budget"'
            raise InputError("learner.budget", rule, "nothing")

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Prices posted, the one kept, and the best one, which no learner knows."""
        assert run.priced is not None
        priced = run.priced
        table = table_of(priced.written)
        pricing = make_declared(table)
        learned = priced.learned
        best = priced.best
        near = learned.near(best.surplus)
        bounded = priced.written.learner.budget is not None
        ends = np.log(learned.kept.price) - np.array(pricing.ends)
        rounds = np.cumsum([one.rounds for one in learned.seen]).tolist()
        posts = zip(learned.seen, rounds, strict=True)
        return {
            "kind": table.kind,
            "title": pricing.title,
            "money": money_key(priced.written),
            "policy": priced.scenario.policy.model_dump(),
            "low": pricing.low,
            "high": pricing.high,
            "path": [describe_post(one, played, bounded) for one, played in posts],
            "price": learned.kept.price,
            "profit": learned.kept.profit,
            "at_end": bool((np.abs(ends) <= 2 * pricing.close).any()),
            "posts": len(learned.seen),
            "rounds": rounds[-1],
            "near": None if near is None else {"posts": near, "rounds": rounds[near - 1]},
            "lost": learned.lost(best.surplus),
            "best": {
                "price": float(best.parameters[0]),
                "profit": best.surplus,
                "payments": best.spending,
                "relative_fitness": best.fitness,
                "feasible": best.feasible,
                "unwilling": int((~best.participation.rational).sum()),
            },
        }


def table_of(scenario: Scenario) -> Any:
    """Table [learner.pricing] of a scenario."""
    return scenario.learner.pricing


def money_key(scenario: Scenario) -> str:
    """Key of [policy] that payments rise with; empty where none does."""
    return str(getattr(KINDS["policy"][scenario.policy.kind], "money", ""))


def scale_money(scenario: Scenario, factor: float) -> Scenario:
    """The scenario with the money in its policy multiplied by a factor.

    Raises
    ------
    InputError
        If no number of the policy is its money.
    """
    key = money_key(scenario)
    if not key:
        rule = "must have a number that payments rise with"
        raise InputError("policy.kind", rule, scenario.policy.kind)
    given = getattr(scenario.policy, key)
    scaled = factor * given if np.ndim(given) == 0 else tuple(factor * value for value in given)
    return scenario.model_copy(update={"policy": scenario.policy.model_copy(update={key: scaled})})


def fix_price(scenario: Scenario) -> Scenario:
    """The scenario with its price as written, which nobody moves."""
    learner = scenario.learner.model_copy(update={"pricing": None})
    return scenario.model_copy(update={"learner": learner})


def describe_post(seen: Observation, rounds: int, bounded: bool) -> dict[str, Any]:
    """Response to one posted price; ``rounds`` is the total until then."""
    return {
        "price": seen.price,
        "rounds": rounds,
        "selling": int(np.sum(seen.epsilon > 0)),
        "epsilon": float(np.sum(seen.epsilon)),
        "payments": seen.spending,
        "gain": seen.gain,
        "profit": seen.profit,
        "within_budget": seen.over == 0 if bounded else None,
    }
