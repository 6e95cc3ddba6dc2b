"""Whether a place will do to write to: asked before any work is done, and answered in one line."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

from learning.errors import InputError
from scenarios.output.manifest import MANIFEST, checksum, others, written
from scenarios.output.unfinished import alone, beside

OF_THE_DESKTOP = {".DS_Store", "Thumbs.db", "desktop.ini"}  # laid into a folder by whoever looks at it
REMEDY = "Name another one."


def check_place(out: Path, key: str = "--out") -> Path:
    """Where a file or folder to be written really lies, links followed; refused where nothing can be written.

    Parameters
    ----------
    out : what the user named.
    key : how the user named it, for the error.

    Raises
    ------
    InputError
        The name is too long, passes through what is no folder or a link to nothing, or lies where one may not write.
    """
    rule = "must be a place that can be written to"
    try:
        for path in (out, *out.parents):
            if path.name == "..":
                os.stat(path)
            if path.is_symlink() and not path.exists():
                raise InputError(key, rule, f"{path}, a link to nothing", REMEDY)
        place = Path(os.path.realpath(out))
        above = next((parent for parent in place.parents if os.path.lexists(parent)), place)
        for part in place.relative_to(above).parts:
            with suppress(FileNotFoundError):
                os.lstat(above / part)
        tempfile.TemporaryFile(dir=above).close()
    except OSError as error:
        raise InputError(key, rule, f"{out}: {error.strerror}", REMEDY) from None
    return place


def check_file(out: Path, header: str) -> Path:
    """Where a table may be written: a new file, or one that begins with the same line and so was written before.

    Raises
    ------
    InputError
    """
    place = check_place(out)
    if not place.parent.is_dir():
        raise InputError("--out", "must lie in a folder that exists", out)
    if os.path.lexists(place) and not (
        place.is_file() and os.access(place, os.R_OK | os.W_OK) and _begins(place, header)
    ):
        raise InputError("--out", "must be a new file, or an earlier table of this kind, which is replaced", out, REMEDY)
    return place


def _begins(place: Path, header: str) -> bool:
    with place.open("rb") as file:
        return file.read(len(header.encode()) + 1).rstrip() in (b"", header.encode())


def check_folder(out: Path, names: Collection[str], *, force: bool = False, key: str = "--out") -> Path:
    """Where a folder may be written: a new or an empty one, or one that was written before and nobody touched since.

    Parameters
    ----------
    out : what the user named.
    names : files that may be written into it, their paths in it.
    force : whether others' files may lie there, as long as none is in the way; they are kept.
    key : how the user named it, for the error.

    Raises
    ------
    InputError
    """
    place = check_place(out, key)
    try:
        with suppress(FileNotFoundError):  # a path that is too long even where nothing is there yet
            os.lstat(beside(place.parent) / "new" / place.name / max(names, key=len))
        if place.parent.is_dir():
            with alone(place.parent):  # whatever a killed run left is put right
                pass
        if os.path.lexists(place):
            check_contents(place, out, names, force=force, key=key)
            tempfile.TemporaryFile(dir=place).close()
    except OSError as error:
        raise InputError(key, "must be a folder that can be written to", f"{out}: {error.strerror}", REMEDY) from None
    return place


def check_contents(place: Path, out: Path, names: Collection[str], *, force: bool, key: str) -> list[str]:
    """What lies in a folder that is not ours; refused where it may be lost, or where the folder cannot be exchanged."""
    rule = "must be a new folder, an empty one, or an earlier result just as it was written"
    if not place.is_dir():
        raise InputError(key, rule, f"a file: {out}", REMEDY)
    if os.path.ismount(place) or _stands_in(place):
        found = f"{out}, which is a disk or the folder you are in"
        raise InputError(key, "must be a folder that a new one can take the place of", found, "Name a folder in it.")
    ours = written(place, names)
    strange = list(others(place, ours, {*names, MANIFEST}))
    blocking = [path for path in strange if any(f"{name}/".startswith(f"{path}/") for name in (*names, MANIFEST))]
    unlike = blocking if force else [path for path in strange if Path(path).name not in OF_THE_DESKTOP]
    changed = [path for path, digest in ours.items() if digest and checksum(place / path) not in ("", digest)]
    if unlike or (changed and not force):
        found = f"{_few(unlike)} in {out}" if unlike else f"{_few(changed)} in {out}, changed since"
        keeps = (
            ""
            if blocking or key != "--out"
            else " --force keeps files that are no part of it, and replaces the others."
        )
        raise InputError(key, rule, found, REMEDY + keeps)
    return strange


def _stands_in(place: Path) -> bool:
    """Whether the current folder is this one or lies in it."""
    try:
        return Path.cwd().is_relative_to(place)
    except FileNotFoundError:  # deleted
        return False


def _few(paths: Sequence[str]) -> str:
    return ", ".join(paths[:3]) + (f" and {len(paths) - 3:,} more" if len(paths) > 3 else "")
