"""Study: a reproduced table, and the table on disk that its computation goes on from."""

from __future__ import annotations

import csv
import io
import os
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from learning.canonical import check_place
from learning.errors import InputError
from learning.progress import Progress, count_progress
from scenarios.output.places import check_file
from scenarios.output.unfinished import put_file
from scenarios.sweeping.sharing import processes, shared_out

Key = tuple[str, int]  # market and seed


class Keyed(Protocol):
    """A row that a market and a seed have."""

    @property
    def market(self) -> str: ...

    @property
    def seed(self) -> int: ...


Line = TypeVar("Line", bound=Keyed)
TEXTS = tomllib.loads((Path(__file__).parent / "studies.toml").read_text(encoding="utf-8"))
READ: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": "True".__eq__,
}


@dataclass(frozen=True)
class Options:
    """Options of a study.

    Parameters
    ----------
    data: folder with the data sets that do not come along.
    out: folder of the table on disk.
    seeds: number of seeds of each market, where a study goes over seeds.
    workers: number of processes, where a study shares its work out.
    """

    data: Path | None = None
    out: Path = Path("reproduced")
    seeds: int = 40
    workers: int = os.cpu_count() or 1


@dataclass(frozen=True)
class Row:
    """One line: values in words, published reference, and success (None: no comparison)."""

    name: str
    values: tuple[str, ...]
    reference: str = ""
    holds: bool | None = None


@dataclass(frozen=True)
class Study:
    """A table with its columns, rows, and notes on skipped parts."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()


def stated_changes(market: str, seed: int) -> list[str]:
    """Changes by which a market has a seed, and the protocol that it was measured under."""
    return [f"seed={seed}", *TEXTS["protocols"]["stated"].get(market, ())]


def check_table_path(out: Path, name: str, kind: type) -> Path | None:
    """Refuse a folder that cannot be written to, or with a file of this name by others.

    Parameters
    ----------
    out : the folder.
    name, kind : name of the table, and its dataclass.

    Returns
    -------
    Path of the table; None while there is no folder.

    Raises
    ------
    InputError
    """
    place = check_place(out)
    if not os.path.lexists(place):
        return None
    if not place.is_dir():
        raise InputError("--out", "must be a folder", f"a file: {out}", "Name another one.")
    return check_file(place / name, ",".join(field.name for field in fields(kind)))


def read_rows(path: Path, kind: type[Line]) -> list[Line]:
    """Read the rows of a table, and remove a last line that was cut off.

    Raises
    ------
    InputError
        If it is no such table.
    """
    if not path.is_file():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        put_file(path, whole)
    names = fields(kind)  # type: ignore[arg-type]
    try:
        return [
            kind(**{field.name: READ[str(field.type)](row[field.name]) for field in names})
            for row in csv.DictReader(whole.splitlines())
        ]
    except (KeyError, TypeError, ValueError) as error:
        rule = "must hold outcomes as they were written"
        found = f"{type(error).__name__}: {error}"
        raise InputError(str(path), rule, found, "Remove it to start again.") from None


def append_rows(path: Path, rows: Sequence[Any]) -> None:
    """Append the rows of a market and a seed at once, after the header in a new file."""
    if not rows:
        return
    text = io.StringIO(newline="")
    names = [field.name for field in fields(rows[0])]
    writer = csv.DictWriter(text, names, lineterminator="\n")
    if not path.is_file() or not path.stat().st_size:
        writer.writeheader()
    writer.writerows(vars(one) for one in rows)
    with path.open("a", encoding="utf-8", newline="") as file:
        file.write(text.getvalue())


def complete_rows(
    compute: Callable[[str, int, Path | None], Sequence[Line]],
    asked: Sequence[Key],
    options: Options,
    table: tuple[str, type[Line]],
    progress: tuple[Progress, str],
) -> list[Line]:
    """Read the rows on disk, compute those of other markets and seeds, and return all asked for.

    Parameters
    ----------
    compute : gives the rows of a market and a seed, from the folder of the data sets.
    asked : markets and seeds, in the order of their computation.
    options : folders of the data sets and of the table, and the number of processes.
    table : name of the table, and its dataclass.
    progress : callback, and name of the stage.
    """
    name, kind = table
    check_table_path(options.out, name, kind)
    options.out.mkdir(parents=True, exist_ok=True)
    rows: dict[Key, list[Line]] = {}
    for one in read_rows(options.out / name, kind):
        rows.setdefault((one.market, one.seed), []).append(one)
    missing = [key for key in asked if key not in rows]
    stage = (*progress, len(asked))
    for one in compute_rows(compute, missing, options, options.out / name, stage):
        rows.setdefault((one.market, one.seed), []).append(one)
    return [one for key in asked for one in rows.get(key, ())]


def compute_rows(
    compute: Callable[[str, int, Path | None], Sequence[Line]],
    missing: Sequence[Key],
    options: Options,
    path: Path,
    progress: tuple[Progress, str, int],
) -> list[Line]:
    """Compute missing rows in several processes, and append them to the table as they are done.

    Parameters
    ----------
    compute : gives the rows of a market and a seed, from the folder of the data sets.
    missing : markets and seeds, in the order of their computation.
    options : the folder of the data sets, and the number of processes.
    path : the table.
    progress : callback, name of the stage, and number of all markets and seeds.
    """
    callback, stage, total = progress
    did = count_progress(callback, stage, total, total - len(missing))
    workers = max(1, min(options.workers, len(missing)))
    groups = [[key] for key in missing]
    work = partial(_compute_group, compute, data=options.data)
    found: list[Line] = []
    with processes(workers) as pool:
        for done in shared_out(groups, lambda keys: pool.submit(work, keys), workers):
            for rows in done:
                append_rows(path, rows)
                found += rows
            did(1)
    return found


def _compute_group(
    compute: Callable[[str, int, Path | None], Sequence[Line]],
    keys: Sequence[Key],
    data: Path | None,
) -> list[Sequence[Line]]:
    """Compute the rows of each of a group of markets and seeds; one may have none."""
    return [compute(market, seed, data) for market, seed in keys]
