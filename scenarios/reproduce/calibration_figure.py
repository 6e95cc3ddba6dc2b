"""Are chances what they are called? The share of seeds in which a gain came out below each quantile told before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import numpy as np
import scipy

from scenarios.report.figure_page import BAND, INK, MUTED, PALETTE, STYLE, _page, _panel, _svg
from scenarios.reproduce.outcome import Outcome

DASHES = ("-", "--", ":", "-.")


def draw(found: Sequence[Outcome]) -> str:
    """The drawing as SVG: a line for each market, the diagonal, and where nine markets in ten would lie by chance."""
    names = list(dict.fromkeys(one.market for one in found))
    count = min(sum(one.market == name for one in found) for name in names)
    chance = np.linspace(0, 1, 101)
    with matplotlib.rc_context(STYLE):
        note = f"Share of {count} seeds in which the learner's gain came out below a quantile told before training."
        figure = _page(4.3, "Are the chances what they are called?", note)
        axes = _panel(figure, 0.7, 0.65, 3.1, 3.1)
        axes.fill_between(
            chance, *(scipy.stats.binom.ppf(end, count, chance) / count for end in (0.05, 0.95)), color=BAND, lw=0
        )
        axes.plot([0, 1], [0, 1], color=MUTED, lw=0.8)
        for number, name in enumerate(names):
            ranks = np.sort([one.rank for one in found if one.market == name])
            below = np.searchsorted(ranks, chance, side="right") / len(ranks)
            look: dict[str, Any] = dict(
                color=PALETTE[number % len(PALETTE)], ls=DASHES[number // len(PALETTE) % len(DASHES)]
            )
            axes.step(chance, below, where="post", lw=1.4, label=name, **look)
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="chance called", ylabel="share that came true")
        figure.legend(*axes.get_legend_handles_labels(), loc="upper left", bbox_to_anchor=(0.56, 0.82), frameon=False)
        figure.text(
            0.575,
            0.24,
            "shaded: where nine lines in ten lie\nat each chance if all is as called",
            color=INK,
            fontsize=8,
        )
        return _svg(figure)
