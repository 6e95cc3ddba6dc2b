"""The cells of a study: which scenario each is, what tells it from all others, and what it shares with some."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy

from learning.errors import InputError
from scenarios.output.manifest import file_checksum
from scenarios.schema.scenario import Scenario
from scenarios.sweeping.study import Study, StudyFile
from scenarios.tables.paths import table_path
from scenarios.user_policy import fingerprint

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("learning", "market", "agents", "scenarios")
SHOWING = ("report", "command", "reproduce")  # rooms that no fact is computed in


class Asked(NamedTuple):
    """What is wanted of every cell: whether to train, facts beside the usual ones, and a row for every owner."""

    training: bool
    facts: tuple[str, ...]
    owners: bool


@dataclass(frozen=True)
class Cell:
    """One scenario of a study.

    Parameters
    ----------
    number : of its point, from 1.
    replication : from 1.
    values : of the keys that vary; None of one that it leaves as it is.
    changes : of the scenario file, each ``key=value``.
    key : hash of the resolved scenario, of its data, of the code and of what is asked.
    shares : hash of all that its data and its forecast depend on.
    fault : why it is no scenario; None where it is one.
    """

    number: int
    replication: int
    values: tuple[Any, ...]
    changes: tuple[str, ...]
    key: str
    shares: str = ""
    fault: InputError | None = None


def asked(study: Study) -> Asked:
    """What a study wants of every cell."""
    return Asked(study.training, study.asked_facts, study.owners)


def cells(file: StudyFile) -> list[Cell]:
    """Every cell of a study, in the order of its table.

    Raises
    ------
    InputErrors
        If not one of them is a scenario.
    """
    numbered = enumerate(product(*(axis.steps for axis in file.study.axes)), start=1)
    points = [
        (number, tuple(value for step in steps for value in step)) for number, steps in numbered
    ]
    replications = range(1, file.study.replications + 1)
    made = [
        _cell(file, number, replication, values)
        for number, values in points
        for replication in replications
    ]
    if made[0].fault and all(cell.fault for cell in made):
        first = made[0].fault
        raise InputError(f"{file.name}: {first.key}", first.rule, first.found, first.remedy)
    return made


def _cell(file: StudyFile, number: int, replication: int, values: tuple[Any, ...]) -> Cell:
    """The cell of a point under one seed."""
    given = [
        (key, value)
        for key, value in zip(file.study.keys, values, strict=True)
        if value is not None
    ]
    changes = (*file.common, *(file.change(key, value) for key, value in given))
    try:
        scenario = file.base.under(changes)
        if replication > 1:
            scenario = scenario.model_copy(update={"seed": scenario.seed + replication - 1})
            changes = (*changes, f"seed={scenario.seed}")
        return Cell(number, replication, values, changes, *_told_apart(scenario, asked(file.study)))
    except InputError as error:
        return Cell(
            number,
            replication,
            values,
            changes,
            _hashed("fault", changes, replication),
            fault=error,
        )


def groups(cells: list[Cell]) -> list[list[Cell]]:
    """Cells to compute, each content once, those together that share their data and their forecast."""
    by_content = {cell.key: cell for cell in cells}
    shared: dict[str, list[Cell]] = {}
    for cell in by_content.values():
        if not cell.fault:
            shared.setdefault(cell.shares, []).append(cell)
    return list(shared.values())


def _told_apart(scenario: Scenario, wanted: Asked) -> tuple[str, str]:
    """A cell's key, and what it shares."""
    table = _table(scenario)
    code = fingerprint(scenario) if scenario.allow_code else None
    key = _hashed(
        code_version(), wanted, scenario.to_toml(), table, None if code is None else code["sha256"]
    )
    return key, _hashed(planned_on(scenario), table)


def planned_on(scenario: Scenario) -> str:
    """All that `scenarios.planning.prepare` looks at, as text: scenarios alike in it share their data and their planner."""
    looked_at: Any = {
        "seed": True,
        "data": True,
        "learning": True,
        "trust": True,
        "owners": {"epsilon", "report"},
    }
    seen = scenario.model_dump(include=looked_at)
    return repr((str(scenario.folder), str(scenario.data_folder), seen))


def _table(scenario: Scenario) -> str:
    """What is in a scenario's table, as a sum; empty where there is none, which the cell's row will tell."""
    try:
        path = table_path(scenario)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        found = [(file, os.stat(file)) for file in files]
    except (InputError, OSError, ValueError):
        return ""
    sums = [_sum(file, now.st_mtime_ns, now.st_size) for file, now in found if file.is_file()]
    return sums[0] if files == [path] else _hashed([file.name for file in files], sums)


@cache
def _sum(path: Path, changed: int, size: int) -> str:
    return file_checksum(path)


def _hashed(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:32]


@cache
def code_version() -> str:
    """A hash of all code that has a part in a fact: the program's, and the version of the libraries that compute."""
    told = hashlib.sha256(
        repr((version("dpmarket"), np.__version__, scipy.__version__, version("mesa"))).encode()
    )
    for path in sorted(_sources(), key=lambda path: path.relative_to(ROOT).as_posix()):
        told.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return told.hexdigest()


def _sources() -> Iterator[Path]:
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            if path.relative_to(ROOT).parts[1] not in SHOWING:
                yield path
