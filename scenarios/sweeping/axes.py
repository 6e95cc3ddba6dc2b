"""Axes of a study: lists of values, columns that go together, points, and ranges."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from learning.errors import InputError
from learning.extras import check_extra
from learning.phrases import format_value, toml_value
from learning.randomness import Streams
from scenarios.schema.fields import as_number, suggest_name
from scenarios.schema.toml import toml_key

EXACT = 2**53  # whole numbers below are floats too
MOST_STEPS = 10**6  # of one axis, so that its values are not even listed where there are more
SCALES = ("linear", "log")
OF_RANGES = ("low", "high", "points", "scale", "whole")


@dataclass(frozen=True)
class Axis:
    """Keys that vary together, and their values.

    Parameters
    ----------
    keys : dotted keys of the scenario.
    steps : a value of each key, at every step; None where a step leaves a key as it is.
    """

    keys: tuple[str, ...]
    steps: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True)
class Range:
    """Numbers from a lowest to a highest, evenly, or evenly in their logarithm.

    Parameters
    ----------
    low, high : its ends, both in it.
    log : whether numbers are even in their logarithm.
    whole : whether they are rounded to whole numbers.
    """

    low: float
    high: float
    log: bool = False
    whole: bool = False

    def at(self, share: np.ndarray) -> list[Any]:
        """Compute the numbers at some shares (n,) of the way from low to high."""
        low = np.float64(self.low)
        high = np.float64(self.high)
        numbers = low + share * (high - low)
        if self.log:
            numbers = low * (high / low) ** share
        numbers = np.clip(np.select([share == 0, share == 1], [low, high], numbers), low, high)
        if self.whole:
            return [int(number) for number in np.rint(numbers)]
        return numbers.tolist()


@dataclass(frozen=True)
class SobolAxis:
    """A Sobol sample of ranges, for the shares of a fact's variance that go with each key.

    Parameters
    ----------
    keys : dotted keys of the scenario.
    ranges : the range of each.
    samples : N, a power of 2; points are N (d + 2) for d keys.

    Source: Saltelli (2002) and Saltelli et al. (2010), as in SALib.
    """

    keys: tuple[str, ...]
    ranges: tuple[Range, ...]
    samples: int

    def __len__(self) -> int:
        return self.samples * (len(self.keys) + 2)

    @property
    def problem(self) -> dict[str, Any]:
        """Shares of the ranges as SALib has them."""
        return {
            "num_vars": len(self.keys),
            "names": list(self.keys),
            "bounds": [[0.0, 1.0]] * len(self.keys),
        }

    @cached_property
    def steps(self) -> tuple[tuple[Any, ...], ...]:
        """Values of the keys at every point of the sample; the same whatever a scenario's seed."""
        check_extra("sobol", "sobol", "SALib")
        from SALib.sample.sobol import sample

        rng = Streams(0, "sobol").rng()
        shares = sample(self.problem, self.samples, calc_second_order=False, seed=rng)
        columns = [one.at(share) for one, share in zip(self.ranges, shares.T, strict=True)]
        return tuple(zip(*columns, strict=True))


def common_changes(value: Any) -> tuple[tuple[str, Any], ...]:
    """Read [set]: keys, each with its value for all cells; no table in it is a range."""
    return tuple(flat_keys(value, ranges=False))


def grid_axes(value: Any) -> tuple[Axis, ...]:
    """Read [grid]: keys, each with the list or the range of its values.

    Several [[grid]], of whatever keys, come one after another.
    """
    if not isinstance(value, list):
        columns = _read_columns(value)
        return tuple(
            Axis((key,), tuple((one,) for one in column)) for key, column in columns.items()
        )
    grids = [_read_columns(table) for table in value]
    found = sum(prod(map(len, grid.values())) for grid in grids)
    if found > MOST_STEPS:
        rule = f"must have at most {MOST_STEPS:,} points"
        raise InputError("", rule, f"{found:,}", "Vary less, or divide the study.")
    return _join_tables(
        [dict(zip(grid, step, strict=True)) for grid in grids for step in product(*grid.values())]
    )


def zip_axes(value: Any) -> tuple[Axis, ...]:
    """Read [zip], or several [[zip]]: lists of values of some keys, in one table equally long."""
    made = []
    for table in _list_tables(value):
        columns = _read_columns(table, differ=False)
        if len({len(column) for column in columns.values()}) != 1:
            found = ", ".join(f"{len(column)} for {key}" for key, column in columns.items())
            raise InputError("", "must have equally many values for every key", found)
        made.append(Axis(tuple(columns), _check_distinct(zip(*columns.values(), strict=True))))
    return tuple(made)


def point_axes(value: Any) -> tuple[Axis, ...]:
    """Read [[points]]: the keys of a point each; those of others are as in the scenario."""
    return _join_tables([dict(flat_keys(table)) for table in _list_tables(value)])


def _list_tables(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _join_tables(tables: Sequence[Mapping[str, Any]]) -> tuple[Axis, ...]:
    """Join points, each with its keys; None for a key that a point leaves as it is."""
    keys = tuple(dict.fromkeys(key for table in tables for key in table))
    if not all(tables):
        raise InputError("", "must give at least one key in every table", "none")
    if not keys:
        return ()
    return (Axis(keys, _check_distinct(tuple(map(table.get, keys)) for table in tables)),)


def sobol_axis(value: Any) -> SobolAxis | None:
    """Read [sobol]: ``samples``, and keys, each with the range that it is drawn from."""
    if value is None:
        return None
    given = dict(flat_keys(value))
    samples = given.pop("samples", None)
    if type(samples) is not int or samples < 2 or samples & (samples - 1):
        raise InputError("sobol.samples", "must be a power of 2, such as 64", format_value(samples))
    if not given:
        rule = "must give a range to draw from, such as policy.budget = [500, 5000]"
        raise InputError("", rule, "none")
    ranges = tuple(_read_range(f"sobol.{key}", one) for key, one in given.items())
    return SobolAxis(tuple(given), ranges, samples)


def flat_keys(
    table: Any, above: tuple[str, ...] = (), *, ranges: bool = True
) -> Iterator[tuple[str, Any]]:
    """Yield dotted keys of a table with their values; with ``ranges`` a range is a value."""
    if not isinstance(table, Mapping):
        raise InputError("", "must be a table of keys of the scenario", format_value(table))
    for key, value in table.items():
        path = (*above, *([toml_key(key)] if above else _split_key(key)))
        if isinstance(value, Mapping) and not (ranges and {"low", "high"} <= set(value)):
            yield from flat_keys(value, path, ranges=ranges)
        else:
            yield ".".join(path), value


def _split_key(key: str) -> list[str]:
    """Split a key that may be written with its dots in quotes."""
    try:
        node = tomllib.loads(f"{key} = 0")
    except ValueError:
        return [toml_key(key)]
    parts = []
    while isinstance(node, dict):
        part, node = next(iter(node.items()))
        parts.append(toml_key(part))
    return parts


def _read_columns(table: Any, *, differ: bool = True) -> dict[str, Sequence[Any]]:
    """Read the values of each key, from a list or a range."""
    return {key: _read_values(key, given, differ) for key, given in flat_keys(table)}


def _read_values(key: str, given: Any, differ: bool) -> Sequence[Any]:
    if isinstance(given, Mapping):
        made = _read_range(key, given)
        points = given.get("points")
        if type(points) is not int or not 2 <= points <= MOST_STEPS:
            rule = "must be a whole number of at least 2"
            raise InputError(f"{key}.points", rule, format_value(points))
        given = made.at(np.linspace(0, 1, points))
    if not isinstance(given, list) or not given:
        rule = (
            "must be a list of values, or a range such as { low = 500, high = 5000, points = 10 }"
        )
        raise InputError(key, rule, format_value(given))
    if differ:
        _check_distinct(((value,) for value in given), key)
    return given


def _check_distinct(steps: Iterable[tuple[Any, ...]], key: str = "") -> tuple[tuple[Any, ...], ...]:
    """Refuse a step that is there already; 1 and 1.0 are one value."""
    seen: dict[str, tuple[Any, ...]] = {}
    for step in steps:
        text = toml_value([_normalise(value) for value in step])
        if text in seen:
            found = f"{format_value(step[0] if key else list(step))} twice"
            raise InputError(key, "must hold different values", found)
        seen[text] = step
    return tuple(seen.values())


def _normalise(value: Any) -> list[Any]:
    """Normalise a value for comparison: 1 becomes 1.0; a key left as it is has an empty list."""
    if value is None:
        return []
    return [float(value) if type(value) is int and abs(value) < EXACT else value]


def _read_range(key: str, given: Any) -> Range:
    table = given
    if isinstance(given, list) and len(given) == 2:
        table = dict(zip(("low", "high"), given, strict=True))
    if not isinstance(table, Mapping):
        rule = "must be a range, [low, high] or { low = 500, high = 5000 }"
        raise InputError(key, rule, format_value(given))
    check_known(table, OF_RANGES, f"{key}.")
    ends = [format_value(table[end]) for end in ("low", "high")]
    low = as_number(table["low"])
    high = as_number(table["high"])
    if low is None or high is None or not low < high:
        raise InputError(key, "must go from a number to a higher one", " to ".join(ends))
    scale = table.get("scale", "linear")
    whole = table.get("whole", False)
    if scale not in SCALES or type(whole) is not bool:
        found = f"{format_value(scale)}, {format_value(whole)}"
        raise InputError(key, 'must have scale "linear" or "log", and whole true or false', found)
    if scale == "log" and low <= 0:
        raise InputError(key, "must be above 0 on a log scale", ends[0])
    return Range(low, high, scale == "log", whole)


def check_known(table: Mapping[str, Any], known: Sequence[str], above: str = "") -> None:
    """Refuse a key of a table that is not one of those known."""
    for name, value in table.items():
        if name not in known:
            remedy = suggest_name(name, known)
            raise InputError(f"{above}{name}", "is not a known key", format_value(value), remedy)
