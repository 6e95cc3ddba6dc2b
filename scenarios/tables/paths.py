"""Where the file of a scenario's table is."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from learning.errors import InputError
from scenarios.schema.fields import nearest, show
from scenarios.schema.scenario import DATA_VARIABLE, PUBLISHED, Scenario


def bundled_table(name: str) -> Path:
    """The file of a table that comes with the program, such as ``randhie``."""
    path = Path(str(files("scenarios") / "data" / f"{name}.csv.gz"))
    if not path.is_file():
        known = [p.name.removesuffix(".csv.gz") for p in sorted(path.parent.glob("*.csv.gz"))]
        raise InputError("data.source", "must be a table that comes with the program", show(name), nearest(name, known))
    return path


def table_path(scenario: Scenario) -> Path:
    """The file of a scenario's table; a relative ``data.path`` is meant from the scenario's folder.

    Raises
    ------
    InputError
        If ``data.source`` names a table that does not come along and is not in the data folder.
    """
    source = scenario.data.source
    if source is None:
        return scenario.folder / Path(str(scenario.data.path)).expanduser()
    return _published(source, scenario.data_folder) if source in PUBLISHED else bundled_table(source)


def _published(source: str, folder: Path | None) -> Path:
    if folder is not None and os.path.isfile(folder / PUBLISHED[source]):
        return folder / PUBLISHED[source]
    if folder is None:
        found = "no data folder"
    else:
        found = f"no such file in {folder}" if os.path.isdir(folder) else f"no such folder: {folder}"
    raise InputError(
        "data.source",
        f"{show(source)} needs {PUBLISHED[source]}, which does not come with the program",
        found,
        f"Give the folder that holds it with --data DIR or {DATA_VARIABLE}=DIR, or the file with --set data.path=FILE.",
    )


def table_exists(scenario: Scenario) -> bool:
    """Whether the file of a scenario's table is there."""
    try:
        return os.path.isfile(table_path(scenario))
    except InputError:
        return False
