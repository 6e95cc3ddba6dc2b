"""Keyed fingerprints of records: two tables with rows in common are recognised, and no row can be guessed from what is kept.

A fingerprint holds the smallest of the keyed digests of a table's distinct rows, at most `KEPT` of them: a uniform sample of
the rows, the same sample of the same rows, in whatever order they stand. Who has the fingerprint without its key can test no
guess of a row; the key never leaves the owner's machine.

Source: Broder, On the resemblance and containment of documents (1997), section 2, with BLAKE2b under a key (RFC 7693) in
place of a public hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from learning.arrays import Array

KEPT = 4096  # digests of 8 bytes: 44 kB as text, however many rows there are
PART = 0.1  # of the rows of the smaller table, from which on two tables are nearly the same records
DOUBT = 3.0  # standard deviations that a sample may miss that part by
DECIMALS = 9  # of encoded features, which lie near [-1, 1]: processors differ in the last digits of components


@dataclass(frozen=True, eq=False)
class Fingerprint:
    """A sample of the keyed digests of a table's distinct rows.

    Parameters
    ----------
    rows: how many distinct rows the table has.
    smallest: array (min(rows, KEPT),), uint64, the smallest digests in ascending order.
    """

    rows: int
    smallest: Array = field(repr=False)

    def kept(self) -> dict[str, Any]:
        """The content of a file that keeps it."""
        digests = base64.b64encode(self.smallest.astype("<u8").tobytes())
        return {"rows": self.rows, "smallest": digests.decode()}

    @classmethod
    def restored(cls, kept: Mapping[str, Any]) -> Fingerprint:
        """The fingerprint in a file's content; a ValueError, TypeError or KeyError where there is none."""
        raw = base64.b64decode(kept["smallest"], validate=True)
        return cls(int(kept["rows"]), np.frombuffer(raw, "<u8"))


def digest_rows(texts: Iterable[bytes]) -> list[bytes]:
    """Shorten rows to 16 bytes each, in memory only: without a key, these must not be kept."""
    blake = hashlib.blake2b
    return [blake(text, digest_size=16).digest() for text in texts]


def digest_records(x: Array, y: Array) -> list[bytes]:
    """Shorten encoded records, x (n, p) and y (n,), to 16 bytes each, in memory only."""
    with np.errstate(all="ignore"):  # beyond all bounds: no message tells of it
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
    blake = hashlib.blake2b
    raw = b"".join([blake(row, digest_size=8, key=key).digest() for row in set(rows)])
    digests = np.unique(np.frombuffer(raw, "<u8"))
    return Fingerprint(len(digests), digests[:KEPT].copy())


def share_in_common(one: Fingerprint, other: Fingerprint) -> float:
    """The share of the smaller table's distinct rows that the larger has too: exact up to KEPT rows, else an estimate."""
    common, sampled, _ = _counted(one, other)
    return common / sampled if sampled else 0.0


def nearly_same(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two tables have a tenth of the smaller one's rows in common, as far as their samples can tell.

    Where only a sample is known, doubt counts as the same: where that of the smaller table has 1,000 rows, a tenth in common
    is missed with a chance of 0.2 %.
    """
    common, sampled, exact = _counted(one, other)
    slack = 0.0 if exact else DOUBT * np.sqrt(sampled * PART * (1 - PART))
    return common > 0 and common >= sampled * PART - slack


def _counted(one: Fingerprint, other: Fingerprint) -> tuple[int, int, bool]:
    """Rows in common among those sampled of both tables, the rows sampled of the smaller, and whether these are all."""
    ends = [found.smallest[-1] for found in (one, other) if found.rows > len(found.smallest)]
    first, second = one.smallest, other.smallest
    if ends:
        first = first[first <= min(ends)]
        second = second[second <= min(ends)]
    common = len(np.intersect1d(first, second, assume_unique=True))
    return common, min(len(first), len(second)), not ends
