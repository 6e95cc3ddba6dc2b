"""The ledger on disk: charges survive restarts, kills at any moment, and several programs at once.

The file is text, a line per account, and its last line is a digest of all the others. Each charge
takes a lock that programs and threads wait for, reads the file, and replaces it by a new one that
the disk has confirmed, before anything is answered. So an interrupted charge is either entered in
full or not at all, and then nothing was answered.

It guards against mistakes, not against its owner: deleting the file or restoring an older copy
restores the budget.

An account that was opened by accepting a contract keeps what was accepted: the owner's limits, and
a fingerprint of its records under a key of the ledger's own (`learning.privacy.registry`).
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
from learning.privacy.ledger import Account, Budget, Key, Ledger
from learning.privacy.registry import Accepted
from learning.privacy.sealed import locked_file, read_sealed, write_sealed

PLAIN = b"dpmarket ledger 1"  # the first line
KEYED = b"dpmarket ledger 2"  # that of a ledger with a key, and with what was accepted
KEY = 32  # bytes


class LedgerFile(Ledger):
    """Ledger kept in an existing file, for release. `LedgerFile.create` makes one, once.

    Parameters
    ----------
    path: the file; ``<path>.lock`` and, while it is written, ``<path>.new`` lie in the same folder.

    Raises an InputError by every method: if there is no ledger, or a damaged one, which is never
    replaced by an empty one; if it cannot be read or written, or another program holds it for a
    minute. Nothing may then be answered.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     budget = Budget("bank", epsilon=1.0, horizon=10, data="loans 2014")
    ...     account = LedgerFile.create(f"{folder}/bank.ledger").open(budget)
    ...     LedgerFile(f"{folder}/bank.ledger").charge(budget, "first query")
    ...     LedgerFile(f"{folder}/bank.ledger").account("bank", "loans 2014").answers_remaining
    9
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self.path = Path(path).resolve()  # a link keeps leading to the one file
        self.where = str(self.path)
        self._secret = b""
        self._accepted: dict[Key, Accepted] = {}
        with self._lock_accounts():
            pass

    @classmethod
    def create(cls, path: str | os.PathLike[str]) -> LedgerFile:
        """Make a new ledger without accounts; an InputError if the path exists."""
        place = Path(path).resolve()
        with locked_file(place):
            if place.exists():
                remedy = "LedgerFile(path) opens a ledger."
                raise InputError(str(place), "must be new", "something there", remedy)
            write_sealed(place, PLAIN, [])
        return cls(place)

    @property
    def key(self) -> bytes:
        """Secret key of its fingerprints, on the disk before it is given."""
        with self._lock_accounts():
            if not self._secret:
                self._secret = secrets.token_bytes(KEY)
                self._save_accounts()
            return self._secret

    @property
    def identity(self) -> str:
        """Name that this ledger shares with its copies."""
        return hashlib.blake2b(b"dpmarket ledger", digest_size=16, key=self.key).hexdigest()

    def open(self, budget: Budget) -> Account:
        """Open the account of a finite budget, or return the open one, as `Ledger.open`."""
        if not budget.claimed:
            rule = f"{budget.owner} must state a finite budget, else nothing is guaranteed"
            raise InputError(self.where, rule, budget.epsilon)
        return super().open(budget)

    def open_accepted(self, budget: Budget, accepted: Accepted) -> Account:
        """Open the account of a budget as `open`, and keep what was accepted."""
        account = self.open(budget)
        with self._lock_accounts():
            self._accepted[budget.key] = accepted
            self._save_accounts()
        return account

    def accepted(self, budget: Budget) -> Accepted | None:
        """Look up what was accepted with the account of a budget's owner and data set."""
        with self._lock_accounts():
            return self._accepted.get(budget.key)

    def discard_unused(self) -> None:
        """Remove the file and its lock if no account was ever opened."""
        with self._lock_accounts():
            if not self._accounts:
                self.path.unlink()
                self.path.with_name(f"{self.path.name}.lock").unlink()

    def _check_file(self) -> None:
        if not self.path.is_file():
            remedy = (
                "LedgerFile.create makes one, once. If there was one, find it: what was spent "
                "stands there."
            )
            raise InputError(self.where, "must be a ledger", "no file", remedy)

    @contextmanager
    def _lock_accounts(self) -> Iterator[None]:
        self._check_file()  # without leaving a lock there
        with self._lock, locked_file(self.path):
            self._read_accounts()
            yield

    def _save_accounts(self) -> None:
        """Replace the file; the growth of an even split is left out."""
        lines = []
        for key, account in self._accounts.items():
            answers = [(entry.purpose, entry.last) for entry in account.entries]
            budget = asdict(account.budget)
            if account.budget.growth == 1:
                del budget["growth"]
            line: dict[str, Any] = {"budget": budget, "lines": answers}
            if key in self._accepted:
                line["accepted"] = self._accepted[key].to_json()
            lines.append(json.dumps(line))
        if self._secret:
            write_sealed(self.path, KEYED, [json.dumps({"key": self._secret.hex()}), *lines])
        else:
            write_sealed(self.path, PLAIN, lines)

    def _read_accounts(self) -> None:
        """Read the file anew, since another program may have written it."""
        self._accounts.clear()
        self._accepted.clear()
        self._secret = b""
        self._check_file()
        header, lines = read_sealed(self.path, (PLAIN, KEYED), "a ledger")
        try:
            if header == KEYED:
                self._secret = bytes.fromhex(json.loads(lines.pop(0))["key"])
            for line in lines:
                self._read_line(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError, IndexError):
            self._accounts.clear()
            remedy = "No answer was given. Use the version of dpmarket that wrote it."
            rule = "must be a ledger of this version"
            raise InputError(self.where, rule, "other content", remedy) from None

    def _read_line(self, kept: Mapping[str, Any]) -> None:
        lines = [(str.__str__(purpose), operator.index(last)) for purpose, last in kept["lines"]]
        account = Account(Budget(**kept["budget"]))
        for purpose, last in lines:
            account = account.add_answers(purpose, last - account.answered)
        self._accounts[account.budget.key] = account
        if "accepted" in kept:
            self._accepted[account.budget.key] = Accepted.from_json(kept["accepted"])
