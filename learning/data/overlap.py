"""Records held by several owners, found without showing a record: kappa, which divides budgets."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.owner_data import OwnerData

DECIMALS = 9  # the same record encoded in two batches may differ in its last bits
MIXING = np.uint64(0x9E3779B97F4A7C15)  # odd, of the golden ratio, as in SplitMix64
DIGEST = 16  # bytes: two different rows of a million collide with probability below 1e-26


@dataclass(frozen=True)
class Overlap:
    """Extent to which owners hold the same records.

    Parameters
    ----------
    rows: the number of records, over all owners, that are identical to a record of another owner.
    kappa: the largest number of owners of one identical record, >= 1.
    """

    rows: int
    kappa: int


def hash_records(owner: OwnerData, salt: bytes) -> Counter[bytes]:
    """Count the salted hashes of an owner's records; computed by the owner, on its side.

    The salt is shared by the owners only: a counter of hashes learns which are equal, and cannot
    test what a record might be. An owner that knows the salt can; between distrustful owners use
    private set intersection.
    """
    rows = _round_values(np.column_stack([owner.x, owner.y]))
    return Counter(blake2b(row.tobytes(), key=salt, digest_size=DIGEST).digest() for row in rows)


def _round_values(values: Array) -> Array:
    """Round values for comparison; minus zero is zero."""
    return np.round(values, DECIMALS) + 0.0


def repeated_records(owners: Sequence[OwnerData]) -> Iterator[OwnerData]:
    """Yield the owners with only those records that another record of any owner may equal.

    The simulator, which holds all records, so spares the owners the hashing of single ones.
    """
    if not owners:
        return
    columns = ([owner.x[:, j] for owner in owners] for j in range(owners[0].x.shape[1]))
    count = sum(owner.n_records for owner in owners)
    marks = _mix_columns(count, map(np.concatenate, (*columns, [one.y for one in owners])))
    order = np.argsort(marks)
    same = np.concatenate([[False], np.diff(marks[order]) == 0, [False]])
    again = np.empty(len(marks), dtype=bool)
    again[order] = same[1:] | same[:-1]
    ends = np.cumsum([0, *(owner.n_records for owner in owners)]).tolist()
    for owner, (i, j) in zip(owners, pairwise(ends), strict=True):
        if again[i:j].any():
            yield replace(owner, x=owner.x[again[i:j]], y=owner.y[again[i:j]])


def mark_records(x: Array, y: Array) -> NDArray[np.uint64]:
    """Mark records x (n, p) and y (n,) by 64 bits, equal for equal records, hardly for others."""
    return _mix_columns(len(y), (*x.T, y))


def _mix_columns(count: int, columns: Iterable[Array]) -> NDArray[np.uint64]:
    mixed = np.zeros(count, dtype=np.uint64)
    for column in columns:
        bits = _round_values(column).view(np.uint64)
        mixed ^= bits ^ bits >> np.uint64(29)
        mixed *= MIXING
        mixed ^= mixed >> np.uint64(32)
    return mixed


def overlap_of_marks(marked: NDArray[np.uint64], whose: NDArray[np.integer]) -> Overlap:
    """Count the overlap of records from marks (n,) and owners (n,), for too many records to hold.

    Of n records, two that differ share a mark with probability about n^2/2^65: 1e-5 of 20 million.

    >>> marks = np.array([7, 7, 8, 9, 9, 7], dtype=np.uint64)
    >>> overlap_of_marks(marks, np.array([0, 1, 0, 1, 1, 1]))
    Overlap(rows=3, kappa=2)
    """
    ordered = np.sort(marked)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(twice):
        return Overlap(0, 1)
    again = np.isin(marked, twice)
    record = np.searchsorted(twice, marked[again])
    held = np.unique(np.stack([record, whose[again]]), axis=1)[0]
    holders = np.bincount(held, minlength=len(twice))
    return Overlap(int((holders[record] > 1).sum()), int(max(holders, default=1)))


def count_overlap(owners: Sequence[OwnerData], *, salt: bytes | None = None) -> Overlap:
    """Count the records of several owners: kappa = max over records of the number of its owners.

    Two records are the same when all their encoded cells are. That is neither necessary nor
    sufficient for being the same person's: a person may be coded differently by two hospitals, and
    in coded data (few columns, few categories) different people often share a row. So a kappa found
    here is a warning, never a reason to refuse a run, and never enters a price by itself: noise
    scaled to the records would itself reveal something of them. A scenario states that one person's
    record may be with several owners as ``learning.data.overlap``.

    Parameters
    ----------
    owners: the owners, whose records have one encoding.
    salt: a secret of the owners, at most 64 bytes; a fresh one unless given. The result does not
        depend on it.

    Source: Wu et al., The Value of Collaboration, remark after Assumption 1 (a record of kappa
        owners is protected by epsilon when each of them spends epsilon/kappa).

    >>> x = np.array([[1.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    >>> a = OwnerData("a", x, np.array([0.0, 5.0, 5.0]))
    >>> b = OwnerData("b", np.array([[2.0, 1.0], [3.0, 1.0]]), np.array([5.0, 0.0]))
    >>> count_overlap([a, b]), count_overlap([a])
    (Overlap(rows=3, kappa=2), Overlap(rows=0, kappa=1))
    """
    salt = secrets.token_bytes(32) if salt is None else salt
    holders: Counter[bytes] = Counter()
    records: Counter[bytes] = Counter()
    for owner in repeated_records(owners):
        hashes = hash_records(owner, salt)
        holders.update(hashes.keys())
        records.update(hashes)
    shared = sum(records[one] for one, count in holders.items() if count > 1)
    return Overlap(shared, max(holders.values(), default=1))
