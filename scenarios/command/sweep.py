"""The command that computes a study: many scenarios that differ in some keys, into one table."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from learning.errors import InputError
from scenarios.command.options import AllowCode, DataFolder, Overrides
from scenarios.command.progress import stages

if TYPE_CHECKING:
    from exchange.terminal import Terminal
    from scenarios.sweeping.study import Study, StudyFile
    from scenarios.sweeping.sweep import Swept

INTERRUPTED = 130
SHOWN = 20  # rows that are printed
INDEXED = ("learner.payments", "forecast.relative_fitness", "learner.surplus")


def study_names() -> list[str]:
    """Studies of the library, for completion in a shell."""
    from scenarios.sweeping.study import studies

    return list(studies())


def sweep(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="A study file, or a name of the library.",
            autocompletion=study_names,
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the sweep [default: sweeps/NAME].")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Processes [default: one a processor].")
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="A Dask cluster that runs, such as tcp://node:8786."),
    ] = None,
    overrides: Overrides = None,
    data_folder: DataFolder = None,
    allow_code: AllowCode = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the cells, and compute none.")
    ] = False,
) -> None:
    """Compute a study: every combination of what varies, into one table. Run again, it goes on where it was."""
    from scenarios.sweeping.sharing import begin_loading

    if not (dry_run or scheduler or workers == 1):
        begin_loading()
    from scenarios.sweeping.study import read_study
    from scenarios.sweeping.sweep import Interrupted, default_folder, run_sweep

    if scheduler is not None and workers is not None:
        raise InputError(
            "--workers",
            "goes without --scheduler, whose workers are taken",
            workers,
            "Leave it out.",
        )
    file = read_study(study, overrides or [], allow_code=allow_code, data_folder=data_folder)
    folder = out or default_folder(file.name)
    if dry_run:
        print_cells(file, folder)
        return
    try:
        with stages() as progress, _on(scheduler) as (executor, slots):
            swept = run_sweep(
                file, folder, executor=executor, workers=workers or slots, progress=progress
            )
    except Interrupted as stopped:
        print(f"interrupted: {stopped}", file=sys.stderr)
        sys.exit(INTERRUPTED)
    if len(swept.failures) == swept.table.num_rows:
        raise InputError(
            file.name, "must have a cell that can be computed", swept.failures[0].rstrip(".")
        )
    from scenarios.report.study_page import save_study_page

    print_swept(file, swept, save_study_page(file, swept, folder))


@contextmanager
def _on(scheduler: str | None):
    """An executor on a cluster and its workers; none of either for this machine."""
    from scenarios.sweeping.sharing import cluster

    if scheduler is None:
        yield None, None
        return
    with cluster(scheduler) as found:
        yield found


def print_cells(file: StudyFile, folder: Path) -> None:
    """Every cell, which of them are done, and how many plans they share."""
    from exchange.terminal import Terminal
    from learning.phrases import format_value
    from scenarios.command.terminal import PlainTable
    from scenarios.sweeping.cells import cells, groups
    from scenarios.sweeping.kept import done_in

    made = cells(file)
    done = done_in(folder)
    table = PlainTable(file.study.title, "cell", "replication", *file.study.keys, "")
    for cell in made:
        state = str(cell.fault or "") or ("done" if cell.key in done else "to do")
        table.add_row(cell.number, cell.replication, *map(format_value, cell.values), state)
    planned = groups(made)
    n_done = sum(cell.key in done for cell in made)
    out = Terminal()
    out.print(table)
    out.say(
        f"{len(made):,} cells, {n_done:,} done, {sum(bool(cell.fault) for cell in made):,} no "
        "scenarios; "
        f"{sum(map(len, planned)):,} different ones, which share {len(planned):,} plans"
    )


def print_swept(file: StudyFile, swept: Swept, page: Path) -> None:
    """What the first points come to, the indices, what failed, and where everything lies."""
    from exchange.terminal import Terminal
    from scenarios.command.terminal import PlainTable
    from scenarios.report.facts_study import (
        name_column,
        reader_keys,
        show_interval,
        show_value,
    )

    out = Terminal()
    study = file.study
    table = swept.table
    places = reader_keys(study, swept.points)
    printed = PlainTable(
        study.title, "point", *(study.keys[i] for i in places), *map(name_column, study.show)
    )
    for point in swept.points[:SHOWN]:
        keys = ("" if point.values[i] is None else show_value(point.values[i]) for i in places)
        told = (
            (show_interval(fact, point.facts.get(fact)) for fact in study.show)
            if point.facts
            else ("failed",)
        )
        printed.add_row(point.number, *keys, *told)
    out.print(printed)
    if len(swept.points) > SHOWN:
        out.say(f"... and {len(swept.points) - SHOWN:,} more points")
    if study.replications > 1:
        out.say(
            f"means over {study.replications} seeds, the same at every point; in brackets their "
            "95 % intervals"
        )
    if swept.indices is not None:
        indices = PlainTable(
            "Share of variance owed to a key: alone (S1), and with all others (ST)",
            "fact",
            "key",
            "S1",
            "ST",
        )
        for row in swept.indices.to_pylist():
            if row["fact"] in INDEXED and row["S1"] is not None:
                ends = (f"{row[name]:.2f} +- {row[f'{name}_conf']:.2f}" for name in ("S1", "ST"))
                indices.add_row(row["fact"], row["key"], *ends)
        out.print(indices)
    if swept.standings:
        print_standings(out, study, swept)
    failed = (
        f"{len(swept.failures):,} failed, the first: {swept.failures[0]}" if swept.failures else ""
    )
    there = table.num_rows - swept.n_computed
    out.say(
        failed,
        (
            f"{table.num_rows:,} cells, {swept.n_computed:,} computed now, {there:,} there before or "
            "alike"
        ),
    )
    out.say(f"table: {swept.folder / 'sweep.parquet'}", f"report: {page}")


def print_standings(out: Terminal, study: Study, swept: Swept) -> None:
    """How the policies of a tournament stand, and what that says."""
    from scenarios.command.terminal import PlainTable
    from scenarios.report.facts_study import STANDING_HEADS, standing_cells
    from scenarios.report.phrases import render_lines

    table = PlainTable("How the policies stand, by greatest regret", *STANDING_HEADS)
    for row in swept.standings:
        table.add_row(*standing_cells(study, row))
    out.print(table)
    out.say(*render_lines("tournament", "verdicts", study, swept.standings))
