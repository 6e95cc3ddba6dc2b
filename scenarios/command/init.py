"""`dpmarket init`: a first scenario for a user's own table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from learning.program import declare_command
from learning.terminal import PlainTable, Terminal, show_stages

if TYPE_CHECKING:
    from scenarios.starting.first import Draft


@declare_command
def init(
    table: Path,
    *,
    target: str | None = None,
    owner: str | None = None,
    owners: Annotated[int | None, Option(min=1, max=10_000)] = None,
    out: Path | None = None,
    force: bool = False,
) -> None:
    """Write a first scenario for a table, guessed from the rows that become public, with a comment
    on every guess.

    Parameters
    ----------
    table TABLE : A table, CSV (gzipped or not) or Parquet.
    target COLUMN : The column to predict.
    owner COLUMN : The column that names each row's owner.
    owners : Share the rows out at random to so many owners.
    out FILE : The scenario to write [default: the table's name, .toml, here].
    force : Write over a file that is there.
    """
    from scenarios.starting.first import default_name, write_first
    from scenarios.starting.guesses import Wanted

    place = out or default_name(table)
    ask = None
    if sys.stdin.isatty() and sys.stderr.isatty():
        ask = ask_user
    wanted = Wanted(target, owner, owners)
    print_draft(write_first(table, place, wanted, ask, show_stages, force=force), place)


def ask_user(question: str, guess: str) -> str:
    """Ask the user a question; the guess where the answer is empty."""
    answer: str = typer.prompt(question, default=guess, err=True)
    return answer.strip()


def print_draft(made: Draft, out: Path) -> None:
    """Print the guesses, how to overrule them, and the next commands."""
    from scenarios.starting.entries import list_findings

    table = made.guesses.table
    rows = PlainTable("", "guessed", "", "to overrule", left=3)
    for finding in list_findings(made.guesses, made.offer, made.privacy):
        rows.add_row(*finding)
    terminal = Terminal()
    terminal.say(
        f"{table.n_rows:,} rows, {len(table.columns)} columns. Cells were looked at in "
        f"{made.guesses.public:,} rows, drawn "
        "at random, which become public; of the others only whose they are."
    )
    terminal.print(rows)
    terminal.say(f"written: {out}", f"next: dpmarket check {out}, then dpmarket run {out}")
