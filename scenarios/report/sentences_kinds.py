"""What kinds of policies and costs mean, in words: each entry reads the table of a scenario and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scenarios.report.wording import listed, number, percent

Table = dict[str, Any]


def tiers_words(policy: Table) -> str:
    """A step menu, threshold by threshold.

    >>> tiers_words({"thresholds": [0.5, 1.0], "amounts": [300.0, 500.0], "per": "owner"})
    'The learner offers a menu: 300 for an ε of at least 0.5 and 500 for an ε of at least 1; nothing for less.'
    """
    each = " per record" if policy.get("per") == "record" else ""
    pairs = zip(policy["amounts"], policy["thresholds"], strict=True)
    steps = [f"{number(paid)}{each} for an ε of at least {number(least)}" for paid, least in pairs]
    return f"The learner offers a menu: {listed(steps, most=len(steps))}; nothing for less."


def cost_plus_words(policy: Table) -> str:
    """Cost and a margin, and what owners make of it."""
    if policy["margin"] == 0:
        return "The learner pays each owner what sharing costs it, so an owner does not care how much it shares."
    return (
        f"The learner pays each owner what sharing costs it and {percent(policy['margin'])} on top: nobody loses, and "
        "each gains the more, the more it shares."
    )


def channel_words(policy: Table) -> str:
    """A price for what a channel tells."""
    return f"The learner pays each owner a fixed price: {number(policy['price'])} per {told(policy)}."


def told(table: Table) -> str:
    """The unit of what a channel tells about a record."""
    unit = {"bit": "bit told about each record", "guess": "unit of probability that a record is guessed right"}
    through = str(table.get("channel", "truncated_geometric")).replace("_", " ")
    return f"{unit[table.get('unit', 'bit')]} through a {through} channel"


def thesis_words(policy: Table) -> str:
    """A compensation game of the thesis."""
    what = {
        "thesis_leakage": "for what its answers may leak at most",
        "thesis_utility": "for how often a guess from its answers may be right at most",
    }[policy["kind"]]
    weight = {"normalised": "rescaled to the range of e^ε", "printed": "with the weight as the thesis prints it"}
    price = policy.get("price", 1.0)
    return (
        f"The learner pays each owner {what}, {weight[policy.get('weight', 'normalised')]}, times the others' part of all "
        f"that is shared{'' if price == 1 else f', times {number(price)}'}."
    )


def shapley_words(policy: Table) -> str:
    """A share of the gain, by average contribution."""
    return (
        f"The learner pays out {percent(policy['share'])} of what the model gains it, each owner by what it adds on "
        "average over all orders in which owners could join (its Shapley value). With more than twelve owners the "
        "average is over a fixed sample of orders."
    )


def user_words(policy: Table) -> str:
    """A function that somebody wrote."""
    given = ", ".join(f"{name} = {value}" for name, value in (policy.get("parameters") or {}).items())
    return (
        f"The learner pays what a function of the user's says: {policy.get('function', 'payments')} in {policy['file']}"
        + (f", with {given}." if given else ".")
    )


POLICY_WORDS: dict[str, Callable[[Table], str]] = {
    "shapley": shapley_words,
    "user": user_words,
    "tiers": tiers_words,
    "cost_plus": cost_plus_words,
    "posted_channel": channel_words,
    "thesis_leakage": thesis_words,
    "thesis_utility": thesis_words,
}


def cost_units(cost: Table) -> dict[str, str]:
    """What the price of each kind of cost is per."""
    return {
        "expected_harm": "record and unit of e^ε − 1, by which its expected harm may grow",
        "belief": "record that an adversary discovers for certain, and in part as it grows surer",
        "exponential": "unit of e^ε − 1",
        "channel": told(cost),
    }
