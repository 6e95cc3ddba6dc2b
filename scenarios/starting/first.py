"""A first scenario for a table, written to a file: what `dpmarket init` does, and `dpmarket.init` in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from learning.calls import check_arguments
from learning.canonical import check_place
from learning.errors import InputError
from learning.progress import Progress, ignore_progress
from scenarios.output.unfinished import put_file
from scenarios.starting.draft import Draft, draft
from scenarios.starting.guesses import Ask, Wanted, guess
from scenarios.tables.paths import open_table


@check_arguments
def init(
    table: str | Path,
    target: str | None = None,
    owner: str | None = None,
    owners: int | None = None,
    *,
    out: str | Path | None = None,
    force: bool = False,
) -> Path:
    """Write a first scenario for a table, guessed from the rows that become public, with a comment on every guess.

    Parameters
    ----------
    table : the table, CSV (gzipped or not) or Parquet.
    target : the column to predict; guessed unless given.
    owner : the column that says whose each row is; guessed unless given.
    owners : shares the rows out at random to so many owners.
    out : the scenario to write; the table's name with .toml, in the current folder, unless given.
    force : whether to write over a file that is there.

    Returns
    -------
    Path of the scenario, to run.

    Raises
    ------
    InputError
        If no market can be made of the table, or the file cannot be written.
    """
    place = Path(out) if out is not None else default_name(Path(table))
    write_first(Path(table), place, Wanted(target, owner, owners), force=force)
    return place


def write_first(
    table: Path,
    out: Path,
    wanted: Wanted,
    ask: Ask | None = None,
    stages: Callable[[], AbstractContextManager[Progress]] = lambda: nullcontext(ignore_progress),
    *,
    force: bool = False,
) -> Draft:
    """Draft a first scenario and write it.

    Parameters
    ----------
    table, out, force : as of `init`.
    wanted : what is known of the table.
    ask : asks the user what cannot be guessed with confidence; nobody is asked unless given.
    stages : opens a display of progress, after all questions.
    """
    if wanted.owner is not None and wanted.owners is not None:
        raise InputError(
            "--owners",
            "goes without --owner",
            f"{wanted.owners} beside {wanted.owner!r}",
            "Give one of them.",
        )
    place = check_new(out, force=force)
    with naming_table(table):
        guesses = guess(open_table(table).read_whole(), wanted, ask)
        with stages() as progress:
            made = draft(guesses, table, out, progress)
    try:
        put_file(place, made.text)
    except OSError as error:
        raise InputError(
            "--out", "must be a file that can be written", error.strerror or "an error"
        ) from None
    return made


@contextmanager
def naming_table(table: Path) -> Iterator[None]:
    """Puts the table's name before a fault of it, and leaves out what to do to a scenario file that is not there yet."""
    try:
        yield
    except InputError as error:
        if error.key.startswith("--"):
            raise
        key = error.key.removeprefix(f"{table}: ")
        remedy = "" if "--set" in error.remedy else error.remedy
        raise InputError(f"{table}: {key}", error.rule, error.found, remedy) from None


def default_name(table: Path) -> Path:
    """The scenario of a table: its name without endings, in the current folder.

    >>> default_name(Path("data/claims.csv.gz")).name
    'claims.toml'
    """
    return Path((table.name.removesuffix(".gz").rsplit(".", 1)[0] or "scenario") + ".toml")


def check_new(out: Path, *, force: bool) -> Path:
    """Where a scenario may be written: a new file, or with ``force`` in place of another.

    Raises
    ------
    InputError
    """
    place = check_place(out)
    if not place.parent.is_dir():
        raise InputError("--out", "must lie in a folder that exists", out)
    if os.path.lexists(place) and not (force and place.is_file()):
        remedy = (
            "Name another one."
            if not place.is_file()
            else "Name another one, or take --force to write over it."
        )
        raise InputError("--out", "must be a new file", out, remedy)
    return place
