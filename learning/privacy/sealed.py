"""Sealed files: text on a disk whose last line is a digest of all the others, under a lock that programs wait for.

A file is whole at any moment, and the disk has confirmed it when `write_sealed` returns. A damaged file is refused and never
replaced by an empty one.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from learning.errors import InputError

SEAL = 65  # the length of the last line
WAIT, PAUSE = 60.0, 0.002  # seconds that another program may hold the lock; between two looks at it
DAMAGED = "Nothing is answered on it. Put back the file as it was when it was last written."

if sys.platform == "win32":  # the first byte is locked, by handle
    import msvcrt

    def _try_lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def _unlock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _try_lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_UN)  # not by closing alone: a fork may hold the handle too


def read_sealed(path: Path, headers: Sequence[bytes], what: str, remedy: str = DAMAGED) -> tuple[bytes, list[bytes]]:
    """Read the header and the lines of a sealed file.

    Parameters
    ----------
    path: the file.
    headers: the first lines that it may have.
    what: the noun that messages use, such as "a ledger".
    remedy: what to do about a damaged one.

    Raises
    ------
    InputError
        If the file was changed or cut off, or begins otherwise.
    """
    raw = path.read_bytes()
    body = raw[:-SEAL]
    header, _, rest = body.partition(b"\n")
    if raw[-SEAL:] != _seal(body) or header not in headers:
        rule = f"must be {what.replace('a ', 'a whole ', 1)}"
        raise InputError(str(path), rule, "one that was changed or cut off", remedy)
    return header, rest.splitlines()


def write_sealed(path: Path, header: bytes, lines: Sequence[str]) -> None:
    """Put a whole new file in place of the old; both are whole at any moment, and the disk has the new one at the end."""
    body = b"".join([header, b"\n", *(f"{line}\n".encode() for line in lines)])
    beside = path.with_name(f"{path.name}.new")  # one name: what a kill left behind is written over
    with open(beside, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(body + _seal(body))
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Have the disk confirm new names in a folder, where systems know of that."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _seal(body: bytes) -> bytes:
    """The last line: the SHA-256 of all that stands above it."""
    return f"{hashlib.sha256(body).hexdigest()}\n".encode()


@contextmanager
def locked(path: Path, what: str = "a ledger") -> Iterator[None]:
    """Nobody else holds a file meanwhile, by ``<path>.lock`` beside it; what the disk refuses is told in one line."""
    try:
        handle = _take(path.with_name(f"{path.name}.lock"))
        try:
            yield
        finally:
            _unlock(handle)
            os.close(handle)
    except OSError as error:
        rule, remedy = f"must be {what} that can be read and written", "Nothing may be answered on it."
        raise InputError(str(path), rule, error.strerror, remedy) from None


def _take(beside: Path) -> int:
    """A handle that holds the lock; it is taken anew if somebody deleted its file meanwhile."""
    until = time.monotonic() + WAIT
    while True:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o600)
        with suppress(BlockingIOError, PermissionError, FileNotFoundError):  # held, held on Windows, deleted
            _try_lock(handle)
            if os.path.samestat(os.fstat(handle), os.stat(beside)):
                return handle
        os.close(handle)
        if time.monotonic() > until:
            raise TimeoutError(0, f"another program holding it for {WAIT:g} seconds")
        time.sleep(PAUSE)
