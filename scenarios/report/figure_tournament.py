"""The figure of a tournament: the score of every policy under every mix of behaviours, gains blue and losses orange."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
from matplotlib.figure import Figure

from scenarios.report.figure_page import INK, MUTED, PALETTE, WIDTH, _page, _panel
from scenarios.report.figures import shorten
from scenarios.report.sentences_study import amount, named
from scenarios.sweeping.standings import Standing
from scenarios.sweeping.study import Study

ROW, TOP, LABELS, HEAD = 0.24, 0.62, 2.15, 0.34  # inches
DEEPEST = 0.55  # of a colour, so that numbers on it are legible
LETTERS = 11.0  # of a head, in an inch


def tournament_figure(study: Study, rows: Sequence[Standing], title: str) -> Figure:
    """Mixes from top to bottom, all rational first; policies from left to right, the least greatest regret first."""
    contest = study.tournament
    assert contest is not None
    mixes, fact = contest.mixes, study.score
    note = (
        f"{named(fact)[0].upper() + named(fact)[1:]}; the best of each line in bold, below 0 worse than buying nothing"
    )
    height = TOP + HEAD + ROW * len(mixes) + 0.1
    figure = _page(height, title, note)
    axes = _panel(figure, LABELS, TOP + HEAD, WIDTH - LABELS - 0.1, ROW * len(mixes))
    axes.set_xlim(-0.5, len(rows) - 0.5)
    axes.set_ylim(len(mixes) - 0.5, -0.5)
    largest = max((abs(score.mean) for row in rows for score in row.scores if score), default=0.0) or 1.0
    for mix in range(len(mixes)):
        there = [row.scores[mix].mean for row in rows if row.scores[mix] is not None]  # type: ignore[union-attr]
        for place, row in enumerate(rows):
            score = row.scores[mix]
            mean = None if score is None else score.mean
            if mean is not None:
                colour, depth = PALETTE[mean < 0], DEEPEST * np.sqrt(abs(mean) / largest)
                box = axes.axhspan(mix - 0.47, mix + 0.47, place / len(rows), (place + 1) / len(rows))
                box.set(facecolor=colour, alpha=float(depth), linewidth=0)
            best = mean is not None and mean >= max(there)
            axes.text(place, mix, amount(fact, mean), ha="center", va="center", fontsize=7, color=INK,
                      fontweight="bold" if best else "normal")  # fmt: skip
    width = (WIDTH - LABELS - 0.1) / len(rows)
    heads = ["\n".join(wrap(row.policy, max(6, int(LETTERS * width)))[:2]) for row in rows]
    axes.set_xticks(range(len(rows)), heads)
    axes.set_yticks(range(len(mixes)), [shorten(mix.name, 36) for mix in mixes])
    axes.tick_params(length=0, labelsize=7.5, top=True, labeltop=True, bottom=False, labelbottom=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.axhline(0.5, color=MUTED, linewidth=0.8)
    return figure
