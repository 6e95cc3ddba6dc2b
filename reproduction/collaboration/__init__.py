"""Figures of The Value of Collaboration in Convex Machine Learning with Differential Privacy."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from reproduction.collaboration import figures
from reproduction.collaboration.setups import FRAUD, LENDING
from reproduction.specification import read_items

ITEMS = read_items(
    Path(__file__).parent,
    {
        f"VC-{number}": (partial(compute, setup), partial(check, setup), *draw)
        for first, setup in ((2, LENDING), (7, FRAUD))
        for number, (compute, check, *draw) in enumerate(figures.KINDS, first)
    },
)
