"""The registry of a machine's user: which records were accepted into which ledger.

It lies in the user's data folder (`DPMARKET_REGISTRY` names another one) and never leaves the
machine. It holds names, budgets and fingerprints under a secret key of its own, and no value of a
record. Another machine, user or folder has another registry.

Tables with common rows are recognised by keyed fingerprints, and no row can be guessed. A
fingerprint holds the smallest of the keyed digests of a table's distinct rows, at most `KEPT` of
them: a uniform sample of the rows that does not depend on their order. Without its key a
fingerprint tests no guess of a row; the key never leaves the owner's machine.

Source: Broder, On the resemblance and containment of documents (1997), section 2, with BLAKE2b
    under a key (RFC 7693) in place of a public hash.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.errors import InputError, describe_system_error
from learning.privacy.ledger import visible_name
from learning.privacy.sealed import locked_file, read_sealed, write_sealed

KEPT = 4096  # digests of 8 bytes: 44 kB as text, however many rows there are
PART = 0.1  # of the rows of the smaller table: from it on two tables count as the same records
DOUBT = 3.0  # standard deviations that a sample may miss that part by
DECIMALS = 9  # of encoded features near [-1, 1]: processors differ in the last digits of components
HEADER = b"dpmarket registry 1"
FILE = "registry"
VARIABLE = "DPMARKET_REGISTRY"
KEY = 32  # bytes
NOUN = "a registry of accepted records"
LOST = (
    "Nothing is answered without it. Put back the file as it was last written. If it is lost, move "
    "it away: then nothing recognises what was accepted before."
)


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """Sample of the keyed digests of a table's distinct rows.

    Parameters
    ----------
    rows: the number of distinct rows of the table.
    smallest: array (min(rows, KEPT),), uint64, the smallest digests in ascending order.
    """

    rows: int
    smallest: Array = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """Content of a file that keeps it."""
        digests = base64.b64encode(self.smallest.astype("<u8").tobytes())
        return {"rows": self.rows, "smallest": digests.decode()}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Fingerprint:
        """Read a file's content; a ValueError, TypeError or KeyError of any other."""
        raw = base64.b64decode(kept["smallest"], validate=True)
        return cls(int(kept["rows"]), np.frombuffer(raw, "<u8"))


@dataclass(frozen=True)
class Accepted:
    """Records that were accepted into a ledger under a contract.

    Parameters
    ----------
    ledger: the identity of the ledger, which its copies share.
    path: the place of the ledger.
    owner, data: the names that the account is kept under.
    contract: the digest of the contract.
    epsilon, delta: the largest cost of the contract, against the onlooker who sees most.
    sold_before: whether the owner stated that these records were accepted elsewhere too, and that
        budgets add up.
    fingerprints: kind -> the fingerprint of the records, under the key of the file that keeps it.
    """

    ledger: str
    path: str
    owner: str
    data: str
    contract: str
    epsilon: float
    delta: float
    sold_before: bool
    fingerprints: Mapping[str, Fingerprint] = field(repr=False)

    @property
    def account(self) -> tuple[str, str, str]:
        """Key of the account over all ledgers."""
        return self.ledger, visible_name(self.owner), visible_name(self.data)

    def same_records(self, fingerprints: Mapping[str, Fingerprint]) -> bool:
        """Test whether records are nearly the same, by any kind of fingerprint."""
        kinds = self.fingerprints.keys() & fingerprints.keys()
        return any(nearly_same(self.fingerprints[kind], fingerprints[kind]) for kind in kinds)

    def to_json(self) -> dict[str, Any]:
        """Content of a file that keeps it."""
        prints = {kind: one.to_json() for kind, one in self.fingerprints.items()}
        return {**vars(self), "fingerprints": prints}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Accepted:
        """Read a file's content; a Value-, Type-, Key- or AttributeError of any other."""
        prints = {kind: Fingerprint.from_json(one) for kind, one in kept["fingerprints"].items()}
        return cls(**{**kept, "fingerprints": prints})


def digest_rows(texts: Iterable[bytes]) -> list[bytes]:
    """Shorten rows to 16 bytes each, in memory only: without a key, these must not be kept."""
    return [hashlib.blake2b(text, digest_size=16).digest() for text in texts]


def digest_records(x: Array, y: Array) -> list[bytes]:
    """Shorten encoded records, x (n, p) and y (n,), to 16 bytes each, in memory only."""
    with np.errstate(all="ignore"):  # numbers beyond all bounds must cause no message
        held = np.column_stack([np.round(x, DECIMALS), y]) + 0.0  # one zero
    raw = np.ascontiguousarray(held, dtype="<f8").tobytes()
    width = 8 * held.shape[1]
    return digest_rows(raw[start : start + width] for start in range(0, len(raw), width))


def take_fingerprint(rows: Iterable[bytes], key: bytes) -> Fingerprint:
    """Take the fingerprint of a table under a key.

    Parameters
    ----------
    rows: one text for each row, such as `digest_rows` gives.
    key: at most 64 secret bytes.

    >>> rows = [b"a", b"b", b"c"]
    >>> share_in_common(take_fingerprint(rows, b"k"), take_fingerprint([b"d", b"b"], b"k"))
    0.5
    """
    raw = b"".join([hashlib.blake2b(row, digest_size=8, key=key).digest() for row in set(rows)])
    digests = np.unique(np.frombuffer(raw, "<u8"))
    return Fingerprint(len(digests), digests[:KEPT].copy())


def share_in_common(one: Fingerprint, other: Fingerprint) -> float:
    """Compute the share of the smaller table's distinct rows that the larger has.

    It is exact for tables of up to KEPT rows, else estimated.
    """
    common, sampled, _ = _count_common(one, other)
    return common / sampled if sampled else 0.0


def nearly_same(one: Fingerprint, other: Fingerprint) -> bool:
    """Test that two tables have a tenth of the smaller one's rows in common.

    Of sampled tables, doubt counts as the same: where the sample of the smaller table has 1,000
    rows, a tenth in common is missed with probability 0.2 %.
    """
    common, sampled, exact = _count_common(one, other)
    slack = 0.0 if exact else DOUBT * np.sqrt(sampled * PART * (1 - PART))
    return common > 0 and common >= sampled * PART - slack


def _count_common(one: Fingerprint, other: Fingerprint) -> tuple[int, int, bool]:
    """Count the sampled rows that both tables have, and the sampled rows of the smaller.

    The third value is True where the samples are the whole tables.
    """
    ends = [found.smallest[-1] for found in (one, other) if found.rows > len(found.smallest)]
    first = one.smallest
    second = other.smallest
    if ends:
        first = first[first <= min(ends)]
        second = second[second <= min(ends)]
    common = len(np.intersect1d(first, second, assume_unique=True))
    return common, min(len(first), len(second)), not ends


class Registry:
    """Entries of all records that a user of this machine has accepted; programs may share it.

    Parameters
    ----------
    folder: where it lies; `user_folder` unless given. It is made, for the user alone, when the
        registry is first opened.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.path = (folder or user_folder()) / FILE

    @contextmanager
    def opened(self) -> Iterator[tuple[bytes, list[Accepted]]]:
        """Lock the registry and give its secret key and entries.

        Raises an InputError if the registry is damaged, cannot be read or written, or another
        program holds it for a minute.
        """
        folder = self.path.parent
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            rule = (
                f"must be a folder for the registry of accepted records, or {VARIABLE} must "
                "name one"
            )
            raise InputError(str(folder), rule, describe_system_error(error)) from None
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

    Raises an InputError if the user has no home.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    try:
        data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    except RuntimeError:
        rule = "must name a folder if the user has no home folder"
        raise InputError(VARIABLE, rule, "none") from None
    return Path(data) / "dpmarket"
