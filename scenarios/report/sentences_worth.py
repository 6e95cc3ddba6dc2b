"""How much privacy is worth buying, in words: from the content of result.json or design.json alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from scenarios.report.sentences_market import epsilon_of
from scenarios.report.wording import between, counted, in_money, listed, number
from scenarios.schema.scenario import Scenario

Content = Mapping[str, Any]
NAMED = 4  # owners named one by one
PAST = 1.01  # of what is worth buying: up to here an owner sells no more than that


def worth_of(owner: Content) -> float | None:
    """The budget worth buying of an owner; None where there is none, or the result is of a time before it was told."""
    return owner.get("epsilon_worth")


def anybody_has_one(result: Content) -> bool:
    """Whether there is such a budget of any owner."""
    return any(worth_of(owner) is not None for owner in result["owners"])


def sells_past(owner: Content) -> bool:
    """Whether an owner sells more than is worth buying of it."""
    worth = worth_of(owner)
    return worth is not None and epsilon_of(owner) > PAST * worth


def worth_buying(result: Content) -> str:
    """What is worth buying of the owners, and what it means; empty where nothing is."""
    told = [worth for worth in map(worth_of, result["owners"]) if worth is not None]
    if not told:
        return ""
    why = (
        "an owner's noise adds less to the model's error than that its records are few"
        if (result["scenario"].get("trust") or {}).get("aggregation") != "secure"
        else "more of one owner's hardly lessens the noise that all make together"
    )
    return f"Worth buying is an ε of {between(min(told), max(told))}: beyond it {why}."


def past_worth(result: Content) -> str:
    """Who sells more than that, what is paid for it and what it gains the learner; empty where nobody does."""
    return past_words(result["owners"], result["learner"].get("past_worth"), in_money(result))


def past_words(owners: Iterable[Content], found: Content | None, money: Callable[[float | None], str]) -> str:
    """The same, from the facts of a market or of one of several that are compared."""
    past = [owner["name"] for owner in owners if sells_past(owner)]
    if not past or not found:
        return ""
    who = listed(past) if len(past) <= NAMED else counted(len(past), "owner")
    sells = "sells" if len(past) == 1 else "sell"
    paid = f"{money(found['payments'])} of what is paid is" if found["payments"] > 0 else "nothing is paid"
    gain = f"the better model is worth {money(max(found['gain'], 0.0))} more to the learner"
    return f"{who} {sells} more than is worth buying: {paid} for that, and {gain}."


def worth_ahead(scenario: Scenario, ahead: Content | None) -> str:
    """Who will sell more than is worth buying, and what keeps a price from paying for it; empty where nobody will."""
    if not ahead:
        return ""
    said = past_words(ahead["owners"], ahead["past_worth"], in_money({"currency": scenario.currency}))
    limited = "until" in scenario.policy.model_dump()
    return f'warning: {said} policy.until = "worth" would pay for no more.' if said and limited else said


def beyond_worth(content: Content, money: Callable[[float | None], str]) -> str:
    """What a design leaves unbought because it is not worth buying; empty where nobody would sell so much."""
    more = content.get("beyond_worth")
    if not more:
        return ""
    learner = content["chosen"]["learner"]
    rows = [
        f"{one['name']} {number(one['epsilon'])} instead of {number(one['epsilon_worth'])}" for one in more["owners"]
    ]
    who = listed(rows, most=NAMED)
    apart = more["gain"] - learner["surplus"]
    less = f"{money(apart)} more" if apart > 0 else f"{money(-apart)} less"
    return (
        f"More privacy could be bought than is worth buying: {who}. That would cost {money(more['payments'])} in all and "
        f"leave the learner {less}, for a model whose noise hardly matters any more; so what owners may sell ends there."
    )
