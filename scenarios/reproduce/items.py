"""Every item of the reproduction book, in the order of its page."""

from __future__ import annotations

from scenarios.reproduce import bounds, collaboration, errata, rivals, thesis, timing, weighted
from scenarios.reproduce.item import Item
from scenarios.reproduce.second import beside

ITEMS: tuple[Item, ...] = (
    *map(beside, (*collaboration.ITEMS, *timing.ITEMS)),
    *weighted.ITEMS,
    *thesis.ITEMS,
    *bounds.ITEMS,
    *rivals.ITEMS,
    *errata.ITEMS,
)
