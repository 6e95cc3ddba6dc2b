"""The command that writes a first scenario for a user's own table."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from learning.errors import InputError
from scenarios.command.progress import stages


def init(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A table, CSV (gzipped or not) or Parquet.")],
    target: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column to predict.")] = None,
    owner: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that says whose each row is.")] = None,
    owners: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Share the rows out at random to so many owners.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The scenario to write [default: the table's name, .toml, here]."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a first scenario for a table, guessed from the rows that become public, with a comment on every guess."""
    from scenarios.output.unfinished import put
    from scenarios.starting.draft import draft
    from scenarios.starting.guesses import Wanted, guess
    from scenarios.tables.reading import read_table

    if owner is not None and owners is not None:
        raise InputError("--owners", "goes without --owner", f"{owners} beside {owner!r}", "Give one of them.")
    out = out or Path(f"{name_of(table)}.toml")
    place = check_new(out, force=force)
    asks = sys.stdin.isatty() and sys.stderr.isatty()
    with naming_table(table):
        guesses = guess(read_table(table), Wanted(target, owner, owners), prompt if asks else None)
        with stages() as progress:
            made = draft(guesses, table, out, progress)
    try:
        put(place, made.text)
    except OSError as error:
        raise InputError("--out", "must be a file that can be written", error.strerror or "an error") from None
    from scenarios.command.init_printed import print_draft

    print_draft(made, out)


@contextmanager
def naming_table(table: Path):
    """Puts the table's name before a fault of it, and leaves out what to do to a scenario file that is not there yet."""
    try:
        yield
    except InputError as error:
        if error.key.startswith("--"):
            raise
        key = error.key.removeprefix(f"{table}: ")
        remedy = "" if "--set" in error.remedy else error.remedy
        raise InputError(f"{table}: {key}", error.rule, error.found, remedy) from None


def name_of(table: Path) -> str:
    """The name of a table without its endings.

    >>> name_of(Path("data/claims.csv.gz"))
    'claims'
    """
    return table.name.removesuffix(".gz").rsplit(".", 1)[0] or "scenario"


def check_new(out: Path, *, force: bool) -> Path:
    """Where a scenario may be written: a new file, or with ``force`` in place of another.

    Raises
    ------
    InputError
    """
    from scenarios.output.places import check_place

    place = check_place(out)
    if not place.parent.is_dir():
        raise InputError("--out", "must lie in a folder that exists", out)
    if os.path.lexists(place) and not (force and place.is_file()):
        remedy = "Name another one." if not place.is_file() else "Name another one, or take --force to write over it."
        raise InputError("--out", "must be a new file", out, remedy)
    return place


def prompt(question: str, guess: str) -> str:
    """The user's answer to a question, the guess where it is none."""
    answer: str = typer.prompt(question, default=guess, err=True)
    return answer.strip()
