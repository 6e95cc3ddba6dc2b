"""What the sources get wrong, or leave unsaid: one runnable demonstration each."""

from __future__ import annotations

from scenarios.reproduce.errata import (
    amplification,
    beliefs,
    descent,
    games,
    gossip,
    gossip_bounds,
    gradient_bound,
    measures,
    noise,
    on_records,
    walks,
    weighted,
    weighted_proofs,
)
from scenarios.reproduce.item import Item

FILES = (
    noise,
    gradient_bound,
    walks,
    descent,
    gossip,
    gossip_bounds,
    on_records,
    amplification,
    weighted,
    weighted_proofs,
    games,
    measures,
    beliefs,
)
ITEMS: tuple[Item, ...] = tuple(
    sorted((item for file in FILES for item in file.ITEMS), key=lambda item: int(item.key.partition("-")[2]))
)
