"""Owners who may leave the market in words; from the content of result.json alone."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.report.sentences_market import Content
from scenarios.report.wording import counted, listed, number

Money = Callable[[float | None], str]
NAMED = 5  # owners named one by one


def who_left(result: Content, money: Money = number) -> str:
    """Who has left, and what each would have by coming back; empty where owners are bound to stay."""
    found = result.get("participation")
    if found is None:
        return ""
    left = found["left"]
    if not left:
        return "Owners may leave the market: nobody does."
    names, best = [row["name"] for row in left], max(row["by_coming_back"] for row in left)
    who = listed(names) if len(names) <= NAMED else counted(len(names), "owner")
    if best > 0:
        back = f"one of them would gain {money(best)} by coming back, so that the market does not settle"
    elif len(left) == 1:
        back = f"would lose {money(-best)} by coming back"
    else:
        back = "none of them would gain by coming back"
    return f"Owners may leave the market: {who} {'has' if len(left) == 1 else 'have'} left, and {back}."


def against_bound(result: Content, money: Money = number) -> str:
    """The same market had all been bound to stay; empty where they are, or nobody left."""
    found = result.get("participation")
    if found is None or not found["left"]:
        return ""
    bound, welfare = found["bound"], result["welfare"]
    return (
        f"Had all been bound to stay, owners would have {money(bound['owners'])} together instead of "
        f"{money(welfare['owners'])}, the learner {money(bound['learner'])} instead of {money(welfare['learner'])}, and all "
        f"together {money(bound['total'])} instead of {money(welfare['total'])}."
    )
