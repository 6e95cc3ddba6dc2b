"""A table on disk that grows by a line with everything that is computed, so that a study ended early goes on from there."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from learning.errors import InputError
from scenarios.output.places import check_file, check_place
from scenarios.output.unfinished import put

Line = TypeVar("Line")
READ: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float, "bool": "True".__eq__}


def header(kind: type) -> str:
    """The first line of a table of dataclasses."""
    return ",".join(field.name for field in fields(kind))


def check_kept(out: Path, name: str, kind: type) -> Path | None:
    """Refuse a folder that cannot be written to, or that holds a file of this name by others.

    Parameters
    ----------
    out : the folder.
    name, kind : the table that is kept there, and its dataclass.

    Returns
    -------
    Where the table lies; None while there is no folder.

    Raises
    ------
    InputError
    """
    place = check_place(out)
    if not os.path.lexists(place):
        return None
    if not place.is_dir():
        raise InputError("--out", "must be a folder", f"a file: {out}", "Name another one.")
    return check_file(place / name, header(kind))


def read(path: Path, kind: type[Line]) -> list[Line]:
    """What is kept already; a last line that was cut off is taken away.

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
        put(path, whole)
    names = fields(kind)  # type: ignore[arg-type]
    try:
        return [
            kind(**{field.name: READ[str(field.type)](row[field.name]) for field in names})
            for row in csv.DictReader(whole.splitlines())
        ]
    except (KeyError, TypeError, ValueError) as error:
        found = f"{type(error).__name__}: {error}"
        raise InputError(
            str(path), "must hold outcomes as they were written", found, "Remove it to begin anew."
        ) from None


def append(path: Path, one: Any) -> None:
    """One more line, and the header before the first."""
    new = not path.is_file() or not path.stat().st_size
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(one)], lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(vars(one))
