"""What a sweep has done, in a file of its folder: a line a cell, whole or not there, and one sweep at a time."""

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
from learning.errors import InputError
from scenarios.output.places import OF_THE_DESKTOP, REMEDY
from scenarios.output.unfinished import LEFT

KEPT = "cells.jsonl"
HEADER = b"dpmarket sweep 1\n"
SUM = 16  # characters of a line's sum
Row = Mapping[str, Any]


def check_sweep_folder(out: Path) -> Path:
    """Where a sweep may go: a new folder, an empty one, or that of an earlier sweep; others' files in that are let be.

    Raises
    ------
    InputError
    """
    place = check_place(out)
    rule = "must be a new folder, an empty one, or that of an earlier sweep"
    if not os.path.lexists(place):
        return place
    if not place.is_dir():
        raise InputError("--out", rule, f"a file: {out}", REMEDY)
    kept = place / KEPT
    if kept.is_file():
        with kept.open("rb") as file:
            if not HEADER.startswith(file.readline()):
                raise InputError("--out", rule, f"another {KEPT} in {out}", REMEDY)
        return place
    strange = [
        name
        for name in os.listdir(place)
        if name not in OF_THE_DESKTOP and not LEFT.fullmatch(name)
    ]
    if strange:
        raise InputError("--out", rule, f"{min(strange)} in {out}", REMEDY)
    return place


def done_in(out: Path) -> set[str]:
    """The keys of what the folder of a sweep holds; nothing is changed, and none where there is no such folder."""
    kept = check_sweep_folder(out) / KEPT
    if not kept.is_file():
        return set()
    with _told(str(out)):
        return {row["key"] for row, _ in _whole_lines(kept.read_bytes())}


def _whole_lines(raw: bytes) -> Iterator[tuple[Row, int]]:
    """The rows of whole lines, each with where its line ends; what a kill or a full disk cut off is left out."""
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
            self.rows[row["key"]], whole = row, end
        with _told(name):
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
        made = [
            (row, json.dumps(row, allow_nan=False, ensure_ascii=False).encode()) for row in rows
        ]
        with _told(self._name):
            self._write(b"".join(b"%s %s\n" % (_sum(body), body) for _, body in made))
        self.rows |= {row["key"]: row for row, _ in made}

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
    """The rows that the folder ``place``, which the user calls ``out``, holds; nobody else adds to them meanwhile.

    Raises
    ------
    InputError
        If another sweep is at work there, or the disk refuses.
    """
    with _told(str(out)):
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
        found = f"another one at work in {out}"
        remedy = "Wait for it, or name another folder."
        raise InputError(
            "--out", "must be a folder that no other sweep is writing to", found, remedy
        ) from None
    except (ImportError, OSError):  # a system, or a disk, that cannot lock
        pass


@contextmanager
def _told(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "What is done is kept: free some space or mend it, and start the same sweep again."
        raise InputError(
            name, "must be a folder that can be written to", error.strerror or error, remedy
        ) from None


def _sum(body: bytes) -> bytes:
    return sha256(body).hexdigest()[:SUM].encode()
