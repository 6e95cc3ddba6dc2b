"""Figure of a tournament: the score of every policy under every mix of behaviours."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from scenarios.report.facts_study import name_fact, show_fact
from scenarios.report.figure_page import INK, MUTED, PALETTE, WIDTH, add_panel, new_page, shorten
from scenarios.report.phrases import upper_first
from scenarios.sweeping.standings import Standing
from scenarios.sweeping.study import Study

ROW = 0.24  # inches
TOP = 0.62
LABELS = 2.15
HEAD = 0.34
WIDE = WIDTH - LABELS - 0.1
DEEPEST = 0.55  # of a colour, so that numbers on it are legible
LETTERS = 11.0  # of a head, in an inch
NOTE = "the best of each line in bold, below 0 worse than buying nothing"


def tournament_figure(study: Study, rows: Sequence[Standing], title: str) -> Figure:
    """Draw scores, gains blue and losses orange: mixes from top to bottom, policies by regret."""
    contest = study.tournament
    assert contest is not None
    mixes = contest.mixes
    fact = study.score
    height = TOP + HEAD + ROW * len(mixes) + 0.1
    figure = new_page(height, title, f"{upper_first(name_fact(fact))}; {NOTE}")
    axes = add_panel(figure, LABELS, TOP + HEAD, WIDE, ROW * len(mixes))
    axes.set_xlim(-0.5, len(rows) - 0.5)
    axes.set_ylim(len(mixes) - 0.5, -0.5)
    scores = [score.mean for row in rows for score in row.scores if score]
    largest = max(map(abs, scores), default=0.0) or 1.0
    for mix in range(len(mixes)):
        means = [getattr(row.scores[mix], "mean", None) for row in rows]
        best = max((mean for mean in means if mean is not None), default=None)
        for place, mean in enumerate(means):
            weight = "normal"
            if mean is not None:
                ends = (place / len(rows), (place + 1) / len(rows))
                box = axes.axhspan(mix - 0.47, mix + 0.47, *ends)
                depth = float(DEEPEST * np.sqrt(abs(mean) / largest))
                box.set(facecolor=PALETTE[mean < 0], alpha=depth, linewidth=0)
                weight = {True: "bold", False: "normal"}[mean >= best]
            style: dict[str, Any] = {"fontsize": 7, "color": INK, "fontweight": weight}
            axes.text(place, mix, show_fact(fact, mean), ha="center", va="center", **style)
    letters = max(6, int(LETTERS * WIDE / len(rows)))
    heads = ["\n".join(wrap(row.policy, letters)[:2]) for row in rows]
    axes.set_xticks(range(len(rows)), heads)
    axes.set_yticks(range(len(mixes)), [shorten(mix.name, 36) for mix in mixes])
    above: dict[str, Any] = {"top": True, "labeltop": True, "bottom": False, "labelbottom": False}
    axes.tick_params(length=0, labelsize=7.5, **above)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.axhline(0.5, color=MUTED, linewidth=0.8)
    return figure
