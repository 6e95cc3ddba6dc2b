"""Records that stay in the file: blocks of a table as encoded records, and single records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise

import numpy as np

from learning.arrays import Array
from learning.cells import Meaning
from learning.data.division import BLOCK, Division
from learning.data.encoded import count_filled
from learning.data.encoding import Encoder
from learning.data.owner_data import OwnerAway, OwnerData
from learning.data.rows import Rows
from learning.forecast.pooled import (
    Block,
    Counting,
    PooledRecords,
    PooledSums,
    ReadBlocks,
    check_imperfect,
    group_rows,
)
from learning.losses.loss import FreshRecords, Loss
from learning.spool import on_disk
from scenarios.tables.parts import Partition, Parts, read_blocks


@dataclass(frozen=True)
class Reading:
    """Public facts by which any partition is read, and nothing else.

    Parameters
    ----------
    written : names of the columns -> the names that the files give them.
    meaning : how cells are read.
    encoder : the public facts that records are encoded with.
    n_owners : number of owners.
    """

    written: dict[str, str]
    meaning: Meaning
    encoder: Encoder
    n_owners: int

    def encode_blocks(self, partition: Partition, whose: Rows) -> Iterator[Block]:
        """Encode the records of owners and the held-out rows, in the order of the file.

        Parameters
        ----------
        whose : (n_rows,), number of the owner of each row of the partition.
        """
        for first, columns in read_blocks(partition, self.written):
            cells = self.meaning.read_columns(columns)
            target = cells[self.meaning.target_name]
            start = first - partition.first
            of_row = whose[start : start + len(target)]
            rows = np.argsort(of_row, kind="stable")
            own, end = np.searchsorted(of_row, [self.n_owners, self.n_owners + 1], sorter=rows)
            fresh = rows[own:end][~np.isnan(target[rows[own:end]])]
            taken = np.concatenate([rows[:own], fresh])
            # Column by column, as it is read, and summed up fastest.
            x, y, _ = self.encoder.records(cells, taken, order="F")
            yield Block(x, y, of_row[taken], count_filled(self.encoder, cells, rows[:own]))


@dataclass(frozen=True)
class Away:
    """The records of a market, in a table in parts.

    Parameters
    ----------
    parts : the table.
    meaning : how its cells are read.
    encoder : the public facts that they are encoded with.
    division : the rows of each owner.
    """

    parts: Parts
    meaning: Meaning
    encoder: Encoder
    division: Division = field(repr=False)

    def sum_records(self, regularisation: float) -> PooledSums:
        """Sum up the owners' records, without holding them."""
        ends = np.cumsum([0, *map(len, self.division.owners.values())])
        owners = tuple(
            OwnerAway(name, j - i, partial(self._read_between, i, j))
            for name, (i, j) in zip(self.division.owners, pairwise(ends.tolist()), strict=True)
        )
        return PooledSums(
            owners,
            self.readers,
            self.read_records,
            regularisation,
            self.encoder.n_parameters,
            self.parts.share_out,
        )

    def spool_records(
        self, loss: Loss, regularisation: float
    ) -> tuple[PooledRecords, FreshRecords]:
        """Encode all records into a file on disk, an owner's in the order of the table."""
        count = len(self.division.owners)
        sizes = [*map(len, self.division.owners.values()), len(self.division.holdout)]
        starts = np.cumsum([0, *sizes])
        x = on_disk((int(starts[-1]), self.encoder.n_parameters))
        y = on_disk((int(starts[-1]),))
        ends = starts[:-1].copy()
        counting = Counting(count)
        for block in chain.from_iterable(read() for read in self.readers()):
            counting.add(block)
            counting.marked.spool()
            for group, rows in group_rows(block.whose):
                place = slice(ends[group], ends[group] + rows.stop - rows.start)
                x[place] = block.x[rows]
                y[place] = block.y[rows]
                ends[group] = place.stop
        all_owners = starts[count]
        fitness = loss.fitness([(x[:all_owners], y[:all_owners])], regularisation)
        check_imperfect(fitness, float(y[:all_owners] @ y[:all_owners]) / all_owners)
        owners = tuple(
            OwnerData(name, x[i:j], y[i:j])
            for name, i, j in zip(self.division.owners, starts, ends, strict=False)
        )
        rest = slice(all_owners, ends[count])
        fresh = FreshRecords(x[rest], y[rest], self.encoder.target.ends)
        return PooledRecords(owners, fitness, counting.filled, counting.overlap), fresh

    def readers(self) -> Iterator[ReadBlocks]:
        """Yield a reader of the encoded records of each partition, which a worker can be sent."""
        whose = self._owner_of_row()
        names = self.meaning.written
        written = dict(zip(names, self.parts.keys_of(tuple(names)), strict=True))
        reading = Reading(written, self.meaning, self.encoder, len(self.division.owners))
        for partition in self.parts.partitions:
            rows = whose[partition.first : partition.end]
            yield partial(reading.encode_blocks, partition, rows)

    def read_records(self, places: Rows) -> tuple[Array, Array]:
        """Read the records at some places, sorted, among those of all owners."""
        owners = list(self.division.owners.values())
        starts = np.cumsum([0, *map(len, owners)])
        ends = pairwise(np.searchsorted(places, starts))
        some = (
            owner[places[i:j] - first]
            for owner, first, (i, j) in zip(owners, starts, ends, strict=False)
        )
        rows = np.concatenate(list(some))
        table = self.parts.read_rows(rows, tuple(self.meaning.written))
        x, y, _ = self.encoder.records(
            self.meaning.read_columns(table.columns), np.arange(len(rows))
        )
        return x, y

    def _read_between(self, i: int, j: int) -> tuple[Array, Array]:
        return self.read_records(np.arange(i, j))

    def _owner_of_row(self) -> Rows:
        """Number the owner of each row; held-out rows have the next number, all others the last."""
        count = len(self.division.owners)
        whose = np.full(self.parts.n_rows, count + 1, dtype=np.min_scalar_type(count + 1))
        for number, rows in enumerate([*self.division.owners.values(), self.division.holdout]):
            for first in range(0, len(rows), BLOCK):  # indices are copied as wider numbers
                whose[rows[first : first + BLOCK]] = number
        return whose
