"""Sweep of a study: all cells, by any number of workers, into one folder that no kill spoils."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from learning.calls import check_arguments
from learning.declaration import Count
from learning.errors import InputError
from learning.progress import Progress, ReportWork, count_progress, ignore_progress
from scenarios.output.folders import write_together
from scenarios.output.names import name_folder
from scenarios.output.unfinished import put_file
from scenarios.sweeping.answers import Point, point_rows, points_of
from scenarios.sweeping.cells import Cell, asked, cells, code_version, groups
from scenarios.sweeping.kept import Kept, check_sweep_folder, kept_in
from scenarios.sweeping.sharing import begin_loading, count_cpus, processes, shared_out
from scenarios.sweeping.standings import Standing, standing_rows, standings
from scenarios.sweeping.study import StudyFile, read_study
from scenarios.sweeping.tables import (
    FAILED,
    cell_table,
    index_table,
    make_table,
    owner_table,
    to_parquet,
)
from scenarios.sweeping.work import Job, forget, work

if TYPE_CHECKING:
    import pandas as pd

TABLE = "sweep.parquet"
POINTS = "points.parquet"
OWNERS = "owners.parquet"
INDICES = "indices.parquet"
STANDINGS = "standings.parquet"
STUDY = "study.toml"
SCENARIO = "scenario.toml"


@dataclass(frozen=True)
class Swept:
    """Results of a sweep.

    Parameters
    ----------
    folder : where it lies.
    table : a row for each cell.
    points : what the study comes to, point by point.
    owners : a row for each owner of each cell; None where they were not asked for.
    indices : Sobol's indices; None without a sample.
    standings : of the policies of a tournament; empty of any other study.
    n_computed : cells that were computed now; the others were there.
    """

    folder: Path
    table: pa.Table = field(repr=False)
    points: list[Point] = field(repr=False)
    owners: pa.Table | None = field(repr=False)
    indices: pa.Table | None = field(repr=False)
    standings: list[Standing] = field(repr=False)
    n_computed: int

    @property
    def failures(self) -> list[str]:
        """Reasons of the cells that failed."""
        return [reason for reason in self.table[FAILED].to_pylist() if reason is not None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a sweep; says how far it was."""


@check_arguments
def sweep(
    study: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    executor: Executor | None = None,
    *,
    workers: Count | None = None,
    overrides: Sequence[str] = (),
    data_folder: str | Path | None = None,
    allow_code: bool = False,
) -> pd.DataFrame:
    """Compute all cells of a study; what its folder holds already is not computed again.

    Parameters
    ----------
    study : a study file, a name of the library, or what such a file holds.
    out : the folder; sweeps/NAME unless given.
    executor : any of `concurrent.futures`, or alike, such as
        ``distributed.Client(...).get_executor()``; by default, processes of this machine.
    workers : how many cells are computed at a time; by default, as many as there are processors.
    overrides : changes of the scenario for all cells, each ``key=value``.
    data_folder : the folder of published tables that do not come along.
    allow_code : whether a Python file that the scenario names may be run.

    Returns
    -------
    DataFrame, a row for each cell: ``cell``, ``replication``, the keys that vary, facts under their
    names in result.json, and ``failed``, why there are none.

    Raises
    ------
    InputError
        On the first rule that the study breaks, or if no cell is a scenario.
    """
    if executor is None and workers != 1:
        begin_loading()
    file = read_study(study, overrides, allow_code=allow_code, data_folder=data_folder)
    folder = Path(out or default_folder(file.name, overrides))
    return run_sweep(file, folder, executor=executor, workers=workers).table.to_pandas()


def default_folder(study: str, changes: Sequence[str] = ()) -> Path:
    """Default folder of a sweep: sweeps/NAME, with the changes of the command line."""
    return Path("sweeps") / name_folder(study, changes)


def run_sweep(
    file: StudyFile,
    out: Path,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = ignore_progress,
) -> Swept:
    """Compute a study that was read, as `sweep` does; return everything that came of it."""
    place = check_sweep_folder(out)
    count = min(workers or count_cpus(), file.study.n_cells)
    with ExitStack() as stack:
        progress("laying out the cells")
        every = cells(file)
        kept = stack.enter_context(kept_in(place, out))
        missing = [cell for cell in every if not cell.fault and cell.key not in kept.rows]
        n_computed = len({cell.key for cell in missing})
        stage = f"computing {len(every):,} cells"
        did = count_progress(progress, stage, len(every), len(every) - n_computed)
        with _interrupted(kept, every):
            if missing:
                chosen = executor or stack.enter_context(processes(min(count, n_computed)))
                _compute(file, missing, kept, chosen, count, did)
            progress("writing the tables")
            swept, tables = _tabulate(file, every, kept, out, n_computed)
            _write(file, tables, place)
            return swept


def _compute(
    file: StudyFile,
    missing: list[Cell],
    kept: Kept,
    executor: Executor,
    slots: int,
    did: ReportWork,
) -> None:
    wanted = asked(file.study)
    code = code_version()

    def submit(some: Sequence[Cell]) -> Any:
        return executor.submit(work, Job(file.base, wanted, code, tuple(some)))

    try:
        for rows in shared_out(groups(missing), submit, slots):
            kept.add(rows)
            did(len(rows))
    finally:
        forget()  # where this process did the work itself


def _tabulate(
    file: StudyFile, every: list[Cell], kept: Kept, out: Path, n_computed: int
) -> tuple[Swept, dict[str, pa.Table | None]]:
    """Make all tables of a sweep, by the names of their files; None of one that it lacks."""
    study = file.study
    tables: dict[str, pa.Table | None] = dict.fromkeys((POINTS, OWNERS, INDICES, STANDINGS))
    table = cell_table(study, every, kept.rows)
    points = points_of(study, table)
    ranked: list[Standing] = []
    if study.replications > 1:  # else a point is a cell
        tables[POINTS] = make_table(point_rows(study, points))
    if study.owners:
        tables[OWNERS] = owner_table(study, every, kept.rows)
    if study.sobol is not None:
        tables[INDICES] = index_table(study, study.sobol, table)
    if study.tournament is not None:
        ranked = standings(study, table)
        tables[STANDINGS] = make_table(standing_rows(study, ranked))
    swept = Swept(out, table, points, tables[OWNERS], tables[INDICES], ranked, n_computed)
    return swept, tables | {TABLE: table}


def _write(file: StudyFile, tables: Mapping[str, pa.Table | None], place: Path) -> None:
    """Write the tables and the study, each file the old one or the new one at any moment."""
    with write_together(place) as new:
        with suppress(InputError):  # what varies may be what makes a scenario of it
            put_file(new / SCENARIO, file.base.under(file.common).to_toml(absolute=True))
        put_file(new / STUDY, file.text)
        for name, table in tables.items():
            if table is not None:
                put_file(new / name, to_parquet(table))
    for name, table in tables.items():
        if table is None:
            (place / name).unlink(missing_ok=True)


@contextmanager
def _interrupted(kept: Kept, every: list[Cell]) -> Iterator[None]:
    """Tell on Ctrl-C how much is kept."""
    try:
        yield
    except KeyboardInterrupt:
        done = sum(cell.key in kept.rows or bool(cell.fault) for cell in every)
        raise Interrupted(
            f"{done:,} of {len(every):,} cells are kept; the same command goes on from there"
        ) from None
