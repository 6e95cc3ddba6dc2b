"""The page of a settlement: settlement.html, one file that needs no other, from the content of settlement.json alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import matplotlib

from scenarios.report import sentences_settlement as words
from scenarios.report.figure_page import STYLE, _svg
from scenarios.report.figure_settlement import better, deliveries
from scenarios.report.page import environment, inline_svg
from scenarios.report.wording import in_money, money_heading

FIGURES = {"deliveries": deliveries, "better": better}


def settlement_page(content: Mapping[str, Any]) -> str:
    """The page of a settlement as text.

    Parameters
    ----------
    content: that of settlement.json.
    """
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")  # the reader's machine has the font, or a substitute
        made = {name: draw(content) for name, draw in FIGURES.items()}
        drawn = {name: inline_svg(_svg(figure), name) for name, figure in made.items() if figure is not None}
    page = environment().get_template("settlement.html.j2")
    return page.render(
        content=content, words=words, cash=in_money(content), in_money=lambda named: money_heading(content, named),
        figures=drawn,
    )  # fmt: skip
