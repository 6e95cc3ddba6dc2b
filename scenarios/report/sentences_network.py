"""Networks in words: who may trade with whom, who sees whom, and what that changes; from the content of result.json alone."""

from __future__ import annotations

from collections.abc import Callable

from agents.networks.base import SIGHT, TRADE
from scenarios.report.sentences_market import Content
from scenarios.report.wording import listed, number, percent

Money = Callable[[float | None], str]
CALLED = {"degree": "links", "betweenness": "betweenness", "bonacich": "Bonacich", "scarcity": "scarcity"}
NAMED = 3  # owners named one by one
MANY = 10  # owners below which a correlation tells little
WEAK = 0.3  # a rank correlation below which nothing is said of it


def networks(result: Content) -> list[tuple[str, Content]]:
    """The networks of a result with their uses, none where there is none."""
    told = result.get("network") or {}
    return [(use, told[use]) for use in (TRADE, SIGHT) if told.get(use)]


def told(result: Content, money: Money = number) -> list[str]:
    """All that is said of a result's networks; nothing where it has none."""
    parts = networks(result)
    said = [words for use, part in parts for words in (linked_words(use, part), correlation_words(part))]
    return [*said, against_complete(result, money)] if parts else []


def linked_words(use: str, part: Content) -> str:
    """How many links there are, and who has none or most."""
    owners, edges = part["owners"], len(part["edges"])
    alone = [owner["name"] for owner in owners if not owner["degree"]]
    most = max(owner["degree"] for owner in owners)
    top = [owner["name"] for owner in owners if owner["degree"] == most]
    if use == TRADE:
        count = len(owners) * len(part["learners"])
        said = f"Not every owner may sell to every learner: {edges:,} of {count:,} pairs are linked."
        lone = (
            "is linked to no learner and cannot sell" if len(alone) == 1 else "are linked to no learner and cannot sell"
        )
    else:
        count = len(owners) * (len(owners) - 1) // (1 if part["directed"] else 2)
        said = f"Owners do not all see what the others sell: {edges:,} of {count:,} pairs see each other."
        said = said.replace("see each other", "are of one who sees another") if part["directed"] else said
        lone = "sees nobody" if len(alone) == 1 else "see nobody"
    if alone:
        said += f" {listed(alone) if len(alone) <= NAMED else f'{len(alone):,} owners'} {lone}."
    if most and len(top) <= NAMED and len(top) < len(owners):
        said += f" {listed(top)} {'has' if len(top) == 1 else 'have'} most links, {most:,}."
    return said


def correlation_words(part: Content) -> str:
    """Whether who is central has more; empty where all are as central or have as much."""
    told = part["rank_correlations"]
    if not told:
        return ""
    said = [f"{CALLED[one['centrality']]} {one['spearman']:+.2f}".replace("-", "−") for one in told]
    best = max(told, key=lambda one: abs(one["spearman"]))
    rho, count = best["spearman"], best["owners"]
    verdict = "hardly goes with surplus" if abs(rho) < WEAK else f"goes with {'more' if rho > 0 else 'less'} surplus"
    few = ", so few that they tell little" if count < MANY else ""
    return f"To be central {verdict}. Rank correlation with it over {count:,} owners{few}: {listed(said)}."


def against_complete(result: Content, money: Money = number) -> str:
    """What the same market comes to where everybody is linked to everybody."""
    here, whole = result["network"]["here"], result["network"]["complete"]
    more = [
        f"{who} {_change(before, now, money)}"
        for who, before, now in (
            ("owners together have", whole["owners"], here["owners"]),
            ("learners together have", sum(whole["learners"]), sum(here["learners"])),
            ("all have", whole["total"], here["total"]),
        )
    ]
    fitness = here["relative_fitness"][0], whole["relative_fitness"][0]
    whose = "the first learner's" if len(here["learners"]) > 1 else "the learner's"
    doubt = "" if whole["converged"] else " (no equilibrium was found there)"
    paid, there = money(here["payments"]), money(whole["payments"])
    return (
        f"Beside the same market with everybody linked to everybody{doubt}, {listed(more)}; {paid} are paid"
        f"{' in both' if paid == there else f' in place of {there}'}, and {whose} model is {percent(fitness[0])} above the "
        f"best in place of {percent(fitness[1])}, by the forecast."
    )


def _change(before: float, now: float, money: Money) -> str:
    if number(now) == number(before):
        return f"{money(now)}, as much"
    return f"{money(now)}, {money(abs(now - before))} {'more' if now > before else 'less'}"
