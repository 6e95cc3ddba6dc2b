"""Figures and page of a settlement: deliveries with payments, the model against its forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from learning.money import format_cents
from scenarios.report.facts_outcome import STANDARD_ERRORS_SHOWN
from scenarios.report.figure_page import (
    BAND,
    BESIDE,
    FAINT,
    INK,
    MUTED,
    PALETTE,
    add_panel,
    add_panels,
    draw_svg,
    label_row,
    make_rows,
    new_page,
    shorten,
)
from scenarios.report.figure_scale import Scale
from scenarios.report.page import inline_svg, render_page
from scenarios.report.wording import currency_of, format_percent, money_heading

Content = Mapping[str, Any]
Row = tuple[str, dict[str, Any], tuple[float, float, float]]
MOST = 20  # owners drawn
DOTTED = 30  # questions with a large dot each
ROW = 0.3  # inches
LEFT = 1.55
BETWEEN = 0.35
VALUES = 1.3
NOTE = "Left: ● answered and used, ○ missed, × sent but not used. Right: paid, of what was promised"
IMPROVEMENT = (
    "Error below that of the learner's own model; shaded: the forecast's interval; "
    "bars on rows: two standard errors"
)


def settlement_page(content: Content) -> str:
    """Render the page of a settlement, one file, from the content of settlement.json alone."""
    drawings = {"deliveries": deliveries_figure, "better": improvement_figure}
    drawn = {name: draw_svg(draw, content) for name, draw in drawings.items()}
    figures = {name: inline_svg(svg, name) for name, svg in drawn.items() if svg}
    return render_page("settlement.html.j2", content, content=content, figures=figures)


def deliveries_figure(content: Content) -> Figure:
    """Draw a row for each owner: the questions that it answered, and its payment."""
    most_paid = sorted(content["owners"], key=lambda one: -one["payment"])[:MOST]
    owners = [one for one in content["owners"] if one in most_paid]
    note = NOTE
    if len(owners) < len(content["owners"]):
        note += f"; the {MOST} promised most of {len(content['owners']):,}"
    height = ROW * len(owners)
    figure = new_page(1.5 + height, "What was delivered, and what it earns", note)
    room = {"apart": BETWEEN, "right": VALUES}
    answered, paid = add_panels(figure, (2, 2), (LEFT, 0.75), height, **room)
    _draw_answers(answered, owners, content["questions"]["agreed"])
    _draw_money(paid, owners, content)
    return figure


def _draw_answers(axes: Axes, owners: Sequence[Content], agreed: int) -> None:
    few = agreed <= DOTTED
    size = {True: 6, False: 2.5}[few]
    for place, one in enumerate(owners):
        axes.plot([1, agreed], [place, place], color=FAINT, linewidth=1.2, zorder=0)
        missed = [k for k in one["missed"] if k not in one["unused"]]
        styles: tuple[tuple[Any, str, dict[str, Any]], ...] = (
            (one["delivered"], "o", {"color": PALETTE[0]}),
            (missed, "o", {"color": INK, "markerfacecolor": "none"}),
            (one["unused"], "x", {"color": PALETTE[1]}),
        )
        for questions, mark, style in styles:
            axes.plot(questions, [place] * len(questions), mark, markersize=size, **style)
        label_row(axes, place, shorten(one["name"], 20))
    make_rows(axes, len(owners))
    axes.set_xlim(0.5, agreed + 0.5)
    ticks = {1, agreed}
    if few:
        ticks |= {*range(1, agreed + 1, max(1, agreed // 8))}
    axes.set_xticks(sorted(ticks))
    axes.set_xlabel("question")


def _draw_money(axes: Axes, owners: Sequence[Content], content: Content) -> None:
    cash = partial(format_cents, currency=currency_of(content))
    places = np.arange(len(owners))
    promised = [one["payment"] for one in owners]
    outline: dict[str, Any] = {"color": "none", "edgecolor": MUTED, "linewidth": 0.9}
    axes.barh(places, promised, 0.56, **outline)
    axes.barh(places, [one["paid"] or 0.0 for one in owners], 0.56, color=PALETTE[0])
    for place, one in enumerate(owners):
        label = f"{format_cents(one['paid'])} of {cash(one['payment'])}"
        if one["paid"] is None:
            label = "unknown"
        elif one["share"] == 1:
            label = cash(one["paid"])
        axes.annotate(label, (1, place), (6, 0), ha="left", color=MUTED, **BESIDE)
    make_rows(axes, len(owners))
    Scale.over([0.0, *promised], spread=np.inf).rule(axes, "x")
    axes.set_xlabel(money_heading(content))


def improvement_figure(content: Content) -> Figure | None:
    """Draw the improvement over the learner's model: forecast, and on its rows. None: no model."""
    if content["model"] is None:
        return None
    rows = _improvement_rows(content)
    _, low, high = rows[0][2]
    values = [100 * value for _, _, found in rows for value in found]
    scale = Scale.over([0.0, *values], spread=np.inf)
    height = 0.45 * len(rows)
    title = "How much better than the learner's own model?"
    figure = new_page(1.55 + height, title, IMPROVEMENT)
    axes = add_panel(figure, LEFT + 0.4, 0.85, 3.9, height)
    axes.axvspan(*scale.place([100 * low, 100 * high]), color=BAND, linewidth=0, zorder=0)
    own = float(scale.place(0.0))
    axes.axvline(own, color=PALETTE[1], linewidth=1.4)
    style = BESIDE | {"xycoords": ("data", "axes fraction"), "va": "baseline"}
    axes.annotate("the learner's own", (own, 1), (0, 3), ha="center", color=PALETTE[1], **style)
    for place, (label, style, found) in enumerate(rows):
        ends = scale.place(100 * np.array(found[1:]))
        axes.plot(ends, [place, place], color=style["color"], linewidth=2)
        axes.plot(scale.place(100 * found[0]), place, "o", markersize=7, **style)
        label_row(axes, place, label, format_percent(found[0]))
    make_rows(axes, len(rows))
    scale.rule(axes, "x")
    axes.set_xlabel("% of the best possible error")
    return figure


def _improvement_rows(content: Content) -> list[Row]:
    """List label, style, and value with its interval, of each row."""
    made = content["forecast"]
    seen = content["own_rows"]
    point = made["outside"] - made["relative_fitness"]
    low = high = point
    if len(made["interval"]) == 2:
        high, low = (point if end is None else made["outside"] - end for end in made["interval"])
    rows: list[Row] = [("by the forecast", {"color": PALETTE[0]}, (point, low, high))]
    if seen is not None:
        judged = _with_errors(seen["crossed"] or seen["better"])
        rows.append(("on the learner's own rows", {"color": INK}, judged))
        if seen["crossed"]:
            hollow = {"color": MUTED, "markerfacecolor": "none"}
            plain = _with_errors(seen["better"])
            rows.append(("without correction, which\nfavours the learner's own", hollow, plain))
    return rows


def _with_errors(seen: Mapping[str, float]) -> tuple[float, float, float]:
    """Return a value, and two standard errors around it."""
    middle = seen["relative_fitness"]
    room = STANDARD_ERRORS_SHOWN * seen["std_error"]
    return middle, middle - room, middle + room
