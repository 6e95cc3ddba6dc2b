"""A result folder as one page that a manager can read: report.html, from the saved results and figures only."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from scenarios.output.unfinished import put
from scenarios.report import figure_page as page
from scenarios.report import figures as drawing
from scenarios.report import sentences_behaviours as behaving
from scenarios.report import sentences_choice as choice
from scenarios.report import sentences_common as common
from scenarios.report import sentences_compared as versus
from scenarios.report import sentences_learners as learners
from scenarios.report import sentences_learning as training
from scenarios.report import sentences_leaving as leaving
from scenarios.report import sentences_market as market
from scenarios.report import sentences_model as model
from scenarios.report import sentences_money as money
from scenarios.report import sentences_network as network
from scenarios.report import sentences_offer as offer
from scenarios.report import sentences_pricing as pricing
from scenarios.report import sentences_privacy as privacy
from scenarios.report import sentences_protection as protection
from scenarios.report import sentences_provision as provision
from scenarios.report import sentences_terms as terms
from scenarios.report import sentences_time as time
from scenarios.report import sentences_trust as trust
from scenarios.report import sentences_unions as unions
from scenarios.report import sentences_worth as worth
from scenarios.report import wording
from scenarios.result import REPORT, changed_facts

SHORT, MOST = 12, 300  # rows of a table: not folded away; on the page at all
FIGURES = tuple(drawing.FIGURES)
# What the templates say sentences with, and show numbers with.
SENTENCES = dict(
    behaving=behaving,
    choice=choice,
    provision=provision,
    leaving=leaving,
    common=common,
    offer=offer,
    market=market,
    model=model,
    money=money,
    network=network,
    pricing=pricing,
    privacy=privacy,
    trust=trust,
    protection=protection,
    terms=terms,
    time=time,
    training=training,
    unions=unions,
    versus=versus,
    worth=worth,
    learners=learners,
)
SHOWN = (
    wording.number,
    wording.percent,
    wording.small,
    wording.times,
    wording.span,
    wording.listed,
    wording.counted,
    wording.anywhere,
)
FILTERS = {function.__name__: function for function in SHOWN} | {"error": training.error_words}
# Colours of the figures that change with the page: what is ink on white paper is light on a dark screen.
PAGE_COLOURS = {page.INK: "ink", page.MUTED: "muted", page.FAINT: "line", page.PAPER: "paper", page.BAND: "band"}
PAGE_COLOURS |= {colour: f"c{i}" for i, colour in enumerate(page.PALETTE)}


def write_report(folder: Path, result: dict[str, Any] | None = None) -> Path:
    """Write report.html of a result folder; draws the figures first where they are missing.

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
    figures = {path.stem: inline_svg(path.read_text(encoding="utf-8"), path.stem) for path in paths if path.is_file()}
    saved = folder / "scenario.toml"
    scenario = saved.read_text(encoding="utf-8") if saved.is_file() else json.dumps(result["scenario"], indent=1)
    return put(folder / REPORT, render(result, figures, scenario, changed_facts(folder)))


def inline_svg(svg: str, name: str) -> Markup:
    """A drawing of ours made fit for the inside of a page.

    Names are prefixed, so that two drawings on a page do not share any; colours follow the page, light or dark; and
    everything that names an address is left out. Titles for those who cannot see it stand in the page beside it.
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
    return Markup(f'<svg role="img" aria-labelledby="{name}-caption" {box.group(0) if box else ""}>{body}')


@cache
def environment() -> Environment:
    """The templates, compiled once for all pages."""
    environment = Environment(
        loader=PackageLoader("scenarios.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(FILTERS)
    environment.globals.update(SHORT=SHORT, MOST=MOST)
    return environment


def render(
    result: dict[str, Any], figures: dict[str, Markup], scenario_text: str, changed: Sequence[str] = ()
) -> str:
    """The page of a result.

    Parameters
    ----------
    result: the content of result.json.
    figures: the drawings by name.
    scenario_text: the resolved scenario.
    changed: files of the result that somebody has changed since the run.
    """
    return (
        environment()
        .get_template("report.html.j2")
        .render(
            SENTENCES,
            result=result,
            currency=wording.currency_of(result),
            cash=wording.in_money(result),
            in_money=partial(wording.money_heading, result),
            owner_called=wording.owners_called(result),
            label=partial(wording.label_of, result),
            figures=figures,
            panels=drawing.PANELS,
            scenario_text=scenario_text,
            changed=changed,
            title=result["title"] or "A data market",
        )
    )
