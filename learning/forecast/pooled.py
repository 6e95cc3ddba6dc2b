"""All owners' records together: the simulator's privilege, which no learner has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.overlap import Marks, Overlap, count_overlap, mark_records
from learning.data.owner_data import OwnerAway, OwnerData, OwnerUnseen, no_record
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.losses.loss import Loss, TrainingCost
from learning.losses.records import GradientOracle, in_batches, join_parts
from learning.losses.squared import Fitness, least_squares
from learning.losses.statistics import SquaredStatistics, squared_statistics, weighted_statistics
from learning.progress import Progress, ReportWork, count_progress, ignore_progress, ignore_work
from learning.threads import one_blas_thread

MOST_TESTED = 1_000_000  # records that a test of their kinds looks at

Numbers = NDArray[np.integer]


@dataclass(frozen=True)
class PooledRecords:
    """Records that are held in memory.

    Parameters
    ----------
    owners : records of each owner.
    fitness : training cost on all of them, and its minimum.
    filled : number of the records' cells that count as the public fill.
    counted_overlap : overlap of the owners' records, where it was counted before.
    """

    owners: tuple[OwnerData, ...] = field(repr=False)
    fitness: TrainingCost = field(repr=False)
    filled: int = 0
    counted_overlap: Overlap | None = None

    @property
    def records(self) -> tuple[Array, Array]:
        """All records together, x (n, p) and y (n,)."""
        x = np.concatenate([owner.x for owner in self.owners])
        return x, np.concatenate([owner.y for owner in self.owners])

    @cached_property
    def overlap(self) -> Overlap:
        """Overlap of the owners' records."""
        return self.counted_overlap or count_overlap(self.owners)

    def expect(self, coordinates: Coordinates, progress: Progress = ignore_progress) -> None:
        """Read nothing: all records are in memory."""

    def oracles(
        self, coordinates: Coordinates, *, one_by_one: bool = False
    ) -> list[GradientOracle]:
        """Gradient oracle of each owner's records, clipped to the announced bounds."""
        return [coordinates.oracle(one.x, one.y, one_by_one=one_by_one) for one in self.owners]

    def weighted_statistics(self, coordinates: Coordinates, counts: Array) -> SquaredStatistics:
        """Sums of squared loss over the clipped records, weighted by owner (n_owners,)."""
        pairs = zip(self.owners, counts, strict=True)
        parts = [(one.x, one.y, np.full(one.n_records, count)) for one, count in pairs]
        first, *rest = (
            weighted_statistics(*coordinates.records(x, y), count)
            for x, y, count in in_batches(parts)
        )
        return sum(rest, first)

    def own_models(self, loss: Loss) -> Array:
        """Best model on each owner's own records, unclipped, (n_owners, p).

        It is judged on the records of all: a model of one kind of records may be far off on others.

        Source: Farokhi et al., The Cost of Privacy, Fig. 10.
        """
        records = [(owner.x, owner.y) for owner in self.owners]
        return loss.fit_each(records, self.fitness.regularisation)

    def records_at(self, places: Numbers) -> tuple[Array, Array]:
        """Records x (m, p) and y (m,) at some places, sorted, among those of all owners."""
        starts = np.cumsum([0, *(owner.n_records for owner in self.owners)])
        ends = pairwise(np.searchsorted(places, starts))
        parts = []
        for owner, first, (i, j) in zip(self.owners, starts, ends, strict=False):
            rows = places[i:j] - first
            parts.append((owner.x[rows], owner.y[rows]))
        x, y = join_parts(parts)
        return x, y

    def permute_owners(self, rng: Generator) -> PooledRecords:
        """Permute the records among the owners, who hold as many as before."""
        x, y = self.records
        ends = np.cumsum([owner.n_records for owner in self.owners])
        parts = np.split(rng.permutation(len(y)), ends[:-1])
        pairs = zip(self.owners, parts, strict=True)
        owners = tuple(replace(one, x=x[i], y=y[i]) for one, i in pairs)
        return replace(self, owners=owners, counted_overlap=None)


class Block(NamedTuple):
    """Encoded records, sorted by owner.

    x (m, p) and y (m,); ``whose`` (m,): number of the owner, n_owners for held-out rows;
    ``filled``: number of cells of the owners' records that count as the public fill.
    """

    x: Array
    y: Array
    whose: Numbers
    filled: int


ReadBlocks = Callable[[], Iterator[Block]]


@dataclass
class Counting:
    """Counts over the owners' unclipped records, block by block."""

    n_owners: int
    filled: int = 0
    marked: Marks = field(default_factory=Marks)

    def add(self, block: Block) -> None:
        """Count one more block."""
        own = int(np.searchsorted(block.whose, self.n_owners))
        self.marked.add(mark_records(block.x[:own], block.y[:own]), block.whose[:own])
        self.filled += block.filled

    def join(self, other: Counting) -> None:
        """Add the counts of another partition."""
        self.marked.join(other.marked)
        self.filled += other.filled

    @property
    def overlap(self) -> Overlap:
        """Overlap of the owners' records."""
        return self.marked.overlap


class Whole(NamedTuple):
    """Facts of unclipped records: sums by owner and last of held-out rows, fills, overlap."""

    sums: list[SquaredStatistics]
    filled: int
    overlap: Overlap


class PartitionSums(NamedTuple):
    """Sums and counts over the records of one partition.

    ``clipped`` and ``whole``: sums by owner, of records in the coordinates and as they are; of
    ``counts`` those of the latter.
    """

    clipped: dict[int, SquaredStatistics]
    whole: dict[int, SquaredStatistics]
    counts: Counting
    n_records: int


def sum_partition(
    n_owners: int, coordinates: Coordinates | None, whole: bool, read: ReadBlocks
) -> PartitionSums:
    """Sum up one partition, from public facts and its own records alone.

    Parameters
    ----------
    n_owners : number of owners.
    coordinates : those of the clipped records; None: none are summed up.
    whole : whether sums and counts of the unclipped records are wanted.
    read : reads its records, block by block.
    """
    found = PartitionSums({}, {}, Counting(n_owners), 0)
    count = 0
    with one_blas_thread():
        for block in read():
            count += len(block.y)
            if whole:
                add_groups(found.whole, block.whose, block.x, block.y)
                found.counts.add(block)
            if coordinates is not None:
                own = int(np.searchsorted(block.whose, n_owners))
                x, y = coordinates.records(block.x[:own], block.y[:own])
                add_groups(found.clipped, block.whose[:own], x, y)
    return found._replace(n_records=count)


@dataclass(eq=False)
class PooledSums:
    """Records that stay in their file: under squared loss sums suffice, made in one pass.

    Sums are made block by block and added partition by partition, in the order of the table, so
    that they do not depend on who makes them. They differ by rounding from those of records in
    memory, by at most 1e-12 of themselves.

    Parameters
    ----------
    owners : each owner's side.
    partitions : the reader of each partition, in the same order each time.
    records_at : reads the records at some places, sorted, among those of all owners.
    regularisation : r of the training cost.
    width : p, the number of parameters.
    share_out : has each partition summed up, and gives the sums in their order.
    """

    owners: tuple[OwnerAway, ...] = field(repr=False)
    partitions: Callable[[], Iterator[ReadBlocks]] = field(repr=False)
    records_at: Callable[[Numbers], tuple[Array, Array]] = field(repr=False)
    regularisation: float
    width: int
    share_out: Callable[..., Iterator[PartitionSums]] = field(default=map, repr=False)
    _whole: Whole | None = field(default=None, init=False, repr=False)
    _clipped: list[tuple[Coordinates, list[SquaredStatistics]]] = field(
        default_factory=list, init=False, repr=False
    )

    def expect(self, coordinates: Coordinates, progress: Progress = ignore_progress) -> None:
        """Read all records once, for sums of the clipped ones and facts of the unclipped."""
        count = sum(one.n_records for one in self.owners)
        self._read_once(coordinates, count_progress(progress, "summing up the records", count))

    @property
    def whole_facts(self) -> Whole:
        """Facts of the unclipped records."""
        if self._whole is None:
            self._read_once(None)
        assert self._whole is not None
        return self._whole

    @property
    def filled(self) -> int:
        """Number of the owners' cells that count as the public fill."""
        return self.whole_facts.filled

    @property
    def overlap(self) -> Overlap:
        """Overlap of the owners' records."""
        return self.whole_facts.overlap

    @property
    def held_out(self) -> SquaredStatistics:
        """Sums over the held-out rows."""
        return self.whole_facts.sums[-1]

    @cached_property
    def fitness(self) -> Fitness:
        """Training cost on all records, and its minimum."""
        first, *rest = self.whole_facts.sums[:-1]
        made = Fitness(sum(rest, first), self.regularisation)
        check_imperfect(made, made.statistics.yy / made.statistics.n_records)
        return made

    def oracles(
        self, coordinates: Coordinates, *, one_by_one: bool = False
    ) -> list[GradientOracle]:
        """Sums over each owner's clipped records."""
        assert not one_by_one
        return list(self._sums_of(coordinates))

    def weighted_statistics(self, coordinates: Coordinates, counts: Array) -> SquaredStatistics:
        """Sums over the clipped records, weighted by owner (n_owners,)."""
        pairs = zip(self._sums_of(coordinates), counts, strict=True)
        first, *rest = (one * count for one, count in pairs)
        return sum(rest, first)

    def own_models(self, loss: Loss) -> Array:
        """Least squares on each owner's own records, (n_owners, p)."""
        ridge = self.regularisation * np.eye(self.width)
        sums = self.whole_facts.sums[:-1]
        fits = [least_squares((one.hessian + ridge)[None], one.linear[None])[0] for one in sums]
        return np.array(fits)

    def _sums_of(self, coordinates: Coordinates) -> list[SquaredStatistics]:
        known = [sums for seen, sums in self._clipped if seen is coordinates]
        return known[0] if known else self._read_once(coordinates)

    def _read_once(
        self, coordinates: Coordinates | None, did: ReportWork = ignore_work
    ) -> list[SquaredStatistics]:
        """Read all records once, for sums of clipped ones and facts that are not known yet."""
        count = len(self.owners)
        clipped = self._no_sums(count)
        whole = self._no_sums(count + 1)
        counts = Counting(count)
        wanted = self._whole is None
        work = partial(sum_partition, count, coordinates, wanted)
        for done in self.share_out(work, self.partitions()):
            did(done.n_records)
            for group, sums in done.whole.items():
                whole[group] = whole[group] + sums
            for group, sums in done.clipped.items():
                clipped[group] = clipped[group] + sums
            counts.join(done.counts)
        if self._whole is None:
            self._whole = Whole(whole, counts.filled, counts.overlap)
        if coordinates is not None:
            self._clipped.append((coordinates, clipped))
        return clipped

    def _no_sums(self, count: int) -> list[SquaredStatistics]:
        zero = np.zeros((self.width, self.width))
        return [SquaredStatistics(0, zero, zero[0], 0.0)] * count


@dataclass(frozen=True)
class NoRecords:
    """Owners who have shared nothing but numbers of records.

    Parameters
    ----------
    owners : names and sizes.

    Raises
    ------
    InputError
        By whatever asks for a record, or for a sum over records.
    """

    owners: tuple[OwnerUnseen, ...]

    def expect(self, coordinates: Coordinates, progress: Progress = ignore_progress) -> None:
        """Read nothing: there is no record."""

    def __getattr__(self, name: str) -> Any:
        """Refuse whatever else is asked of records."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise no_record()


Pooled = PooledRecords | PooledSums | NoRecords


def add_groups(sums: dict[int, SquaredStatistics], whose: Numbers, x: Array, y: Array) -> None:
    """Add records x (m, p) and y (m,), sorted by the number of their group (m,), to its sums."""
    for group, rows in group_rows(whose):
        added = squared_statistics(x[rows], y[rows])
        sums[group] = sums[group] + added if group in sums else added


def group_rows(whose: Numbers) -> Iterator[tuple[int, slice]]:
    """Number and rows of each group of records, sorted by its number (m,).

    >>> [(group, rows.start, rows.stop) for group, rows in group_rows(np.array([0, 0, 3]))]
    [(0, 0, 2), (3, 2, 3)]
    """
    ends = [0, *(np.flatnonzero(whose[1:] != whose[:-1]) + 1).tolist(), len(whose)]
    return ((int(whose[i]), slice(i, j)) for i, j in pairwise(ends) if i < j)


def some_records(
    pooled: Pooled, rng: Generator, most: int = MOST_TESTED
) -> tuple[Array, Array, Array]:
    """All records, or a random sample of them: x (m, p), y (m,), and their number by owner."""
    sizes = [owner.n_records for owner in pooled.owners]
    total = int(sum(sizes))
    if total > most:
        places = np.sort(rng.choice(total, most, replace=False, shuffle=False))
    else:
        places = np.arange(total)
    drawn = np.diff(np.searchsorted(places, np.cumsum([0, *sizes])))
    return (*pooled.records_at(places), drawn)


def check_imperfect(fitness: TrainingCost, mean_square: float) -> None:
    """Refuse records that some model predicts without error.

    Parameters
    ----------
    fitness : training cost on the records, and its minimum.
    mean_square : of their targets.

    Raises
    ------
    InputError
        If the minimum is 0 but for rounding.
    """
    if fitness.optimum <= 1e-12 * max(1.0, mean_square):
        rule = "must not be predicted without any error: relative fitness f/f* - 1 needs f* > 0"
        advice = "Leave out the feature that determines the target."
        raise InputError("data.target", rule, "a perfect model", advice)
