"""What the sources get wrong, or leave unsaid: one runnable demonstration each."""

from __future__ import annotations

from scenarios.reproduce.errata import amplification, beliefs, games, gossip, gossip_bounds, noise, on_records, walks, weighted
from scenarios.reproduce.item import Item

FILES = (noise, walks, weighted, amplification, games, gossip, gossip_bounds, on_records, beliefs)
ITEMS: tuple[Item, ...] = tuple(
    sorted((item for file in FILES for item in file.ITEMS), key=lambda item: int(item.key.partition("-")[2]))
)
