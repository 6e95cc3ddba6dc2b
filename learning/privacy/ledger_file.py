"""The ledger on disk: what was spent stays spent, through restarts, kills at any moment, and several programs at once.

The file is text, a line per account, and its last line is a digest of all the others. Each charge takes a lock that
programs and threads wait for, reads the file, and puts a new one in its place that the disk has confirmed, before anything
is answered. So a charge that was interrupted is either entered in full or not at all, and then nothing was answered.

It guards against mistakes, not against its owner: who deletes the file or puts back an older copy has its budget anew.

An account that was opened by accepting a contract stands with what was accepted: the owner's limits, and a fingerprint of its
records under a key of the ledger's own (`learning.privacy.fingerprints`).
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from learning.errors import InputError
from learning.privacy.accepted import Accepted
from learning.privacy.budget import Budget
from learning.privacy.ledger import Account, Ledger
from learning.privacy.lifetime import Lifetime
from learning.privacy.sealed import locked, read_sealed, write_sealed

PLAIN, KEYED = b"dpmarket ledger 1", b"dpmarket ledger 2"  # the first line; with a key, and what was accepted
KEY = 32  # bytes


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
        self._secret = b""
        self._accepted: dict[tuple[str, str], Accepted] = {}
        with self._alone():
            pass

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> LedgerFile:
        """A new ledger without accounts; an InputError if something is there already."""
        place = Path(path).resolve()
        with locked(place):
            if place.exists():
                raise InputError(str(place), "must be new", "something there", "LedgerFile(path) opens a ledger.")
            write_sealed(place, PLAIN, [])
        return cls(place)

    @property
    def key(self) -> bytes:
        """The secret key of its fingerprints, on the disk before it is given."""
        with self._alone():
            if not self._secret:
                self._secret = secrets.token_bytes(KEY)
                self._keep()
            return self._secret

    @property
    def identity(self) -> str:
        """The name that this ledger and its copies have, wherever they lie."""
        return hashlib.blake2b(b"dpmarket ledger", digest_size=16, key=self.key).hexdigest()

    def open(self, budget: Budget) -> Account:
        """Open the account of a budget, or get it, as `Ledger.open`; the budget must be finite."""
        if not budget.claimed:
            rule = f"{budget.owner} must state a finite budget: without one nothing is claimed"
            raise InputError(self.where, rule, budget.epsilon)
        return super().open(budget)

    def open_accepted(self, budget: Budget, accepted: Accepted) -> Account:
        """Open the account of a budget, or get it, with what was accepted; refuses as `open`."""
        account = self.open(budget)
        with self._alone():
            self._accepted[budget.key] = accepted
            self._keep()
        return account

    def accepted(self, budget: Budget) -> Accepted | None:
        """What was accepted with the account of a budget's owner and data set; None where nothing was."""
        with self._alone():
            return self._accepted.get(budget.key)

    def discard_unused(self) -> None:
        """Remove the file and its lock where no account was ever opened."""
        with self._alone():
            if not self._books:
                self.path.unlink()
                self.path.with_name(f"{self.path.name}.lock").unlink()

    def _check_there(self) -> None:
        if not self.path.is_file():
            remedy = "LedgerFile.create makes one, once. If there was one, find it: what was spent stands there."
            raise InputError(self.where, "must be a ledger", "no file", remedy)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._check_there()  # without leaving a lock beside it
        with self._lock, locked(self.path):
            self._read()
            yield

    def _keep(self) -> None:
        lines = []
        for budget, answers in self._kept():
            line: dict[str, Any] = {"budget": _kept(budget), "lines": answers}
            if budget.key in self._accepted:
                line["accepted"] = self._accepted[budget.key].kept()
            lines.append(json.dumps(line))
        if self._secret:
            write_sealed(self.path, KEYED, [json.dumps({"key": self._secret.hex()}), *lines])
        else:
            write_sealed(self.path, PLAIN, lines)

    def _read(self) -> None:
        """Read what the file says now; another program may have written it."""
        self._books.clear()
        self._accepted.clear()
        self._secret = b""
        self._check_there()
        header, lines = read_sealed(self.path, (PLAIN, KEYED), "a ledger")
        try:
            if header == KEYED:
                self._secret = bytes.fromhex(json.loads(lines.pop(0))["key"])
            for line in lines:
                self._take_line(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, IndexError):  # another version's, or nobody's
            self._books.clear()
            remedy = "Nothing is answered on it. Use the version of dpmarket that wrote it."
            raise InputError(self.where, "must be a ledger of this version", "other content", remedy) from None

    def _take_line(self, kept: Mapping[str, Any]) -> None:
        """Take one account from its line."""
        lines = [(str.__str__(purpose), operator.index(last)) for purpose, last in kept["lines"]]
        budget = Budget(**kept["budget"])
        self._restore(budget, lines)
        if "accepted" in kept:
            self._accepted[budget.key] = Accepted.restored(kept["accepted"])


def _kept(budget: Budget) -> dict[str, Any]:
    """A budget as it is kept; one that is split evenly says nothing of growth, as it did before shares could grow."""
    return {name: value for name, value in asdict(budget).items() if name != "growth" or value != 1}
