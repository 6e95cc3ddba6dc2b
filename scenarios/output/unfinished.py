"""Unfinished files, which lie beside their place under a hidden name until they are whole.

Those that a killed run left are cleared.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNFINISHED = ".dpmarket-"  # and eight digits
LEFT = re.compile(r"\.dpmarket-[0-9a-f]{8}")


def temporary_path(folder: Path) -> Path:
    """A name in a folder for what is not whole yet."""
    return folder / f"{UNFINISHED}{secrets.token_hex(4)}"


def put_file(path: Path, content: str | bytes) -> Path:
    """Write a file, a text or bytes: at any moment it is the old one or the new one."""
    raw = content
    if isinstance(raw, str):
        raw = raw.encode()
    with lock_folder(path.parent):
        unfinished = temporary_path(path.parent)
        try:
            with unfinished.open("xb") as file:
                file.write(raw)
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    return path


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Keep every other run from writing into a folder meanwhile.

    So whatever lies there unfinished is a killed run's, and is cleared.
    """
    handle = None
    try:
        # Where a system, or a disk, cannot lock, nothing is cleared.
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
            for left in folder.glob(f"{UNFINISHED}*"):
                clear_unfinished(left)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def clear_unfinished(left: Path) -> None:
    """Remove what was not finished.

    A folder that it had set aside, with none in its place, is put back first.
    """
    if not LEFT.fullmatch(left.name) or left.is_symlink():
        return
    if left.is_file():
        left.unlink()
    elif left.is_dir() and set(os.listdir(left)) <= {"new", "old"}:
        for old in (left / "old").glob("*"):
            if not os.path.lexists(left.parent / old.name):
                old.rename(left.parent / old.name)
        shutil.rmtree(left, ignore_errors=True)
