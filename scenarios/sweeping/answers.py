"""Answers of a study: each fact at each point over the replications, with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa
import scipy.special

from scenarios.sweeping.study import Study

LEVEL = 0.95  # of all intervals
PLACES = ("cell", "replication")
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
    """Estimate the facts at all points of a study, from the table of its cells."""
    kinds = {one.name: one.type for one in table.schema if one.name not in (*PLACES, *study.keys)}
    shares = {
        name: pa.types.is_boolean(kind)
        for name, kind in kinds.items()
        if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)
    }
    made: list[Point] = []
    first: Mapping[str, Values] = {}
    groups = groupby(table.to_pylist(), key=lambda row: row["cell"])
    for values, (number, same) in zip(study.steps, groups, strict=True):
        rows = list(same)
        seen = {name: _values_of(rows, name) for name in shares}
        first = first or seen
        facts = {
            name: estimate(list(by_seed.values()), shares[name])
            for name, by_seed in seen.items()
            if by_seed
        }
        against = {}
        if study.replications > 1:
            less = {name: subtract(by_seed, first[name]) for name, by_seed in seen.items()}
            against = {name: estimate(values) for name, values in less.items() if values}
        made.append(Point(number, values, facts, against))
    return made


def point_rows(study: Study, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Make a row for each point and fact."""
    rows = []
    for point in points:
        place = {"cell": point.number} | dict(zip(study.keys, point.values, strict=True))
        for name, found in point.facts.items():
            against = point.against_first.get(name)
            row = place | {"fact": name} | found._asdict()
            for part in ("mean", "low", "high"):
                row[f"against_first_{part}"] = against and getattr(against, part)
            rows.append(row)
    return rows


def estimate(values: Sequence[float], share: bool = False) -> Estimate:
    """Estimate the mean of independent values; the interval of a ``share`` ends at 0 and 1.

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
    if share:
        return Estimate(mean, max(mean - half, 0.0), min(mean + half, 1.0), n)
    return Estimate(mean, mean - half, mean + half, n)


@cache
def _student(n: int) -> float:
    """Standard errors that the mean of n values may be off."""
    return float(scipy.special.stdtrit(n - 1, (1 + LEVEL) / 2))


def _values_of(rows: Sequence[Mapping[str, Any]], name: str) -> dict[int, float]:
    return {row["replication"]: float(row[name]) for row in rows if row[name] is not None}


def subtract(values: Values, first: Values) -> list[float]:
    """Subtract values of the same seeds from each other."""
    return [value - first[seed] for seed, value in values.items() if seed in first]
