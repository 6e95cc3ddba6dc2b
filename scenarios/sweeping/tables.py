"""Tables of a sweep: sorted, and the same bytes whoever computed them in whatever order."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from learning.phrases import toml_value
from learning.randomness import Streams
from scenarios.sweeping.axes import SobolAxis
from scenarios.sweeping.cells import Cell
from scenarios.sweeping.study import Study

Row = Mapping[str, Any]
FAILED = "failed"
INDICES = ("S1", "S1_conf", "ST", "ST_conf")


def make_table(rows: Sequence[Row], names: Iterable[str] = ()) -> pa.Table:
    """Make a table of rows, with columns of these names first."""
    columns = dict.fromkeys((*names, *(name for row in rows for name in row)))
    return pa.table({name: as_column([row.get(name) for row in rows]) for name in columns})


def as_column(values: Sequence[Any]) -> pa.Array:
    """Convert values of one kind to that kind; lists, tables and mixtures to texts."""
    kinds = {type(value) for value in values if value is not None}
    try:
        if kinds <= {int, float}:
            return pa.array(values, pa.int64() if kinds == {int} else pa.float64())
        if kinds in ({bool}, {str}):
            return pa.array(values)
    except (OverflowError, pa.ArrowInvalid):  # whole numbers beyond 64 bits
        pass
    return pa.array([None if value is None else _write(value) for value in values], pa.string())


def _write(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return value if isinstance(value, str) else toml_value(value)


def _place(study: Study, cell: Cell) -> dict[str, Any]:
    numbers = {"cell": cell.number, "replication": cell.replication}
    return numbers | dict(zip(study.keys, cell.values, strict=True))


def cell_table(study: Study, cells: Sequence[Cell], rows: Mapping[str, Row]) -> pa.Table:
    """Make a row for each cell: its keys that vary, its facts, and, where it failed, why."""
    found: list[Row] = [
        {FAILED: str(cell.fault)} if cell.fault else rows[cell.key] for cell in cells
    ]
    pairs = zip(cells, found, strict=True)
    table = make_table([_place(study, cell) | row.get("facts", {}) for cell, row in pairs])
    reasons = [row.get(FAILED) for row in found]
    return table.append_column(FAILED, pa.array(reasons, pa.string()))


def owner_table(study: Study, cells: Sequence[Cell], rows: Mapping[str, Row]) -> pa.Table:
    """Make a row for each owner of each cell that did not fail."""
    owners = [
        _place(study, cell) | owner
        for cell in cells
        if not cell.fault
        for owner in rows[cell.key].get("owners", ())
    ]
    return make_table(owners, ("cell", "replication", *study.keys))


def index_table(study: Study, sobol: SobolAxis, table: pa.Table) -> pa.Table:
    """Compute Sobol's indices of every fact that is a float: S1 and ST of each key.

    S1 is the share of the variance that goes with the key alone, ST that with all its interactions.
    Each has the half width of its 95 % interval. Facts are averaged over replications first, and
    where more than the sample varies, there are indices for each point of the rest. Where a cell
    failed, or a fact does not vary, they are null.
    """
    from SALib.analyze.sobol import analyze

    rest = [key for key in study.keys if key not in sobol.keys]
    names = [
        field.name
        for field in table.schema
        if pa.types.is_floating(field.type) and "." in field.name and field.name not in study.keys
    ]
    made: list[Row] = []
    points = [list(same) for _, same in groupby(table.to_pylist(), key=lambda row: row["cell"])]
    for start in range(0, len(points), len(sobol)):
        sample = points[start : start + len(sobol)]
        here = {key: sample[0][0][key] for key in rest}
        for name in names:
            values = np.array([[row[name] for row in same] for same in sample], dtype=float)
            means = values.mean(axis=1)
            found: Any = dict.fromkeys(INDICES, [None] * len(sobol.keys))
            if np.ptp(means) > 0:  # and no cell is missing
                rng = Streams(0, "sobol").rng("indices")
                told = analyze(sobol.problem, means, calc_second_order=False, seed=rng)
                found = {index: told[index].tolist() for index in INDICES}
            for i, key in enumerate(sobol.keys):
                indices = {index: ends[i] for index, ends in found.items()}
                made.append(here | {"key": key, "fact": name} | indices)
    return make_table(made)


def to_parquet(table: pa.Table) -> bytes:
    """Write a table as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())
