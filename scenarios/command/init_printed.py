"""What the command prints of a first scenario."""

from __future__ import annotations

from pathlib import Path

from exchange.terminal import Terminal
from scenarios.command.terminal import PlainTable
from scenarios.starting.entries import list_findings
from scenarios.starting.first import Draft


def print_draft(made: Draft, out: Path) -> None:
    """What was guessed, how to overrule it, and what to do next."""
    table = made.guesses.table
    rows = PlainTable("", "guessed", "", "to overrule")
    for column in rows.columns:
        column.justify = "left"
    for finding in list_findings(made.guesses, made.offer, made.mechanism):
        rows.add_row(*finding)
    terminal = Terminal()
    terminal.say(
        f"{table.n_rows:,} rows, {len(table.columns)} columns. Cells were looked at in "
        f"{made.guesses.public:,} rows, drawn "
        "at random, which become public; of the others only whose they are."
    )
    terminal.print(rows)
    terminal.say(f"written: {out}", f"next: dpmarket check {out}, then dpmarket run {out}")
