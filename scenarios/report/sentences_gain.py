"""What is known of the gain before training, in words: chances, and what would help; from result.json alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from scenarios.report.wording import between, in_money, listed, number, percent, times

Content = Mapping[str, Any]
Money = Callable[[float | None], str]
SURE = 0.995  # a chance that reads as certainty when it is rounded


def chance(result: Content) -> str:
    """The chance that buying pays; empty where nothing is uncertain or the result does not tell.

    >>> chance({"learner": {"gain": {"interval": [-10.0, 90.0], "chance_pays": 0.873}}}).replace("\\u00a0", " ")
    '87 %'
    """
    told = result["learner"].get("gain")
    if not told or told["interval"][0] == told["interval"][1]:
        return ""
    if told["chance_pays"] > SURE:
        return f"over {percent(0.99)}"
    if told["chance_pays"] < 1 - SURE:
        return f"under {percent(0.01)}"
    return percent(told["chance_pays"], 2)


def gain_interval(result: Content, to: str = "to") -> str:
    """Where the learner's gain lies nine times in ten, after paying."""
    low, high = result["learner"]["gain"]["interval"]
    return between(low, high, in_money(result)).replace(" to ", f" {to} ")


def chance_of_paying(result: Content) -> str:
    """How sure it is before training that buying pays, and what the learner may come to; empty where nothing is in doubt."""
    if not chance(result):
        return ""
    known = "public rows and loss reports" if result["forecast"].get("reports") else "the public rows"
    return (
        f"As far as {known} can tell, the chance that buying pays is {chance(result)}: nine times in ten the learner "
        f"gains between {gain_interval(result, 'and')}, on average over trainings."
    )


def _more_epsilon(fact: Content, _: Money) -> str:
    beyond = "" if fact["allowed"] else " (more than the owners may choose)"
    return f"with all privacy budgets {times(fact['factor'])} as high{beyond}"


REMEDIES: dict[str, Callable[[Content, Money], str]] = {
    "epsilon": _more_epsilon,
    "money": lambda fact, money: f"with a {fact['key']} {times(fact['factor'])} as high, owners settling anew",
    "owners": lambda fact, money: f"without {listed(fact['left_out'])}, whose noise outweighs {_their(fact)} records",
    "mechanism": lambda fact, money: f"under {fact['label']} noise{_failing(fact)} (a gain of {money(fact['gain'])})",
    "components": lambda fact, money: f"with {fact['count']} components (a gain of {money(fact['gain'])})",
}


def _their(fact: Content) -> str:
    return "its" if len(fact["left_out"]) == 1 else "their"


def _failing(fact: Content) -> str:
    return f" with δ = {number(fact['delta'])}" if fact["delta"] else ""


def what_would_help(result: Content) -> str:
    """What would make asking worth it, where nothing is asked; empty elsewhere."""
    changes = result["learner"].get("remedies")
    if not changes:
        return ""
    said = [REMEDIES[fact["change"]](fact, in_money(result)) for fact in changes]
    each = ", each change by itself" if len(said) > 1 else ""
    return f"By the forecast, asking would pay {'; or '.join(said)}{each}."


def in_advance(result: Content) -> str:
    """What is known of the gain before training; empty where nothing is in doubt and nothing would help."""
    return " ".join(filter(None, (chance_of_paying(result), what_would_help(result))))
