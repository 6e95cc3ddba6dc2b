"""Figures of The Value of Collaboration in Convex Machine Learning with Differential Privacy."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction.collaboration import figures
from reproduction.collaboration.setups import FRAUD, LENDING
from reproduction.specification import Found, read_items

Ticks = tuple[float, float]
SCENARIOS = tuple(f"scenario {number}" for number in (1, 2, 3, 4))
LENDING_CORNER: Ticks = (1e7, 1e9)
# The two highest tick labels of each axis of relative fitness, by psfrag commands of the source;
# the noisiest point of Figure 3 is one of Figure 4 too.
TICKS: dict[str, dict[str, Ticks]] = {
    "VC-2": {"Figure 2": (1e2, 1e3)},
    "VC-3": {"Figure 3": (1e5, 1e10), "Figure 4, for the same point": LENDING_CORNER},
    "VC-4": {"Figure 4": LENDING_CORNER},
    "VC-5": {"Figure 5": LENDING_CORNER},
    "VC-6": dict(zip(SCENARIOS, ((1e6, 1e7), (1e6, 1e8), (1e3, 1e4), (1e3, 1e4)), strict=True)),
    "VC-7": {"Figure 7": (1e2, 1e3)},
    "VC-8": {"Figure 8": (1e6, 1e8)},
    "VC-9": {"Figure 9": (1e7, 1e9)},
    "VC-10": {"Figure 10": (1e7, 1e9)},
    "VC-11": dict(zip(SCENARIOS, ((1e6, 1e8), (1e6, 1e8), (1e3, 1e4), (1e3, 1e4)), strict=True)),
}
LEAST = {
    "VC-8": 1_000,
    "VC-11": 1_000,
}  # records at which the source's axis begins, and ours before


def largest_drawn(key: str, panel: str, frame: pd.DataFrame) -> tuple[float, float]:
    """Largest relative fitness that a panel draws, over the sizes that the source has.

    With its standard error; that of a quartile of paths is left out.
    """
    if "q75" in frame:  # paths
        noise = frame["noise_of_records"]
        return float(frame.loc[noise == noise.max(), "q75"].max()), 0.0
    if panel in SCENARIOS:
        frame = frame[frame["scenario"] == SCENARIOS.index(panel) + 1]
    frame = frame[frame["n_records"] >= LEAST.get(key, 0)]
    found, error = frame.loc[frame["relative_fitness"].idxmax(), ["relative_fitness", "std_error"]]
    return float(found), float(error)


def check_with_level(
    key: str, check: Callable[[pd.DataFrame], Found], frame: pd.DataFrame
) -> Found:
    """Check a figure, and that its largest relative fitness lies between its highest two ticks."""
    yield from check(frame)
    for panel, (low, high) in TICKS[key].items():
        found, error = largest_drawn(key, panel, frame)
        labels = f"10^{np.log10(low):.0f} and 10^{np.log10(high):.0f}"
        words = {"axis": panel, "labels": labels, "tolerance": 0.3 * found, "std_error": error}
        yield "level", found, low, high, words


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
