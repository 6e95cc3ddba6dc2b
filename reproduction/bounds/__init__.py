"""Published bounds beside the exact law and trainings, on problems that meet their assumptions."""

from __future__ import annotations

from reproduction.bounds import convex, gossip, local, sums, which_noise
from reproduction.item import Item

ITEMS: tuple[Item, ...] = (convex.ITEM, gossip.ITEM, local.ITEM, *sums.ITEMS, *which_noise.ITEMS)
