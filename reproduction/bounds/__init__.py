"""Published bounds beside the exact law and trainings, on problems that meet their assumptions."""

from __future__ import annotations

from pathlib import Path

from reproduction.bounds import convex, gossip, local, sums, which_noise
from reproduction.specification import read_items

LAWS = convex.LAWS | gossip.LAWS | local.LAWS | sums.LAWS | which_noise.LAWS
ITEMS = read_items(Path(__file__).parent, LAWS)
