"""Games without a table on the command line: settled by `dpmarket run`, looked through by `check`, drawn anew by `report`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exchange.terminal import Terminal
from learning.phrases import escape_control
from scenarios.command.options import naming
from scenarios.command.progress import stages
from scenarios.command.terminal import PlainTable, in_title
from scenarios.games.settling import game_of, settle_game, starts_of
from scenarios.output.folders import write_together
from scenarios.output.manifest import MANIFEST, write_manifest
from scenarios.report.game_page import FILES, draw_game, load_game, save_game
from scenarios.report.phrases import render_lines, render_phrase
from scenarios.report.wording import count_noun, format_number
from scenarios.result import naming_damage
from scenarios.schema.game import GameFile, read_game

WIDEST = 6  # owners with a column each


def run_game(scenario: str, changed: list[str], folder: Path, *, force: bool, strict: bool) -> int:
    """Settle a game, write its folder, print what came of it; status 3 with ``strict`` where a start leads nowhere."""
    from scenarios.output.places import check_folder

    check_folder(folder, FILES, force=force)
    file = read_game(scenario, changed)
    with naming(scenario, changed), stages() as progress:
        result = settle_game(file, progress=progress)
        progress("writing the report")
        save_game(result, folder, force=force)
    print_game(result.content, folder)
    lost = any(start["equilibrium"] is None for start in result.content["starts"])
    return 3 if strict and (lost or not result.content["equilibria"]) else 0


def check_game(scenario: str, changed: list[str]) -> None:
    """Say what a game file would do, or every fault of it."""
    file = read_game(scenario, changed)
    with naming(scenario, changed):
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
    out.print(owners_of(file))


def owners_of(file: GameFile) -> PlainTable:
    """The owners in the order in which lists give values to them."""
    ordered = file.in_order()
    rows = PlainTable("Owners, in the order of lists", "owner", "records")
    records = ordered.owners.records
    for at, name in enumerate(ordered.owners.called[:40]):
        rows.add_row(name, f"{records[at] if isinstance(records, tuple) else records:,}")
    return rows


def draw_again(folder: Path) -> None:
    """The figures and the page of a game's folder, made again from its tables."""
    content = load_game(folder)
    with (
        write_together(folder, (*FILES, MANIFEST)) as new,
        naming_damage(folder, "Run the game again."),
    ):
        write_manifest(new, draw_game(new, content))


def print_game(content: Mapping[str, Any], folder: Path) -> None:
    """Every equilibrium with the starts that lead there, where play turns, and where the report is."""
    out = Terminal()
    names = [owner["name"] for owner in content["owners"]]
    few = len(names) <= WIDEST
    heads = names if few else ["least eps", "mean eps", "most eps"]
    rows = PlainTable(
        in_title(content["title"] or "Equilibria", content),
        "equilibrium",
        *heads,
        "paid in all",
        "left to owners",
        "starts",
        "near it",
    )
    for place, one in enumerate(content["equilibria"], 1):
        epsilon = one["epsilon"]
        shown = epsilon if few else [min(epsilon), sum(epsilon) / len(epsilon), max(epsilon)]
        led = ", ".join(map(str, one["starts"])) or "none"
        totals = format_number(sum(one["payment"])), format_number(sum(one["surplus"]))
        rows.add_row(
            place,
            *(format_number(e, 4) for e in shown),
            *totals,
            led,
            "comes back" if one["stable"] else "leaves it",
        )
    out.print(rows)
    out.print()
    out.say(
        render_phrase("game", "answer", content),
        render_phrase("game", "larger_lower", content),
        render_phrase("game", "unsettled", content),
        render_phrase("game", "certificate", content),
        *render_lines("game", "turns", content),
        *render_lines("game", "remarkable", content),
        render_phrase("game", "no_table"),
        f"\nreport: {folder / 'report.html'}",
    )
