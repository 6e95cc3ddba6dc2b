"""The tables of a sweep: tidy, sorted, and the same bytes whoever computed them in whatever order."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
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


def cell_table(study: Study, cells: Sequence[Cell], rows: Mapping[str, Row]) -> pa.Table:
    """A row for each cell: what varies, its facts, and, where it failed, why."""
    found: list[Row] = [
        {FAILED: str(cell.fault)} if cell.fault else rows[cell.key] for cell in cells
    ]
    names = list(dict.fromkeys(name for row in found for name in row.get("facts", {})))
    columns = {**_places(study, cells)}
    columns |= {
        name: as_column([row.get("facts", {}).get(name) for row in found]) for name in names
    }
    columns[FAILED] = pa.array([row.get(FAILED) for row in found], pa.string())
    return pa.table(columns)


def owner_table(study: Study, cells: Sequence[Cell], rows: Mapping[str, Row]) -> pa.Table:
    """A row for each owner of each cell that did not fail."""
    owners = [
        (cell, owner)
        for cell in cells
        if not cell.fault
        for owner in rows[cell.key].get("owners", ())
    ]
    names = list(dict.fromkeys(name for _, owner in owners for name in owner))
    columns = _places(study, [cell for cell, _ in owners])
    return pa.table(
        columns | {name: as_column([owner.get(name) for _, owner in owners]) for name in names}
    )


def index_table(study: Study, sobol: SobolAxis, table: pa.Table) -> pa.Table:
    """Sobol's indices of every fact that is a number: S1 by the key alone, ST with all that it does together with others.

    Each with the half width of its 95 % interval. Facts are averaged over replications first, and
    where more than the sample varies, there are indices for each point of the rest. Where a cell
    failed, or nothing varies, there are none.
    """
    from SALib.analyze.sobol import analyze

    rest = [key for key in study.keys if key not in sobol.keys]
    names = [
        field.name
        for field in table.schema
        if pa.types.is_floating(field.type) and "." in field.name
    ]
    names = [name for name in names if name not in study.keys]
    made: list[dict[str, Any]] = []
    points = [list(same) for _, same in groupby(table.to_pylist(), key=lambda row: row["cell"])]
    for start in range(0, len(points), len(sobol)):
        sample = points[start : start + len(sobol)]
        here = {key: sample[0][0][key] for key in rest}
        for name in names:
            values = [_mean([row[name] for row in same]) for same in sample]
            told: Any = None
            varies = None not in values and np.ptp(values) > 0  # type: ignore[arg-type]
            if varies:
                rng = Streams(0, "sobol").rng("indices")
                told = analyze(sobol.problem, np.array(values), calc_second_order=False, seed=rng)
            for i, key in enumerate(sobol.keys):
                indices = {index: float(told[index][i]) if varies else None for index in INDICES}
                made.append(here | {"key": key, "fact": name} | indices)
    return pa.table(
        {name: as_column([row[name] for row in made]) for name in made[0]} if made else {}
    )


def parquet(table: pa.Table) -> bytes:
    """A table as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())


def _mean(values: Sequence[Any]) -> float | None:
    """The mean of numbers; None where one of them is missing."""
    return None if any(value is None for value in values) else float(np.mean(values))


def _places(study: Study, cells: Sequence[Cell]) -> dict[str, pa.Array]:
    columns = {"cell": pa.array([cell.number for cell in cells], pa.int64())}
    columns["replication"] = pa.array([cell.replication for cell in cells], pa.int64())
    return columns | {
        key: as_column([cell.values[i] for cell in cells]) for i, key in enumerate(study.keys)
    }


def as_column(values: Sequence[Any]) -> pa.Array:
    """Values of one kind as that kind; lists, tables and mixtures as texts."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and not any(
        type(value) is int and abs(value) >= 2**63 for value in values
    ):
        given = (
            values
            if kinds == {int}
            else [None if value is None else float(value) for value in values]
        )
        return pa.array(given, pa.int64() if kinds == {int} else pa.float64())
    if kinds in ({bool}, {str}):
        return pa.array(values, pa.bool_() if kinds == {bool} else pa.string())
    texts = [
        None if value is None else value if isinstance(value, str) else _text(value)
        for value in values
    ]
    return pa.array(texts, pa.string())


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else toml_value(value)
