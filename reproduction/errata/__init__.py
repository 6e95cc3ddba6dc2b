"""Errata of the sources: one runnable demonstration each."""

from __future__ import annotations

from reproduction.errata import (
    amplification,
    beliefs,
    games,
    gossip,
    gossip_bounds,
    measures,
    noise,
    on_records,
    walks,
    weighted,
    weighted_proofs,
)
from reproduction.item import Item

FILES = (
    noise,
    walks,
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
    sorted(
        (item for file in FILES for item in file.ITEMS),
        key=lambda item: int(item.key.partition("-")[2]),
    )
)
