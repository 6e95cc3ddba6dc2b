"""Records that stay in the file: blocks of a table as encoded records, and the records at some places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import numpy as np

from learning.arrays import Array
from learning.data.division import Division, Rows
from learning.data.encoding import Encoder
from learning.data.owner_data import OwnerAway, OwnerData
from learning.forecast.pooled import Block, Counting, PooledRecords, PooledSums, check_imperfect, groups
from learning.losses.fresh import FreshRecords
from learning.losses.loss import Loss
from learning.spool import on_disk
from scenarios.tables.parts import Parts
from scenarios.tables.selection import Meaning


@dataclass(frozen=True)
class Away:
    """How the rows of a table in parts become the records of a market.

    Parameters
    ----------
    parts : the table.
    meaning : how its cells are read.
    encoder : the public facts that they are encoded with.
    division : which rows are whose.
    """

    parts: Parts
    meaning: Meaning
    encoder: Encoder
    division: Division = field(repr=False)

    def sums(self, regularisation: float) -> PooledSums:
        """All owners' records, of which nothing but sums is held."""
        ends = np.cumsum([0, *map(len, self.division.owners.values())])
        owners = tuple(
            OwnerAway(name, j - i, partial(self._between, i, j))
            for name, (i, j) in zip(self.division.owners, pairwise(ends.tolist()), strict=True)
        )
        whose = self._whose()
        blocks = partial(self.blocks, whose)
        return PooledSums(owners, blocks, self.at, regularisation, self.encoder.n_parameters)

    def records(self, loss: Loss, regularisation: float) -> tuple[PooledRecords, FreshRecords]:
        """All owners' records and those held out, encoded into a file on disk; an owner's in the order of the table."""
        count, whose = len(self.division.owners), self._whose()
        sizes = [*map(len, self.division.owners.values()), len(self.division.holdout)]
        starts = np.cumsum([0, *sizes])
        x, y = on_disk((int(starts[-1]), self.encoder.n_parameters)), on_disk((int(starts[-1]),))
        ends, counting = starts[:-1].copy(), Counting(count)
        for block in self.blocks(whose):
            counting.add(block)
            for group, rows in groups(block.whose):
                place = slice(ends[group], ends[group] + rows.stop - rows.start)
                x[place], y[place] = block.x[rows], block.y[rows]
                ends[group] = place.stop
        all_owners = starts[count]
        fitness = loss.fitness([(x[:all_owners], y[:all_owners])], regularisation)
        check_imperfect(fitness, float(y[:all_owners] @ y[:all_owners]) / all_owners)
        owners = tuple(
            OwnerData(name, x[i:j], y[i:j]) for name, i, j in zip(self.division.owners, starts, ends, strict=False)
        )
        fresh = FreshRecords(x[all_owners : ends[count]], y[all_owners : ends[count]])
        return PooledRecords(owners, fitness, counting.filled, counting.overlap), fresh

    def blocks(self, whose: Rows) -> Iterator[Block]:
        """All records of owners and all held-out rows, in the order of the file; whose each row is, (n_rows,)."""
        held_out = len(self.division.owners)
        for first, columns in self.parts.blocks(tuple(self.meaning.written)):
            cells = self.meaning.read(columns)
            target = cells[self.meaning.target_name]
            of_row = whose[first : first + len(target)]
            rows = np.argsort(of_row, kind="stable")
            own, end = np.searchsorted(of_row, [held_out, held_out + 1], sorter=rows)
            fresh = rows[own:end][~np.isnan(target[rows[own:end]])]
            taken = np.concatenate([rows[:own], fresh])
            x, y, _ = self.encoder.records(cells, taken, order="F")  # as it is read, and summed up fastest
            yield Block(x, y, of_row[taken], self.encoder.filled(cells, rows[:own]))

    def at(self, places: Rows) -> tuple[Array, Array]:
        """The records at some places among those of all owners."""
        rows = np.concatenate(list(self.division.owners.values()))[places]
        table = self.parts.part(rows, tuple(self.meaning.written))
        x, y, _ = self.encoder.records(self.meaning.read(table.columns), np.arange(len(rows)))
        return x, y

    def _between(self, i: int, j: int) -> tuple[Array, Array]:
        return self.at(np.arange(i, j))

    def _whose(self) -> Rows:
        """Whose each row is: the number of its owner, or one more if it is held out, or two more if nobody's."""
        count = len(self.division.owners)
        whose = np.full(self.parts.n_rows, count + 1, dtype=np.min_scalar_type(count + 1))
        for number, rows in enumerate([*self.division.owners.values(), self.division.holdout]):
            whose[rows] = number
        return whose
