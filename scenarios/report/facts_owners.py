"""Owners of a result: budgets, money at stake, and the order in which tables list them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import nlargest
from typing import Any

from agents.networks import SIGHT, TRADE
from scenarios.report.wording import natural_key, read_limit

Content = Mapping[str, Any]
STAKES = ("payment", "privacy_cost", "tax", "benefit")
PAST = 1.01  # of the budget worth buying: up to here an owner sells no more than that


def epsilon_of(row: Content) -> float:
    """Return the privacy budget of an owner or of a claim."""
    return read_limit(row["epsilon"])


def sellers(result: Content) -> list[Content]:
    """Return the owners who sell a budget above 0."""
    return [owner for owner in result["owners"] if epsilon_of(owner) > 0]


def budgets_sold(result: Content) -> list[float]:
    """Return the privacy budget of each seller."""
    return [epsilon_of(owner) for owner in sellers(result)]


def anybody_sells(result: Content) -> bool:
    """Test whether there is a seller."""
    return any(epsilon_of(owner) > 0 for owner in result["owners"])


def asks_nothing(result: Content) -> bool:
    """Test whether owners sell, and the learner still does best to ask nothing."""
    return result["forecast"].get("step_size") == 0 and anybody_sells(result)


def nothing_trained(result: Content) -> bool:
    """Test whether the learner keeps the model it has."""
    return result["forecast"].get("step_size") == 0 or not anybody_sells(result)


def money_at_stake(owner: Content) -> float:
    """Add up the sizes of an owner's payment, privacy cost, tax and benefit."""
    return sum(abs(owner.get(part) or 0.0) for part in STAKES)


def by_stake(owners: Iterable[Content], most: int) -> list[Content]:
    """Pick the owners with most money at stake, the largest stake first."""
    top = nlargest(most, owners, key=money_at_stake)
    return sorted(top, key=lambda owner: (-money_at_stake(owner), natural_key(owner["name"])))


def by_name(owners: Iterable[Content]) -> list[Content]:
    """Keep the scenario's order; names that were sorted as texts are sorted with 2 before 10."""
    owners = list(owners)
    names = [owner["name"] for owner in owners]
    if names != sorted(names):
        return owners
    return sorted(owners, key=lambda owner: natural_key(owner["name"]))


def listed_first(owners: Iterable[Content], most: int, shown: int) -> list[Content]:
    """Order owners of a table: by name, or of more than ``most`` the ``shown`` largest stakes."""
    owners = list(owners)
    if len(owners) <= most:
        return by_name(owners)
    return by_stake(owners, shown)


def places_listed_first(owners: Iterable[Content], most: int, shown: int) -> list[int]:
    """Return the same order as places in the list of owners."""
    numbered = [{**owner, "place": place} for place, owner in enumerate(owners)]
    return [owner["place"] for owner in listed_first(numbered, most, shown)]


def known_worths(result: Content) -> list[float]:
    """Return the budgets worth buying of the owners that have one."""
    worths = [owner.get("epsilon_worth") for owner in result["owners"]]
    return [worth for worth in worths if worth is not None]


def sells_past_worth(owner: Content) -> bool:
    """Test whether an owner sells more than is worth buying of it."""
    worth = owner.get("epsilon_worth")
    return worth is not None and epsilon_of(owner) > PAST * worth


def networks_of(result: Content) -> list[tuple[str, Content]]:
    """Return the networks of a result with their uses; none where there is none."""
    parts = result.get("network") or {}
    return [(use, parts[use]) for use in (TRADE, SIGHT) if parts.get(use)]


def strongest_correlation(rows: Iterable[Content]) -> Content:
    """Pick the rank correlation of largest size."""
    return max(rows, key=lambda row: abs(row["spearman"]))


def own_models_known(result: Content) -> bool:
    """Test whether the models that owners could train alone were fitted."""
    return any(owner["isolated_relative_fitness"] is not None for owner in result["owners"])


def order_by_records(game: Content) -> str:
    """Compare budgets of owners with more records, in the last inner equilibrium of a game.

    Returns
    -------
    ``"lower"`` or ``"higher"`` where budgets are monotone in records, else an empty text.
    """
    sizes = [owner["records"] for owner in game["owners"]]
    inner = [
        one
        for one in game["equilibria"]
        if one["stable"] and not one["at_lowest"] and not one["at_highest"]
    ]
    if len(set(sizes)) < 2 or not inner:
        return ""
    pairs = sorted(zip(sizes, inner[-1]["epsilon"], strict=True), key=lambda pair: pair[0])
    steps = [after - before for (_, before), (_, after) in zip(pairs, pairs[1:], strict=False)]
    if all(step < 0 for step in steps):
        return "lower"
    if all(step > 0 for step in steps):
        return "higher"
    return ""


def noisiest_question(rows: Iterable[Content]) -> Content | None:
    """Pick the question of largest noise relative to a full round; None where all answered."""
    worse = [row for row in rows if row["noise"] != row["noise_if_all"]]
    return max(worse, key=lambda row: row["noise"] / row["noise_if_all"], default=None)
