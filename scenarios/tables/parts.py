"""Parquet in parts: a folder of files, or one file too large to hold, read block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from learning.cells import Columns, as_text
from learning.data.rows import RowLabels, Rows
from learning.errors import InputError
from learning.phrases import format_value
from learning.table_file import ROW_LABELS, check_kinds, check_names
from scenarios.schema.fields import suggest_name
from scenarios.tables.reading import Table, column_of

WHOLE = 2**25  # cells up to which a table is read at once, a quarter of a gibibyte of numbers
BLOCK = 2**16  # rows read at a time otherwise
BUFFER = 2**20  # bytes of a column read ahead
IGNORED = ("_", ".")  # how names of files begin that other programs leave there


@dataclass(frozen=True)
class Parts:
    """Parquet files that are one table, their rows one after the other.

    Parameters
    ----------
    paths : the files, in the order of their names.
    ends : number of rows up to the end of each.
    written : names of the columns -> the names that the files give them.
    source : the file or the folder.
    """

    paths: tuple[Path, ...] = field(repr=False)
    ends: tuple[int, ...] = field(repr=False)
    written: dict[str, str] = field(repr=False)
    source: str

    @property
    def n_rows(self) -> int:
        """Number of rows of all parts."""
        return self.ends[-1]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.written)

    @property
    def is_large(self) -> bool:
        """True if the table is not to be read at once."""
        return self.n_rows * len(self.names) > WHOLE

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
        import pyarrow as pa

        names = names or self.names
        order = np.argsort(rows, kind="stable")
        wanted = rows[order]
        taken = []
        for first, batch in self._read_batches(names, wanted):
            i, j = np.searchsorted(wanted, [first, first + batch.num_rows])
            if i < j < i + batch.num_rows:
                batch = batch.take(pa.array(wanted[i:j] - first))
            if i < j:
                taken.append(batch)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        columns = {
            name: _join_chunks([batch.column(k) for batch in taken])[back]
            for k, name in enumerate(names)
        }
        return Table(columns, len(rows), self.source, places=rows)

    def read_blocks(self, names: Sequence[str]) -> Iterator[tuple[int, Columns]]:
        """Read all rows, about `BLOCK` at a time: the number of the first, and the columns."""
        for first, batch in self._read_batches(names):
            yield first, {name: _join_chunks([batch.column(k)]) for k, name in enumerate(names)}

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
        chunks = [_encode_cells(batch.column(0)) for _, batch in self._read_batches([name])]
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

    def _read_batches(
        self, names: Sequence[str], wanted: Rows | None = None
    ) -> Iterator[tuple[int, Any]]:
        """Read batches of some columns, with the number of the first row.

        Parameters
        ----------
        wanted : sorted rows; row groups without any of them are passed over.
        """
        import pyarrow.parquet as pq

        columns = [self.written[name] for name in names]
        for path, start in zip(self.paths, (0, *self.ends), strict=False):
            with naming_fault(path, self.source):
                file = pq.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False)
                for group in range(file.num_row_groups):
                    end = start + file.metadata.row_group(group).num_rows
                    if wanted is None or np.diff(np.searchsorted(wanted, [start, end]))[0]:
                        at = start
                        for batch in file.iter_batches(BLOCK, row_groups=[group], columns=columns):
                            yield at, batch.select(columns)
                            at += batch.num_rows
                    start = end


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
    ends = [0]
    first: dict[str, Any] = {}
    for path in paths:
        with naming_fault(path, source):
            file = pq.ParquetFile(path)
            fields = [
                one for one in file.schema_arrow if not ROW_LABELS.fullmatch(one.name.strip())
            ]
            kinds = {field.name: field.type for field in fields}
            ends.append(ends[-1] + file.metadata.num_rows)
        if not first:
            check_names([name.strip() for name in kinds], key)
            first = kinds
            check_kinds(first, key)
        _check_same_columns(first, kinds, (paths[0].name, path.name), key)
    if not first or not ends[-1]:
        found = f"{ends[-1]} rows, {len(first)} columns"
        raise InputError(key, "must have rows and columns", found)
    return Parts(paths, tuple(ends[1:]), {name.strip(): name for name in first}, source)


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
