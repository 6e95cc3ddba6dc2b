"""Several learners in words: who buys what for how much, and how each fares; from the content of result.json alone."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.report.sentences_market import Content
from scenarios.report.wording import listed, number, percent
from scenarios.schema.market import FIRST

Money = Callable[[float | None], str]
COUNTS = {2: "Two", 3: "Three", 4: "Four"}


def learners(result: Content) -> list[Content]:
    """The learners of a result where there are several, none elsewhere."""
    return result.get("learners") or []


def paid(result: Content) -> float:
    """What all learners pay together."""
    return sum(one["payments"] for one in learners(result)) if learners(result) else result["learner"]["payments"]


def who_buys(result: Content) -> str:
    """How many learners there are, and which of them is told of; empty where there is one."""
    rows = learners(result)
    if not rows:
        return ""
    count = COUNTS.get(len(rows), f"{len(rows):,}")
    others = listed([one["name"] for one in rows[1:]])
    return f"{count} learners buy from the same owners: the first, whose model and money are told here, and {others}."


def fares(row: Content, money: Money = number) -> str:
    """How one of them fares: its model, what it pays and what it has of it, measured where it was trained."""
    trained = row["trained_gain"] is not None
    error = row["trained_fitness"] if trained else row["relative_fitness"]
    gain = row["trained_gain"]["mean"] if trained else row["surplus"]
    how = "measured" if trained else "forecast"
    who = "The first learner" if row["name"] == FIRST else row["name"]
    if not row["asks"]:
        return f"{who} asks nothing, and pays {money(row['payments'])} as promised"
    verb = "gains" if gain >= 0 else "loses"
    outcome = f"{verb} {money(abs(gain))} after paying {money(row['payments'])}"
    return f"{who} {outcome}, for a model {percent(error)} above the best ({how})"


def adds_up(result: Content) -> str:
    """What an owner's budgets for several learners come to; empty where there is one."""
    if not learners(result):
        return ""
    return (
        "Budgets that an owner sells to several learners add up: it loses privacy to the sum, and its last promise below is "
        "against all learners together."
    )
