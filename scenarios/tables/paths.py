"""Tables of scenarios: where their files are, and how they are opened."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from learning.errors import InputError
from learning.phrases import format_value
from learning.table_file import PARQUET
from scenarios.schema.data import DATA_VARIABLE, PUBLISHED
from scenarios.schema.scenario import Scenario
from scenarios.tables.reading import Table, read_table

if TYPE_CHECKING:
    from scenarios.tables.parts import Parts


def bundled_table(name: str) -> Path:
    """Path of a table that comes with the program, such as ``randhie``."""
    return Path(str(files("scenarios") / "data" / f"{name}.csv.gz"))


def table_path(scenario: Scenario) -> Path:
    """Find the file of a scenario's table; a relative ``data.path`` is in the scenario's folder.

    Raises
    ------
    InputError
        If ``data.source`` names a table that does not come along and is not in the data folder.
    """
    source = scenario.data.source
    folder = scenario.data_folder
    if source is None:
        return scenario.locate(str(scenario.data.path))
    if source not in PUBLISHED:
        return bundled_table(source)
    found = f"no such folder: {folder}"
    if folder is None:
        found = "no data folder"
    elif os.path.isfile(folder / PUBLISHED[source]):
        return folder / PUBLISHED[source]
    elif os.path.isdir(folder):
        found = f"no such file in {folder}"
    rule = f"{format_value(source)} needs {PUBLISHED[source]}, which is not bundled"
    given = f"Give the folder that holds it with --data DIR or {DATA_VARIABLE}=DIR"
    raise InputError("data.source", rule, found, f"{given}, or the file with --set data.path=FILE.")


def table_exists(scenario: Scenario) -> bool:
    """Test whether the file of a scenario's table is there."""
    try:
        return os.path.exists(table_path(scenario))
    except InputError:
        return False


def is_parquet(path: Path) -> bool:
    """Test whether a table is a folder or a file of Parquet."""
    if os.path.isdir(path):
        return True
    if os.path.isfile(path):
        with suppress(OSError), path.open("rb") as file:  # the reader says what is wrong
            return file.read(len(PARQUET)) == PARQUET
    return False


def open_table(path: str | Path) -> Table | Parts:
    """Open a table as it lies on disk: Parquet is looked at, of anything else the cells are read.

    Raises
    ------
    InputError
        If it is missing, empty, no table, or its parts are not of one kind.
    """
    path = Path(path)
    if is_parquet(path):
        from scenarios.tables.parts import open_parts  # what a CSV need not wait for

        return open_parts(path)
    return read_table(path)


def open_scenario_table(scenario: Scenario) -> Table | Parts:
    """Open the table of a scenario, to be read by the workers that it states.

    Raises
    ------
    InputError
        As `open_table`; or if workers are stated for another table than Parquet.
    """
    path = table_path(scenario)
    workers = scenario.data.workers
    if workers is None or not os.path.exists(path):
        return open_table(path)
    if not is_parquet(path):
        rule = "needs a table of Parquet, a file or a folder of its parts"
        remedy = "Leave it out, or write the table as Parquet."
        raise InputError("data.workers", rule, f"another file: {path}", remedy)
    from scenarios.tables.parts import open_parts

    return replace(open_parts(path), workers=workers)
