"""Every published bound beside the exact law and trainings, on problems that meet the theorems' assumptions."""

from __future__ import annotations

from scenarios.reproduce.bounds import convex, gossip, local, sums, which_noise
from scenarios.reproduce.item import Item

ITEMS: tuple[Item, ...] = (convex.ITEM, gossip.ITEM, local.ITEM, *sums.ITEMS, *which_noise.ITEMS)
