"""Figures of The Value of Collaboration in Convex Machine Learning with Differential Privacy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd

from reproduction.collaboration import figures
from reproduction.collaboration.setups import FRAUD, LENDING
from reproduction.specification import Found, read_items

TOP_TICKS = {
    "VC-3": (1e7, 1e9),
    "VC-4": (1e7, 1e9),
    "VC-5": (1e7, 1e9),
    "VC-6": (1e6, 1e7),
    "VC-11": (1e6, 1e8),
}  # the two highest tick labels (of Figure 4, which has the same points, for VC-3; of scenario 1)


def check_with_level(
    key: str, check: Callable[[pd.DataFrame], Found], frame: pd.DataFrame
) -> Found:
    """Check a figure, and that its largest relative fitness lies between its highest two ticks."""
    yield from check(frame)
    if key in TOP_TICKS:
        shown = frame[frame["scenario"] == 1] if "scenario" in frame else frame
        found = shown["relative_fitness"].max()
        yield "level", found, *TOP_TICKS[key], {"tolerance": 0.3 * found}


ITEMS = read_items(
    Path(__file__).parent,
    {
        f"VC-{number}": (
            partial(compute, setup),
            partial(check_with_level, f"VC-{number}", partial(check, setup)),
            *draw,
        )
        for first, setup in ((2, LENDING), (7, FRAUD))
        for number, (compute, check, *draw) in enumerate(figures.KINDS, first)
    },
)
