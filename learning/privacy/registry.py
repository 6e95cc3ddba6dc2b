"""The registry of a machine's user: which records were accepted into which ledger.

It lies in the user's data folder (`DPMARKET_REGISTRY` names another one) and never leaves the
machine. It holds names, budgets and fingerprints under a secret key of its own, and no value of a
record. Another machine, user or folder has another registry.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from learning.errors import InputError
from learning.privacy.fingerprints import Accepted
from learning.privacy.sealed import locked_file, read_sealed, write_sealed

HEADER = b"dpmarket registry 1"
FILE = "registry"
VARIABLE = "DPMARKET_REGISTRY"
KEY = 32  # bytes
NOUN = "a registry of accepted records"
LOST = (
    "Nothing is answered without it. Put back the file as it was last written. If it is "
    "lost, move it away: then nothing "
    "recognises what was accepted before."
)


class Registry:
    """Entries of all records that a user of this machine has accepted; programs may share it.

    Parameters
    ----------
    folder: where it lies; `user_folder` unless given. It is made, for the user alone, when
        something is first kept.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.path = (folder or user_folder()) / FILE

    @contextmanager
    def opened(self) -> Iterator[tuple[bytes, list[Accepted]]]:
        """Lock the registry and give its secret key and entries.

        Raises
        ------
        InputError
            If the registry is damaged, cannot be read or written, or another program holds it for a
            minute.
        """
        folder = self.path.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            rule = (
                f"must be a folder for the registry of accepted records, or {VARIABLE} must "
                "name one"
            )
            raise InputError(str(folder), rule, error.strerror or "an error") from None
        with locked_file(self.path, NOUN):
            if not self.path.exists():
                self.replace_entries(secrets.token_bytes(KEY), [])
            yield self._read_entries()

    def replace_entries(self, key: bytes, entries: Sequence[Accepted]) -> None:
        """Replace all entries; to be called while the registry is open."""
        lines = [{"key": key.hex()}, *(one.to_json() for one in entries)]
        write_sealed(self.path, HEADER, [json.dumps(line) for line in lines])

    def _read_entries(self) -> tuple[bytes, list[Accepted]]:
        _, lines = read_sealed(self.path, (HEADER,), NOUN, LOST)
        try:
            key = bytes.fromhex(json.loads(lines[0])["key"])
            return key, [Accepted.from_json(json.loads(line)) for line in lines[1:]]
        except (ValueError, TypeError, KeyError, AttributeError, IndexError):
            rule = "must be a registry of this version"
            raise InputError(str(self.path), rule, "other content", LOST) from None


def user_folder() -> Path:
    """Locate the user's registry: DPMARKET_REGISTRY, or dpmarket in the user's data folder.

    Raises
    ------
    InputError
        If the user has no home.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    try:
        data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    except RuntimeError:
        rule = "must name a folder where the user has no home"
        raise InputError(VARIABLE, rule, "none") from None
    return Path(data) / "dpmarket"
