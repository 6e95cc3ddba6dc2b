"""What owners have in common in words: what others' sales tell and cost; from the content of result.json alone."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.report.sentences_market import Content
from scenarios.report.wording import between, counted, listed, number, percent

Money = Callable[[float | None], str]
NAMED = 5  # owners named one by one


def in_common(result: Content) -> Content | None:
    """What others' sales tell and cost; None where owners have nothing in common."""
    return result.get("externalities")


def spill_words(result: Content, money: Money = number) -> str:
    """What sales tell of others, and what that costs and spares them; empty where owners have nothing in common."""
    found = in_common(result)
    if found is None:
        return ""
    parts = [row["told_by_others"] for row in found["owners"]]
    lost, spared = (sum(row[key] for row in found["owners"]) for key in ("spillover", "spared"))
    told = between(min(parts), max(parts), percent)
    return (
        f"Owners have something in common: what the others sell tells {told} of what an owner's records tell, whatever it "
        f"does. That costs owners {money(lost)} together, and what it has made cheap of their own privacy spares them "
        f"{money(spared)}."
    )


def against_apart(result: Content, money: Money = number) -> str:
    """The same market of owners who have nothing in common; empty where these do not."""
    found = in_common(result)
    if found is None:
        return ""
    apart, welfare, paid = found["apart"], result["welfare"], money(result["learner"]["payments"])
    before = money(apart["payments"])
    payments = "" if before == paid else f" for payments of {before} instead of {paid}"
    return (
        f"Had they nothing in common, they would have {money(apart['owners'])} together instead of "
        f"{money(welfare['owners'])}, the learner {money(apart['learner'])} instead of {money(welfare['learner'])}{payments}"
        f", and all together {money(apart['total'])} instead of {money(welfare['total'])}."
    )


def worse_with_market(result: Content) -> str:
    """Who would have more were there no market at all, and gains nothing by leaving it; empty where nobody."""
    found = in_common(result)
    names = [] if found is None else [row["name"] for row in found["owners"] if row["better_without_market"]]
    if not names:
        return ""
    who = listed(names) if len(names) <= NAMED else counted(len(names), "owner")
    return f"{who} would have more were there no market, and not by leaving it: the others' sales tell all the same."
