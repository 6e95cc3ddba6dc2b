"""The model as a public good in words: what is contributed, and what would be best; from the content of result.json alone."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.report.sentences_market import Content
from scenarios.report.wording import between, counted, listed, number, percent

Money = Callable[[float | None], str]
NAMED = 5  # owners named one by one


def provision(result: Content) -> str:
    """Who enjoys the model for nothing, and how good it would be for the common good; empty where it is no such good."""
    found = result.get("public_good")
    if not found:
        return ""
    riding, made, best = found["riding"], result["forecast"]["relative_fitness"], found["best_relative_fitness"]
    who = listed(riding) if len(riding) <= NAMED else counted(len(riding), "owner")
    said = f", {who} without contributing anything" if riding else ""
    text = f"The model goes to all owners{said}."
    if made <= best * (1 + 1e-6):
        return f"{text} They contribute no less than would be best for all."
    return (
        f"{text} They contribute too little: it is {percent(made)} above the best, by the forecast, where {percent(best)} "
        "would be best for all, counting what it costs them."
    )


def would_match(result: Content, money: Money = number) -> str:
    """Which payments would make each contribute what is best for all; empty where there are none, or nothing lacks."""
    found = result.get("public_good")
    if not found or not found["matching"]:
        return ""
    paid = found["matching"]
    shares = [row["share"] for row in paid["owners"]]
    sure = "" if paid["certified"] else ", though that is not certified"
    return (
        f"Were each owner paid {between(min(shares), max(shares), percent)} of what it adds to the learner's gain (marginal "
        "pay; its own benefit is its own reason, and the others' benefits are paid to it), each would contribute just "
        f"that{sure}, for {money(paid['payments'])} in all."
    )
