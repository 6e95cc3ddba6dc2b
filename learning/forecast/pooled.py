"""All owners' records together: the simulator's privilege, which no learner has. Held in memory, or as sums alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from learning.arrays import Array
from learning.data.overlap import Overlap, marks, overlap, overlap_of_marks
from learning.data.owner_data import Holding, OwnerAway, OwnerData
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.losses.loss import Loss
from learning.losses.parts import in_batches, joined
from learning.losses.protocols import GradientOracle, TrainingCost
from learning.losses.squared import Fitness, SquaredStatistics, least_squares, squared_statistics, weighted_statistics
from learning.progress import Did, Progress, counting, silent, unnoticed
from learning.training.baselines import own_models

MOST_TESTED = 1_000_000  # records that a test of their kinds looks at


class Pooled(Protocol):
    """What the simulator computes of all owners' records."""

    @property
    def owners(self) -> Sequence[Holding]:
        """Each owner's side."""
        ...

    @property
    def fitness(self) -> TrainingCost:
        """Training cost on all records, and its minimum."""
        ...

    @property
    def filled(self) -> int:
        """How many cells of theirs count as the public fill."""
        ...

    @property
    def overlap(self) -> Overlap:
        """How far owners hold the same records."""
        ...

    def expect(self, coordinates: Coordinates, progress: Progress = silent) -> None:
        """What will be asked for first: records that stay in their file are then read once for all."""
        ...

    def oracles(self, coordinates: Coordinates, *, one_by_one: bool = False) -> list[GradientOracle]:
        """What each owner answers with: its records clipped to the announced bounds."""
        ...

    def counted(self, coordinates: Coordinates, counts: Array) -> SquaredStatistics:
        """Sums of squared loss over the clipped records, each of an owner's counting so many times (n_owners,)."""
        ...

    def own_models(self, loss: Loss) -> Array:
        """The model that each owner could train alone, (n_owners, p): the best on its own records, as they are."""
        ...

    def at(self, places: NDArray[np.integer]) -> tuple[Array, Array]:
        """Records x (m, p) and y (m,) at some places, sorted, among those of all owners, one owner's after another's."""
        ...


def some_records(pooled: Pooled, rng: np.random.Generator, most: int = MOST_TESTED) -> tuple[Array, Array, Array]:
    """All records, or so many drawn at random where there are more: x (m, p), y (m,), and how many are each owner's."""
    sizes = np.array([owner.n_records for owner in pooled.owners])
    total = int(sizes.sum())
    places = np.arange(total) if total <= most else np.sort(rng.choice(total, most, replace=False, shuffle=False))
    drawn = np.diff(np.searchsorted(places, np.cumsum([0, *sizes])))
    return (*pooled.at(places), drawn)


@dataclass(frozen=True)
class PooledRecords:
    """Records that are held in memory.

    Parameters
    ----------
    owners : records of each owner.
    fitness : training cost on all of them, and its minimum.
    filled : how many of their cells count as the public fill.
    counted_overlap : how far owners hold the same records, where that was counted on the way.
    """

    owners: tuple[OwnerData, ...] = field(repr=False)
    fitness: TrainingCost = field(repr=False)
    filled: int = 0
    counted_overlap: Overlap | None = None

    @property
    def records(self) -> tuple[Array, Array]:
        """All records together, x (n, p) and y (n,)."""
        x, y = (np.concatenate([getattr(owner, name) for owner in self.owners]) for name in ("x", "y"))
        return x, y

    @cached_property
    def overlap(self) -> Overlap:
        """How far owners hold the same records."""
        return self.counted_overlap or overlap(self.owners)

    def expect(self, coordinates: Coordinates, progress: Progress = silent) -> None:
        """Nothing is to be read."""

    def oracles(self, coordinates: Coordinates, *, one_by_one: bool = False) -> list[GradientOracle]:
        """What each owner answers with: its records clipped to the announced bounds."""
        return [coordinates.oracle(owner.x, owner.y, one_by_one=one_by_one) for owner in self.owners]

    def counted(self, coordinates: Coordinates, counts: Array) -> SquaredStatistics:
        """Sums of squared loss over the clipped records, each of an owner's counting so many times (n_owners,)."""
        parts = [(one.x, one.y, np.full(one.n_records, count)) for one, count in zip(self.owners, counts, strict=True)]
        first, *rest = (weighted_statistics(*coordinates.records(x, y), count) for x, y, count in in_batches(parts))
        return sum(rest, first)

    def own_models(self, loss: Loss) -> Array:
        """The best model on each owner's own records, (n_owners, p)."""
        return own_models(self.owners, loss, self.fitness.regularisation)

    def at(self, places: NDArray[np.integer]) -> tuple[Array, Array]:
        """Records at some places (m,), which are sorted."""
        starts = np.cumsum([0, *(owner.n_records for owner in self.owners)])
        parts = []
        for owner, first, (i, j) in zip(self.owners, starts, pairwise(np.searchsorted(places, starts)), strict=False):
            rows = places[i:j] - first
            parts.append((owner.x[rows], owner.y[rows]))
        x, y = joined(parts)
        return x, y

    def dealt(self, rng: np.random.Generator) -> PooledRecords:
        """The same records dealt anew: every owner holds as many as before, whichever they are."""
        x, y = self.records
        ends = np.cumsum([owner.n_records for owner in self.owners])
        hands = np.split(rng.permutation(len(y)), ends[:-1])
        dealt = tuple(replace(owner, x=x[rows], y=y[rows]) for owner, rows in zip(self.owners, hands, strict=True))
        return replace(self, owners=dealt)


class Block(NamedTuple):
    """Some encoded records, sorted by whose they are.

    x (m, p) and y (m,); ``whose`` (m,): the number of the owner, n_owners for held-out rows; ``filled``: how many cells of
    the owners' records count as the public fill.
    """

    x: Array
    y: Array
    whose: NDArray[np.integer]
    filled: int


@dataclass(frozen=True)
class PooledSums:
    """Records that stay in the file: under squared loss their sums say all, and one pass makes them.

    Sums are made block by block, so they differ from those of records in memory by rounding: 1e-12 of themselves at most.

    Parameters
    ----------
    owners : each owner's side.
    blocks : reads all records, block by block, in the same order each time.
    read_at : reads the records at some places among those of all owners.
    regularisation : r of the training cost.
    width : p, the number of parameters.
    """

    owners: tuple[OwnerAway, ...] = field(repr=False)
    blocks: Callable[[], Iterator[Block]] = field(repr=False)
    read_at: Callable[[NDArray[np.integer]], tuple[Array, Array]] = field(repr=False)
    regularisation: float
    width: int
    _clipped: list[tuple[Coordinates, list[SquaredStatistics]]] = field(default_factory=list, repr=False)
    _whole: list[Whole] = field(default_factory=list, repr=False)

    def expect(self, coordinates: Coordinates, progress: Progress = silent) -> None:
        """Read all records once, for the sums of the clipped ones and for all that is asked of them as they are."""
        self._read(coordinates, counting(progress, "summing up the records", sum(one.n_records for one in self.owners)))

    @property
    def whole(self) -> Whole:
        """What is counted of the records as they are."""
        if not self._whole:
            self._read(None)
        return self._whole[0]

    @property
    def filled(self) -> int:
        """How many cells of theirs count as the public fill."""
        return self.whole.filled

    @property
    def overlap(self) -> Overlap:
        """How far owners hold the same records."""
        return self.whole.overlap

    @property
    def held_out(self) -> SquaredStatistics:
        """Sums over the rows that nobody trains on."""
        return self.whole.sums[-1]

    @cached_property
    def fitness(self) -> Fitness:
        """Training cost on all records, and its minimum."""
        first, *rest = self.whole.sums[:-1]
        made = Fitness(sum(rest, first), self.regularisation)
        check_imperfect(made, made.statistics.yy / made.statistics.n_records)
        return made

    def oracles(self, coordinates: Coordinates, *, one_by_one: bool = False) -> list[GradientOracle]:
        """Sums over each owner's clipped records."""
        assert not one_by_one
        return list(self._sums(coordinates))

    def counted(self, coordinates: Coordinates, counts: Array) -> SquaredStatistics:
        """Sums over the clipped records, each of an owner's counting so many times (n_owners,)."""
        first, *rest = (one * count for one, count in zip(self._sums(coordinates), counts, strict=True))
        return sum(rest, first)

    def own_models(self, loss: Loss) -> Array:
        """Least squares on each owner's own records, (n_owners, p)."""
        sums, ridge = self.whole.sums[:-1], self.regularisation * np.eye(self.width)
        return np.array([least_squares((one.hessian + ridge)[None], one.linear[None])[0] for one in sums])

    def at(self, places: NDArray[np.integer]) -> tuple[Array, Array]:
        """Records at some places (m,), in order."""
        return self.read_at(places)

    def _sums(self, coordinates: Coordinates) -> list[SquaredStatistics]:
        known = [sums for seen, sums in self._clipped if seen is coordinates]
        return known[0] if known else self._read(coordinates)

    def _read(self, coordinates: Coordinates | None, did: Did = unnoticed) -> list[SquaredStatistics]:
        """One pass: the sums in some coordinates, and those of the records as they are where they are not known yet."""
        count = len(self.owners)
        clipped = Sums(count, self.width)
        whole, counting = None if self._whole else Sums(count + 1, self.width), Counting(count)
        for block in self.blocks():
            did(len(block.y))
            if whole is not None:
                whole.add(block.whose, block.x, block.y)
                counting.add(block)
            if coordinates is not None:
                own = int(np.searchsorted(block.whose, count))
                clipped.add(block.whose[:own], *coordinates.records(block.x[:own], block.y[:own]))
        if whole is not None:
            self._whole.append(Whole(whole.statistics(), counting.filled, counting.overlap))
        found = clipped.statistics()
        if coordinates is not None:
            self._clipped.append((coordinates, found))
        return found


class Whole(NamedTuple):
    """What one pass tells of records as they are: sums of each owner's and of held-out ones, filled cells, same records."""

    sums: list[SquaredStatistics]
    filled: int
    overlap: Overlap


@dataclass
class Sums:
    """Sums of squared loss by group, growing block by block; of so many groups of records (n, width)."""

    count: int
    width: int

    def __post_init__(self) -> None:
        self.records = np.zeros(self.count, dtype=int)
        self.xx = np.zeros((self.count, self.width, self.width))
        self.xy = np.zeros((self.count, self.width))
        self.yy = np.zeros(self.count)

    def add(self, whose: NDArray[np.integer], x: Array, y: Array) -> None:
        """Records x (m, p) and y (m,), sorted by the number of their group (m,)."""
        for group, rows in groups(whose):
            some = squared_statistics(x[rows], y[rows])
            self.records[group] += some.n_records
            self.xx[group] += some.xx
            self.xy[group] += some.xy
            self.yy[group] += some.yy

    def statistics(self) -> list[SquaredStatistics]:
        """The sums of each group."""
        parts = zip(self.records.tolist(), self.xx, self.xy, self.yy.tolist(), strict=True)
        return [SquaredStatistics(*part) for part in parts]


@dataclass
class Counting:
    """What is counted of the records of so many owners as they are, growing block by block."""

    n_owners: int
    filled: int = 0
    marked: list[tuple[NDArray[np.uint64], NDArray[np.integer]]] = field(default_factory=list)

    def add(self, block: Block) -> None:
        """One more block."""
        own = int(np.searchsorted(block.whose, self.n_owners))
        self.marked.append((marks(block.x[:own], block.y[:own]), block.whose[:own].copy()))
        self.filled += block.filled

    @property
    def overlap(self) -> Overlap:
        """How far owners hold the same records."""
        return overlap_of_marks(*map(np.concatenate, zip(*self.marked, strict=True)))


def groups(whose: NDArray[np.integer]) -> Iterator[tuple[int, slice]]:
    """The number and the rows of each group of records, sorted by its number (m,).

    >>> [(group, rows.start, rows.stop) for group, rows in groups(np.array([0, 0, 3]))]
    [(0, 0, 2), (3, 2, 3)]
    """
    ends = [0, *(np.flatnonzero(whose[1:] != whose[:-1]) + 1).tolist(), len(whose)]
    return ((int(whose[i]), slice(i, j)) for i, j in pairwise(ends) if i < j)


def check_imperfect(fitness: TrainingCost, mean_square: float) -> None:
    """Refuse records that some model predicts without any error; their targets have a mean square.

    Raises
    ------
    InputError
    """
    if fitness.optimum <= 1e-12 * max(1.0, mean_square):
        rule = "must not be predicted without any error: relative fitness f/f* - 1 needs f* > 0"
        raise InputError("data.target", rule, "a perfect model", "Leave out the feature that gives it away.")
