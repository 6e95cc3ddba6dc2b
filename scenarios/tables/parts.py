"""Parquet in parts: a folder of files, or one file too large to hold, read block by block and never all at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from learning.data.division import RowLabels, Rows
from learning.errors import InputError
from scenarios.schema.fields import nearest, show
from scenarios.tables.reading import (
    ROW_LABELS,
    Columns,
    Table,
    as_text,
    check_kinds,
    check_names,
    column_of,
    read_table,
)

WHOLE = 2**25  # cells up to which a table is read at once, a quarter of a gibibyte of numbers
BLOCK = 2**16  # rows read at a time otherwise
BUFFER = 2**20  # bytes of a column read ahead
IGNORED = ("_", ".")  # how names of files begin that other programs leave beside the parts


@dataclass(frozen=True)
class Parts:
    """Parquet files that are one table, their rows one after the other.

    Parameters
    ----------
    paths : the files, in the order of their names.
    ends : number of rows up to the end of each.
    names : names of the columns, as they are written -> as they are known.
    source : the file or the folder.
    """

    paths: tuple[Path, ...] = field(repr=False)
    ends: tuple[int, ...] = field(repr=False)
    written: dict[str, str] = field(repr=False)
    source: str

    @property
    def n_rows(self) -> int:
        """How many rows all parts have."""
        return self.ends[-1]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.written)

    @property
    def large(self) -> bool:
        """Whether it is not to be read at once."""
        return self.n_rows * len(self.names) > WHOLE

    def error(self, key: str, rule: str, found: object, remedy: str = "") -> InputError:
        """What is wrong with a key of [data] for this table."""
        return InputError(f"{self.source}: data.{key}", rule, found, remedy)

    def truths(self) -> set[str]:
        """The names of the columns whose type is true or false."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with readable(self.paths[0], self.source):
            kinds = pq.read_schema(self.paths[0])
        return {name for name, written in self.written.items() if pa.types.is_boolean(kinds.field(written).type)}

    def whole(self) -> Table:
        """All of it, in memory."""
        return self.part(np.arange(self.n_rows))

    def part(self, rows: Rows, names: Sequence[str] | None = None) -> Table:
        """Some rows, in the order asked for; of the columns named, or of all."""
        import pyarrow as pa

        names, order = self.names if names is None else names, np.argsort(rows, kind="stable")
        wanted, taken = rows[order], []
        for first, batch in self._batches(names, wanted):
            i, j = np.searchsorted(wanted, [first, first + batch.num_rows])
            if i < j:
                taken.append(batch if j - i == batch.num_rows else batch.take(pa.array(wanted[i:j] - first)))
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        columns = {name: self._joined([batch.column(k) for batch in taken])[back] for k, name in enumerate(names)}
        return Table(columns, len(rows), self.source, places=rows)

    def blocks(self, names: Sequence[str]) -> Iterator[tuple[int, Columns]]:
        """Row after row, about `BLOCK` at a time: the number of the first, and the columns named."""
        for first, batch in self._batches(names):
            yield first, {name: self._joined([batch.column(k)]) for k, name in enumerate(names)}

    def whose_rows(self, name: str, key: str = "owner") -> RowLabels:
        """Whose each row is by a column, as `scenarios.tables.selection.whose_rows` tells it of a table.

        Raises
        ------
        InputError
            If there is no such column.
        """
        import pyarrow as pa

        if name not in self.names:
            raise self.error(key, "must name a column of the table", show(name), nearest(name, list(self.names)))
        cells = pa.chunked_array(
            [batch.column(0) for _, batch in self._batches([name], coded=True)]
        ).unify_dictionaries()
        values = column_of(cells.chunk(0).dictionary.to_pandas(integer_object_nulls=True))
        codes = np.empty(self.n_rows, dtype=np.int32)
        ends = [0, *accumulate(len(chunk) for chunk in cells.chunks)]
        for chunk, i, j in zip(cells.chunks, ends, ends[1:], strict=False):
            codes[i:j] = chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        known = values.astype(object)
        known[[cell is None or cell in (np.inf, -np.inf) or cell != cell for cell in known]] = ""
        carried = np.bincount(codes + 1, minlength=len(known) + 1)[1:] > 0
        labels = RowLabels.of([*("" if cell == "" else as_text(cell) for cell in known[carried]), ""])
        place = np.append(np.where(carried, np.cumsum(carried) - 1, -1), -1)
        return labels.coded(place).coded(codes)

    def _batches(
        self, names: Sequence[str], wanted: Rows | None = None, coded: bool = False
    ) -> Iterator[tuple[int, Any]]:
        """Batches of the columns named, of all rows or where rows that are wanted (sorted) lie: number of the first row."""
        import pyarrow.parquet as pq

        columns = [self.written[name] for name in names]
        for path, start in zip(self.paths, (0, *self.ends), strict=False):
            with readable(path, self.source):
                file = pq.ParquetFile(
                    path, buffer_size=BUFFER, pre_buffer=False, read_dictionary=columns if coded else None
                )
                for group in range(file.num_row_groups):
                    count = file.metadata.row_group(group).num_rows
                    if wanted is None or np.searchsorted(wanted, start) < np.searchsorted(wanted, start + count):
                        at = start
                        for batch in file.iter_batches(BLOCK, row_groups=[group], columns=columns):
                            yield at, (_coded(batch) if coded else batch).select(columns)
                            at += batch.num_rows
                    start += count

    def _joined(self, chunks: Sequence[Any]) -> np.ndarray:
        """Cells of a column from all its chunks, as `Table` holds them."""
        import pyarrow as pa

        if len(chunks) == 1 and pa.types.is_floating(chunks[0].type):
            return np.asarray(chunks[0].to_numpy(zero_copy_only=False), dtype=float)
        cells = pa.chunked_array(chunks).unify_dictionaries() if chunks else pa.nulls(0)
        return column_of(cells.to_pandas(integer_object_nulls=True))


def _coded(batch: Any) -> Any:
    """A batch whose columns are numbers of texts, and the texts."""
    import pyarrow as pa

    coded = [c if pa.types.is_dictionary(c.type) else c.dictionary_encode() for c in batch.columns]
    return pa.RecordBatch.from_arrays(coded, names=batch.schema.names)


# Opening


def open_table(path: str | Path) -> Table | Parts:
    """A table as it lies on disk: Parquet is looked at, of anything else the cells are read.

    Raises
    ------
    InputError
        If it is missing, empty, no table, or its parts are not of one kind.
    """
    return open_parts(path) or read_table(path)


def open_parts(path: str | Path) -> Parts | None:
    """A folder or a file of Parquet as it lies on disk; None where it is something else.

    Raises
    ------
    InputError
        As `open_table`.
    """
    path = Path(path)
    if os.path.isdir(path):
        return _parts(_files(path), str(path))
    if os.path.isfile(path):
        try:
            with path.open("rb") as file:
                if file.read(4) == b"PAR1":
                    return _parts((path,), str(path))
        except OSError:
            pass  # the reader says what is wrong
    return None


def _files(folder: Path) -> tuple[Path, ...]:
    """The Parquet files of a folder, which holds no others."""
    key = f"{folder}: data.path"
    try:
        found = sorted(entry.name for entry in os.scandir(folder) if not entry.name.startswith(IGNORED))
    except OSError as error:
        raise InputError(key, "must be readable", error.strerror or "an error") from None
    others = [name for name in found if not name.endswith(".parquet") or not os.path.isfile(folder / name)]
    if others:
        kind = "a folder" if os.path.isdir(folder / others[0]) else "a file that is none"
        remedy = "Put all parts in one folder, and nothing else." if found != others else "Name a file of this folder."
        raise InputError(
            key, "must be a file, or a folder of .parquet files alone", f"{kind}: {show(others[0])}", remedy
        )
    if not found:
        raise InputError(key, "must be a file, or a folder of .parquet files", "an empty folder")
    return tuple(folder / name for name in found)


def _parts(paths: tuple[Path, ...], source: str) -> Parts:
    """Files as one table: all with the same columns, which hold the same."""
    import pyarrow.parquet as pq

    key, ends = f"{source}: data.path", [0]
    first: dict[str, Any] = {}
    for path in paths:
        with readable(path, source):
            file = pq.ParquetFile(path)
            kinds = {
                field.name: field.type for field in file.schema_arrow if not ROW_LABELS.fullmatch(field.name.strip())
            }
            ends.append(ends[-1] + file.metadata.num_rows)
        if not first:
            names = [name.strip() for name in kinds]
            check_names(names, key)
            first = kinds
            check_kinds(first, key)
        _check_alike(first, kinds, paths[0], path, key)
    if not first or not ends[-1]:
        raise InputError(key, "must have rows and columns", f"{ends[-1]} rows, {len(first)} columns")
    return Parts(paths, tuple(ends[1:]), {name.strip(): name for name in first}, source)


def _check_alike(first: dict[str, Any], kinds: dict[str, Any], one: Path, other: Path, key: str) -> None:
    rule, remedy = "all parts must have the same columns", f"Write {other.name} again with the columns of {one.name}."
    for name in [*first, *kinds]:
        if name not in kinds or name not in first:
            lacks = (one if name in kinds else other).name
            raise InputError(key, rule, f"none called {show(name)} in {lacks}", remedy)
        if first[name] != kinds[name]:
            found = f"{first[name]} in {one.name} and {kinds[name]} in {other.name} for column {show(name)}"
            raise InputError(key, f"{rule}, of the same kinds", found, remedy)


@contextmanager
def readable(path: Path, source: str) -> Iterator[None]:
    """Tells in one line of a file that cannot be read.

    Raises
    ------
    InputError
    """
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        where = "" if str(path) == source else f"{path.name}: "
        rule, found = "must be a whole Parquet file", where + " ".join(str(error).split())
        raise InputError(f"{source}: data.path", rule, show(found)) from None
