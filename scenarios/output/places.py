"""Places to write to, checked before any work is done; a refusal is one line."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from learning.canonical import check_place
from learning.errors import InputError, describe_system_error
from scenarios.output.manifest import MANIFEST, file_checksum, other_files, written_files
from scenarios.output.unfinished import lock_folder, temporary_path

# Laid into a folder by whoever looks at it.
OF_THE_DESKTOP = {".DS_Store", "Thumbs.db", "desktop.ini"}
KEY = "--out"
WRITABLE = "must be a folder that can be written to"
RULE = "must be a new folder, an empty one, or an earlier result just as it was written"
REMEDY = "Name another one."


def check_file(out: Path, header: str) -> Path:
    """Check that a table may be written: a new file, or one that was written before.

    Raises
    ------
    InputError
    """
    place = _check_in_folder(out)
    if os.path.lexists(place) and not _is_earlier(place, header):
        rule = "must be a new file, or an earlier table of this kind, which is replaced"
        raise InputError(KEY, rule, out, REMEDY)
    return place


def check_new(out: Path, content: bytes, *, force: bool = False) -> Path:
    """Check that a file may be written: a new one, or one that holds the same.

    Parameters
    ----------
    out : what the user named.
    content : what is to be written.
    force : whether another file may be replaced.

    Raises
    ------
    InputError
    """
    place = _check_in_folder(out)
    if os.path.lexists(place) and not (place.is_file() and os.access(place, os.W_OK)):
        raise InputError(KEY, "must be a file that can be written to", out, REMEDY)
    if place.is_file() and not force and place.read_bytes() != content:
        rule = "must be a new file"
        raise InputError(KEY, rule, f"another file: {out}", f"{REMEDY} --force replaces it.")
    return place


def _check_in_folder(out: Path) -> Path:
    """Check that a named place lies in a folder."""
    place = check_place(out)
    if not place.parent.is_dir():
        raise InputError(KEY, "must lie in a folder that exists", out)
    return place


def _is_earlier(place: Path, header: str) -> bool:
    """Test whether a file is empty, or begins with a header, and may be replaced."""
    if not place.is_file() or not os.access(place, os.R_OK | os.W_OK):
        return False
    with place.open("rb") as file:
        return file.read(len(header.encode()) + 1).rstrip() in (b"", header.encode())


def check_folder(out: Path, names: Collection[str], *, force: bool = False) -> Path:
    """Check that a folder may be written: new, empty, or written before and untouched since.

    Parameters
    ----------
    out : what the user named.
    names : files that may be written into it, their paths in it.
    force : whether others' files may lie there, as long as none is in the way; they are kept.

    Raises
    ------
    InputError
    """
    place = check_place(out)
    try:
        with suppress(FileNotFoundError):  # a path that is too long even where nothing is there yet
            os.lstat(temporary_path(place.parent) / "new" / place.name / max(names, key=len))
        if place.parent.is_dir():
            with lock_folder(place.parent):  # whatever a killed run left is put right
                pass
        if os.path.lexists(place):
            check_contents(place, out, names, force=force)
            tempfile.TemporaryFile(dir=place).close()
    except OSError as error:
        raise InputError(KEY, WRITABLE, f"{out}: {describe_system_error(error)}", REMEDY) from None
    return place


def check_contents(place: Path, out: Path, names: Collection[str], *, force: bool) -> list[str]:
    """Foreign files in a folder; refused where they may be lost."""
    if not place.is_dir():
        raise InputError(KEY, RULE, f"a file: {out}", REMEDY)
    if os.path.ismount(place) or _stands_in(place):
        rule = "must be a folder that can be replaced"
        found = f"{out}, which is a disk or the folder you are in"
        raise InputError(KEY, rule, found, "Name a folder in it.")
    ours = written_files(place, names)
    every = {*names, MANIFEST}
    strange = list(other_files(place, ours, every))
    blocking = [path for path in strange if any(f"{n}/".startswith(f"{path}/") for n in every)]
    remedy = REMEDY
    if not blocking:
        remedy += " --force keeps files that are no part of it, and replaces the others."
    unlike = blocking
    changed = []
    if not force:
        unlike = [path for path in strange if Path(path).name not in OF_THE_DESKTOP]
        checked = {path: file_checksum(place / path) for path, digest in ours.items() if digest}
        changed = [path for path, digest in checked.items() if digest not in ("", ours[path])]
    if unlike:
        raise InputError(KEY, RULE, f"{_list_few(unlike)} in {out}", remedy)
    if changed:
        raise InputError(KEY, RULE, f"{_list_few(changed)} in {out}, changed since", remedy)
    return strange


def _stands_in(place: Path) -> bool:
    """Test whether the current folder is this one or lies in it."""
    try:
        return Path.cwd().is_relative_to(place)
    except FileNotFoundError:  # deleted
        return False


def _list_few(paths: Sequence[str]) -> str:
    more = len(paths) - 3
    return ", ".join(paths[:3]) + f" and {more:,} more" * (more > 0)
