"""The papers' figures once more, with this program's own protocol beside them: where does collaboration start to pay then?"""

from __future__ import annotations

from scenarios.reproduce.item import Item
from scenarios.reproduce.second import value
from scenarios.reproduce.second.column import Second, joined
from scenarios.reproduce.second.grids import (
    ASYNCHRONOUS,
    ASYNCHRONOUS_FRAUD,
    FRAUD,
    LENDING,
    SEPARABLE,
    better,
    by_budget,
    by_records,
    grid,
    ranked,
    scenarios,
    second,
    surfaces,
)

SECOND: dict[str, Second] = {
    "VC-4": second(LENDING, grid, better, by_budget),
    "VC-5": second(LENDING, grid, better, by_records),
    "VC-6": second(LENDING, scenarios, ranked, surfaces, panels=(2, 2), cost=5.0),
    "VC-9": second(FRAUD, grid, better, by_budget, cost=8.0),
    "VC-10": second(FRAUD, grid, better, by_records, cost=8.0),
    "VC-11": second(FRAUD, scenarios, ranked, surfaces, panels=(2, 2), cost=15.0),
    "AS-5": second(ASYNCHRONOUS, grid, better, by_budget),
    "AS-6": value.VALUE,
    "AS-9": value.CURVE,
    "AS-10": value.GAINS,
    "AS-11": second(ASYNCHRONOUS_FRAUD, grid, better, by_budget, says=SEPARABLE, cost=8.0),
}


def beside(item: Item) -> Item:
    """The item, with our protocol beside it where there is a second column for it."""
    return joined(item, SECOND[item.key]) if item.key in SECOND else item
