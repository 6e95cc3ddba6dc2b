"""The folder of a game without a table: game.json, its tables, figures and page."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import matplotlib
import pydantic_core

from learning.errors import InputError
from scenarios.games.settling import GameResult
from scenarios.output.folders import replacing
from scenarios.output.unfinished import put
from scenarios.report import sentences_game as words
from scenarios.report.figure_game import curves_figure, paths_figure, shown_equilibrium
from scenarios.report.figure_page import STYLE, _svg
from scenarios.report.figures import read_table
from scenarios.report.page import MOST, SHORT, environment, inline_svg
from scenarios.report.wording import in_money, money_heading
from scenarios.result import SCHEMA, _table

CONTENT = "game.json"
TABLES = {
    "owners.csv": ("equilibrium", "owner", "records", "epsilon", "payment", "privacy_cost", "surplus", "regret"),
    "trajectory.csv": ("start", "round", "owner", "epsilon", "payment", "surplus"),
    "payoff_curves.csv": ("equilibrium", "owner", "epsilon", "payoff"),
}
FIGURES = ("paths", "payoff_curves")
FILES = (CONTENT, *TABLES, *(f"figures/{name}.svg" for name in FIGURES), "report.html", "scenario.toml")


def save_game(result: GameResult, folder: Path, *, force: bool = False) -> None:
    """Write the folder of a game, whole or not at all.

    Raises
    ------
    InputError
        If the folder holds what is no result, or the disk refuses; nothing is changed then.
    """
    with replacing(folder, FILES, force=force) as new:
        (new / CONTENT).write_bytes(pydantic_core.to_json(result.content, indent=1, inf_nan_mode="null") + b"\n")
        put(new / "scenario.toml", result.game_toml)
        found = result.owners, result.trajectory, result.payoff_curves
        for (name, header), rows in zip(TABLES.items(), found, strict=True):
            _table(new / name, rows, header)
        draw_game(new, result.content)


def draw_game(folder: Path, content: dict[str, Any]) -> list[Path]:
    """Draw the figures of a game's folder from its tables, and write its page; gives what was written, the page last."""
    owners, paths, curves = (read_table(folder / name) for name in TABLES)
    (folder / "figures").mkdir(exist_ok=True)
    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        made = paths_figure(content, paths), curves_figure(content, curves, owners, money_heading(content))
        drawn = {name: _svg(figure) for name, figure in zip(FIGURES, made, strict=True) if figure is not None}
    written = [put(folder / "figures" / f"{name}.svg", svg) for name, svg in drawn.items()]
    text = (
        environment()
        .get_template("game.html.j2")
        .render(
            content=content,
            words=words,
            cash=in_money(content),
            figures={name: inline_svg(svg, name) for name, svg in drawn.items()},
            shown=shown_equilibrium(content) if content["equilibria"] else None,
            short=SHORT,
            most=MOST,
            scenario_text=(folder / "scenario.toml").read_text(encoding="utf-8"),
        )
    )
    return [*written, put(folder / "report.html", text)]


def load_game(folder: Path) -> dict[str, Any]:
    """The content of a game's folder.

    Raises
    ------
    InputError
        If it is none, or of a later schema.
    """
    try:
        content = json.loads((folder / CONTENT).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA or "equilibria" not in content:
        rule = f"must hold what play of a game came to in {CONTENT}, of schema {SCHEMA}"
        raise InputError(str(folder), rule, "none", "Make one with dpmarket run.")
    return content
