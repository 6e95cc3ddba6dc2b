"""Page of a settlement, with a figure of the model against its forecast."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from scenarios.report.facts_outcome import STANDARD_ERRORS_SHOWN
from scenarios.report.figure_page import (
    BAND,
    BESIDE,
    INK,
    MUTED,
    PALETTE,
    add_panel,
    draw_svg,
    label_row,
    make_rows,
    new_page,
)
from scenarios.report.figure_scale import Scale
from scenarios.report.page import inline_svg, render_page
from scenarios.report.wording import format_percent

Content = Mapping[str, Any]
Row = tuple[str, dict[str, Any], tuple[float, float, float]]
LEFT = 1.95  # inches
IMPROVEMENT = (
    "Error below that of the learner's own model; shaded: the forecast's interval; "
    "bars on rows: two standard errors"
)


def settlement_page(content: Content) -> str:
    """Render the page of a settlement, one file, from the content of settlement.json alone."""
    drawn = draw_svg(improvement_figure, content)
    figures = {"better": inline_svg(drawn, "better")} if drawn else {}
    return render_page("settlement.html.j2", content, content=content, figures=figures)


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
    axes = add_panel(figure, LEFT, 0.85, 3.9, height)
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
