"""The picture at the top of a report: who gives what privacy for what money, and the gain promised against that measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.report.figure_page import BAND, FAINT, INK, MUTED, PALETTE, PAPER, _page, _panel
from scenarios.report.figure_scale import Scale
from scenarios.report.sentences_market import by_name, by_stake, epsilon_of, sellers
from scenarios.report.sentences_money import realised
from scenarios.report.sentences_privacy import strength
from scenarios.report.sentences_protection import protected
from scenarios.report.wording import between, in_money, money_heading, number, owners_called

HALF = 3.6  # inches: two of these stand side by side, on a phone one above the other
ROW = 0.27
LISTED = 7  # owners with a row each
NAME, BAR, FIRST, SECOND = 1.06, 0.38, 1.14, 2.56  # inches: end of the names, longest bar, where the bars begin


def sales(result: dict[str, Any]) -> Figure | None:
    """What privacy each owner sells and what it is paid, as bars; of many owners those with most at stake. None: no sale."""
    if not sellers(result):
        return None
    owners = result["owners"]
    listed = by_name(owners) if len(owners) <= LISTED + 1 else by_stake(owners, LISTED)
    names = {owner["name"] for owner in listed}
    others = [owner for owner in owners if owner["name"] not in names]
    count = len(listed) + bool(others)
    top = 0.72 if others else 0.56
    height = top + 0.1 + ROW * count
    note = f"The {len(listed)} owners with most money at stake" if others else ""
    figure = _page(height, "Who sells what, for what money", note, HALF)
    axes = _panel(figure, 0, top, HALF, ROW * count)
    axes.set(xlim=(0, HALF), ylim=(count - 0.5, -0.5))
    axes.axis("off")
    heads = (FIRST, "privacy budget ε"), (SECOND, money_heading(result, "paid"))
    figure.text(
        NAME / HALF, 1 - (top - 0.05) / height, owners_called(result), ha="right", va="bottom", fontsize=8, color=MUTED
    )
    for x, head in heads:
        figure.text(x / HALF, 1 - (top - 0.05) / height, head, va="bottom", fontsize=8, color=MUTED)
    sure, cash = protected(result, names).sure, in_money(result | {"scenario": {}})
    most = max((epsilon_of(owner) for owner in owners if math.isfinite(epsilon_of(owner))), default=0.0)
    dearest = max(abs(owner["payment"] or 0.0) for owner in owners)
    for row, owner in enumerate(listed):
        epsilon, paid, name = epsilon_of(owner), owner["payment"] or 0.0, owner["name"]
        axes.text(NAME, row, _fitting(name), ha="right", va="center", fontsize=8.5)
        word = f"  {strength(sure[name])}" if name in sure and math.isfinite(epsilon) else ""
        _bar(axes, FIRST, row, epsilon / most if most else 0.0, PALETTE[0], f"{number(epsilon)}{word}")
        _bar(axes, SECOND, row, paid / dearest if dearest else 0.0, PALETTE[2] if paid >= 0 else PALETTE[1], cash(paid))
    if others:
        _rest(axes, len(listed), others, cash)
    return figure


def _fitting(name: str) -> str:
    """A name that fits beside the bars."""
    return name if len(name) <= 15 else name[:14].rstrip() + "…"


def _bar(axes: Axes, left: float, row: int, part: float, colour: str, told: str) -> None:
    """A bar as long as its part of the longest, and its number behind it."""
    length = BAR * min(abs(part), 1.0)
    axes.barh(row, length, 0.55, left, color=colour, linewidth=0)
    axes.text(left + length + 0.06, row, told, va="center", fontsize=8)


def _rest(axes: Axes, row: int, others: Sequence[Mapping[str, Any]], cash: Callable[..., str]) -> None:
    """What all other owners sell, and are paid together."""
    sold, paid = [epsilon_of(owner) for owner in others], sum(owner["payment"] or 0.0 for owner in others)
    axes.axhline(row - 0.5, color=FAINT, linewidth=0.8)
    axes.text(NAME, row, f"{len(others):,} others", ha="right", va="center", fontsize=8.5, color=MUTED)
    axes.text(FIRST, row, between(min(sold), max(sold)), va="center", fontsize=8, color=MUTED)
    axes.text(SECOND, row, f"{cash(paid)} together", va="center", fontsize=8, color=MUTED)


def promised(result: dict[str, Any]) -> Figure | None:
    """The learner's gain as promised before training, and as measured after it, on one axis with 0. None: nothing is sold."""
    if not sellers(result):
        return None
    learner, money, cash = result["learner"], realised(result), in_money(result)
    ends = (learner.get("gain") or {}).get("interval") or [learner["surplus"]] * 2
    rows = [("promised before training", learner["surplus"], ends, "in nine of ten possible worlds", PALETTE[0])]
    if money is not None:
        spread = money["learner_surplus"]
        runs = [spread["q05"], spread["q95"]]
        rows.append(("measured after training", spread["mean"], runs, "in nine of ten trainings", INK))
    values = np.array([0.0, *(value for _, middle, around, _, _ in rows for value in (middle, *around))])
    low, high = float(values.min()), float(values.max())
    scale = Scale(low, high if high > low else low + 1.0, False)
    top = 0.34 if money else 0.5
    height = top + 0.5 + 0.72 * len(rows)
    figure = _page(height, "What the learner gains after paying", "" if money else "No model was trained", HALF)
    axes = _panel(figure, 0.2, top, HALF - 0.4, 0.72 * len(rows))
    for row, (label, middle, (first, last), often, colour) in enumerate(rows):
        said: dict[str, Any] = dict(
            transform=axes.get_yaxis_transform(), bbox=dict(facecolor=PAPER, edgecolor="none", pad=1.5)
        )
        axes.text(0, row - 0.28, f"{label}: {cash(middle)}", fontsize=8.5, color=colour, weight="bold", **said)
        if first < last:
            spread = f"{between(first, last, cash)} {often}"
            axes.text(0, row - 0.02, spread, fontsize=8, color=MUTED, **said)
            axes.plot([first, last], [row + 0.2] * 2, color=colour, linewidth=3)
        axes.plot(middle, row + 0.2, marker="oD"[row], markersize=7, color=colour, linestyle="none")
    scale.rule(axes, "x")
    axes.axvspan(*sorted((scale.limits()[0], 0.0)), color=BAND, linewidth=0, zorder=0)
    axes.axvline(0.0, color=MUTED, linewidth=1)
    axes.set(ylim=(len(rows) - 0.5, -0.5), yticks=[], xlabel=f"{money_heading(result)}; shaded: a loss")
    axes.spines["left"].set_visible(False)
    return figure
