"""Owners of a result: budgets, money at stake, their order in tables, and their protection."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from typing import Any

from learning.phrases import STRENGTHS, belief_of, join_words, read_limit, strength, surest
from learning.privacy.promises import weakest_claims
from scenarios.report.wording import format_range, natural_key

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


def sell_alike(owners: Iterable[Content]) -> bool:
    """Test whether owners sell the same budget under noise for the same payment, up to rounding."""
    groups = group_alike(owners)
    one = groups[0][0]
    return len(groups) == 1 and epsilon_of(one) < math.inf and (one["payment"] or 0.0) >= 0


def group_alike(owners: Iterable[Content]) -> list[list[Content]]:
    """Group owners who sell the same budget for the same payment, up to rounding."""
    groups: dict[tuple[str, str], list[Content]] = {}
    for owner in owners:
        sale = (f"{epsilon_of(owner):.6g}", f"{owner['payment'] or 0.0:.6g}")
        groups.setdefault(sale, []).append(owner)
    return list(groups.values())


def name_alike(names: Sequence[str], letters: int) -> str:
    """Name owners who are shown as one: as many as fit into ``letters`` letters, at least one.

    >>> name_alike(["North", "South", "East"], 24), name_alike(list("ABCDE"), 17)
    ('North, South and East', 'A, B and 3 others')
    """
    texts = (join_words(names, most) for most in (3, 2))
    return next((text for text in texts if len(text) <= letters), join_words(names, 1))


def asks_nothing(result: Content) -> bool:
    """Test whether owners sell, and the learner still does best to ask nothing."""
    return result["forecast"].get("step_size") == 0 and bool(sellers(result))


def nothing_trained(result: Content) -> bool:
    """Test whether the learner keeps the model it has."""
    return result["forecast"].get("step_size") == 0 or not sellers(result)


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
    return [(use, parts[use]) for use in ("trade", "sight") if parts.get(use)]


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


WEAK = STRENGTHS[2][0]  # posterior above which protection is called weak
TILES = {"very strong": "gain", "strong": "gain", "moderate": "even", "weak": "uncertain"}
OF_ONE = ("party", "epsilon", "surest", "but_for", "joint_epsilon")  # keys of a single promise


def weakest_promises(result: Content) -> dict[str, Content]:
    """Return the weakest promise to each owner that has any."""
    return weakest_claims(result["claims"])


def beliefs(result: Content) -> dict[str, tuple[float, float]]:
    """Posterior of the onlooker who sees most, and its exception chance, by name of owner."""
    records = {owner["name"]: owner["records"] for owner in result["owners"]}
    return {
        name: belief_of(claim, records[name]) for name, claim in weakest_promises(result).items()
    }


@dataclass(frozen=True)
class Protected:
    """Protection of the records of those who sell; empty where nothing is sold or asked.

    Parameters
    ----------
    sold: epsilon sold by name, inf without noise.
    sure: posterior of an even guess about a record, by name, for an onlooker of all answers.
    but_for: chance but for which that holds.
    over: the periods that budgets are counted over, as a clause of a sentence.
    sees: what the onlooker sees.
    """

    sold: Mapping[str, float]
    sure: Mapping[str, float]
    but_for: float = 0.0
    over: str = ""
    sees: str = "all answers"


def protection_of(result: Content, names: Collection[str] | None = None) -> Protected:
    """Return the protection of all who sell, or of those named."""
    time = result.get("time")
    if asks_nothing(result) and not time:
        return Protected({}, {})
    if time:
        sold = {
            one["name"]: read_limit(one["spent"]) for one in time["owners"] if one["spent"] != 0
        }
        over = " over all periods"
    else:
        sold = {owner["name"]: epsilon_of(owner) for owner in sellers(result)}
        over = ""
    sold = {name: epsilon for name, epsilon in sold.items() if names is None or name in names}
    known = {name: belief for name, belief in beliefs(result).items() if name in sold}
    sure = {name: surest(epsilon) for name, epsilon in sold.items()}
    sure |= {name: belief[0] for name, belief in known.items()}
    but_for = max((chance for _, chance in known.values()), default=0.0)
    if result.get("trust"):  # sold may be more than the noise of the strictest lets anybody learn
        over = f"{over} sold, under noise made together,"
        return Protected(sold, sure, but_for, over, "sums of answers alone")
    return Protected(sold, sure, but_for, over)


def weakly_protected_owners(found: Protected) -> dict[str, float]:
    """Return the owners with noise whose protection is weak, each with its posterior."""
    return {
        name: sure
        for name, sure in found.sure.items()
        if sure > WEAK and math.isfinite(found.sold[name])
    }


def largest_budget(sold: Mapping[str, float], names: Collection[str]) -> str | None:
    """Name the owner with the largest finite budget among some; None where there is none."""
    finite = [name for name in sold if name in names and math.isfinite(sold[name])]
    return max(finite, key=lambda name: sold[name], default=None)


def protection_tile(found: Protected) -> str:
    """Class of a tile by the owner protected least: gain, even, uncertain or loss."""
    if not found.sure:
        return "even"
    return TILES.get(strength(max(found.sure.values())), "loss")


def by_kind(claims: Sequence[Content]) -> list[dict[str, Any]]:
    """Group promises that differ in party and ε only: each kind once, with parties and range.

    >>> pairs = (("A", 1.0), ("B", 2.5))
    >>> by_kind([{"party": name, "epsilon": e, "delta": 0.0} for name, e in pairs])
    [{'delta': 0.0, 'party': 'A and B', 'epsilon': '1 to 2.5'}]
    """
    kinds: dict[tuple[Any, ...], list[Content]] = {}
    for claim in claims:
        key = tuple(value for name, value in claim.items() if name not in OF_ONE)
        kinds.setdefault(key, []).append(claim)
    return [_merge_promises(group) for group in kinds.values()]


def _merge_promises(group: Sequence[Content]) -> dict[str, Any]:
    parties = f"{len(group):,} promises"
    if len(group) < 4:
        parties = join_words([claim["party"] for claim in group])
    common = {key: value for key, value in group[0].items() if key not in OF_ONE}
    return common | {
        "party": parties,
        "epsilon": format_range([epsilon_of(claim) for claim in group]),
    }


def by_party(claims: Sequence[Content], most: int) -> Sequence[Content]:
    """Sort promises by party, 2 before 10; more than ``most`` stay in their order."""
    if len(claims) > most:
        return claims
    return sorted(claims, key=lambda claim: natural_key(claim["party"]))


def several_onlookers(result: Content) -> bool:
    """Test whether promises are against several kinds of onlookers."""
    return len({claim["protects_against"] for claim in result["claims"]}) > 1
