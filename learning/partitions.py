"""Parquet in partitions, which workers read one by one: a folder of files, or one large file.

How rows are parted follows from the files alone, never from who reads them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from learning.data.rows import Rows
from learning.errors import InputError, describe_system_error
from learning.phrases import format_value
from learning.table_file import ROW_LABELS, check_kinds, check_names

BLOCK = 2**16  # rows read at a time
PARTITION = 2**20  # rows, and what is left of a row group, that a worker reads at a time
BUFFER = 2**20  # bytes of a column read ahead
IGNORED = ("_", ".")  # how names of files begin that other programs leave there


@dataclass(frozen=True)
class Partition:
    """Row groups of one file that follow each other: what one worker reads.

    Parameters
    ----------
    path : the file.
    groups : the numbers of its row groups.
    first : the number of the first row, among those of the table.
    n_rows : number of rows.
    key : the table and what names it, for errors.
    """

    path: Path
    groups: tuple[int, ...]
    first: int
    n_rows: int
    key: str

    @property
    def end(self) -> int:
        """Number of the row after the last."""
        return self.first + self.n_rows

    def read_batches(
        self, columns: Sequence[str], wanted: Rows | None = None, *, coded: bool = False
    ) -> Iterator[tuple[int, Any]]:
        """Read batches of some columns, as the file names them, with the number of the first row.

        Parameters
        ----------
        wanted : sorted rows; row groups without any of them are passed over.
        coded : whether texts come as places in a dictionary, which takes a part of the time.

        Raises
        ------
        InputError
            If the file is damaged, or is no longer what it was.
        """
        import pyarrow.parquet as pq

        start = self.first
        with naming_fault(self.path, self.key):
            texts = list(columns) if coded else None
            file = pq.ParquetFile(
                self.path, buffer_size=BUFFER, pre_buffer=False, read_dictionary=texts
            )
            self._check_unchanged(file, columns)
            for group in self.groups:
                end = start + file.metadata.row_group(group).num_rows
                if wanted is None or np.diff(np.searchsorted(wanted, [start, end]))[0]:
                    for batch in file.iter_batches(BLOCK, row_groups=[group], columns=columns):
                        yield start, batch.select(columns)
                        start += batch.num_rows
                start = end

    def _check_unchanged(self, file: Any, columns: Sequence[str]) -> None:
        """Refuse a file with other rows or columns than when its table was opened."""
        there = [group for group in self.groups if group < file.num_row_groups]
        rows = sum(file.metadata.row_group(group).num_rows for group in there)
        if rows != self.n_rows or not set(columns) <= set(file.schema_arrow.names):
            raise OSError("other rows or columns than when it was opened")


@dataclass(frozen=True)
class Partitions:
    """Parquet files that are one table, their rows one after the other.

    Parameters
    ----------
    paths : the files, in the order of their names.
    parts : their rows, in that order.
    written : names of the columns -> the names that the files give them.
    """

    paths: tuple[Path, ...]
    parts: tuple[Partition, ...]
    written: dict[str, str]


def open_partitions(path: Path, option: str = "data.path") -> Partitions:
    """Open a folder or a file of Parquet.

    Parameters
    ----------
    option : the key or option that names it, for errors.

    Raises
    ------
    InputError
        If it is empty, damaged, or its parts are not of one kind.
    """
    key = f"{path}: {option}"
    paths: tuple[Path, ...] = (path,)
    if path.is_dir():
        paths = _list_files(path, key)
    return _open_files(paths, key)


def _list_files(folder: Path, key: str) -> tuple[Path, ...]:
    """List the Parquet files of a folder, which holds no others."""
    try:
        entries = os.listdir(folder)
    except OSError as error:
        raise InputError(key, "must be readable", describe_system_error(error)) from None
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


def _open_files(paths: tuple[Path, ...], key: str) -> Partitions:
    """Open files as one table: all with the same columns, of the same types."""
    import pyarrow.parquet as pq

    partitions: list[Partition] = []
    n_rows = 0
    first: dict[str, Any] = {}
    for path in paths:
        with naming_fault(path, key):
            file = pq.ParquetFile(path)
            fields = [
                one for one in file.schema_arrow if not ROW_LABELS.fullmatch(one.name.strip())
            ]
            kinds = {field.name: field.type for field in fields}
            partitions += _partition_file(path, file.metadata, n_rows, key)
        n_rows += file.metadata.num_rows
        if not first:
            check_names([name.strip() for name in kinds], key)
            first = kinds
            check_kinds(first, key)
        _check_same_columns(first, kinds, (paths[0].name, path.name), key)
    if not first or not n_rows:
        found = f"{n_rows} rows, {len(first)} columns"
        raise InputError(key, "must have rows and columns", found)
    return Partitions(paths, tuple(partitions), {name.strip(): name for name in first})


def _partition_file(path: Path, metadata: Any, first: int, key: str) -> list[Partition]:
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
            found.append(Partition(path, tuple(groups), first, rows, key))
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
def naming_fault(path: Path, key: str) -> Iterator[None]:
    """Name the file that cannot be read, in an error of one line."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError) as error:
        found = " ".join(str(error).split())
        if not key.startswith(f"{path}: "):
            found = f"{path.name}: {found}"
        raise InputError(key, "must be a whole Parquet file", format_value(found)) from None
