"""A result and its folder: written whole or not at all."""

from __future__ import annotations

import csv
import json
import math
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
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to, or that holds something other than a result, before any work is done.

    Raises
    ------
    InputError
    """
    remedy = "Name another folder."
    if folder.exists() and not (folder.is_dir() and ((folder / CONTENT).is_file() or not any(folder.iterdir()))):
        raise InputError("--out", "must be a new folder or an earlier result, which is replaced", folder, remedy)
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    try:
        tempfile.TemporaryFile(dir=above).close()
    except OSError:
        raise InputError("--out", "must be a folder that can be written to", folder, remedy) from None


def save(result: Result, folder: Path, finish: Callable[[Path], object]) -> Path:
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
    made = [parent for parent in folder.parents if not parent.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory("", f".{folder.name}.", folder.parent, ignore_cleanup_errors=True) as beside:
            whole = Path(beside) / "whole"
            whole.mkdir()
            _write(result, whole)
            finish(whole)
            earlier = Path(beside) / "earlier"
            try:
                if folder.exists():
                    folder.rename(earlier)
                whole.rename(folder)
            finally:  # whatever came between the two: the old result or the new one, never neither
                if earlier.exists() and not folder.exists():
                    earlier.rename(folder)
    except BaseException as error:
        for parent in made:
            if parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()
        if isinstance(error, OSError):
            found, remedy = f"{folder}: {error.strerror or error}", "Free some space or name another folder."
            raise InputError("--out", "must be a folder that can be written to", found, remedy) from None
        raise
    return folder


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
        writer = csv.DictWriter(file, rows[0] if rows else header, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: float(v) if isinstance(v, np.floating) else v for k, v in row.items()})


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
        rule = f"must be a result folder with {CONTENT}"
        raise InputError(str(folder), rule, "none", "Make one with dpmarket run.") from None
    if content.get("schema") != SCHEMA:
        raise InputError(str(folder), f"must be of schema {SCHEMA}", content.get("schema"), "Run the scenario again.")
    return content
