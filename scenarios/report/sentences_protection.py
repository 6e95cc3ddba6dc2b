"""How well those who sell are protected, all of them looked at once; from the content of result.json alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from scenarios.report.sentences_market import Content, asks_nothing, epsilon_of, sellers
from scenarios.report.sentences_privacy import (
    CERTAIN,
    LEAST,
    MISSING,
    NOTHING_PROMISED,
    STRENGTHS,
    beliefs,
    but_for_words,
    strength,
    sure_words,
    surest,
)
from scenarios.report.wording import between, limit, number, percent

WEAK = STRENGTHS[2][0]  # how sure an even guess may become before protection is called weak
TILES = {"very strong": "gain", "strong": "gain", "moderate": "even", "weak": "uncertain"}


@dataclass(frozen=True)
class Protected:
    """How well the records of those who sell are protected; of nobody where nothing is sold or asked.

    Parameters
    ----------
    sold: name -> epsilon sold, inf without noise.
    sure: name -> how sure whoever sees all answers can become of an even guess about a record.
    but_for: the chance but for which that holds.
    over: what budgets are counted over, where the market is held in several periods: in all of them.
    sees: what is seen by whom this holds against.
    """

    sold: Mapping[str, float]
    sure: Mapping[str, float]
    but_for: float = 0.0
    over: str = ""
    sees: str = "all answers"


def protected(result: Content, names: Collection[str] | None = None) -> Protected:
    """The protection of all who sell, or of those named."""
    time = result.get("time")
    if asks_nothing(result) and not time:
        return Protected({}, {})
    every = {one["name"]: limit(one["spent"]) for one in time["owners"] if one["spent"] != 0} if time else None
    sold = {owner["name"]: epsilon_of(owner) for owner in sellers(result)} if every is None else every
    sold = {name: epsilon for name, epsilon in sold.items() if names is None or name in names}
    known = {name: belief for name, belief in beliefs(result).items() if name in sold}
    sure = {name: known[name][0] if name in known else surest(epsilon) for name, epsilon in sold.items()}
    but_for = max((chance for _, chance in known.values()), default=0.0)
    over = " over all periods" if time else ""
    if result.get("trust"):  # sold may be more than the noise of the strictest lets anybody learn
        return Protected(sold, sure, but_for, f"{over} sold, under noise made together,", "sums of answers alone")
    return Protected(sold, sure, but_for, over)


def strengths(found: Protected) -> str:
    """From the strongest protection that is left to the weakest, in a word or two; empty of nobody.

    >>> strengths(Protected({"A": 0.5, "B": 9.0}, {"A": 0.62, "B": 0.9999}))
    'strong to very weak protection'
    """
    if not found.sure:
        return ""
    if math.isinf(max(found.sold.values())):
        return "no protection of who adds no noise"
    most, least = (strength(end(found.sure.values())) for end in (min, max))
    return f"{least} protection" if least == most else f"{most} to {least} protection"


def weakly_protected(found: Protected) -> str:
    """That protection is weak, of how many owners, and what that means; empty where it is not."""
    weak = {name: sure for name, sure in found.sure.items() if sure > WEAK and math.isfinite(found.sold[name])}
    if not weak:
        return ""
    name = max(weak, key=lambda name: found.sold[name])
    met = set(map(strength, weak.values()))
    words = [word for word in ("weak", LEAST, MISSING) if word in met]
    several = len(weak) < len(found.sure)
    whose = f"For {len(weak):,} of the {len(found.sure):,} that sell, protection" if several else "Protection"
    return (
        f"{whose} is {' or '.join(words)}: at ε = {number(found.sold[name])}{found.over} an even guess about a record "
        f"becomes {sure_words(weak[name])}."
    )


def meaning(found: Protected) -> str:
    """What the largest budget sold means; empty where there is none with noise."""
    finite = {name: epsilon for name, epsilon in found.sold.items() if math.isfinite(epsilon)}
    if not finite:
        return ""
    name = max(finite, key=lambda name: finite[name])
    sure = found.sure[name]
    if sure >= 1:
        return f"Protection is {MISSING}: δ is not below one over the records, and {NOTHING_PROMISED}."
    return (
        f"What ε means: if two versions of a record look equally likely beforehand, whoever sees {found.sees} is at "
        f"ε = {number(finite[name])}{found.over} {sure_words(sure)} afterwards which is true{but_for_words(found.but_for)}: "
        f"{strength(sure)} protection."
    )


def tile(found: Protected) -> str:
    """How a tile shows the protection of the owner that is protected least: gain, even, uncertain or loss."""
    return TILES.get(strength(max(found.sure.values())), "loss") if found.sure else "even"


def privacy_line(found: Protected) -> str:
    """The same in a line of the terminal; empty of nobody."""
    if not found.sure:
        return ""
    low, high = min(found.sure.values()), max(found.sure.values())
    ends = (
        f"at most {between(low, high, percent)} sure" if high <= CERTAIN else f"{sure_words(low)} to {sure_words(high)}"
    )
    return f"{strengths(found)}: an even guess about a record becomes {sure_words(high) if low > CERTAIN else ends}"
