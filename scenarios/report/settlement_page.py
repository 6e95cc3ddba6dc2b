"""Page of a settlement: settlement.html, one file, from settlement.json alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scenarios.report.figure_page import draw_svg
from scenarios.report.figure_settlement import deliveries_figure, improvement_figure
from scenarios.report.page import inline_svg, render_page

FIGURES = {"deliveries": deliveries_figure, "better": improvement_figure}


def settlement_page(content: Mapping[str, Any]) -> str:
    """Render the page of a settlement.

    Parameters
    ----------
    content: that of settlement.json.
    """
    drawn = {name: draw_svg(draw, content) for name, draw in FIGURES.items()}
    figures = {name: inline_svg(svg, name) for name, svg in drawn.items() if svg}
    return render_page("settlement.html.j2", content, content=content, figures=figures)
