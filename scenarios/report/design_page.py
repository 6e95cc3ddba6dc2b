"""Folder of a design: the chosen scenario, design.json, the frontier, a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from scenarios.output.folders import replace_folder
from scenarios.output.unfinished import put_file
from scenarios.report.facts_design import HEADS, design_cells, design_refusals
from scenarios.report.facts_owners import places_listed_first
from scenarios.report.figure_design import design_figure
from scenarios.report.figure_page import draw_svg
from scenarios.report.memo import write_memo
from scenarios.report.page import MOST, SHORT, inline_svg, render_page
from scenarios.result import MEMO
from scenarios.schema.scenario import name_files_from

CONTENT = "design.json"
CHOSEN = "chosen.toml"
FILES = (CONTENT, CHOSEN, "frontier.csv", "design.svg", MEMO, "report.html")


def draw_design(content: dict[str, Any]) -> str:
    """Draw the figure of a design as SVG text."""
    return draw_svg(design_figure, content)


def render_design(content: dict[str, Any]) -> str:
    """Render the page of a design, one file that needs no other."""
    return render_page(
        "design.html.j2",
        content["chosen"],
        content=content,
        cells=design_cells(content),
        cells_head=HEADS,
        refusals=design_refusals(content),
        figures={"design": inline_svg(draw_design(content), "design")},
        order=places_listed_first(content["chosen"]["owners"], SHORT, MOST),
    )


def save_design(
    content: dict[str, Any], scenario_toml: str, folder: Path, *, force: bool = False
) -> None:
    """Write a design's folder, whole or not at all; no scenario where nothing is worth buying.

    Raises
    ------
    InputError
        If the folder holds what is no design, or the disk refuses.
    """
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    frontier = pd.DataFrame(content["frontier"])
    with replace_folder(folder, FILES, force=force) as new:
        put_file(new / CONTENT, text + "\n")
        if scenario_toml:
            put_file(new / CHOSEN, name_files_from(folder, scenario_toml))
        put_file(new / "frontier.csv", frontier.to_csv(index=False, lineterminator="\n"))
        put_file(new / "design.svg", draw_design(content))
        write_memo(new, CONTENT, content)
        put_file(new / "report.html", render_design(content))
