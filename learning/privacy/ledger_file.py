"""The ledger on disk: what was spent stays spent, through restarts, kills at any moment, and several programs at once.

The file is text, a line per account, and its last line is a digest of all the others. Each charge takes a lock that
programs and threads wait for, reads the file, and puts a new one in its place that the disk has confirmed, before anything
is answered. So a charge that was interrupted is either entered in full or not at all, and then nothing was answered.

It guards against mistakes, not against its owner: who deletes the file or puts back an older copy has its budget anew.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from learning.errors import InputError
from learning.privacy.budget import Budget
from learning.privacy.ledger import Account, Ledger
from learning.privacy.lifetime import Lifetime

HEADER, SEAL = b"dpmarket ledger 1\n", 65  # its first line; the length of its last
WAIT, PAUSE = 60.0, 0.002  # seconds that another program may hold the lock; between two looks at it

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


class LedgerFile(Ledger):
    """A ledger kept in a file, for release. The file must be there: `LedgerFile.create` makes one, once.

    Parameters
    ----------
    path: where it is; ``<path>.lock`` and, while it is written, ``<path>.new`` lie beside it.
    lifetime: as of every `Ledger`; it is not in the file, so every program must state it.

    Raises
    ------
    InputError
        If there is no ledger, or a damaged one: it is never replaced by an empty one. If it cannot be read or written, or
        another program holds it for a minute. So says every method; nothing may then be answered.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     budget = Budget("bank", epsilon=1.0, horizon=10, data="loans 2014")
    ...     account = LedgerFile.create(f"{folder}/bank.ledger").open(budget)
    ...     LedgerFile(f"{folder}/bank.ledger").charge(budget, "first query")
    ...     LedgerFile(f"{folder}/bank.ledger").account("bank", "loans 2014").answers_remaining
    9
    """

    def __init__(self, path: str | os.PathLike[str], lifetime: Lifetime | None = None) -> None:
        super().__init__(lifetime)
        self.path = Path(path).resolve()  # a link keeps leading to the one file
        self.where = str(self.path)
        with self._alone():
            pass

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> LedgerFile:
        """A new ledger without accounts; an InputError if something is there already."""
        place = Path(path).resolve()
        with locked(place):
            if place.exists():
                raise InputError(str(place), "must be new", "something there", "LedgerFile(path) opens a ledger.")
            _write(place, [])
        return cls(place)

    def open(self, budget: Budget) -> Account:
        """Open the account of a budget, or get it, as `Ledger.open`; the budget must be finite."""
        if not budget.claimed:
            rule = f"{budget.owner} must state a finite budget: without one nothing is claimed"
            raise InputError(self.where, rule, budget.epsilon)
        return super().open(budget)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with self._lock, locked(self.path):
            self._read()
            yield

    def _keep(self) -> None:
        _write(self.path, [json.dumps({"budget": _kept(b), "lines": lines}) for b, lines in self._kept()])

    def _read(self) -> None:
        """What the file says now; another program may have written it."""
        self._books.clear()
        if not self.path.is_file():
            remedy = "LedgerFile.create makes one, once. If there was one, find it: what was spent stands there."
            raise InputError(self.where, "must be a ledger", "no file", remedy)
        raw = self.path.read_bytes()
        body = raw[:-SEAL]
        if raw[-SEAL:] != _seal(body) or not body.startswith(HEADER):
            remedy = "Nothing is answered on it. Put back the file as it was when it was last written."
            raise InputError(self.where, "must be a whole ledger", "one that was changed or cut off", remedy)
        try:
            for line in body.splitlines()[1:]:
                kept = json.loads(line)
                lines = [(str.__str__(purpose), operator.index(last)) for purpose, last in kept["lines"]]
                self._restore(Budget(**kept["budget"]), lines)
        except (ValueError, TypeError, KeyError, AttributeError):  # another version's, or nobody's
            self._books.clear()
            remedy = "Nothing is answered on it. Use the version of dpmarket that wrote it."
            raise InputError(self.where, "must be a ledger of this version", "other content", remedy) from None


def _kept(budget: Budget) -> dict[str, Any]:
    """A budget as it is kept; one that is split evenly says nothing of growth, as it did before shares could grow."""
    return {name: value for name, value in asdict(budget).items() if name != "growth" or value != 1}


def _seal(body: bytes) -> bytes:
    """The last line: the SHA-256 of all that stands above it."""
    return f"{hashlib.sha256(body).hexdigest()}\n".encode()


def _write(path: Path, lines: list[str]) -> None:
    """A whole new file in place of the old; both are whole at any moment, and the disk has the new one at the end."""
    body = b"".join([HEADER, *(f"{line}\n".encode() for line in lines)])
    beside = path.with_name(f"{path.name}.new")  # one name: what a kill left behind is written over
    with open(beside, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(body + _seal(body))
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    if sys.platform != "win32":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name too
        finally:
            os.close(folder)


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
