"""A learner that learned its price, in words; from the content of result.json alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scenarios.report.sentences_market import Content
from scenarios.report.wording import UNKNOWN, counted, number, percent

Money = Callable[[float | None], str]


def pricing(result: Content) -> Content | None:
    """How the price was learned; None where it stands."""
    return result.get("pricing")


def offered(result: Content) -> Content:
    """The policy that the market settled under: with the price kept, where the learner learned it."""
    found = pricing(result)
    policy: Content = result["scenario"]["policy"] if found is None else found["policy"]
    return policy


def how_learned(result: Content, money: Money = number) -> str:
    """Which number was moved, how, and where it ended; empty where the price stands."""
    found = pricing(result)
    if found is None:
        return ""
    key = found["money"]
    kept = "" if _several(found) else f", {key} = {number(found['policy'][key], 4)}"
    answered = f"posted {_many(found['posts'])}, answered by the owners in {counted(found['rounds'], 'round')} in all"
    return (
        f"The learner did not know its best {key}. It {found['title']}: it {answered}, and kept "
        f"{number(found['price'])} times the {key} in the scenario{kept}, "
        f"for a profit of {money(found['profit'])} by its forecast.{_nobody(found)}{_at_end(found)}"
    )


def against_best(result: Content, money: Money = number) -> str:
    """What the best price would bring, who would have to know what for it, and how soon it was met; empty elsewhere."""
    found = pricing(result)
    if found is None:
        return ""
    best, behaves = found["best"], bool(result.get("behaviours"))
    rational = ", were all of them rational" if behaves else ""
    unwilling = best["unwilling"]
    bound = f", though {counted(unwilling, 'owner')} would rather sell nothing there and may not" if unwilling else ""
    payable = bound if best["feasible"] else " (though nothing is certified there, or money is short)"
    told = (
        f"Who knew every owner's costs, as no learner does, would find {number(best['price'])} times the {found['money']} "
        f"best{rational}, for {money(best['profit'])}{payable}."
    )
    near = found["near"]
    if near is None:
        return f"{told} No price posted came within 1 % of that."
    soon = f"The first price within 1 % of that was number {near['posts']}, after {counted(near['rounds'], 'round')}"
    lost = f"the prices before the last would have made {money(abs(found['lost']))} {_less(found['lost'])} than it together"
    return f"{told} {soon}; had each been traded at, {lost}."


def line(result: Content, money: Money = number) -> str:
    """The same for a terminal, in one line."""
    found = pricing(result)
    if found is None:
        return ""
    near = found["near"]
    there = "never" if near is None else f"from post {near['posts']} (round {near['rounds']})"
    return (
        f"{found['kind']}: {found['money']} x {number(found['price'])} after {_many(found['posts'])}, profit "
        f"{money(found['profit'])}; best, knowing all costs: x {number(found['best']['price'])}, "
        f"{money(found['best']['profit'])}; within 1 % of it {there}"
    )


def nothing_sold(result: Content) -> str:
    """That prices on the way are asked about, not traded at."""
    if pricing(result) is None:
        return ""
    return (
        "On the way nothing is sold: owners say what they would sell at a price, and neither money changes hands nor is "
        "privacy spent before the last one. The learner sees the prices that it posts, the budgets offered, what it would "
        "owe, and its own forecast; no owner's costs."
    )


def budget_words(row: dict[str, Any]) -> str:
    """Whether a price was payable."""
    return UNKNOWN if row["within_budget"] is None else "yes" if row["within_budget"] else "no"


def share_of_best(row: dict[str, Any], best: float) -> str:
    """A profit as a part of the best one."""
    return percent(row["profit"] / best) if best > 0 else UNKNOWN


def _many(posts: int) -> str:
    return counted(posts, "price")


def _several(found: Content) -> bool:
    return isinstance(found["policy"][found["money"]], (list, tuple, dict))


def _less(lost: float) -> str:
    return "less" if lost >= 0 else "more"


def _nobody(found: Content) -> str:
    return "" if any(row["selling"] for row in found["path"]) else " Nobody sold anything at any price."


def _at_end(found: Content) -> str:
    if not found["at_end"]:
        return ""
    ends = f"{number(found['low'])} to {number(found['high'])}"
    return f" That is an end of the range it was given, {ends}: a better price may lie beyond."
