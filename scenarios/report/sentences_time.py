"""A market over several periods in words: who came and left, what is spent, what was bought; from result.json alone."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.report.sentences_market import Content
from scenarios.report.wording import between, counted, listed, number, percent

Money = Callable[[float | None], str]
MOVES = 8  # periods of coming and going that are told one by one
NAMED = 3  # owners named one by one


def over_time(result: Content) -> Content | None:
    """All periods; None of a market that is held once."""
    return result.get("time")


def whole(result: Content, money: Money = number) -> str:
    """How often the market was held, what was paid in all, and what is left to the learner; empty where it is held once."""
    time = over_time(result)
    if time is None:
        return ""
    held, paid = counted(len(time["periods"]), "period"), money(time["payments"])
    left = time["learner_surplus"]
    kept = (
        f"leaves the learner {money(left)}" if left >= 0 else f"costs the learner {money(-left)} more than it is worth"
    )
    return f"Over {held} the learner pays {paid} in all, which {kept}, as forecast."


def shown(result: Content) -> str:
    """Which period the rest of the page tells of; empty where the market is held once."""
    time = over_time(result)
    if time is None:
        return ""
    count, at = len(time["periods"]), time["shown"]
    why = "" if at == count else ", the last in which anybody was asked anything"
    return f"All else here is of period {at} of {count}{why}; what is promised holds over all of them."


def in_period(result: Content) -> str:
    """What to put before a sentence about the period that the page tells of; empty where the market is held once."""
    time = over_time(result)
    return "" if time is None else f"In period {time['shown']} of {len(time['periods'])}: "


def what_is_asked(result: Content) -> str:
    """Which records each period asks about, and what that does to budgets; empty where the market is held once."""
    time = over_time(result)
    if time is None:
        return ""
    if time["composition"] == "fresh":
        return "Each period asks only about records that were never asked about: a record spends its budget once."
    return "Each period asks about all records that are there by then: what they spend adds up."


def moves(result: Content) -> str:
    """Who joined, left and came back, and when; empty where nobody did."""
    time = over_time(result)
    if time is None:
        return ""
    told = []
    for one in time["periods"]:
        parts = [
            f"{_who(one[key])} {verb}"
            for key, verb in (("left", "left"), ("joined", "joined"))
            if one[key] and one["period"] > 1
        ]
        if parts:
            told.append(f"in period {one['period']} {' and '.join(parts)}")
    if not told:
        return "The same owners are in the market in every period."
    more = f"; owners came and went in {counted(len(told) - MOVES, 'further period')}" if len(told) > MOVES else ""
    text = "; ".join(told[:MOVES])
    return f"{text[0].upper()}{text[1:]}{more}."


def _who(names: list[str]) -> str:
    return listed(names) if len(names) <= NAMED + 1 else counted(len(names), "owner")


def budgets(result: Content) -> str:
    """What owners have spent of their budgets for all periods; empty where the market is held once."""
    time = over_time(result)
    if time is None:
        return ""
    spent = [owner["spent"] for owner in time["owners"]]
    told = f"Records have spent an ε of {between(min(spent), max(spent))} over all periods"
    limited = [owner for owner in time["owners"] if owner["lifetime"] is not None]
    if not limited:
        return f"{told}; no owner has a limit."
    ends = between(min(one["lifetime"] for one in limited), max(one["lifetime"] for one in limited))
    gone = [one["name"] for one in limited if not one["remaining"]]
    left = f"nothing is left to {_who(gone)}" if gone else "something is left to each"
    return f"{told}, of at most {ends}: {left}."


def quality(result: Content) -> str:
    """How good the models of the periods are; empty where the market is held once."""
    time = over_time(result)
    if time is None:
        return ""
    asked = [one for one in time["periods"] if one["asks"]]
    if not asked:
        return "Nothing is ever asked, and the learner keeps its own model."
    first, last = (percent(one["relative_fitness"]) for one in (asked[0], asked[-1]))
    told = f"The model's error above the best is {first} in period {asked[0]['period']}"
    if len(asked) > 1:
        told += f" and {last} in period {asked[-1]['period']}"
    trained = [one for one in asked if one["trained"] is not None]
    held = sum(bool(one["agrees"]) for one in trained)
    return f"{told}, as forecast" + (f"; the forecast held in {held} of {len(trained)} trainings." if trained else ".")


def moved(one: Content) -> str:
    """Who came and left as a period began, in a table's cell."""
    parts = [f"+ {_who(one['joined'])}" if one["joined"] and one["period"] > 1 else ""]
    parts += [f"− {_who(one['left'])}" if one["left"] else ""]
    return ", ".join(filter(None, parts))
