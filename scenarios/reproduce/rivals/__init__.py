"""Published numbers of mechanisms for private costs, rules of other papers, and all of them side by side (N2)."""

from __future__ import annotations

from scenarios.reproduce.item import Item
from scenarios.reproduce.rivals import auctions, budgets, contracts, other_papers, side_by_side

ITEMS: tuple[Item, ...] = (
    *auctions.ITEMS[:3],
    *contracts.ITEMS,
    *auctions.ITEMS[3:],
    *other_papers.ITEMS,
    *side_by_side.ITEMS,
    *budgets.ITEMS,
)
