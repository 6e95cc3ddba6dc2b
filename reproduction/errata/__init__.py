"""Errata of the sources: one runnable demonstration each."""

from __future__ import annotations

from pathlib import Path

from reproduction.errata import gossip, noise, thesis, walks, weighted
from reproduction.specification import read_items

LAWS = noise.LAWS | walks.LAWS | gossip.LAWS | weighted.LAWS | thesis.LAWS
ITEMS = read_items(
    Path(__file__).parent,
    {f"E-{number}": LAWS[f"E-{number}"] for number in range(1, len(LAWS) + 1)},
)
