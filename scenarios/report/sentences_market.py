"""The market in words: who sells what, and where the owners settled; from the content of result.json alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from heapq import nlargest
from typing import Any

from scenarios.report.sentences_learning import error_words
from scenarios.report.wording import UNKNOWN, between, counted, in_money, limit, listed, natural, number, percent, times

Content = Mapping[str, Any]
FEW = 4  # owners that a headline names one by one
NAMED = 5  # owners named in a warning


def epsilon_of(row: Content) -> float:
    """The privacy budget of an owner or of a claim."""
    return limit(row["epsilon"])


def sellers(result: Content) -> list[Content]:
    """The owners that share anything."""
    return [owner for owner in result["owners"] if epsilon_of(owner) > 0]


def selling(owners: Iterable[Content], epsilon: float | None) -> list[str]:
    """The names of those who sell at one budget, as results have it: None without noise."""
    return [owner["name"] for owner in owners if owner["epsilon"] == epsilon]


def anybody_sells(result: Content) -> bool:
    """Whether any owner shares anything."""
    return any(epsilon_of(owner) > 0 for owner in result["owners"])


def budgets_sold(result: Content) -> list[float]:
    """The privacy budget of each owner that shares anything."""
    return [epsilon_of(owner) for owner in sellers(result)]


def asks_nothing(result: Content) -> bool:
    """Whether the learner, at these budgets, does best not to ask the owners at all."""
    return result["forecast"].get("step_size") == 0 and anybody_sells(result)


def nothing_trained(result: Content) -> bool:
    """Whether the learner keeps the model it has."""
    return result["forecast"].get("step_size") == 0 or not anybody_sells(result)


def stake(owner: Content) -> float:
    """The money that an owner has at stake: what it is paid or charged, its cost, tax, and use of a model."""
    parts = ("payment", "privacy_cost", "tax", "benefit")
    return sum(abs(owner.get(part) or 0.0) for part in parts)


def by_stake(owners: Iterable[Content], most: int) -> list[Content]:
    """So many owners with most money at stake, those with more first."""
    top = nlargest(most, owners, key=stake)
    return sorted(top, key=lambda owner: (-stake(owner), natural(owner["name"])))


def by_name(owners: Iterable[Content]) -> list[Content]:
    """The owners as the scenario lists them; those that the program sorted as texts, 2 before 10."""
    owners = list(owners)
    names = [owner["name"] for owner in owners]
    return sorted(owners, key=lambda owner: natural(owner["name"])) if names == sorted(names) else owners


def listed_first(owners: Iterable[Content], most: int, shown: int) -> list[Content]:
    """The owners of a table: by name, or where they are more than fit, as many as are shown, with most at stake first."""
    owners = list(owners)
    return by_name(owners) if len(owners) <= most else by_stake(owners, shown)


def places_listed_first(owners: Iterable[Content], most: int, shown: int) -> list[int]:
    """The same, as places in the list of owners."""
    numbered = [{**owner, "place": place} for place, owner in enumerate(owners)]
    return [owner["place"] for owner in listed_first(numbered, most, shown)]


# Who sells what


def who_sells(result: Content) -> str:
    """Who sells how much privacy for how much money."""
    selling, everyone = sellers(result), len(result["owners"])
    if not selling:
        return "No owner sells anything: at what is offered, each keeps its records to itself."
    if asks_nothing(result):
        ends = between(min(budgets_sold(result)), max(budgets_sold(result)))
        who = f"{len(selling):,} of {counted(everyone, 'owner')} {'offers' if len(selling) == 1 else 'offer'}"
        return f"{who} a privacy budget ε of {ends}, and the learner asks nothing of anybody."
    money, several = in_money(result), len(selling) > 1
    total = money(sum(owner["payment"] or 0.0 for owner in result["owners"]))
    if everyone <= FEW:
        text = listed(sales(selling, money)) + (f": {total} in all" if several else "")
        idle = [owner["name"] for owner in result["owners"] if epsilon_of(owner) == 0]
        return f"{text}; {listed(idle)} {'shares' if len(idle) == 1 else 'share'} nothing." if idle else f"{text}."
    low, high = (number(end(budgets_sold(result))) for end in (min, max))
    some = f"{len(selling):,} of the {everyone:,} owners {'sell' if several else 'sells'}"
    who = f"All {everyone:,} owners sell" if len(selling) == everyone else some
    if low == high:
        return f"{who} a privacy budget ε of {low}{' each' if several else ''}, for {total} in all."
    return f"{who} privacy budgets ε between {low} and {high}, for {total} in all."


def sales(selling: list[Content], money: Callable[[float | None], str] = number) -> list[str]:
    """Each sale in a few words; what is shared without noise is not called privacy."""
    said, before = [], math.inf
    for owner in selling:
        epsilon, paid = epsilon_of(owner), owner["payment"] or 0.0
        sells = "sells a privacy budget ε of " if math.isinf(before) else ""  # not repeated in a row of sales
        sold = "shares its records without protection" if math.isinf(epsilon) else f"{sells}{number(epsilon)}"
        price = f"for {money(paid)}" if paid >= 0 else f"and is charged {money(-paid)}"
        said.append(f"{owner['name']} {sold} {price}")
        before = epsilon
    return said


def edge_of_refusal(fact: Mapping[str, Any], money: Callable[[float | None], str] = number) -> str:
    """Put the warning that the learner pays for a model no better than its own into words."""
    several = " Other budgets with as much noise would do as well." if fact["sellers"] > 1 else ""
    return (
        f"{fact['learner'] or 'The learner'} is on the edge of refusing: it pays {money(fact['payments'])} for a model "
        f"forecast to be no better than its own, as owners sell just enough to be asked.{several} This is no advice to buy."
    )


# The models that owners could train alone


def own_models_known(result: Content) -> bool:
    """Whether it is known what owners could train alone: not every loss is worth the time of fitting all their models."""
    return any(owner["isolated_relative_fitness"] is not None for owner in result["owners"])


def own_model(owner: Content) -> str:
    """The error of the model that an owner could train alone."""
    alone = owner["isolated_relative_fitness"]
    return UNKNOWN if alone is None else error_words(alone, short=True).removesuffix(" as much")


def common_model(owner: Content) -> str:
    """Whether the model that comes out is better than the one that an owner could train alone."""
    if epsilon_of(owner) == 0:
        return "given to it too" if owner.get("benefit") else "not given to it"
    return UNKNOWN if owner["isolated_relative_fitness"] is None else "better" if owner["gains"] else "worse"


def gaining(result: Content) -> int:
    """How many owners that sell could train no better model alone."""
    return sum(bool(owner["gains"]) for owner in result["owners"])


# Where the owners settled


def remarks(result: Content) -> list[str]:
    """What is remarkable about the equilibrium, where there is one only."""
    facts = result["equilibrium"].get("remarks", [])
    return [REMARKS[fact["cause"]](fact, in_money(result)) for fact in facts if fact["cause"] in REMARKS]


def _budgets(fact: Content) -> str:
    low, high = (number(end, 4) for end in fact["epsilon"])
    return f"ε = {low}" if low == high else f"ε from {low} to {high}"


REMARKS: dict[str, Callable[[Content, Callable[[float | None], str]], str]] = {
    "all_at_lowest": lambda fact, money: (
        f"The market collapses: every owner shares the least it may ({_budgets(fact)}), since more would cost more than it "
        "brings."
    ),
    "all_at_highest": lambda fact, money: (
        f"Every owner shares as much as it may ({_budgets(fact)}): more always brings more than it costs, and only the "
        "limit stops it."
    ),
    "printed_weight": lambda fact, money: (
        f"As printed, the weight w keeps every payment under {money(fact['largest_payment'])}, next to a cost that "
        f"runs up to {money(fact['largest_cost'])}."
    ),
}
KINDS = {
    "dominance_solvable": "whatever the others do, sensible choices narrow down to this one outcome",
    "potential_game": "whoever gains by moving raises one sum that all have in common (a potential game)",
    "contraction": "answers to different choices of the others are closer than those choices (a contraction)",
}


def kind_of_game(result: Content) -> str:
    """What kind of game it is, as far as samples tell; empty where it was not looked into or nothing is remarkable."""
    found = result["equilibrium"].get("diagnosis") or {}
    kinds = [words for kind, words in KINDS.items() if found.get(kind)]
    return f"Samples of the game suggest: {'; '.join(kinds)}." if kinds else ""


PLAY = {"cycle": "kept going round in a cycle", "limit": "were still moving when their rounds were over"}


def agents_play(result: Content) -> str:
    """What to know of agents who did not come to rest where the owners are said to settle, or did not play; else empty."""
    found = result["equilibrium"]
    agents = found.get("agents", "rest")
    if result.get("behaviours") or result.get("unions") or result.get("learners") or not found["converged"]:
        return ""
    if agents is None:
        count = counted(len(result["owners"]), "owner")
        return f"With {count} no agents played: the fixed point of their best responses stands in for their play."
    if agents not in PLAY:
        return ""
    return (
        f"Agents who moved round by round, each to its best response, {PLAY[agents]}; the equilibrium told here is one that "
        "a direct solver found, and such play did not lead there."
    )


def distinct_equilibria(result: Content) -> list[str]:
    """Each equilibrium in a line, where there are several."""
    names = [owner["name"] for owner in result["owners"]]
    profiles = [[limit(e) for e in profile] for profile in result["equilibrium"]["distinct"]]
    if len(profiles) < 2:
        return []
    if len(names) > 6:
        return [f"ε from {number(min(p))} to {number(max(p))}, mean {number(sum(p) / len(p))}" for p in profiles]
    return [", ".join(f"{name} {number(e)}" for name, e in zip(names, p, strict=True)) for p in profiles]


def best_for_all(result: Content) -> str:
    """What a planner could reach who set all budgets, and how sure it is that no other choice does better."""
    welfare = result["welfare"]
    if welfare["optimum"] is None:
        return "What a planner could reach who set all budgets is not known of such a market."
    have, most, anarchy = welfare["total"], welfare["optimum"], welfare["price_of_anarchy"]
    money = in_money(result)
    at_most, trifle = welfare.get("optimum_at_most"), 1e-5 * max(1.0, abs(most))
    if most - have <= 1e-6 * max(1.0, abs(most)):
        text = "No central choice of all budgets would do better."
        unsure = "No central choice of all budgets was found that does better."
        text = text if at_most is not None and at_most - most <= trifle else unsure
    else:
        text = f"A planner who set every budget for the common good would reach {money(most)}"
        if anarchy is None:
            text += "; a price of anarchy is not defined where the market as it is gains nothing."
        else:
            more = f"{times(anarchy)} as much" if anarchy >= 1.995 else f"{percent(anarchy - 1)} more"
            text += (
                f", {more} (price of anarchy {number(anarchy, 4)}): that is what it costs that each owner looks after "
            )
            text += "itself."
    if at_most is None:
        return f"{text} That is the best choice found; how much better another could be is not known here."
    if at_most - most <= trifle:
        return text
    top = welfare["price_of_anarchy_at_most"]
    price = "" if top is None else f", a price of anarchy of {number(top, 4)}"
    return f"{text} No choice whatever can exceed {money(at_most)}{price}."


def unwilling(result: Content) -> str:
    """Who would rather not take part; empty where nobody would."""
    names = [row["name"] for row in result["owners"] if row.get("rational") is False]
    if not names:
        return ""
    who = listed(names) if len(names) <= NAMED else f"{len(names):,} owners"
    verb = "is" if len(names) == 1 else "are"
    return f"{who} {verb} worse off than without the market: free to leave, they would."
