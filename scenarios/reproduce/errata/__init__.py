"""What the sources get wrong, or leave unsaid: one runnable demonstration each."""

from __future__ import annotations

from scenarios.reproduce.errata import amplification, gossip, gossip_bounds, noise, walks, weighted
from scenarios.reproduce.item import Item

ITEMS: tuple[Item, ...] = (*noise.ITEMS, *amplification.ITEMS, *gossip.ITEMS, *gossip_bounds.ITEMS, *walks.ITEMS, *weighted.ITEMS)
