"""Kang, Liu and Wang, Weighted Distributed Differential Privacy ERM: Figures 1 to 16, Theorem 3."""

from __future__ import annotations

from reproduction.item import Item
from reproduction.weighted import figures, lojasiewicz

ITEMS: tuple[Item, ...] = (*figures.ITEMS, lojasiewicz.ITEM)
