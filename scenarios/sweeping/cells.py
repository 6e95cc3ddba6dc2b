"""Cells of a study: the scenario of each, its key, and what it shares with others."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy

from learning.errors import InputError
from scenarios.features import features_in_use
from scenarios.output.manifest import file_checksum
from scenarios.plugins import LOADED
from scenarios.schema.kinds import KINDS
from scenarios.schema.scenario import Scenario
from scenarios.sweeping.study import Study, StudyFile
from scenarios.tables.paths import table_path
from scenarios.user_policy import fingerprint

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("learning", "market", "agents", "scenarios")
SHOWING = ("report", "command", "dashboard", "reference")  # rooms that no fact is computed in


class Asked(NamedTuple):
    """Facts wanted of every cell: trained ones, more than the usual, and a row for every owner."""

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
    settles : hash of all that its market comes to rest by, and is trained by.
    fault : why it is no scenario; None where it is one.
    """

    number: int
    replication: int
    values: tuple[Any, ...]
    changes: tuple[str, ...]
    key: str
    shares: str = ""
    settles: str = ""
    fault: InputError | None = None


def asked(study: Study) -> Asked:
    """Collect what a study wants of every cell."""
    return Asked(study.training, study.asked_facts, study.owners)


def cells(file: StudyFile) -> list[Cell]:
    """Lay out every cell of a study, in the order of its table.

    Raises
    ------
    InputError
        If not one of them is a scenario.
    """
    made = [
        _make_cell(file, number, replication, values)
        for number, values in enumerate(file.study.steps, start=1)
        for replication in range(1, file.study.replications + 1)
    ]
    if made[0].fault and all(cell.fault for cell in made):
        first = made[0].fault
        raise InputError(f"{file.name}: {first.key}", first.rule, first.found, first.remedy)
    return made


def _make_cell(file: StudyFile, number: int, replication: int, values: tuple[Any, ...]) -> Cell:
    """Make the cell of a point under one seed."""
    pairs = zip(file.study.keys, values, strict=True)
    given = (file.change(key, value) for key, value in pairs if value is not None)
    changes = (*file.common, *given)
    try:
        scenario = file.base.under(changes)
        if replication > 1:
            scenario = scenario.model_copy(update={"seed": scenario.seed + replication - 1})
            changes = (*changes, f"seed={scenario.seed}")
        return Cell(number, replication, values, changes, *_identify(scenario, asked(file.study)))
    except InputError as error:
        key = _hash("fault", changes, replication)
        return Cell(number, replication, values, changes, key, fault=error)


def groups(cells: list[Cell]) -> list[list[Cell]]:
    """Group cells to compute by the data and the forecast that they share, each content once.

    In a group, those that settle alike follow one another.
    """
    shared: dict[str, dict[str, list[Cell]]] = {}
    for cell in {cell.key: cell for cell in cells}.values():
        if not cell.fault:
            shared.setdefault(cell.shares, {}).setdefault(cell.settles, []).append(cell)
    return [[cell for alike in group.values() for cell in alike] for group in shared.values()]


def _identify(scenario: Scenario, wanted: Asked) -> tuple[str, str, str]:
    """Hash a scenario to a cell's key, what it shares, and what it settles by."""
    table = _hash_table(scenario)
    code = (fingerprint(scenario) if scenario.allow_code else None) or {}
    known = [code_version(), wanted, scenario.to_toml(), table, code.get("sha256")]
    key = _hash(*known, *LOADED.values())
    shares = _hash(planned_on(scenario), table)
    settles = key if depends_on_worth(scenario) else _hash(shares, wanted, settled_on(scenario))
    return key, shares, settles


def depends_on_worth(scenario: Scenario) -> bool:
    """Test whether the learner's worth of a model may change what its owners do.

    That is so wherever it is not certain that none of them is paid by it.
    """
    policy = KINDS["policy"][scenario.policy.kind]
    by_worth = getattr(policy, "pays_for_fitness", True)
    return bool(by_worth or LOADED or scenario.allow_code or features_in_use(scenario))


def settled_on(scenario: Scenario) -> str:
    """Write all that a market settles and is trained by, where no worth of a model enters that."""
    worth = scenario.learner.worth
    left_out: Any = {"value"} if worth is None else {"value": {"money"}}
    seen = scenario.model_dump(exclude={"learner": left_out})
    return repr((scenario.learner.knows_value, seen))


def planned_on(scenario: Scenario) -> str:
    """Write all that `scenarios.planning.prepare` looks at: alike scenarios share their planner."""
    looked_at: Any = {
        "seed": True,
        "data": True,
        "learning": True,
        "trust": True,
        "owners": {"epsilon", "records", "report", "spread", "round_cost"},
        "learner": {"go", "pilot"},
    }
    if np.any(np.asarray(scenario.owners.listed().round_cost)):  # weighed against the model's worth
        looked_at["learner"].add("value")
    seen = scenario.model_dump(include=looked_at)
    return repr((str(scenario.folder), str(scenario.data_folder), seen))


def _hash_table(scenario: Scenario) -> str:
    """Hash a scenario's table; empty where there is none, which fails the cell later."""
    try:
        path = table_path(scenario)
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        found = [(file, os.stat(file)) for file in files]
    except (InputError, OSError, ValueError):
        return ""
    sums = [_sum(file, now.st_mtime_ns, now.st_size) for file, now in found if file.is_file()]
    return sums[0] if files == [path] else _hash([file.name for file in files], sums)


@cache
def _sum(path: Path, changed: int, size: int) -> str:
    return file_checksum(path)


def _hash(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:32]


@cache
def code_version() -> str:
    """Hash all code that has a part in a fact: the program's, and the versions of its libraries."""
    libraries = (version("dpmarket"), np.__version__, scipy.__version__, version("mesa"))
    code = hashlib.sha256(repr(libraries).encode())
    paths = {
        path.relative_to(ROOT).as_posix(): path
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
    }
    for name, path in sorted(paths.items()):
        if name.split("/")[1] not in SHOWING:
            code.update(name.encode() + path.read_bytes())
    return code.hexdigest()
