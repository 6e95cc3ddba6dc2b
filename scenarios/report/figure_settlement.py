"""The figures of a settlement: which answers each owner delivered and what it is paid; the model beside its forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scenarios.report.figure_page import BAND, FAINT, INK, MUTED, PALETTE, WIDTH, _page, _panel
from scenarios.report.figure_scale import Scale
from scenarios.report.figures import shorten
from scenarios.report.sentences_settlement import TWO
from scenarios.report.wording import in_money, money_heading, number, percent

MOST, DOTTED = 20, 30  # owners that are drawn; questions that have a dot each
Row = tuple[str, dict[str, Any], tuple[float, float, float]]
BESIDE: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center"}
ROW, LEFT, BETWEEN, TOLD = 0.3, 1.55, 0.35, 1.3  # inches
GIVEN, LATE = PALETTE[0], PALETTE[1]


def deliveries(content: Mapping[str, Any]) -> Figure:
    """A row for each owner: the questions that it answered, and what it is paid of what was promised."""
    owners = sorted(content["owners"], key=lambda one: -one["payment"])[:MOST]
    owners = [one for one in content["owners"] if one in owners]
    note = "Left: ● answered and used, ○ missed, × sent but not used. Right: paid, of what was promised"
    if len(owners) < len(content["owners"]):
        note += f"; the {MOST} promised most of {len(content['owners']):,}"
    height = 1.5 + ROW * len(owners)
    figure = _page(height, "What was delivered, and what it earns", note)
    whole = WIDTH - LEFT - BETWEEN - TOLD
    answered = _panel(figure, LEFT, 0.75, 0.5 * whole, ROW * len(owners))
    paid = _panel(figure, LEFT + 0.5 * whole + BETWEEN, 0.75, 0.5 * whole, ROW * len(owners))
    _draw_answers(answered, owners, content["questions"]["agreed"])
    _draw_money(paid, owners, content)
    return figure


def _draw_answers(axes: Axes, owners: Sequence[Mapping[str, Any]], agreed: int) -> None:
    size = 6 if agreed <= DOTTED else 2.5
    for place, one in enumerate(owners):
        axes.plot([1, agreed], [place, place], color=FAINT, linewidth=1.2, zorder=0)
        axes.plot(one["delivered"], [place] * len(one["delivered"]), "o", color=GIVEN, markersize=size)
        missed = [k for k in one["missed"] if k not in one["unused"]]
        axes.plot(missed, [place] * len(missed), "o", color=INK, markersize=size, markerfacecolor="none")
        axes.plot(one["unused"], [place] * len(one["unused"]), "x", color=LATE, markersize=size)
        label = shorten(one["name"])
        axes.annotate(label, (0, place), (-8, 0), ha="right", **BESIDE)
    _rows(axes, len(owners))
    axes.set_xlim(0.5, agreed + 0.5)
    axes.set_xticks(sorted({1, agreed} if agreed > DOTTED else {*range(1, agreed + 1, max(1, agreed // 8)), agreed}))
    axes.set_xlabel("question")


def _draw_money(axes: Axes, owners: Sequence[Mapping[str, Any]], content: Mapping[str, Any]) -> None:
    cash = in_money(content)
    places = np.arange(len(owners))
    axes.barh(places, [one["payment"] for one in owners], 0.56, color="none", edgecolor=MUTED, linewidth=0.9)
    axes.barh(places, [one["paid"] or 0.0 for one in owners], 0.56, color=GIVEN)
    for place, one in enumerate(owners):
        told = cash(one["paid"]) if one["share"] == 1 else f"{number(one['paid'])} of {cash(one['payment'])}"
        told = told if one["paid"] is not None else "cannot be told"
        axes.annotate(told, (1, place), (6, 0), ha="left", color=MUTED, **BESIDE)
    _rows(axes, len(owners))
    Scale.over([0.0, *(one["payment"] for one in owners)], spread=np.inf).rule(axes, "x")
    axes.set_xlabel(money_heading(content))


def _rows(axes: Axes, count: int) -> None:
    axes.set_ylim(count - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def better(content: Mapping[str, Any]) -> Figure | None:
    """By how much the model is better than the learner's own: by the forecast, and on the learner's own rows."""
    made, seen = content["forecast"], content["own_rows"]
    if content["model"] is None:
        return None
    point = made["outside"] - made["relative_fitness"]
    ends = made["interval"] if len(made["interval"]) == 2 else (None, None)
    low, high = (point if end is None else made["outside"] - end for end in reversed(ends))
    rows: list[Row] = [("by the forecast", {"color": PALETTE[0]}, (point, low, high))]
    if seen is not None:
        rows.append(("on the learner's own rows", {"color": INK}, _around(seen["crossed"] or seen["better"])))
    if seen is not None and seen["crossed"]:
        hollow = {"color": MUTED, "markerfacecolor": "none"}
        rows.append(("the same as they stand,\nwhich favours its own", hollow, _around(seen["better"])))
    scale = Scale.over([0.0, *(100 * value for _, _, found in rows for value in found)], spread=np.inf)
    height = 0.45 * len(rows)
    note = "Error below that of the learner's own model; shaded: the forecast's interval; bars on rows: two standard errors"
    figure = _page(1.55 + height, "How much better than the learner's own model?", note)
    axes = _panel(figure, LEFT + 0.4, 0.85, 3.9, height)
    axes.axvspan(*scale.place([100 * low, 100 * high]), color=BAND, linewidth=0, zorder=0)
    axes.axvline(float(scale.place(0.0)), color=PALETTE[1], linewidth=1.4)
    axes.annotate("its own", (float(scale.place(0.0)), 1), (0, 3), xycoords=("data", "axes fraction"),
                  textcoords="offset points", ha="center", color=PALETTE[1])  # fmt: skip
    for place, (label, style, found) in enumerate(rows):
        axes.plot(scale.place(100 * np.array(found[1:])), [place, place], color=style["color"], linewidth=2)
        axes.plot(scale.place(100 * found[0]), place, "o", markersize=7, **style)
        lines = label.split("\n")
        for line, text in enumerate(lines):
            axes.annotate(text, (0, place), (-8, 5.5 * (len(lines) - 1) - 11 * line), ha="right", **BESIDE)
        axes.annotate(percent(found[0]), (1, place), (8, 0), ha="left", color=MUTED, **BESIDE)
    _rows(axes, len(rows))
    scale.rule(axes, "x")
    axes.set_xlabel("% of the best possible error")
    return figure


def _around(seen: Mapping[str, float]) -> tuple[float, float, float]:
    """What was seen, and two standard errors around it."""
    middle, room = seen["relative_fitness"], TWO * seen["std_error"]
    return middle, middle - room, middle + room
