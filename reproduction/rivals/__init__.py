"""Mechanisms for private costs, rules of other papers, and all of them side by side (N2)."""

from __future__ import annotations

from pathlib import Path

from reproduction.rivals import auctions, budgets, other_papers, side_by_side
from reproduction.specification import read_items

LAWS = auctions.LAWS | other_papers.LAWS
LAWS |= {"N2-rivals": side_by_side.SIDE_BY_SIDE, "N2-budgets": budgets.BUDGETS}
ITEMS = read_items(Path(__file__).parent, LAWS)
