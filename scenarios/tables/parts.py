"""Parquet in parts: a folder of files, or one file too large to hold, read block by block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from learning.cells import Columns, as_text
from learning.data.rows import RowLabels, Rows
from learning.errors import InputError
from learning.phrases import format_value
from learning.table_file import ROW_LABELS, check_kinds, check_names
from learning.workers import Workers, share_out
from scenarios.schema.fields import suggest_name
from scenarios.tables.reading import Table, column_of

WHOLE = 2**25  # cells up to which a table is read at once, a quarter of a gibibyte of numbers
BLOCK = 2**16  # rows read at a time otherwise
PARTITION = 2**20  # rows, and what is left of a row group, that a worker reads at a time
BUFFER = 2**20  # bytes of a column read ahead
IGNORED = ("_", ".")  # how names of files begin that other programs leave there
Task = TypeVar("Task")
Done = TypeVar("Done")


@dataclass(frozen=True)
class Partition:
    """Row groups of one file that follow each other: what one worker reads.

    Parameters
    ----------
    path : the file.
    groups : the numbers of its row groups.
    first : the number of the first row, among those of the table.
    n_rows : number of rows.
    source : the table's file or folder.
    """

    path: Path
    groups: tuple[int, ...]
    first: int
    n_rows: int
    source: str

    @property
    def end(self) -> int:
        """Number of the row after the last."""
        return self.first + self.n_rows

    def read_batches(
        self, columns: Sequence[str], wanted: Rows | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Read batches of some columns, as the file names them, with the number of the first row.

        Parameters
        ----------
        wanted : sorted rows; row groups without any of them are passed over.

        Raises
        ------
        InputError
            If the file is damaged, or is not what it was when the table was opened.
        """
        import pyarrow.parquet as pq

        start = self.first
        with naming_fault(self.path, self.source):
            file = pq.ParquetFile(self.path, buffer_size=BUFFER, pre_buffer=False)
            for group in self.groups:
                end = start + file.metadata.row_group(group).num_rows
                if end > self.end:
                    raise OSError("other rows than before")
                if wanted is None or np.diff(np.searchsorted(wanted, [start, end]))[0]:
                    for batch in file.iter_batches(BLOCK, row_groups=[group], columns=columns):
                        yield start, batch.select(columns)
                        start += batch.num_rows
                start = end
            if start < self.end:
                raise OSError("fewer rows than before")


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

        with naming_fault(self.paths[0], self.source):
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
        chunks = [chunk for found in read for chunk in found]
        cells = pa.chunked_array(chunks).unify_dictionaries()
        values = column_of(cells.chunk(0).dictionary.to_pandas(integer_object_nulls=True))
        codes = np.empty(self.n_rows, dtype=np.int32)
        ends = [0, *accumulate(len(chunk) for chunk in cells.chunks)]
        for chunk, i, j in zip(cells.chunks, ends, ends[1:], strict=False):
            codes[i:j] = chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        known = values.astype(object)
        known[[cell is None or cell in (np.inf, -np.inf) or cell != cell for cell in known]] = ""
        carried = np.bincount(codes + 1, minlength=len(known) + 1)[1:] > 0
        texts = [as_text(cell) for cell in known[carried]]
        place = np.append(np.where(carried, np.cumsum(carried) - 1, -1), -1)
        return RowLabels.of([*texts, ""]).coded(place).coded(codes)


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


def _encode_column(columns: Sequence[str], partition: Partition) -> list[Any]:
    """Encode a column of a partition by dictionaries, batch by batch."""
    return [_encode_cells(batch.column(0)) for _, batch in partition.read_batches(columns)]


def _join_chunks(chunks: Sequence[Any]) -> np.ndarray:
    """Join the chunks of a column, as `Table` holds it."""
    import pyarrow as pa

    if len(chunks) == 1 and pa.types.is_floating(chunks[0].type):
        return np.asarray(chunks[0].to_numpy(zero_copy_only=False), dtype=float)
    if not chunks:
        return column_of(pa.nulls(0).to_pandas())
    cells = pa.chunked_array(chunks).unify_dictionaries()
    return column_of(cells.to_pandas(integer_object_nulls=True))


def _encode_cells(cells: Any) -> Any:
    """Encode a chunk of a column by a dictionary."""
    import pyarrow as pa

    if pa.types.is_dictionary(cells.type):
        return cells
    return cells.dictionary_encode()


def open_parts(path: Path) -> Parts:
    """Open a folder or a file of Parquet.

    Raises
    ------
    InputError
        If it is empty, damaged, or its parts are not of one kind.
    """
    paths: tuple[Path, ...] = (path,)
    if path.is_dir():
        paths = _list_parts(path)
    return _open_files(paths, str(path))


def _list_parts(folder: Path) -> tuple[Path, ...]:
    """List the Parquet files of a folder, which holds no others."""
    key = f"{folder}: data.path"
    try:
        entries = os.listdir(folder)
    except OSError as error:
        raise InputError(key, "must be readable", error.strerror or "an error") from None
    found = sorted(name for name in entries if not name.startswith(IGNORED))
    parts = {path.name for path in folder.glob("*.parquet") if path.is_file()}
    others = [name for name in found if name not in parts]
    if others:
        kind = "a file that is none"
        if os.path.isdir(folder / others[0]):
            kind = "a folder"
        remedy = "Name a file of this folder."
        if found != others:
            remedy = "Put all parts in one folder, and nothing else."
        rule = "must be a file, or a folder of .parquet files alone"
        raise InputError(key, rule, f"{kind}: {format_value(others[0])}", remedy)
    if not found:
        raise InputError(key, "must be a file, or a folder of .parquet files", "an empty folder")
    return tuple(folder / name for name in found)


def _open_files(paths: tuple[Path, ...], source: str) -> Parts:
    """Open files as one table: all with the same columns, of the same types."""
    import pyarrow.parquet as pq

    key = f"{source}: data.path"
    partitions: list[Partition] = []
    n_rows = 0
    first: dict[str, Any] = {}
    for path in paths:
        with naming_fault(path, source):
            file = pq.ParquetFile(path)
            fields = [
                one for one in file.schema_arrow if not ROW_LABELS.fullmatch(one.name.strip())
            ]
            kinds = {field.name: field.type for field in fields}
            found = _partition_file(path, file.metadata, n_rows, source)
        partitions += found
        n_rows += file.metadata.num_rows
        if not first:
            check_names([name.strip() for name in kinds], key)
            first = kinds
            check_kinds(first, key)
        _check_same_columns(first, kinds, (paths[0].name, path.name), key)
    if not first or not n_rows:
        found = f"{n_rows} rows, {len(first)} columns"
        raise InputError(key, "must have rows and columns", found)
    return Parts(paths, tuple(partitions), {name.strip(): name for name in first}, source)


def _partition_file(path: Path, metadata: Any, first: int, source: str) -> list[Partition]:
    """Part a file by its row groups, joined to `PARTITION` rows or more but for the last.

    Parameters
    ----------
    first : the number of its first row, among those of the table.
    """
    found = []
    groups: list[int] = []
    rows = 0
    for group in range(metadata.num_row_groups):
        groups.append(group)
        rows += metadata.row_group(group).num_rows
        if rows and (rows >= PARTITION or group == metadata.num_row_groups - 1):
            found.append(Partition(path, tuple(groups), first, rows, source))
            first += rows
            groups = []
            rows = 0
    return found


def _check_same_columns(
    first: Mapping[str, Any], kinds: Mapping[str, Any], files: tuple[str, str], key: str
) -> None:
    one, other = files
    rule = "all parts must have the same columns"
    remedy = f"Write {other} again with the columns of {one}."
    for name in [*first, *kinds]:
        if name not in kinds or name not in first:
            lacks = {True: one, False: other}[name in kinds]
            raise InputError(key, rule, f"none called {format_value(name)} in {lacks}", remedy)
        if first[name] != kinds[name]:
            kinds_found = f"{first[name]} in {one} and {kinds[name]} in {other}"
            found = f"{kinds_found} for column {format_value(name)}"
            raise InputError(key, f"{rule}, of the same kinds", found, remedy)


@contextmanager
def naming_fault(path: Path, source: str) -> Iterator[None]:
    """Name the file that cannot be read, in an error of one line."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        found = " ".join(str(error).split())
        if str(path) != source:
            found = f"{path.name}: {found}"
        raise InputError(
            f"{source}: data.path", "must be a whole Parquet file", format_value(found)
        ) from None
