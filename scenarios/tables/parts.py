"""Parquet in parts: a folder of files, or one file too large to hold, read block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from learning.cells import Columns, as_text
from learning.data.rows import RowLabels, Rows
from learning.errors import InputError
from learning.partitions import Partition, naming_fault, open_partitions
from learning.phrases import format_value
from learning.workers import Workers, share_out
from scenarios.schema.fields import suggest_name
from scenarios.tables.reading import Table, column_of

WHOLE = 2**25  # cells up to which a table is read at once, a quarter of a gibibyte of numbers
Task = TypeVar("Task")
Done = TypeVar("Done")


@dataclass(frozen=True)
class Parts:
    """Parquet files that are one table, their rows one after the other.

    Parameters
    ----------
    paths : the files, in the order of their names.
    partitions : the rows of them all, as workers read them.
    written : names of the columns -> the names that the files give them.
    source : the file or the folder.
    workers : the Dask workers that read it; None: this process does.
    """

    paths: tuple[Path, ...] = field(repr=False)
    partitions: tuple[Partition, ...] = field(repr=False)
    written: dict[str, str] = field(repr=False)
    source: str
    workers: Workers = None

    @property
    def n_rows(self) -> int:
        """Number of rows of all parts."""
        return self.partitions[-1].end

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.written)

    @property
    def is_large(self) -> bool:
        """True if the table is not to be read at once."""
        return self.workers is not None or self.n_rows * len(self.names) > WHOLE

    def error(self, key: str, rule: str, found: object, remedy: str = "") -> InputError:
        """Make the error of a key of [data] for this table."""
        return InputError(f"{self.source}: data.{key}", rule, found, remedy)

    def truth_columns(self) -> set[str]:
        """Names of the columns whose type is true or false."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with naming_fault(self.paths[0], f"{self.source}: data.path"):
            kinds = pq.read_schema(self.paths[0])
        written = self.written.items()
        return {name for name, key in written if pa.types.is_boolean(kinds.field(key).type)}

    def read_whole(self) -> Table:
        """Read the whole table into memory."""
        return self.read_rows(np.arange(self.n_rows))

    def read_rows(self, rows: Rows, names: Sequence[str] | None = None) -> Table:
        """Read different rows, in the order asked for; of the columns named, or of all."""
        names = names or self.names
        order = np.argsort(rows, kind="stable")
        wanted = rows[order]
        ends = np.searchsorted(wanted, [0, *(partition.end for partition in self.partitions)])
        some = (wanted[i:j] for i, j in pairwise(ends))
        pairs = zip(self.partitions, some, strict=True)
        taken = self.share_out(
            partial(_take_rows, self.keys_of(names)), (pair for pair in pairs if len(pair[1]))
        )
        batches = [batch for found in taken for batch in found]
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        columns = {
            name: _join_chunks([batch.column(k) for batch in batches])[back]
            for k, name in enumerate(names)
        }
        return Table(columns, len(rows), self.source, places=rows)

    def share_out(self, work: Callable[[Task], Done], tasks: Iterable[Task]) -> Iterator[Done]:
        """Yield the result of each task in their order: by the table's workers, if it has any."""
        return share_out(self.workers, work, tasks)

    def keys_of(self, names: Sequence[str]) -> list[str]:
        """Names that the files give some columns."""
        return [self.written[name] for name in names]

    def whose_rows(self, name: str, key: str = "owner") -> RowLabels:
        """Label each row by a column, as `scenarios.tables.reading.Table.whose_rows`.

        Raises
        ------
        InputError
            If there is no such column.
        """
        import pyarrow as pa

        if name not in self.names:
            remedy = suggest_name(name, list(self.names))
            raise self.error(key, "must name a column of the table", format_value(name), remedy)
        read = self.share_out(partial(_encode_column, self.keys_of([name])), self.partitions)
        shown, codes = zip(*read, strict=True)
        cells = pa.chunked_array(map(_number_cells, shown)).unify_dictionaries()
        values = column_of(cells.chunk(0).dictionary.to_pandas(integer_object_nulls=True))
        known = values.astype(object)
        known[[cell is None or cell in (np.inf, -np.inf) or cell != cell for cell in known]] = ""
        labels = RowLabels.of([*map(as_text, known), ""])
        of_row = np.empty(self.n_rows, dtype=labels.of_row.dtype)
        for partition, chunk, coded in zip(self.partitions, cells.chunks, codes, strict=True):
            place = labels.of_row[[*chunk.indices.to_numpy(), -1]]
            of_row[partition.first : partition.end] = place[coded]
        return RowLabels(labels.names, of_row)


def read_blocks(partition: Partition, written: Mapping[str, str]) -> Iterator[tuple[int, Columns]]:
    """Read a partition, about `BLOCK` rows at a time: the number of the first, and the columns.

    Parameters
    ----------
    written : names of the columns -> the names that the files give them.
    """
    for first, batch in partition.read_batches(list(written.values())):
        yield first, {name: _join_chunks([batch.column(k)]) for k, name in enumerate(written)}


def _take_rows(columns: Sequence[str], task: tuple[Partition, Rows]) -> list[Any]:
    """Take sorted rows of a partition, as batches of some columns."""
    import pyarrow as pa

    partition, wanted = task
    taken = []
    for first, batch in partition.read_batches(columns, wanted):
        i, j = np.searchsorted(wanted, [first, first + batch.num_rows])
        if i < j < i + batch.num_rows:
            batch = batch.take(pa.array(wanted[i:j] - first))
        if i < j:
            taken.append(batch)
    return taken


def _encode_column(columns: Sequence[str], partition: Partition) -> tuple[Any, Rows]:
    """Encode a column of a partition: the values that it shows, and the place of each row's.

    The place of a missing one is -1. Places take as few bytes as they need.
    """
    import pyarrow as pa

    batches = (batch for _, batch in partition.read_batches(columns, coded=True))
    chunks = [_encode_cells(batch.column(0)) for batch in batches]
    cells = pa.chunked_array(chunks).unify_dictionaries()
    known = cells.chunk(0).dictionary
    kind = np.min_scalar_type(-len(known) - 1)
    codes = [chunk.indices.fill_null(-1).to_numpy().astype(kind) for chunk in cells.chunks]
    coded = np.concatenate(codes)
    shown = np.zeros(len(known) + 1, dtype=bool)
    shown[coded] = True
    place = np.append(np.cumsum(shown[:-1]) - 1, -1).astype(kind)
    return known.filter(pa.array(shown[:-1])), place[coded]


def _join_chunks(chunks: Sequence[Any]) -> np.ndarray:
    """Join the chunks of a column, as `Table` holds it."""
    import pyarrow as pa

    if len(chunks) == 1 and pa.types.is_floating(chunks[0].type):
        return np.asarray(chunks[0].to_numpy(zero_copy_only=False), dtype=float)
    if not chunks:
        return column_of(pa.nulls(0).to_pandas())
    cells = pa.chunked_array(chunks).unify_dictionaries()
    return column_of(cells.to_pandas(integer_object_nulls=True))


def _number_cells(values: Any) -> Any:
    """Different values as a column of which each row has another one."""
    import pyarrow as pa

    return pa.DictionaryArray.from_arrays(pa.array(np.arange(len(values), dtype=np.int32)), values)


def _encode_cells(cells: Any) -> Any:
    """Encode a chunk of a column by a dictionary."""
    import pyarrow as pa

    if pa.types.is_dictionary(cells.type):
        return cells
    return cells.dictionary_encode()


def open_parts(path: Path) -> Parts:
    """Open a folder or a file of Parquet, as `learning.partitions.open_partitions` does."""
    found = open_partitions(path)
    return Parts(found.paths, found.parts, found.written, str(path))
