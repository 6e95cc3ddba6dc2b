"""Mechanisms for private costs, rules of other papers, and all of them side by side (N2)."""

from __future__ import annotations

from pathlib import Path

from reproduction.rivals import auctions, budgets, contracts, other_papers, side_by_side
from reproduction.specification import read_items

ITEMS = read_items(
    Path(__file__).parent,
    {
        "N2-FairQuery": auctions.FAIR_QUERY,
        "N2-MinCost": auctions.MIN_COST,
        "N2-ladder": auctions.LADDER,
        "N2-virtual": contracts.VIRTUAL,
        "N2-menu": contracts.MENU,
        "N2-proportional": auctions.CONTEST,
        "N2-FL-Market": other_papers.ALL_IN,
        "N2-PAID-FD": other_papers.PAID_FD,
        "N2-Dealer": other_papers.DEALER,
        "N2-rivals": side_by_side.SIDE_BY_SIDE,
        "N2-budgets": budgets.BUDGETS,
    },
)
