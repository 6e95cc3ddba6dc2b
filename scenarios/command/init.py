"""The command that writes a first scenario for a user's own table."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from scenarios.command.progress import stages


def init(
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A table, CSV (gzipped or not) or Parquet.")
    ],
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column to predict.")
    ] = None,
    owner: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that says whose each row is.")
    ] = None,
    owners: Annotated[
        int | None,
        typer.Option(min=1, max=10_000, help="Share the rows out at random to so many owners."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="The scenario to write [default: the table's name, .toml, here]."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there.")
    ] = False,
) -> None:
    """Write a first scenario for a table, guessed from the rows that become public, with a comment on every guess."""
    from scenarios.command.init_printed import print_draft
    from scenarios.starting.first import default_name, write_first
    from scenarios.starting.guesses import Wanted

    place = out or default_name(table)
    asks = sys.stdin.isatty() and sys.stderr.isatty()
    made = write_first(
        table, place, Wanted(target, owner, owners), prompt if asks else None, stages, force=force
    )
    print_draft(made, place)


def prompt(question: str, guess: str) -> str:
    """The user's answer to a question, the guess where it is none."""
    answer: str = typer.prompt(question, default=guess, err=True)
    return answer.strip()
