"""A sweep: all cells of a study, computed by any number of workers, into one folder that no kill can spoil."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from learning.calls import check_arguments
from learning.errors import InputError
from learning.progress import Progress, ReportWork, count_progress, ignore_progress
from scenarios.output.folders import write_together
from scenarios.output.unfinished import put_file
from scenarios.sweeping.answers import Point, point_table, points_of
from scenarios.sweeping.cells import Cell, asked, cells, code_version, groups
from scenarios.sweeping.kept import Kept, check_sweep_folder, kept_in
from scenarios.sweeping.sharing import begin_loading, cpus, processes, shared_out
from scenarios.sweeping.standings import Standing, standing_table, standings
from scenarios.sweeping.study import StudyFile, read_study
from scenarios.sweeping.tables import (
    FAILED,
    as_column,
    cell_table,
    index_table,
    owner_table,
    parquet,
)
from scenarios.sweeping.work import Job, forget, handed_out, work

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
    """What came of a sweep.

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
        """Why cells failed."""
        return [reason for reason in self.table[FAILED].to_pylist() if reason is not None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a sweep; says how far it was."""


@check_arguments
def sweep(
    study: str | Path | Mapping[str, Any],
    out: str | Path | None = None,
    executor: Executor | None = None,
    *,
    workers: int | None = None,
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
    folder = default_folder(file.name) if out is None else Path(out)
    return run_sweep(file, folder, executor=executor, workers=workers).table.to_pandas()


def default_folder(study: str) -> Path:
    """Where a sweep goes unless told: sweeps/NAME."""
    return Path("sweeps") / Path(study).stem


def run_sweep(
    file: StudyFile,
    out: Path,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = ignore_progress,
) -> Swept:
    """As `sweep`, of a study that was read; everything that came of it."""
    place = check_sweep_folder(out)
    count = min(workers or cpus(), file.study.n_cells)
    with ExitStack() as stack:
        progress("laying out the cells")
        every = cells(file)
        kept = stack.enter_context(kept_in(place, out))
        missing = [cell for cell in every if not cell.fault and cell.key not in kept.rows]
        n_computed = len({cell.key for cell in missing})
        did = count_progress(
            progress, f"computing {len(every):,} cells", len(every), len(every) - n_computed
        )
        with _interrupted(kept, every):
            if missing:
                chosen = executor or stack.enter_context(processes(min(count, n_computed)))
                _compute(file, missing, kept, chosen, count, did)
            progress("writing the tables")
            return _written(file, every, kept, out, place, n_computed)


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
        return executor.submit(work, Job(file.base, wanted, code, handed_out(some)))

    try:
        for rows in shared_out(groups(missing), submit, slots):
            kept.add(rows)
            did(len(rows))
    finally:
        forget()  # where this process did the work itself


def _written(
    file: StudyFile, every: list[Cell], kept: Kept, out: Path, place: Path, n_computed: int
) -> Swept:
    """The tables and the study in the folder, each file the old one or the new one at any moment."""
    study = file.study
    table = cell_table(study, every, kept.rows)
    points = points_of(study, table)
    several = study.replications > 1  # else a point is a cell
    told = (
        pa.table({k: as_column(v) for k, v in point_table(study, points).items()})
        if several
        else None
    )
    owners = owner_table(study, every, kept.rows) if study.owners else None
    indices = None if study.sobol is None else index_table(study, study.sobol, table)
    stand = [] if study.tournament is None else standings(study, table)
    ranked = (
        pa.table({k: as_column(v) for k, v in standing_table(study, stand).items()})
        if stand
        else None
    )
    tables = (
        (POINTS, told),
        (OWNERS, owners),
        (INDICES, indices),
        (STANDINGS, ranked),
        (TABLE, table),
    )
    with write_together(place) as new:
        with suppress(InputError):  # what varies may be what makes a scenario of it
            put_file(new / SCENARIO, file.base.under(file.common).to_toml(absolute=True))
        put_file(new / STUDY, file.text)
        for name, made in tables:
            if made is not None:
                put_file(new / name, parquet(made))
    for name, made in tables:
        if made is None:
            (place / name).unlink(missing_ok=True)
    return Swept(out, table, points, owners, indices, stand, n_computed)


@contextmanager
def _interrupted(kept: Kept, every: list[Cell]) -> Iterator[None]:
    """Ctrl-C tells how much is kept."""
    try:
        yield
    except KeyboardInterrupt:
        done = sum(cell.key in kept.rows or bool(cell.fault) for cell in every)
        raise Interrupted(
            f"{done:,} of {len(every):,} cells are kept; the same command goes on from there"
        ) from None
