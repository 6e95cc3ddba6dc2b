"""Records held by several owners, counted by marks: kappa, which divides budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import IO

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.owner_data import OwnerData
from learning.spool import open_spool

DECIMALS = 9  # the same record encoded in two batches may differ in its last bits
HELD = 2**20  # marks in memory
FILES = 32
MIXING = np.uint64(0x9E3779B97F4A7C15)  # odd, of the golden ratio, as in SplitMix64


@dataclass(frozen=True)
class Overlap:
    """Extent to which owners hold the same records.

    Parameters
    ----------
    rows: the number of records, over all owners, that are identical to a record of another owner.
    kappa: the largest number of owners of one identical record, >= 1.
    by_chance: expected ``rows`` if every copy of a record had an owner drawn at random, in
        proportion to their numbers of records. So many are chance in coded data.
    spread: standard deviation of that number.
    """

    rows: int
    kappa: int
    by_chance: float = field(default=0.0, compare=False, repr=False)
    spread: float = field(default=0.0, compare=False, repr=False)


def mark_records(x: Array, y: Array) -> NDArray[np.uint64]:
    """Mark records x (n, p) and y (n,) by 64 bits, equal for equal records, hardly for others."""
    mixed = np.zeros(len(y), dtype=np.uint64)
    for column in (*x.T, y):
        bits = (np.round(column, DECIMALS) + 0.0).view(np.uint64)  # one zero
        mixed ^= bits ^ bits >> np.uint64(29)
        mixed *= MIXING
        mixed ^= mixed >> np.uint64(32)
    return mixed


def overlap_of_marks(
    marked: NDArray[np.uint64],
    whose: NDArray[np.integer],
    counts: NDArray[np.integer] | None = None,
) -> Overlap:
    """Count the overlap of records from marks (n,) and owners (n,).

    The records of each owner are as many as ``counts`` has, if these are not all records.

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
    copies = np.bincount(record)
    if counts is None:
        counts = np.bincount(whose)
    expected, spread = chance_of_copies(copies, counts / counts.sum())
    rows = int((holders[record] > 1).sum())
    return Overlap(rows, int(max(holders, default=1)), expected, spread)


def chance_of_copies(copies: NDArray[np.integer], shares: Array) -> tuple[float, float]:
    """Expect the records with a copy at another owner, if owners were drawn at random.

    All m copies of a record count unless one owner has them all: m with chance
    q = 1 - sum_i p_i^m. So the mean is sum m q, and the variance sum m^2 q (1 - q).

    Parameters
    ----------
    copies: array (k,), m of each record that is found more than once.
    shares: array (n_owners,), p, each owner's share of all records.

    >>> chance_of_copies(np.array([2]), np.array([0.5, 0.5]))
    (1.0, 1.0)
    """
    sizes, counts = np.unique(copies, return_counts=True)
    apart = 1 - (shares[:, None] ** sizes).sum(axis=0)
    mean = float(counts @ (sizes * apart))
    variance = float(counts @ (sizes**2 * apart * (1 - apart)))
    return mean, variance**0.5


@dataclass
class Marks:
    """Marks of records with the numbers of their owners; beyond `HELD` of them in files.

    A file has those with the same remainder by `FILES`, so that equal marks meet in one.

    Parameters
    ----------
    held : marks (n,) and owners (n,) in memory.
    files : those in files, or none.
    counts : number of marks in files of each owner.
    """

    held: list[tuple[NDArray[np.uint64], NDArray[np.integer]]] = field(default_factory=list)
    files: list[IO[bytes]] = field(default_factory=list)
    counts: Counter[int] = field(default_factory=Counter)

    def add(self, marks: NDArray[np.uint64], whose: NDArray[np.integer]) -> None:
        """Add marks (n,) of records of some owners (n,)."""
        self.held.append((marks, whose.copy()))

    def join(self, other: Marks) -> None:
        """Add the marks of other records, which are in memory."""
        self.held += other.held
        self.spool()

    def spool(self, most: int | None = None) -> None:
        """Write what is in memory into files, if it is more than some marks (`HELD`)."""
        if sum(len(marks) for marks, _ in self.held) <= (HELD if most is None else most):
            return
        if not self.files:
            self.files = [open_spool() for _ in range(FILES)]
        marks, whose = map(np.concatenate, zip(*self.held, strict=True))
        self.held.clear()
        self.counts.update(dict(enumerate(np.bincount(whose).tolist())))
        place = marks.astype(np.uint8) % FILES
        order = np.argsort(place, kind="stable")
        ends = np.cumsum(np.bincount(place, minlength=FILES))
        for file, rows in zip(self.files, np.split(order, ends[:-1]), strict=True):
            np.save(file, marks[rows])
            np.save(file, whose[rows])

    @cached_property
    def overlap(self) -> Overlap:
        """Overlap of the owners' records, after all have been added; files end with it."""
        if not self.files:
            return overlap_of_marks(*map(np.concatenate, zip(*self.held, strict=True)))
        self.spool(0)
        counts = np.array([self.counts[owner] for owner in range(max(self.counts) + 1)])
        found = []
        for file in self.files:
            parts = []
            with file:
                end = file.tell()
                file.seek(0)
                while file.tell() < end:
                    parts.append((np.load(file), np.load(file)))
            marks, whose = map(np.concatenate, zip(*parts, strict=True))
            found.append(overlap_of_marks(marks, whose, counts))
        return Overlap(
            sum(one.rows for one in found),
            max(one.kappa for one in found),
            sum(one.by_chance for one in found),
            sum(one.spread**2 for one in found) ** 0.5,
        )


def count_overlap(owners: Sequence[OwnerData]) -> Overlap:
    """Count the records of several owners: kappa = max over records of the number of its owners.

    Two records are the same when all their encoded cells are. That is neither necessary nor
    sufficient for being the same person's: a person may be coded differently by two hospitals, and
    in coded data (few columns, few categories) different people often share a row. So a kappa found
    here is a warning, never a reason to refuse a run, and never enters a price by itself: noise
    scaled to the records would itself reveal something of them. A scenario states as
    ``learning.overlap`` how many owners one person's record may sit with.

    Parameters
    ----------
    owners: the owners, whose records have one encoding.

    Source: Wu et al., The Value of Collaboration, remark after Assumption 1 (a record of kappa
        owners is protected by epsilon when each of them spends epsilon/kappa).

    >>> x = np.array([[1.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
    >>> a = OwnerData("a", x, np.array([0.0, 5.0, 5.0]))
    >>> b = OwnerData("b", np.array([[2.0, 1.0], [3.0, 1.0]]), np.array([5.0, 0.0]))
    >>> count_overlap([a, b]), count_overlap([a])
    (Overlap(rows=3, kappa=2), Overlap(rows=0, kappa=1))
    """
    marked = [mark_records(one.x, one.y) for one in owners]
    whose = np.repeat(np.arange(len(owners)), [one.n_records for one in owners])
    return overlap_of_marks(np.concatenate([np.empty(0, np.uint64), *marked]), whose)
