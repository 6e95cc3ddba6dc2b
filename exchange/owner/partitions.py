"""An owner's table too large to hold: sums over its records, partition by partition.

Each partition is read and encoded by the contract's rules alone, as `exchange.owner.table` does a
whole file. Persons are counted over all partitions first, so that an owner's cap on the rows of a
person holds wherever these rows lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exchange.contract import Contract
from exchange.owner.table import OPTION, check_agreed, column_meaning, label_persons
from learning.arrays import Array
from learning.cells import Columns
from learning.data.rows import RowLabels, count_turns
from learning.errors import InputError
from learning.partitions import Partition, Partitions, open_partitions
from learning.phrases import format_value
from learning.progress import Progress, count_progress, ignore_progress
from learning.table_file import arrow_cells, column_of_cells
from learning.threads import one_blas_thread
from learning.workers import Workers, keep_workers, share_out

AddUp = Callable[[Array, Array], Array]
Kept = NDArray[np.bool_] | None


@dataclass(frozen=True)
class OwnSums:
    """Sums over an owner's records, before noise: for its eyes alone.

    Parameters
    ----------
    total: the sum of what the records of each block add up to.
    n_records: number of records.
    left_out: number of rows beyond the most of one person.
    clipped: number of cells outside their column's range, which count as its end.
    """

    total: Array = field(repr=False)
    n_records: int
    left_out: int
    clipped: int


@keep_workers()
def sum_own_partitions(
    path: Path,
    contract: Contract,
    owner: str,
    add_up: AddUp,
    workers: Workers = None,
    progress: Progress = ignore_progress,
) -> OwnSums:
    """Sum up an owner's records without holding them, in the order of its table.

    Parameters
    ----------
    path: a folder of Parquet files, or one, with the contract's columns by their names.
    contract: the contract.
    owner: the name of the owner.
    add_up: makes an array of the encoded records of a block, x (m, p) and y (m,): a sum over them.
    workers: Dask workers, as in `learning.workers.share_out`; results do not depend on them.
    progress: called with the share of rows that are done.

    Raises
    ------
    InputError
        As `exchange.owner.table.read_own_table`; or if workers cannot do it.
    """
    contract.owner(owner)  # refuses who is not of the contract
    table = open_partitions(path, OPTION)
    n_rows = table.parts[-1].end
    did = count_progress(progress, "summing up the records", n_rows)
    kept = list(_keep_rows(table, contract, workers))
    work = partial(_sum_partition, _written_names(table, contract), contract, add_up)
    tasks = zip(table.parts, kept, strict=True)
    sums = []
    for part, done in zip(table.parts, share_out(workers, work, tasks), strict=True):
        sums.append(done)
        did(part.n_rows)
    totals, counts, clipped = zip(*sums, strict=True)
    left_out = n_rows - sum(counts)
    check_agreed(path, contract, owner, sum(counts), n_rows, left_out)
    return OwnSums(sum(totals[1:], totals[0]), sum(counts), left_out, sum(clipped))


def _written_names(table: Partitions, contract: Contract) -> dict[str, str]:
    """Names of the contract's columns, and those that the files give them."""
    names = column_meaning(contract).written
    return {name: _find_column(table, name) for name in names}


def _find_column(table: Partitions, name: str) -> str:
    if name not in table.written:
        rule = "must have the columns that are read"
        raise InputError(table.parts[0].key, rule, f"no column {format_value(name)}")
    return table.written[name]


def _keep_rows(table: Partitions, contract: Contract, workers: Workers) -> Iterator[Kept]:
    """Yield which rows of each partition are records; None for all."""
    person = contract.columns.person
    if person is None:
        yield from [None] * len(table.parts)
        return
    read = share_out(workers, partial(_read_persons, _find_column(table, person)), table.parts)
    known: dict[str, int] = {}
    codes = [np.concatenate([_number_names(labels, known) for labels in found]) for found in read]
    keep = count_turns(np.concatenate(codes)) < contract.coordinates.rows_per_person
    ends = accumulate(map(len, codes), initial=0)
    yield from (keep[i:j] for i, j in pairwise(ends))


def _read_persons(column: str, part: Partition) -> list[RowLabels]:
    """Label the rows of a partition by their persons, batch by batch."""
    return [
        label_persons(column_as_written(batch.column(0)))
        for _, batch in part.read_batches([column])
    ]


def column_as_written(column: Any) -> NDArray:
    """Column of Arrow as a table file has it, whatever the other columns hold."""
    import pyarrow as pa

    if pa.types.is_floating(column.type):  # the same, at once
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=float)
    return column_of_cells(arrow_cells(column))


def _number_names(labels: RowLabels, known: dict[str, int]) -> NDArray[np.integer]:
    """Number the label of each row among those known, which it adds to."""
    places = [known.setdefault(name, len(known)) for name in labels.names]
    return np.array(places)[labels.of_row]


def _sum_partition(
    written: dict[str, str], contract: Contract, add_up: AddUp, task: tuple[Partition, Kept]
) -> tuple[Array, int, int]:
    """Sum up the records of a partition: the sum, their number, and that of clipped cells."""
    part, kept = task
    meaning = column_meaning(contract)
    sums = []
    count = 0
    clipped = 0
    with one_blas_thread():
        for first, batch in part.read_batches(list(written.values())):
            rows = np.arange(batch.num_rows)
            if kept is not None:
                rows = np.flatnonzero(kept[first - part.first :][: batch.num_rows])
            raw: Columns = {
                name: column_as_written(batch.column(k)) for k, name in enumerate(written)
            }
            x, y, outside = contract.encoder.records(meaning.read_columns(raw), rows)
            sums.append(add_up(x, y))
            count += len(rows)
            clipped += int(outside.sum())
    return sum(sums[1:], sums[0]), count, clipped
