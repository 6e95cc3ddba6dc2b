"""Learned prices: a learner that moves the money in its policy by what it sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from learning.errors import InputError
from learning.phrases import format_value
from scenarios.features.base import Feature, Topic
from scenarios.schema.kinds import KINDS, make_declared

if TYPE_CHECKING:
    from agents.pricing.base import Observation
    from scenarios.run import Loop, Run
    from scenarios.schema.scenario import Scenario


class LearnedPrice(Feature):
    """A price that the learner learns by posting one after another."""

    key = "learner.pricing"
    title = "[learner.pricing]"
    example = ("learner.pricing={kind='golden_section'}",)
    result = "pricing"
    sentence = "pricing.txt.j2"
    topic = Topic("price", 10, "priced", "How the price was learned", 9)
    excludes = {
        "unions": "because their members choose together by search",
        "learners": "because all learners would move prices at once",
        "externalities": "because they are computed at a fixed price",
        "time": "because each period is computed at a fixed price",
        "participation": "because it is computed at a fixed price",
    }

    def is_used(self, scenario: Scenario) -> bool:
        """Test whether the learner posts prices."""
        table = table_of(scenario)
        return table is not None and not table.declaration.bargains

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
            rule = "must be above 0 with [learner.pricing], because the search multiplies it"
            raise InputError(f"policy.{key}", rule, given)
        if make_declared(table_of(scenario)).needs_budget and not scenario.learner.budget:
            rule = 'is required with learner.pricing.aim = "budget"'
            raise InputError("learner.budget", rule, "nothing")

    def facts(self, run: Run, loop: Loop) -> dict[str, Any]:
        """Prices posted, the one kept, and the best one, which no learner knows.

        Returns
        -------
        pricing.kind : How the learner moved its price, by its kind in `[learner.pricing]`; pricing
            is null where the price stands.
        pricing.title : What such a pricing does.
        pricing.money : The key of `[policy]` that it moved.
        pricing.policy : The policy with the price kept: the resolved table, under which the market
            settled.
        pricing.low : The lowest price that it could post, times that of the scenario.
        pricing.high : The highest one.
        pricing.path[].price : A price posted, times that of the scenario; the last is the one
            kept.
        pricing.path[].rounds : Rounds that owners played until they had answered it, in all.
        pricing.path[].selling : Owners who would sell anything at it.
        pricing.path[].epsilon : The ε that they would sell in all.
        pricing.path[].payments : Money that the learner would owe.
        pricing.path[].gain : Money that the model would be worth over its own, by its forecast.
        pricing.path[].profit : The gain less the payments.
        pricing.path[].within_budget : Whether it could pay; null where no budget is stated.
        pricing.price : The price kept, times that of the scenario.
        pricing.profit : The profit seen at it.
        pricing.at_end : Whether that is an end of the range: a better price may lie beyond.
        pricing.posts : Prices posted.
        pricing.rounds : Rounds that owners played in all.
        pricing.near.posts : The number, from 1, of the first price payable with a profit within 1
            % of the best; near is null where there was none.
        pricing.near.rounds : Rounds until then.
        pricing.lost : Money by which the profits of all prices before the last fall short of the
            best, had each been traded at.
        pricing.best.price : The best price in the range, were all owners rational: found with
            every owner's costs known, which no learner does.
        pricing.best.profit : The profit at it.
        pricing.best.payments : Money paid at it.
        pricing.best.relative_fitness : ψ of the model at it, by the forecast.
        pricing.best.feasible : Whether it is certified, and the money suffices.
        pricing.best.unwilling : Owners who would have more by selling nothing at it, and are bound
            to sell their least.
        """
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
