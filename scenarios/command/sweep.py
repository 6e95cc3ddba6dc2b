"""`dpmarket sweep`: a study, many scenarios that differ in some keys, as one table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from learning.display import PlainTable, show_stages
from learning.errors import InputError
from learning.program import INTERRUPTED, declare_command
from learning.terminal import Terminal
from scenarios.command.options import AllowCode, DataFolder, Overrides, Workers

if TYPE_CHECKING:
    from scenarios.sweeping.study import Study, StudyFile
    from scenarios.sweeping.sweep import Swept

SHOWN = 20  # rows that are printed
INDEXED = ("learner.payments", "forecast.relative_fitness", "learner.surplus")


def study_names() -> list[str]:
    """List the studies of the library, for completion in a shell."""
    from scenarios.sweeping.study import studies

    return list(studies())


@declare_command
def sweep(
    study: Annotated[str, Argument(autocompletion=study_names)],
    *,
    out: Path | None = None,
    workers: Workers = None,
    scheduler: str | None = None,
    overrides: Overrides = None,
    data_folder: DataFolder = None,
    allow_code: AllowCode = False,
    dry_run: bool = False,
) -> None:
    """Compute every combination of a study's varied keys. Run it again to continue.

    Parameters
    ----------
    study STUDY : A study file, or a name of the library.
    out : Folder of the sweep [default: sweeps/NAME, changes by --set in its name].
    scheduler ADDRESS : A running Dask cluster, such as tcp://node:8786.
    dry_run : Print the cells; compute none.
    """
    from scenarios.sweeping.sharing import begin_loading

    if not (dry_run or scheduler or workers == 1):
        begin_loading()
    from scenarios.sweeping.study import read_study
    from scenarios.sweeping.sweep import default_folder

    if scheduler is not None and workers is not None:
        rule = "cannot be used with --scheduler, which has workers of its own"
        raise InputError("--workers", rule, workers, "Leave it out.")
    file = read_study(study, overrides or [], allow_code=allow_code, data_folder=data_folder)
    folder = out or default_folder(file.name, overrides or [])
    if dry_run:
        print_cells(file, folder)
    else:
        _compute_study(file, folder, scheduler, workers)


def _compute_study(
    file: StudyFile, folder: Path, scheduler: str | None, workers: int | None
) -> None:
    """Compute the cells of a study, write its page and print its results."""
    from scenarios.sweeping.sweep import Interrupted, run_sweep

    try:
        with show_stages() as progress, _open_cluster(scheduler) as (executor, slots):
            swept = run_sweep(
                file, folder, executor=executor, workers=workers or slots, progress=progress
            )
    except Interrupted as stopped:
        print(f"interrupted: {stopped}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    if len(swept.failures) == swept.table.num_rows:
        rule = "must have at least one cell that can be computed"
        raise InputError(file.name, rule, swept.failures[0].rstrip("."))
    from scenarios.report.study_page import save_study_page

    print_swept(file, swept, save_study_page(file, swept, folder))


@contextmanager
def _open_cluster(scheduler: str | None) -> Iterator[tuple[Any, int | None]]:
    """Open an executor on a cluster, with its workers; none of either for this machine."""
    from scenarios.sweeping.sharing import cluster

    if scheduler is None:
        yield None, None
        return
    with cluster(scheduler) as found:
        yield found


def print_cells(file: StudyFile, folder: Path) -> None:
    """Print every cell, which of them are done, and how many plans they share."""
    from learning.phrases import format_value
    from scenarios.sweeping.cells import cells, groups
    from scenarios.sweeping.kept import done_in

    made = cells(file)
    done = done_in(folder)
    table = PlainTable(file.study.title, "cell", "replication", *file.study.keys, "")
    states = {True: "done", False: "to do"}
    for cell in made:
        state = str(cell.fault or "") or states[cell.key in done]
        table.add_row(cell.number, cell.replication, *map(format_value, cell.values), state)
    planned = groups(made)
    n_done = sum(cell.key in done for cell in made)
    n_faults = sum(bool(cell.fault) for cell in made)
    out = Terminal()
    out.print(table)
    out.say(
        f"{len(made):,} cells, {n_done:,} done, {n_faults:,} no scenarios; "
        f"{sum(map(len, planned)):,} different ones, which share {len(planned):,} plans"
    )


def print_swept(file: StudyFile, swept: Swept, page: Path) -> None:
    """Print the first points, the indices, the standings, what failed, and the files."""
    from scenarios.report.phrases import render_lines

    study = file.study
    out = Terminal()
    out.print(_points_table(study, swept))
    more = len(swept.points) - SHOWN
    if more > 0:
        out.say(f"... and {more:,} more points")
    if study.replications > 1:
        out.say(
            f"means over {study.replications} seeds, the same at every point; in brackets their "
            "95 % intervals"
        )
    if swept.indices is not None:
        out.print(_indices_table(swept.indices.to_pylist()))
    if swept.standings:
        out.print(_standings_table(study, swept))
        out.say(*render_lines("tournament", "verdicts", study, swept.standings))
    if swept.failures:
        out.say(f"{len(swept.failures):,} failed, the first: {swept.failures[0]}")
    count = swept.table.num_rows
    out.say(
        f"{count:,} cells, {swept.n_computed:,} computed now, {count - swept.n_computed:,} there "
        "before or alike",
        f"table: {swept.folder / 'sweep.parquet'}",
        f"report: {page}",
    )


def _points_table(study: Study, swept: Swept) -> PlainTable:
    """Make a table of the first points of a study."""
    from scenarios.report.facts_study import (
        name_column,
        reader_keys,
        show_interval,
        show_value,
        shown_facts,
    )

    places = reader_keys(study, swept.points)
    facts = shown_facts(study)
    keys = (study.keys[i] for i in places)
    table = PlainTable(study.title, "point", *keys, *map(name_column, facts))
    for point in swept.points[:SHOWN]:
        cells = [""] * len(places)
        for at, i in enumerate(places):
            if point.values[i] is not None:
                cells[at] = show_value(point.values[i])
        shown = ["failed"]
        if point.facts:
            shown = [show_interval(fact, point.facts.get(fact)) for fact in facts]
        table.add_row(point.number, *cells, *shown)
    return table


def _indices_table(rows: list[dict[str, Any]]) -> PlainTable:
    """Make a table of Sobol's indices."""

    title = "Share of variance owed to a key: alone (S1), and with all others (ST)"
    table = PlainTable(title, "fact", "key", "S1", "ST")
    for row in rows:
        if row["fact"] in INDEXED and row["S1"] is not None:
            ends = (f"{row[name]:.2f} +- {row[f'{name}_conf']:.2f}" for name in ("S1", "ST"))
            table.add_row(row["fact"], row["key"], *ends)
    return table


def _standings_table(study: Study, swept: Swept) -> PlainTable:
    """Make a table of the policies of a tournament."""
    from scenarios.report.facts_study import STANDING_HEADS, standing_cells

    table = PlainTable("How the policies stand, by greatest regret", *STANDING_HEADS)
    for row in swept.standings:
        table.add_row(*standing_cells(study, row))
    return table
