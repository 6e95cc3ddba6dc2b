"""Cells that a sweep has done, in a file of its folder: a line a cell, whole or not there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import FileIO
from pathlib import Path
from typing import Any

from learning.canonical import check_place
from learning.errors import InputError, describe_system_error
from scenarios.output.places import OF_THE_DESKTOP, REMEDY, WRITABLE
from scenarios.output.unfinished import LEFT

KEPT = "cells.jsonl"
HEADER = b"dpmarket sweep 1\n"
SUM = 16  # characters of a line's sum
Row = Mapping[str, Any]


def check_sweep_folder(out: Path) -> Path:
    """Return where a sweep may go: a new folder, an empty one, or that of an earlier sweep.

    Others' files in that are let be.

    Raises
    ------
    InputError
    """
    place = check_place(out)
    found = ""
    if os.path.lexists(place) and not place.is_dir():
        found = f"a file: {out}"
    elif (place / KEPT).is_file():
        with (place / KEPT).open("rb") as file:
            if not HEADER.startswith(file.readline()):
                found = f"another {KEPT} in {out}"
    elif place.is_dir():
        names = set(os.listdir(place)) - set(OF_THE_DESKTOP)
        strange = [name for name in names if not LEFT.fullmatch(name)]
        found = f"{min(strange)} in {out}" if strange else ""
    if found:
        rule = "must be a new folder, an empty one, or that of an earlier sweep"
        raise InputError("--out", rule, found, REMEDY)
    return place


def done_in(out: Path) -> set[str]:
    """Collect the keys of what the folder of a sweep holds; nothing is changed."""
    kept = check_sweep_folder(out) / KEPT
    if not kept.is_file():
        return set()
    with _refusing(str(out)):
        return {row["key"] for row, _ in _whole_lines(kept.read_bytes())}


def _whole_lines(raw: bytes) -> Iterator[tuple[Row, int]]:
    """Yield the rows of whole lines, each with where its line ends, and none that was cut off."""
    end = 0
    for line in raw.split(b"\n")[:-1]:
        end += len(line) + 1
        total, _, body = line.partition(b" ")
        if total == _sum(body):
            yield json.loads(body), end


class Kept:
    """The rows that a folder holds, by key; use `kept_in`."""

    def __init__(self, file: FileIO, raw: bytes, name: str) -> None:
        self._file = file
        self._name = name
        self.rows: dict[str, Row] = {}
        whole = len(HEADER) if raw.startswith(HEADER) else 0
        for row, end in _whole_lines(raw):
            self.rows[row["key"]] = row
            whole = end
        with _refusing(name):
            file.truncate(whole)
            file.seek(whole)
            if not whole:
                self._write(HEADER)

    def add(self, rows: Iterable[Row]) -> None:
        """Keep rows; when this returns, the disk has them.

        Raises
        ------
        InputError
            If the disk refuses; nothing that was kept is lost.
        """
        done = list(rows)
        texts = (json.dumps(row, allow_nan=False, ensure_ascii=False).encode() for row in done)
        with _refusing(self._name):
            self._write(b"".join(b"%s %s\n" % (_sum(text), text) for text in texts))
        self.rows |= {row["key"]: row for row in done}

    def _write(self, text: bytes) -> None:
        before = self._file.tell()
        try:
            while text:
                text = text[self._file.write(text) :]  # a disk that is nearly full takes a part
            os.fsync(self._file.fileno())
        except OSError:
            with suppress(OSError):
                self._file.truncate(before)
            raise


@contextmanager
def kept_in(place: Path, out: Path) -> Iterator[Kept]:
    """Open the rows that a folder holds; nobody else adds to them meanwhile.

    The folder is ``place``, which the user calls ``out``.

    Raises
    ------
    InputError
        If another sweep is at work there, or the disk refuses.
    """
    with _refusing(str(out)):
        place.mkdir(parents=True, exist_ok=True)
        (place / KEPT).touch()
        file = FileIO(place / KEPT, "r+")
    with file:
        _hold(file.fileno(), out)
        yield Kept(file, file.readall(), str(out))


def _hold(handle: int, out: Path) -> None:
    """Keep others away for as long as the file is open; a killed sweep holds nothing."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        rule = "must be a folder that no other sweep is writing to"
        found = f"another one at work in {out}"
        remedy = "Wait for it, or name another folder."
        raise InputError("--out", rule, found, remedy) from None
    except (ImportError, OSError):  # a system, or a disk, that cannot lock
        pass


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "What is done is kept: free some space or mend it, and start the same sweep again."
        raise InputError(name, WRITABLE, describe_system_error(error), remedy) from None


def _sum(body: bytes) -> bytes:
    return sha256(body).hexdigest()[:SUM].encode()
