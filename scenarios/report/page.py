"""A result folder as one page that a manager can read: report.html, from the saved results and figures only."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from scenarios.report import figure_page as page
from scenarios.report import figures as drawing
from scenarios.report import sentences as say
from scenarios.report import sentences_learning as how
from scenarios.report import sentences_model as tell
from scenarios.report.wording import between, number, percent

FIGURES = ("epsilon_paths", "payoff_curves", "forecast")
SHORT_TABLE = 12  # rows shown before the rest is folded away
# Colours of the figures that change with the page: what is ink on white paper is light on a dark screen.
PAGE_COLOURS = {
    page.INK: "ink",
    page.MUTED: "muted",
    page.FAINT: "line",
    page.PAPER: "paper",
    page.BAND: "band",
    **{colour: f"c{i}" for i, colour in enumerate(page.PALETTE)},
}


def write_report(folder: Path) -> Path:
    """Write report.html of a result folder; draws the figures first where they are missing.

    Parameters
    ----------
    folder : a result folder with result.json and its tables.

    Returns
    -------
    Path of report.html, one file that needs no other.
    """
    folder = Path(folder)
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    if not (folder / "figures").is_dir():
        drawing.draw_figures(folder)
    target = folder / "report.html"
    target.write_text(render(result, read_figures(folder), read_scenario(folder, result)), encoding="utf-8")
    return target


def read_figures(folder: Path) -> dict[str, Markup]:
    """The saved figures by name, ready to stand inside a page."""
    paths = {name: folder / "figures" / f"{name}.svg" for name in FIGURES}
    return {name: inline_svg(path.read_text(encoding="utf-8"), name) for name, path in paths.items() if path.is_file()}


def read_scenario(folder: Path, result: dict[str, Any]) -> str:
    """The resolved scenario as saved."""
    path = folder / "scenario.toml"
    return path.read_text(encoding="utf-8") if path.is_file() else json.dumps(result["scenario"], indent=1)


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


def render(result: dict[str, Any], figures: dict[str, Markup], scenario_text: str) -> str:
    """The page of a result.

    Parameters
    ----------
    result : content of result.json. figures : drawings by name. scenario_text : the resolved scenario.
    """
    environment = Environment(
        loader=PackageLoader("scenarios.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, percent=percent)
    return environment.get_template("report.html.j2").render(
        result=result,
        say=say,
        tell=tell,
        how=how,
        figures=figures,
        scenario_text=scenario_text,
        title=result["title"] or "A data market",
        answers=answers(result),
        owners=owner_rows(result),
        short=SHORT_TABLE,
        any_tax=any(owner.get("tax") for owner in result["owners"]),
        any_benefit=any(owner["benefit"] for owner in result["owners"]),
        captions=captions(result),
    )


def answers(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The four numbers at the top: (what, number, remark)."""
    budgets = [say.epsilon_of(owner) for owner in say.sellers(result)]
    alone = percent(result["outside_option"]["relative_fitness"])
    build_result = result["learner"]
    return [
        (
            "Privacy budget ε sold",
            between(min(budgets), max(budgets)) if budgets else "none",
            "by each seller" if len(budgets) > 1 else "by the only seller" if budgets else "nobody shares anything",
        ),
        ("Paid in all", number(build_result["payments"]), f"to {len(budgets):,} of {len(result['owners']):,} owners"),
        (
            "Error above the best found" if how.loss_of(result) == "network" else "Error above the best possible",
            percent(result["forecast"]["relative_fitness"]),
            f"forecast; learner alone {alone}",
        ),
        (
            "Learner's gain after paying",
            number(build_result["surplus"]),
            "buying pays" if build_result["buying_pays"] else "buying does not pay",
        ),
    ]


def owner_rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The table of owners, those paid most first where there are many."""
    owners = result["owners"]
    if len(owners) > SHORT_TABLE:
        owners = sorted(owners, key=lambda owner: -(owner["payment"] or 0.0))
    promised = tell.promised(result)
    return [
        {
            **owner,
            "epsilon": say.epsilon_of(owner),
            "meaning": say.protection_words(promised.get(owner["name"], say.epsilon_of(owner))),
            "own_model": say.own_model_words(owner, result),
        }
        for owner in owners
    ]


def captions(result: dict[str, Any]) -> dict[str, str]:
    """What each figure shows, in words that stand for it."""
    curves = (
        "One of these curves for each owner"
        if len(result["owners"]) <= drawing.PANELS
        else (f"One of these curves for each of the {drawing.PANELS} owners with most at stake")
    )
    trained = ""
    if result["validation"] and not say.nothing_trained(result):
        trained = " Dots are single trainings; the box holds the middle half of them."
    return {
        "epsilon_paths": "Each owner's privacy budget from round to round"
        + (", until nobody wants to move." if result["equilibrium"]["converged"] else "; they did not come to rest."),
        "payoff_curves": f"{curves}: surplus against privacy budget while all others stay where they settled. "
        "At an equilibrium each dot sits on the highest point.",
        "forecast": "Forecast, training and the learner's own model on one axis: further left is better. The forecast is "
        f"made {how.made_words(result)}." + trained,
    }
