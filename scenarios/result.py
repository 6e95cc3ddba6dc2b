"""A result and its folder: written whole or not at all."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from learning.errors import InputError

SCHEMA = 1
CONTENT = "result.json"
Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Result:
    """What a run found: the content of result.json, and the tables beside it.

    Parameters
    ----------
    content: everything of result.json.
    trajectory: the rows of trajectory.csv, a row for each round and owner.
    validation: the rows of validation.csv, a row for each training run.
    payoff_curves: the rows of payoff_curves.csv, a row for each owner and budget.
    scenario_toml: the resolved scenario.
    """

    content: dict[str, Any]
    trajectory: Rows = field(default=(), repr=False)
    validation: Rows = field(default=(), repr=False)
    payoff_curves: Rows = field(default=(), repr=False)
    scenario_toml: str = field(default="", repr=False)

    def __getitem__(self, key: str) -> Any:
        return self.content[key]


def plain(value: Any) -> Any:
    """Value as JSON can hold it: arrays become lists, numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(v) for v in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return value


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to, or that holds something other than a result, before any work is done.

    Raises
    ------
    InputError
    """
    if folder.exists() and not (folder.is_dir() and ((folder / CONTENT).is_file() or not any(folder.iterdir()))):
        raise InputError(
            "--out", "must be a new folder or an earlier result, which is replaced", folder, "Name another folder."
        )
    above = folder.absolute().parent
    while not above.exists():
        above = above.parent
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK) or not _accepts_files(above):
        raise InputError("--out", "must be a folder that can be written to", folder, "Name another folder.")


def _accepts_files(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def save(result: Result, folder: Path, finish: Callable[[Path], None]) -> Path:
    """Write the result folder: into a temporary one beside it, renamed when whole.

    Parameters
    ----------
    result: what a run found.
    folder: where it is written to.
    finish: draws the figures and the report into the folder it is given.

    Raises
    ------
    InputError
        If the disk refuses; no folder is left behind then.
    """
    folder = folder.absolute()
    check_folder(folder)
    made = _make_parents(folder.parent)
    work = None
    try:
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        _write(result, work)
        finish(work)
        work.chmod(0o755)
        _swap(work, folder)
    except BaseException as error:
        if work is not None:
            shutil.rmtree(work, ignore_errors=True)
        for parent in reversed(made):
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()
        if isinstance(error, OSError):
            raise InputError(
                "--out",
                "must be a folder that can be written to",
                f"{folder}: {error.strerror or error}",
                "Free some space or name another folder.",
            ) from None
        raise
    return folder


def _make_parents(parent: Path) -> list[Path]:
    """Create missing parents, outermost first; returns those created."""
    missing = []
    while not parent.exists():
        missing.append(parent)
        parent = parent.parent
    missing.reverse()
    for path in missing:
        path.mkdir()
    return missing


def _swap(work: Path, folder: Path) -> None:
    """Put the finished folder in place of an earlier one."""
    if not folder.exists():
        work.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
    folder.rename(old / folder.name)
    work.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _write(result: Result, folder: Path) -> None:
    text = json.dumps(plain(result.content), indent=1, ensure_ascii=False, allow_nan=False)
    (folder / CONTENT).write_text(text + "\n", encoding="utf-8")
    (folder / "scenario.toml").write_text(result.scenario_toml, encoding="utf-8")
    _table(folder / "owners.csv", result.content["owners"])
    _table(folder / "trajectory.csv", result.trajectory)
    _table(folder / "validation.csv", result.validation, ("run", "relative_fitness"))
    _table(folder / "payoff_curves.csv", result.payoff_curves)


def _table(path: Path, rows: Rows, header: Sequence[str] = ()) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else list(header), lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            [{k: repr(float(v)) if isinstance(v, (float, np.floating)) else v for k, v in row.items()} for row in rows]
        )


def load_result(folder: Path) -> dict[str, Any]:
    """The content of a result folder's result.json.

    Raises
    ------
    InputError
        If the folder is no result, or of a later schema.
    """
    try:
        content = json.loads((folder / CONTENT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise InputError(
            str(folder), f"must be a result folder with {CONTENT}", "none", "Make one with dpmarket run."
        ) from None
    if content.get("schema") != SCHEMA:
        raise InputError(str(folder), f"must be of schema {SCHEMA}", content.get("schema"), "Run the scenario again.")
    return content
