"""Data unions in words: what members have together, how they divide it, who would rather leave; from result.json alone."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.report.sentences_market import Content
from scenarios.report.wording import UNKNOWN, listed, number

Money = Callable[[float | None], str]
NAMED = 6  # members named one by one
SPLITS = {
    "equal": "in equal parts",
    "by_size": "in proportion to their records",
    "shapley": "by what each adds on average over all orders of joining (its Shapley value)",
}


def unions(result: Content) -> list[Content]:
    """The unions of a result, none where there are none."""
    return result.get("unions") or []


def union_words(union: Content, money: Money = number) -> str:
    """What a union is, what it has, and how that is divided."""
    names = [member["name"] for member in union["members"]]
    who = listed(names) if len(names) <= NAMED else f"{len(names):,} owners"
    if len(names) == 1:
        return f"{who} is a union of its own, {union['name']}: it chooses as it would without."
    had, apart = union["surplus"], union["apart"]
    change = money(abs(had - apart))
    more = "as much as" if number(had - apart) == "0" else f"{change} {'more' if had > apart else 'less'} than"
    return (
        f"{who} choose their privacy budgets as one, the union {union['name']}: for what they have together, {money(had)}, "
        f"{more} if each chose for itself ({money(apart)}). They divide it {SPLITS[union['split']]}."
    )


def who_would_leave(union: Content, money: Money = number) -> str:
    """Whether a member would do better alone, the others staying together."""
    if union["stable"] is None:
        return "Whether a member would do better alone was not tried: they are too many."
    if len(union["members"]) == 1:
        return ""
    leaving = [
        f"{one['name']} ({money(one['outside'])} alone, {money(one['surplus'])} within)"
        for one in union["members"]
        if not one["stays"]
    ]
    if not leaving:
        return "No member would do better by leaving it alone."
    several = len(leaving) > 1
    return f"{listed(leaving)} would each do better by leaving alone." if several else f"{leaving[0]} would leave."


def amount(value: float | None) -> str:
    """An amount of money, or that it is not known."""
    return UNKNOWN if value is None else number(value)
