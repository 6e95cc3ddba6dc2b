"""A design's folder: the chosen scenario, design.json, the frontier, a page."""

from __future__ import annotations

import json
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd

from scenarios.output.folders import replacing
from scenarios.output.unfinished import put
from scenarios.report import sentences_design as words
from scenarios.report.figure_design import design_figure
from scenarios.report.figure_page import STYLE, _svg
from scenarios.report.page import MOST, SHORT, environment, inline_svg
from scenarios.report.sentences_market import places_listed_first
from scenarios.report.wording import money_heading

CONTENT, CHOSEN = "design.json", "chosen.toml"
FILES = (CONTENT, CHOSEN, "frontier.csv", "design.svg", "report.html")


def draw_design(content: dict[str, Any]) -> str:
    """Its figure as SVG text."""
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        return _svg(design_figure(content))


def render_design(content: dict[str, Any]) -> str:
    """Its page, one file that needs no other."""
    drawing = {"design": inline_svg(draw_design(content), "design")}
    return (
        environment()
        .get_template("design.html.j2")
        .render(
            content=content,
            words=words,
            figures=drawing,
            in_money=partial(money_heading, content["chosen"]),
            order=places_listed_first(content["chosen"]["owners"], SHORT, MOST),
        )
    )


def save_design(content: dict[str, Any], scenario_toml: str, folder: Path, *, force: bool = False) -> None:
    """Write a design's folder, whole or not at all; without a chosen scenario where nothing is worth buying.

    Raises
    ------
    InputError
        If the folder holds what is no design, or the disk refuses.
    """
    with replacing(folder, FILES, force=force) as new:
        put(new / CONTENT, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
        if scenario_toml:
            put(new / CHOSEN, scenario_toml)
        put(new / "frontier.csv", pd.DataFrame(content["frontier"]).to_csv(index=False, lineterminator="\n"))
        put(new / "design.svg", draw_design(content))
        put(new / "report.html", render_design(content))
