"""Folder of a game without a table: game.json, its tables, figures and page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pydantic_core

from learning.errors import InputError
from scenarios.games.settling import GameResult
from scenarios.output.folders import replace_folder
from scenarios.output.unfinished import put_file
from scenarios.report.figure_game import curves_figure, paths_figure, shown_equilibrium
from scenarios.report.figure_page import draw_svg
from scenarios.report.figures import read_table
from scenarios.report.page import inline_svg, render_page
from scenarios.report.wording import money_heading
from scenarios.result import SCHEMA, write_table

CONTENT = "game.json"
EARNINGS = ("epsilon", "payment", "privacy_cost", "surplus", "regret")
TABLES = {
    "owners.csv": ("equilibrium", "owner", "records", *EARNINGS),
    "trajectory.csv": ("start", "round", "owner", "epsilon", "payment", "surplus"),
    "payoff_curves.csv": ("equilibrium", "owner", "epsilon", "payoff"),
}
FIGURES = ("paths", "payoff_curves")
DRAWINGS = tuple(f"figures/{name}.svg" for name in FIGURES)
FILES = (CONTENT, *TABLES, *DRAWINGS, "report.html", "scenario.toml")
ENDED = {"rest": "at rest", "cycle": "in a cycle", "limit": "still moving"}


def save_game(result: GameResult, folder: Path, *, force: bool = False) -> None:
    """Write the folder of a game, whole or not at all.

    Raises
    ------
    InputError
        If the folder holds what is no result, or the disk refuses; nothing is changed then.
    """
    content = pydantic_core.to_json(result.content, indent=1, inf_nan_mode="null")
    with replace_folder(folder, FILES, force=force) as new:
        (new / CONTENT).write_bytes(content + b"\n")
        put_file(new / "scenario.toml", result.game_toml)
        found = (result.owners, result.trajectory, result.payoff_curves)
        for (name, header), rows in zip(TABLES.items(), found, strict=True):
            write_table(new / name, rows, header)
        draw_game(new, result.content)


def draw_game(folder: Path, content: dict[str, Any]) -> list[Path]:
    """Draw the figures of a game's folder from its tables, and write its page.

    Returns
    -------
    Paths of what was written, the page last.
    """
    owners, paths, curves = (read_table(folder / name) for name in TABLES)
    (folder / "figures").mkdir(exist_ok=True)
    made = (
        draw_svg(paths_figure, content, paths),
        draw_svg(curves_figure, content, curves, owners, money_heading(content)),
    )
    drawn = {name: svg for name, svg in zip(FIGURES, made, strict=True) if svg}
    written = [put_file(folder / "figures" / f"{name}.svg", svg) for name, svg in drawn.items()]
    shown = None
    if content["equilibria"]:
        shown = shown_equilibrium(content)
    text = render_page(
        "game.html.j2",
        content,
        content=content,
        figures={name: inline_svg(svg, name) for name, svg in drawn.items()},
        shown=shown,
        scenario_text=(folder / "scenario.toml").read_text(encoding="utf-8"),
        ENDED=ENDED,
    )
    return [*written, put_file(folder / "report.html", text)]


def load_game(folder: Path) -> dict[str, Any]:
    """Load the content of a game's folder.

    Raises
    ------
    InputError
        If it is none, or of a later schema.
    """
    try:
        content = json.loads((folder / CONTENT).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        content = None
    known = isinstance(content, dict) and content.get("schema") == SCHEMA
    if not known or "equilibria" not in content:
        rule = f"must hold a game's result in {CONTENT}, with schema {SCHEMA}"
        raise InputError(str(folder), rule, "none", "Make one with dpmarket run.")
    return content
