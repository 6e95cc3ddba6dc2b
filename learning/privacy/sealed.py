"""Sealed files: text whose last line is a digest of all the others, under a lock.

A file is whole at any moment, and the disk has confirmed it when `write_sealed` returns. A damaged
file is refused and never replaced by an empty one.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from learning.canonical import sync_folder
from learning.errors import InputError, describe_system_error

SEAL = 65  # the length of the last line
WAIT = 60.0  # seconds that another program may hold the lock
PAUSE = 0.002  # seconds between two attempts to take it
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


def read_sealed(
    path: Path, headers: Sequence[bytes], noun: str, remedy: str = DAMAGED
) -> tuple[bytes, list[bytes]]:
    """Read the header and the lines of a sealed file.

    Parameters
    ----------
    path: the file.
    headers: the first lines that it may have.
    noun: the noun in messages, such as "a ledger".
    remedy: the advice for a damaged one.

    Raises an InputError if the file was changed or cut off, or begins otherwise.
    """
    raw = path.read_bytes()
    body = raw[:-SEAL]
    header, _, rest = body.partition(b"\n")
    if raw[-SEAL:] != _seal_line(body) or header not in headers:
        rule = f"must be {noun.replace('a ', 'a whole ', 1)}"
        raise InputError(str(path), rule, "one that was changed or cut off", remedy)
    return header, rest.splitlines()


def write_sealed(path: Path, header: bytes, lines: Sequence[str]) -> None:
    """Replace a file by a whole new one; the disk has confirmed it at the end."""
    body = b"".join([header, b"\n", *(f"{line}\n".encode() for line in lines)])
    new = path.with_name(f"{path.name}.new")  # one name: what a kill left behind is written over
    with open(new, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(body + _seal_line(body))
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
    sync_folder(path.parent)


def _seal_line(body: bytes) -> bytes:
    """Compute the last line: the SHA-256 of all lines above it."""
    return f"{hashlib.sha256(body).hexdigest()}\n".encode()


@contextmanager
def locked_file(path: Path, noun: str = "a ledger") -> Iterator[None]:
    """Hold a file alone, by ``<path>.lock``.

    An error of the disk becomes an InputError of one line.
    """
    try:
        handle = _take_lock(path.with_name(f"{path.name}.lock"))
        try:
            yield
        finally:
            _unlock(handle)
            os.close(handle)
    except OSError as error:
        rule = f"must be {noun} that can be read and written"
        remedy = "No answer may be given from it."
        raise InputError(str(path), rule, describe_system_error(error), remedy) from None


def _take_lock(lock: Path) -> int:
    """Take the lock and return its handle; again if its file was deleted meanwhile."""
    until = time.monotonic() + WAIT
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        # held, held on Windows, deleted
        with suppress(BlockingIOError, PermissionError, FileNotFoundError):
            _try_lock(handle)
            if os.path.samestat(os.fstat(handle), os.stat(lock)):
                return handle
        os.close(handle)
        if time.monotonic() > until:
            raise TimeoutError(0, f"locked by another program for {WAIT:g} seconds")
        time.sleep(PAUSE)
