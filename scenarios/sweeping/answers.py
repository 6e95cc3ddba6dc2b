"""What a study comes to: each fact at each point over the replications, with intervals, and against the first point."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby, product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import scipy.special

from scenarios.sweeping.study import Study

LEVEL = 0.95  # of all intervals
Values = Mapping[int, float]  # of a fact, by replication


class Estimate(NamedTuple):
    """A mean over replications with its interval by Student's t; no interval from a single one."""

    mean: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True)
class Point:
    """One point of a study.

    Parameters
    ----------
    number : of the point, from 1.
    values : of the keys that vary; None of one that it leaves as it is.
    facts : every fact that is a number, or true or false, over the replications that did not fail.
    against_first : the same less the first point, replication by replication: both under the same
        seeds.
    """

    number: int
    values: tuple[Any, ...]
    facts: Mapping[str, Estimate] = field(repr=False)
    against_first: Mapping[str, Estimate] = field(repr=False)


def points_of(study: Study, table: pa.Table) -> list[Point]:
    """The points of a study, from the table of its cells."""
    rows = [list(same) for _, same in groupby(table.to_pylist(), key=lambda row: row["cell"])]
    names = [name for name in _facts(table) if name not in study.keys]
    parts = {name: pa.types.is_boolean(table.schema.field(name).type) for name in names}
    seen = [{name: _values(same, name) for name in names} for same in rows]
    steps = [
        tuple(value for step in steps for value in step)
        for steps in product(*(axis.steps for axis in study.axes))
    ]
    made = []
    for same, here in zip(rows, seen, strict=True):
        facts = {
            name: estimate(list(values.values()), parts[name])
            for name, values in here.items()
            if values
        }
        less = (
            {name: _less(values, seen[0][name]) for name, values in here.items()}
            if study.replications > 1
            else {}
        )
        against = {name: estimate(values) for name, values in less.items() if values}
        number = same[0]["cell"]
        made.append(Point(number, steps[number - 1], facts, against))
    return made


def point_table(study: Study, points: Sequence[Point]) -> dict[str, list[Any]]:
    """A row for each point and fact, by column."""
    rows = [(point, name) for point in points for name in point.facts]
    columns: dict[str, list[Any]] = {"cell": [point.number for point, _ in rows]}
    columns |= {key: [point.values[i] for point, _ in rows] for i, key in enumerate(study.keys)}
    columns["fact"] = [name for _, name in rows]
    for part in Estimate._fields:
        columns[part] = [getattr(point.facts[name], part) for point, name in rows]
    none = Estimate(np.nan, None, None, 0)
    for part in Estimate._fields[:3]:
        told = [getattr(point.against_first.get(name, none), part) for point, name in rows]
        columns[f"against_first_{part}"] = [
            None if value is None or np.isnan(value) else value for value in told
        ]
    return columns


def estimate(values: Sequence[float], part: bool = False) -> Estimate:
    """The mean of independent values and its interval; a ``part`` of the seeds in which something holds ends at 0 and 1.

    Two degrees of freedom: 4.3027 standard errors either way.

    >>> mean, low, high, n = estimate([1.0, 2.0, 3.0])
    >>> mean, round(low, 4), round(high, 4), n
    (2.0, -0.4841, 4.4841, 3)
    """
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return Estimate(mean, None, None, n)
    half = _student(n) * math.sqrt(sum((value - mean) ** 2 for value in values) / (n * (n - 1)))
    low = mean - half
    high = mean + half
    return Estimate(mean, max(low, 0.0) if part else low, min(high, 1.0) if part else high, n)


@cache
def _student(n: int) -> float:
    """How many standard errors the mean of n values may be off."""
    return float(scipy.special.stdtrit(n - 1, (1 + LEVEL) / 2))


def _facts(table: pa.Table) -> list[str]:
    kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)
    places = ("cell", "replication")
    return [
        one.name
        for one in table.schema
        if one.name not in places and any(kind(one.type) for kind in kinds)
    ]


def _values(rows: Sequence[Mapping[str, Any]], name: str) -> dict[int, float]:
    return {row["replication"]: float(row[name]) for row in rows if row[name] is not None}


def _less(values: Values, first: Values) -> list[float]:
    return [
        value - first[replication] for replication, value in values.items() if replication in first
    ]
