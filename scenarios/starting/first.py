"""First scenario for a table, as `dpmarket init` and `dpmarket.init` write it.

It is guessed, tried by its forecast, and written down.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from learning.calls import check_arguments
from learning.canonical import check_place
from learning.errors import InputError, describe_system_error
from learning.progress import Progress, ignore_progress
from scenarios.output.unfinished import put_file
from scenarios.planning import prepare
from scenarios.schema.loading import ScenarioFile
from scenarios.starting.entries import render_scenario
from scenarios.starting.guesses import Ask, Guesses, Wanted, guess
from scenarios.starting.money import TRIAL, Offer, choose_privacy, is_enough, make_offer
from scenarios.starting.questions import NOTHING, Stated
from scenarios.tables.dataset import market_data
from scenarios.tables.paths import open_table

Interview = Callable[[Guesses], Stated]


@dataclass(frozen=True)
class Draft:
    """A first scenario: its text, what it rests on, and its money and its privacy.

    Parameters
    ----------
    text : the file.
    guesses : what was taken of the table.
    offer : its money.
    privacy : "pure", or "approximate" with a delta.
    """

    text: str = field(repr=False)
    guesses: Guesses
    offer: Offer
    privacy: str


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
    """Write a first scenario, guessed from the rows that become public, each guess with a comment.

    Parameters
    ----------
    table : the table, CSV (gzipped or not) or Parquet.
    target : the column to predict; guessed unless given.
    owner : the column that says whose each row is; guessed unless given.
    owners : number of owners to share the rows out to at random; not beside ``owner``.
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
    place = Path(out or default_name(Path(table)))
    write_first(Path(table), place, Wanted(target, owner, owners), force=force)
    return place


def write_first(
    table: Path,
    out: Path,
    wanted: Wanted,
    ask: Ask | None = None,
    stages: Callable[[], AbstractContextManager[Progress]] = lambda: nullcontext(ignore_progress),
    *,
    interview: Interview = lambda _: NOTHING,
    force: bool = False,
) -> Draft:
    """Draft a first scenario and write it.

    Parameters
    ----------
    table, out, force : as of `init`.
    wanted : what is known of the table.
    ask : asks the user what cannot be guessed with confidence; nobody is asked unless given.
    stages : opens a display of progress, after all questions.
    interview : asks the user what errors and leaks cost; nobody is asked unless given.
    """
    if wanted.owner is not None and wanted.owners is not None:
        raise InputError(
            "--owners",
            "cannot be used with --owner",
            f"{wanted.owners} beside {wanted.owner!r}",
            "Give one of them.",
        )
    place = check_new(out, force=force)
    with naming_table(table):
        guesses = guess(open_table(table).read_whole(), wanted, ask)
        stated = interview(guesses)
        with stages() as progress:
            made = draft(guesses, table, out, progress, stated)
    try:
        put_file(place, made.text)
    except OSError as error:
        raise InputError(
            "--out", "must be a file that can be written", describe_system_error(error)
        ) from None
    return made


def draft(
    guesses: Guesses,
    path: Path,
    out: Path,
    progress: Progress = ignore_progress,
    stated: Stated = NOTHING,
) -> Draft:
    """Draft a first scenario for a table.

    Looked at are the cells of the rows that become public, and of the others nothing but whose they
    are; so no private cell moves anything that the file says.

    Parameters
    ----------
    guesses : what is taken of the table.
    path : where the table is.
    out : the file that the scenario is meant for, which names the table relative to itself.
    progress : called with the name of each stage as it begins.
    stated : what the user answered of worth and harm.

    Raises
    ------
    InputError
        If no market can be made of it.
    """
    given = {"title": out.stem, "out": out.name, "table": path.name, "path": named_from(path, out)}
    offers: dict[str, Offer] = {}
    data = None
    for name in ("pure", "approximate"):
        text = render_scenario(guesses, TRIAL, name, names=(), **given)
        scenario = ScenarioFile(out.name, tomllib.loads(text), out.absolute().parent).under()
        data = data or market_data(scenario, guesses.table)
        offers[name] = make_offer(prepare(scenario, data, progress).planner, stated)
        if is_enough(offers[name]):
            break
    privacy = choose_privacy(offers)
    offer = offers[privacy]
    names = data.names if data else ()
    text = render_scenario(guesses, offer, privacy, names=names, **given)
    return Draft(text, guesses, offer, privacy)


def named_from(path: Path, out: Path) -> str:
    """Name a table from the folder of the scenario where the table lies in it, else in full."""
    place = Path(os.path.abspath(path))
    folder = Path(os.path.abspath(out)).parent
    return str(place.relative_to(folder) if place.is_relative_to(folder) else place)


@contextmanager
def naming_table(table: Path) -> Iterator[None]:
    """Put the table's name before a fault of it; a scenario file is not there to be mended yet."""
    try:
        yield
    except InputError as error:
        if error.key.startswith("--"):
            raise
        key = error.key.removeprefix(f"{table}: ")
        remedy = "" if "--set" in error.remedy else error.remedy
        raise InputError(f"{table}: {key}", error.rule, error.found, remedy) from None


def default_name(table: Path) -> Path:
    """Name the scenario of a table: its name without endings, in the current folder.

    >>> default_name(Path("data/claims.csv.gz")).name
    'claims.toml'
    """
    return Path((table.name.removesuffix(".gz").rsplit(".", 1)[0] or "scenario") + ".toml")


def check_new(out: Path, *, force: bool) -> Path:
    """Return where a scenario may be written: a new file, or with ``force`` in place of another.

    Raises
    ------
    InputError
    """
    place = check_place(out)
    if not place.parent.is_dir():
        raise InputError("--out", "must lie in a folder that exists", out)
    if os.path.lexists(place) and not (force and place.is_file()):
        remedy = "Choose another name with --out FILE."
        if place.is_file():
            remedy = "Choose another name with --out FILE, or replace this file with --force."
        raise InputError("--out", "must be a new file", out, remedy)
    return place
