"""Games without a table: settled by `run`, looked through by `check`, drawn anew by `report`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from learning.display import PlainTable, show_stages
from learning.phrases import escape_control
from learning.terminal import Terminal
from scenarios.command.console import in_title, say_phrases
from scenarios.command.options import UNMET, Changes
from scenarios.games.settling import game_of, settle_game, starts_of
from scenarios.output.folders import write_together
from scenarios.output.manifest import MANIFEST, write_manifest
from scenarios.output.places import check_folder
from scenarios.report.game_page import FILES, draw_game, load_game, save_game
from scenarios.report.phrases import render_phrase
from scenarios.report.wording import count_noun, format_number
from scenarios.result import naming_damage
from scenarios.schema.game import GameFile, read_game

WIDEST = 6  # owners with a column each
MOST_LISTED = 40  # owners printed by a check


def run_game(scenario: str, changes: Changes, folder: Path, *, force: bool, strict: bool) -> int:
    """Settle a game, write its folder, and print what came of it.

    Status 3 with ``strict`` where a start leads nowhere.
    """
    check_folder(folder, FILES, force=force)
    file = read_game(scenario, changes.assignments)
    with changes.placing_faults(scenario), show_stages() as progress:
        result = settle_game(file, progress=progress)
        progress("writing the report")
        save_game(result, folder, force=force)
    print_game(result.content, folder)
    lost = any(start["equilibrium"] is None for start in result.content["starts"])
    return UNMET * (strict and (lost or not result.content["equilibria"]))


def check_game(scenario: str, changes: Changes) -> None:
    """Say what a game file would do, or every fault of it."""
    file = read_game(scenario, changes.assignments)
    with changes.placing_faults(scenario):
        game = game_of(file)
    starts = count_noun(len(starts_of(file, game)), "start")
    out = Terminal()
    out.say(
        f"{escape_control(file.title) or 'game'}: good. {count_noun(len(game.owners), 'owner')} "
        f"play from {starts}, and equilibria "
        f"are looked for from {count_noun(file.market.search, 'further point')}.",
        render_phrase("game", "no_table"),
    )
    out.print()
    out.print(_owners_table(file))


def _owners_table(file: GameFile) -> PlainTable:
    """Make a table of the owners in the order in which lists give values to them."""
    owners = file.in_order().owners
    rows = PlainTable("Owners, in the order of lists", "owner", "records")
    for at, name in enumerate(owners.called[:MOST_LISTED]):
        records = owners.records
        if isinstance(records, tuple):
            records = records[at]
        rows.add_row(name, f"{records:,}")
    return rows


def draw_again(folder: Path) -> None:
    """Make the figures and the page of a game's folder again from its tables."""
    content = load_game(folder)
    damaged = naming_damage(folder, "Run the game again.")
    with write_together(folder, (*FILES, MANIFEST)) as new, damaged:
        write_manifest(new, draw_game(new, content))


def print_game(content: Mapping[str, Any], folder: Path) -> None:
    """Print each equilibrium with the starts that lead there, and what is said of the game."""
    columns = [owner["name"] for owner in content["owners"]]
    few = len(columns) <= WIDEST
    if not few:
        columns = ["least eps", "mean eps", "most eps"]
    title = in_title(content["title"] or "Equilibria", content)
    heads = ("paid in all", "surplus", "starts", "play near it")
    rows = PlainTable(title, "equilibrium", *columns, *heads)
    for place, one in enumerate(content["equilibria"], 1):
        shown = epsilon = one["epsilon"]
        if not few:
            shown = [min(epsilon), sum(epsilon) / len(epsilon), max(epsilon)]
        budgets = (format_number(e, 4) for e in shown)
        totals = format_number(sum(one["payment"])), format_number(sum(one["surplus"]))
        led = ", ".join(map(str, one["starts"])) or "none"
        near = {True: "comes back", False: "leaves it"}[bool(one["stable"])]
        rows.add_row(place, *budgets, *totals, led, near)
    out = Terminal()
    out.print(rows)
    out.print()
    names = "answer larger_lower unsettled certificate turns remarkable"
    say_phrases(out, "game", names, content)
    out.say(render_phrase("game", "no_table"), f"\nreport: {folder / 'report.html'}")
