"""Page of a result folder for a manager: report.html, from saved results and figures only."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from scenarios.output.unfinished import put_file
from scenarios.report import figure_page as page
from scenarios.report import figures as drawing
from scenarios.report import wording
from scenarios.report.phrases import make_environment, page_sections, page_sentences, render_lines
from scenarios.result import REPORT, changed_facts

SHORT = 12  # rows of a table that are not folded away
MOST = 300  # rows of a table on the page
FIGURES = tuple(drawing.FIGURES)
# Colours of the figures that change with the page: ink on white paper is light on a dark screen.
PAGE_COLOURS = {
    page.INK: "ink",
    page.MUTED: "muted",
    page.FAINT: "line",
    page.PAPER: "paper",
    page.BAND: "band",
}
PAGE_COLOURS |= {colour: f"c{i}" for i, colour in enumerate(page.PALETTE)}


def write_report(folder: Path, result: dict[str, Any] | None = None) -> Path:
    """Write report.html of a result folder; missing figures are drawn first.

    Parameters
    ----------
    folder: a result folder with result.json and its tables.
    result: the content of result.json where it is at hand.

    Returns
    -------
    Path of report.html, one file that needs no other.
    """
    folder = Path(folder)
    result = result or json.loads((folder / "result.json").read_text(encoding="utf-8"))
    if not (folder / "figures").is_dir():
        drawing.draw_figures(folder, result)
    paths = [folder / "figures" / f"{name}.svg" for name in FIGURES]
    figures = {
        path.stem: inline_svg(path.read_text(encoding="utf-8"), path.stem)
        for path in paths
        if path.is_file()
    }
    saved = folder / "scenario.toml"
    scenario = json.dumps(result["scenario"], indent=1)
    if saved.is_file():
        scenario = saved.read_text(encoding="utf-8")
    return put_file(folder / REPORT, render(result, figures, scenario, changed_facts(folder)))


def inline_svg(svg: str, name: str) -> Markup:
    """Fit a drawing into a page.

    Identifiers are prefixed, so that two drawings of a page share none; colours follow the page,
    light or dark; addresses are left out. The caption of the page is the drawing's label.
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    head, body = svg.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'\b(?:xlink:)?href="#', f'href="#{name}-', body)
    body = body.replace("url(#", f"url(#{name}-")
    for colour, variable in PAGE_COLOURS.items():
        body = body.replace(f": {colour}", f": var(--{variable})")
    body = body.replace(f"font-family: {page.FONTS}", "font-family: inherit")
    shape = box.group(0) if box else ""
    return Markup(f'<svg role="img" aria-labelledby="{name}-caption" {shape}>{body}')


def _is_html(name: str | None) -> bool:
    return str(name).endswith(".html.j2")


@cache
def page_environment() -> Environment:
    """Return the environment of all pages; templates are compiled once."""
    environment = make_environment("templates", autoescape=_is_html)
    environment.globals.update(SHORT=SHORT, MOST=MOST, lines=render_lines)
    environment.globals["page_sentences"] = page_sentences
    return environment


def render_page(template: str, priced: Mapping[str, Any], **values: Any) -> str:
    """Render a template of templates/.

    Parameters
    ----------
    template: its name.
    priced: the result, comparison, game or settlement whose currency money is in.
    values: what the template shows.
    """
    return (
        page_environment()
        .get_template(template)
        .render(
            cash=wording.in_money(priced),
            heading=partial(wording.money_heading, priced),
            **values,
        )
    )


def render(
    result: dict[str, Any],
    figures: dict[str, Markup],
    scenario_text: str,
    changed: Sequence[str] = (),
) -> str:
    """Render the page of a result.

    Parameters
    ----------
    result: the content of result.json.
    figures: the drawings by name.
    scenario_text: the resolved scenario.
    changed: files of the result that were changed by hand since the run.
    """
    return render_page(
        "report.html.j2",
        result,
        result=result,
        currency=wording.currency_of(result),
        owner_called=wording.owners_called(result),
        label=partial(wording.label_of, result),
        figures=figures,
        panels=drawing.PANELS,
        sections=page_sections(result),
        scenario_text=scenario_text,
        changed=changed,
        title=result["title"] or "A data market",
    )
