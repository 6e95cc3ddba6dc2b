"""Records that sit with several owners, found without showing a record: the kappa that a budget is divided by."""

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
MIXING = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bits are lost; of the golden ratio, as in SplitMix64
DIGEST = 16  # bytes: two different rows of a million meet with a chance below 1e-26


@dataclass(frozen=True)
class Overlap:
    """How far owners hold the same records.

    Parameters
    ----------
    rows: the number of records, over all owners, that are identical to a record of another owner.
    kappa: the largest number of owners that one identical record sits with, >= 1.
    """

    rows: int
    kappa: int


def fingerprints(owner: OwnerData, salt: bytes) -> Counter[bytes]:
    """Salted hash of each of an owner's records -> how often it holds it; computed by the owner, on its side.

    The salt is shared by the owners and by nobody else: who counts the hashes learns which are equal, and cannot try
    out what a record might be. An owner that knows the salt can; between distrustful owners use private set
    intersection.
    """
    return Counter(
        blake2b(row.tobytes(), key=salt, digest_size=DIGEST).digest()
        for row in _rounded(np.column_stack([owner.x, owner.y]))
    )


def _rounded(values: Array) -> Array:
    """Values as they are compared; minus zero is zero."""
    return np.round(values, DECIMALS) + 0.0


def met_again(owners: Sequence[OwnerData]) -> Iterator[OwnerData]:
    """The owners with those of their records alone that another record, of theirs or of anybody's, may equal.

    The simulator, which holds all records, so spares the owners the hashing of those that are single.
    """
    marks = _marks(owners)
    order = np.argsort(marks)
    same = np.concatenate([[False], np.diff(marks[order]) == 0, [False]])
    again = np.empty(len(marks), dtype=bool)
    again[order] = same[1:] | same[:-1]
    ends = np.cumsum([0, *(owner.n_records for owner in owners)]).tolist()
    for owner, (i, j) in zip(owners, pairwise(ends), strict=True):
        if again[i:j].any():
            yield replace(owner, x=owner.x[again[i:j]], y=owner.y[again[i:j]])


def _marks(owners: Sequence[OwnerData]) -> NDArray[np.uint64]:
    """64 bits of each record (n,): equal where records are, and hardly ever elsewhere."""
    width = owners[0].x.shape[1] if owners else 0
    columns = ([owner.x[:, j] for owner in owners] for j in range(width))
    return _mixed(sum(owner.n_records for owner in owners), map(np.concatenate, (*columns, [o.y for o in owners])))


def marks(x: Array, y: Array) -> NDArray[np.uint64]:
    """64 bits of each record x (n, p) and y (n,): equal where records are, and hardly ever elsewhere."""
    return _mixed(len(y), (*x.T, y))


def _mixed(count: int, columns: Iterable[Array]) -> NDArray[np.uint64]:
    mixed = np.zeros(count, dtype=np.uint64)
    for column in columns:
        bits = _rounded(column).view(np.uint64)
        mixed ^= bits ^ bits >> np.uint64(29)
        mixed *= MIXING
        mixed ^= mixed >> np.uint64(32)
    return mixed


def overlap_of_marks(marked: NDArray[np.uint64], whose: NDArray[np.integer]) -> Overlap:
    """`overlap` of records known by their marks (n,) alone, and whose each is (n,), where they are too many to hold.

    Of n records, two that differ share a mark with a chance of about n^2/2^65: 1e-5 of 20 million.

    >>> overlap_of_marks(np.array([7, 7, 8, 9, 9, 7], dtype=np.uint64), np.array([0, 1, 0, 1, 1, 1]))
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


def overlap(owners: Sequence[OwnerData], *, salt: bytes | None = None) -> Overlap:
    """Count the records that several owners hold: kappa = max over records of the owners that hold it.

    Two records are the same when all their encoded cells are. That is neither necessary nor sufficient for being the
    same person's: a person may be coded differently by two hospitals, and in coded data (few columns, few categories)
    different people often share a row. So a kappa found here is a warning to look, never a reason to refuse a run, and
    never enters a price by itself: noise scaled to what the records show would itself tell about the records. Who may
    have the same person's record with several owners states it as ``learning.data.overlap``.

    Parameters
    ----------
    owners: the owners, whose records are encoded alike.
    salt: a secret of the owners, at most 64 bytes; a fresh one unless given. The result does not depend on it.

    Returns
    -------
    Overlap; measured with access to the records.

    Source: Wu et al., The Value of Collaboration, remark after Assumption 1 (a record that sits with kappa owners is
    protected by epsilon when each of them spends epsilon/kappa).

    >>> a = OwnerData("a", np.array([[1.0, 1.0], [2.0, 1.0], [2.0, 1.0]]), np.array([0.0, 5.0, 5.0]))
    >>> b = OwnerData("b", np.array([[2.0, 1.0], [3.0, 1.0]]), np.array([5.0, 0.0]))
    >>> overlap([a, b]), overlap([a])
    (Overlap(rows=3, kappa=2), Overlap(rows=0, kappa=1))
    """
    salt = secrets.token_bytes(32) if salt is None else salt
    holders: Counter[bytes] = Counter()
    records: Counter[bytes] = Counter()
    for owner in met_again(owners):
        prints = fingerprints(owner, salt)
        holders.update(prints.keys())
        records.update(prints)
    shared = [print_ for print_, count in holders.items() if count > 1]
    return Overlap(sum(records[print_] for print_ in shared), max(holders.values(), default=1))
