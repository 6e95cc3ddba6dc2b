"""A user's table, CSV or Parquet, as named columns; and the part of it a scenario asks for."""

from __future__ import annotations

import gzip
import os
import zlib
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import numpy as np

from learning.errors import InputError
from scenarios.schema.fields import nearest, show
from scenarios.schema.scenario import DATA_VARIABLE, PUBLISHED, Data, Scenario
from scenarios.tables.formats import Columns, parse


@dataclass(frozen=True)
class Table:
    """A table as read.

    columns : dict of str to array, shape (n_rows,)
        Numbers, true and false as float64, NaN where missing; everything else as texts, None where missing.
    n_rows : int
    source : str
        The file it came from.
    """

    columns: Columns = field(repr=False)
    n_rows: int
    source: str


def builtin(name: str) -> Path:
    """The file of a table that comes with the program, such as ``randhie``."""
    path = Path(str(files("scenarios") / "data" / f"{name}.csv.gz"))
    if not path.is_file():
        known = [p.name.removesuffix(".csv.gz") for p in sorted(path.parent.glob("*.csv.gz"))]
        raise InputError("data.source", "must be a table that comes with the program", show(name), nearest(name, known))
    return path


def table_path(scenario: Scenario) -> Path:
    """The file of a scenario's table; a relative ``data.path`` is meant from the scenario's folder.

    Raises
    ------
    InputError
        If ``data.source`` names a table that does not come along and is not in the data folder.
    """
    source = scenario.data.source
    if source is None:
        return scenario.folder / Path(str(scenario.data.path)).expanduser()
    return _published(source, scenario.data_folder) if source in PUBLISHED else builtin(source)


def _published(source: str, folder: Path | None) -> Path:
    if folder is not None and os.path.isfile(folder / PUBLISHED[source]):
        return folder / PUBLISHED[source]
    if folder is None:
        found = "no data folder"
    else:
        found = f"no such file in {folder}" if os.path.isdir(folder) else f"no such folder: {folder}"
    raise InputError(
        "data.source",
        f"{show(source)} needs {PUBLISHED[source]}, which does not come with the program",
        found,
        f"Give the folder that holds it with --data DIR or {DATA_VARIABLE}=DIR, or the file with --set data.path=FILE.",
    )


def is_here(scenario: Scenario) -> bool:
    """Whether the file of a scenario's table is there."""
    try:
        return os.path.isfile(table_path(scenario))
    except InputError:
        return False


def read_table(path: str | Path) -> Table:
    """Read CSV (comma, semicolon or tab; UTF-8), the same compressed by gzip, or Parquet.

    Semicolon files may have decimal commas. Dates are texts. Text is stripped of blanks at its ends.

    Raises
    ------
    InputError
        If the file is missing, empty, no table, has a column twice or a column without a name.
    """
    key = f"{path}: data.path"
    content = _content(Path(path), key)
    columns, n_rows = parse(content, key)
    return Table(columns, n_rows, str(path))


def _content(path: Path, key: str) -> bytes:
    if os.path.isdir(path):
        raise InputError(key, "must be a file", "a folder", "Name the CSV or Parquet file in it.")
    if not os.path.exists(path):
        raise InputError(key, "must be a file that exists", "no such file", "Give its place with --set data.path=FILE.")
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(key, "must be a whole gzip file", " ".join(str(error).split())) from None
    except OSError as error:
        raise InputError(key, "must be readable", error.strerror or "an error") from None
    if not content.strip(b"\xef\xbb\xbf \t\r\n"):
        raise InputError(key, "must have rows and columns", "an empty file")
    return content


@dataclass(frozen=True)
class Prepared:
    """The columns a scenario asks for, without the rows that cannot be used.

    target : array, shape (n_rows,), float
        With labels -1 and +1.
    features : dict of str to array, shape (n_rows,)
        Float columns, NaN where missing; text columns, None where missing; missing cells only under ``fill``.
    owner : array of str, shape (n_rows,), or None
        Whose record each row is; None where owners are told apart by ``data.split``.
    rows : array of int, shape (n_rows,)
        The place of each row in the table, from 0.
    n_dropped : int
        Rows left out for missing or infinite cells.
    n_missing : dict of str to int
        Missing or infinite cells by column, before rows were left out; columns without any are not listed.
    labels : (str, str), or None
        What the target's -1 and +1 stand for in the table; None where it is a number.
    """

    target: np.ndarray = field(repr=False)
    features: Columns = field(repr=False)
    owner: np.ndarray | None = field(repr=False)
    rows: np.ndarray = field(repr=False)
    target_name: str
    n_dropped: int
    n_missing: dict[str, int]
    source: str
    labels: tuple[str, str] | None = None

    @property
    def n_rows(self) -> int:
        """Rows that can be used."""
        return len(self.target)


def prepare(table: Table, data: Data, labels: bool = False) -> Prepared:
    """The target, features and owner column of ``data``, with missing and infinite cells treated as it says.

    ``error`` refuses them; ``drop`` leaves their rows out; ``fill`` marks feature cells as missing, for the
    learner to fill from public knowledge, and leaves out rows without target or owner.

    Raises
    ------
    InputError
        If a column is not in the table, the target is text, a feature names the rows, cells are missing or
        infinite under ``error``, a text column is given a range, or more rows are asked for than there are.
    """
    target = _pick(table, data.target, "data.target")
    if target.dtype == object and not labels:
        raise _text_target(table, data.target)
    if data.owner is not None:
        _pick(table, data.owner, "data.owner")
    names = (
        list(data.features)
        if data.features is not None
        else [name for name in table.columns if name not in (data.target, data.owner)]
    )
    if not names:
        raise InputError(
            f"{table.source}: data.features", "at least one feature is needed", f"no column beside {data.target}"
        )
    features = {name: _pick(table, name, "data.features") for name in names}
    _check_bounds(table, data, names)
    chosen = {data.target: target} | features
    if data.owner is not None:
        chosen[data.owner] = table.columns[data.owner]
    absent = {name: _absent(column) for name, column in chosen.items()}
    if data.missing == "error":
        _refuse_missing(table, absent)
    must_have = [data.target, data.owner] if data.missing == "fill" else list(chosen)
    keep = ~np.logical_or.reduce([absent[name] for name in must_have if name is not None])
    if not keep.any():
        raise InputError(
            f"{table.source}: data.missing",
            "must leave rows to work with",
            f"none of {table.n_rows:,} without missing or infinite cells",
            f"Column {show(max(absent, key=lambda name: absent[name].sum()))} lacks most.",
        )
    _refuse_identifiers(table, features, keep)
    _check_rows(table, data, int(keep.sum()))
    usable, meaning = _labelled(table, data, target[keep]) if labels else (target[keep], None)
    return Prepared(
        target=usable,
        features={name: _kept(column, keep) for name, column in features.items()},
        owner=owner_labels(table.columns[data.owner][keep]) if data.owner else None,
        rows=np.flatnonzero(keep),
        target_name=data.target,
        n_dropped=int((~keep).sum()),
        n_missing={name: int(gone.sum()) for name, gone in absent.items() if gone.any()},
        source=table.source,
        labels=meaning,
    )


def _pick(table: Table, name: str, key: str) -> np.ndarray:
    if name not in table.columns:
        raise InputError(
            f"{table.source}: {key}", "must name a column of the table", show(name), nearest(name, list(table.columns))
        )
    return table.columns[name]


def _labelled(table: Table, data: Data, target: np.ndarray) -> tuple[np.ndarray, tuple[str, str]]:
    """The target as -1 and +1, and what they stand for."""
    values = sorted(set(target.tolist()))
    if len(values) != 2:
        shown = ", ".join(_value(value) for value in values[:5]) + (", ..." if len(values) > 5 else "")
        raise InputError(
            f"{table.source}: data.target",
            "must take exactly two values, other losses than the squared being for labels",
            f"{len(values):,} in column {show(data.target)}: {shown}",
            "Name a column of two values" + (' or set loss = "squared".' if target.dtype != object else "."),
        )
    if data.positive is not None:
        if data.positive not in values:
            raise InputError(
                f"{table.source}: data.positive",
                f"must be one of the two values of the target, {_value(values[0])} or {_value(values[1])}",
                show(data.positive),
            )
        values.sort(key=lambda value: value == data.positive)
    low, high = (str(text) for text in owner_labels(np.array(values, dtype=target.dtype)))
    return np.where(target == values[1], 1.0, -1.0), (low, high)


def _value(value: str | float) -> str:
    return show(value, 25) if isinstance(value, str) else str(owner_labels(np.array([value]))[0])


def _text_target(table: Table, name: str) -> InputError:
    cells = [(i, c) for i, c in enumerate(table.columns[name], 1) if c is not None]
    odd = [(i, c) for i, c in cells if not _is_number(c)]
    examples = ", ".join(show(c, 25) for c in list(dict.fromkeys(c for _, c in odd or cells))[:3])
    place = f", {len(odd):,} of {len(cells):,} cells, the first in row {odd[0][0]:,}" if odd else ""
    return InputError(
        f"{table.source}: data.target",
        "must be numbers under squared loss",
        f"text in column {show(name)}, such as {examples}{place}",
        "Name a column of numbers, correct those cells, or set another loss, for labels.",
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_bounds(table: Table, data: Data, names: list[str]) -> None:
    for name in data.bounds:
        key = f"{table.source}: data.bounds.{name}"
        if name not in (data.target, *names):
            raise InputError(key, "must name the target or a feature", show(name), nearest(name, [data.target, *names]))
        if table.columns[name].dtype == object:
            raise InputError(key, "ranges are for columns of numbers", f"text in column {show(name)}")


def _absent(column: np.ndarray) -> np.ndarray:
    """Which cells are missing or infinite."""
    if column.dtype == object:
        return np.array([cell is None for cell in column], dtype=bool)
    return ~np.isfinite(column)


def _refuse_missing(table: Table, absent: dict[str, np.ndarray]) -> None:
    count = sum(int(gone.sum()) for gone in absent.values())
    if count == 0:
        return
    row, name = min((int(np.argmax(gone)), name) for name, gone in absent.items() if gone.any())
    raise InputError(
        f"{table.source}: data.missing",
        "no cell in use may be missing or infinite",
        f"{count:,}, the first in row {row + 1:,}, column {show(name)}",
        'Set data.missing = "drop" to leave out such rows, or "fill" to fill the cells.',
    )


def _refuse_identifiers(table: Table, features: Columns, keep: np.ndarray) -> None:
    for name, column in features.items():
        if column.dtype != object:
            continue
        cells = [cell for cell in column[keep] if cell is not None]
        distinct = len(set(cells))
        if distinct > 100 and distinct > len(cells) / 2:
            raise InputError(
                f"{table.source}: data.features",
                "a text feature must have values that repeat",
                f"{distinct:,} different texts in {len(cells):,} cells of column {show(name)}",
                "It names the rows: leave it out of data.features.",
            )


def _check_rows(table: Table, data: Data, n_rows: int) -> None:
    asked, key = sum(data.split or ()) + data.public_rows, "data.split" if data.split else "data.public_rows"
    if asked + (data.split is None) <= n_rows:
        return
    lost = f" of {table.n_rows:,}, the others having missing cells" if n_rows < table.n_rows else ""
    found = f"{asked:,} rows asked for, {n_rows:,} usable{lost}"
    if data.split:
        raise InputError(
            f"{table.source}: {key}", "sizes and public rows must not exceed the table", found, "Lower the sizes."
        )
    raise InputError(f"{table.source}: {key}", "must leave rows to the owners", found, "Lower the number.")


def _kept(column: np.ndarray, keep: np.ndarray) -> np.ndarray:
    column = column[keep]
    return column if column.dtype == object else np.where(np.isfinite(column), column, np.nan)


def owner_labels(column: np.ndarray) -> np.ndarray:
    """The values of a column as texts, whole numbers without a decimal point."""
    if column.dtype == object:
        return column
    labels = [str(int(x)) if x == int(x) else repr(float(x)) for x in column]
    return np.array(labels, dtype=object)
