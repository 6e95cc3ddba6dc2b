"""The registry of a machine's user: which records were accepted into which ledger, so that none is sold twice unawares.

It lies in the user's data folder (`DPMARKET_REGISTRY` names another one) and never leaves the machine. It holds names,
budgets and fingerprints under a secret key of its own, and no value of a record. Who works on another machine, as another
user, or with another folder has another registry.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from learning.errors import InputError
from learning.privacy.accepted import Accepted
from learning.privacy.sealed import locked, read_sealed, write_sealed

HEADER, FILE, VARIABLE = b"dpmarket registry 1", "registry", "DPMARKET_REGISTRY"
KEY = 32  # bytes
LOST = (
    "Nothing is answered without it. Put back the file as it was last written. If it is lost, move it away: then nothing "
    "recognises what was accepted before."
)


class Registry:
    """What a user of this machine has accepted; programs may share it.

    Parameters
    ----------
    folder: where it lies; `user_folder` unless given. It is made, for the user alone, when something is first kept.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.path = (user_folder() if folder is None else folder) / FILE

    @contextmanager
    def opened(self) -> Iterator[tuple[bytes, list[Accepted]]]:
        """Give the secret key and all entries, which no other program changes meanwhile.

        Raises
        ------
        InputError
            If the registry is damaged, cannot be read or written, or another program holds it for a minute.
        """
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            rule = f"must be a folder for the registry of accepted records, or {VARIABLE} must name one"
            raise InputError(str(self.path.parent), rule, error.strerror or "an error") from None
        with locked(self.path, "a registry of accepted records"):
            if not self.path.exists():
                write_sealed(self.path, HEADER, [json.dumps({"key": secrets.token_hex(KEY)})])
            yield self._read()

    def keep(self, key: bytes, entries: Sequence[Accepted]) -> None:
        """Put entries in place of all that are there; to be called while it is open."""
        lines = [json.dumps({"key": key.hex()}), *(json.dumps(one.kept()) for one in entries)]
        write_sealed(self.path, HEADER, lines)

    def _read(self) -> tuple[bytes, list[Accepted]]:
        _, lines = read_sealed(self.path, (HEADER,), "a registry of accepted records", LOST)
        try:
            key = bytes.fromhex(json.loads(lines[0])["key"])
            return key, [Accepted.restored(json.loads(line)) for line in lines[1:]]
        except (ValueError, TypeError, KeyError, AttributeError, IndexError):
            raise InputError(str(self.path), "must be a registry of this version", "other content", LOST) from None


def user_folder() -> Path:
    """Where the user's registry lies: DPMARKET_REGISTRY, or dpmarket in the user's data folder.

    Raises
    ------
    InputError
        If the user has no home.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    try:
        return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "dpmarket"
    except RuntimeError:
        raise InputError(VARIABLE, "must name a folder where the user has no home", "none") from None
