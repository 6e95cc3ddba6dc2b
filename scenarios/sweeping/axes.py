"""What varies in a study: lists of values, columns that go together, points, and ranges."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from learning.errors import InputError
from learning.phrases import format_value, toml_value
from learning.randomness import Streams
from scenarios.schema.fields import as_number, suggest_name, toml_key

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
        """The numbers at some shares (n,) of the way from low to high."""
        low = np.float64(self.low)
        high = np.float64(self.high)
        numbers = low * (high / low) ** share if self.log else low + share * (high - low)
        numbers = np.clip(np.where(share == 1, high, np.where(share == 0, low, numbers)), low, high)
        return [int(number) for number in np.rint(numbers)] if self.whole else numbers.tolist()


@dataclass(frozen=True)
class SobolAxis:
    """A Sobol sample of ranges, for the indices that say how much of a fact's variance each key is owed.

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
        """The ranges' shares as SALib has them."""
        return {
            "num_vars": len(self.keys),
            "names": list(self.keys),
            "bounds": [[0.0, 1.0]] * len(self.keys),
        }

    @cached_property
    def steps(self) -> tuple[tuple[Any, ...], ...]:
        """A value of each key, at every point of the sample; the same whatever a scenario's seed."""
        from SALib.sample.sobol import sample

        shares = sample(
            self.problem, self.samples, calc_second_order=False, seed=Streams(0, "sobol").rng()
        )
        return tuple(
            zip(
                *(one.at(share) for one, share in zip(self.ranges, shares.T, strict=True)),
                strict=True,
            )
        )


def common_changes(value: Any) -> tuple[tuple[str, Any], ...]:
    """[set]: keys, each with its value for all cells; a table with ``low`` and ``high`` is one like any other there."""
    return tuple(flat_keys(value, ranges=False))


def grid_axes(value: Any) -> tuple[Axis, ...]:
    """[grid]: keys, each with the list or the range of its values; several [[grid]], of whatever keys, one after another."""
    if not isinstance(value, list):
        return tuple(
            Axis((key,), tuple((step,) for step in _values(key, given)))
            for key, given in flat_keys(value)
        )
    grids = [{key: _values(key, given) for key, given in flat_keys(table)} for table in value]
    if (found := sum(prod(map(len, grid.values())) for grid in grids)) > MOST_STEPS:
        raise InputError(
            "",
            f"must have at most {MOST_STEPS:,} points",
            f"{found:,}",
            "Vary less, or divide the study.",
        )
    return _one_axis(
        [dict(zip(grid, step, strict=True)) for grid in grids for step in product(*grid.values())]
    )


def zip_axes(value: Any) -> tuple[Axis, ...]:
    """[zip], or several [[zip]]: keys, each with a list of values, the lists of one table equally long."""
    made = []
    for table in value if isinstance(value, list) else [value]:
        columns = {key: _values(key, given, differ=False) for key, given in flat_keys(table)}
        if len({len(column) for column in columns.values()}) != 1:
            found = ", ".join(f"{len(column)} for {key}" for key, column in columns.items())
            raise InputError("", "must have as many values of every key", found)
        made.append(Axis(tuple(columns), _distinct(tuple(zip(*columns.values(), strict=True)))))
    return tuple(made)


def point_axes(value: Any) -> tuple[Axis, ...]:
    """[[points]]: in each table the keys of a point; those that only others have are as in the scenario."""
    return _one_axis(
        [dict(flat_keys(table)) for table in (value if isinstance(value, list) else [value])]
    )


def _one_axis(tables: Sequence[Mapping[str, Any]]) -> tuple[Axis, ...]:
    """Points, each with its keys; None for a key that a point leaves as it is."""
    keys = tuple(dict.fromkeys(key for table in tables for key in table))
    if not all(tables):
        raise InputError("", "must give at least one key in every table", "none")
    return (
        (Axis(keys, _distinct(tuple(tuple(table.get(key) for key in keys) for table in tables))),)
        if keys
        else ()
    )


def sobol_axis(value: Any) -> SobolAxis | None:
    """[sobol]: ``samples``, and keys, each with the range that it is drawn from."""
    if value is None:
        return None
    given = dict(flat_keys(value))
    samples = given.pop("samples", None)
    if type(samples) is not int or samples < 2 or samples & (samples - 1):
        raise InputError("sobol.samples", "must be a power of 2, such as 64", format_value(samples))
    if not given:
        raise InputError(
            "", "must give a range to draw from, such as policy.budget = [500, 5000]", "none"
        )
    return SobolAxis(
        tuple(given), tuple(_range(f"sobol.{key}", one) for key, one in given.items()), samples
    )


def flat_keys(
    table: Any, above: tuple[str, ...] = (), *, ranges: bool = True
) -> Iterator[tuple[str, Any]]:
    """Dotted keys of a table with their values; with ``ranges`` a range is a value."""
    if not isinstance(table, Mapping):
        raise InputError("", "must be a table of keys of the scenario", format_value(table))
    for key, value in table.items():
        path = (*above, *([toml_key(key)] if above else _parts(key)))
        if isinstance(value, Mapping) and not (ranges and {"low", "high"} <= set(value)):
            yield from flat_keys(value, path, ranges=ranges)
        else:
            yield ".".join(path), value


def _parts(key: str) -> list[str]:
    """A key that may be written with its dots in quotes."""
    try:
        node = tomllib.loads(f"{key} = 0")
        parts = []
    except ValueError:
        return [toml_key(key)]
    while isinstance(node, dict):
        part, node = next(iter(node.items()))
        parts.append(toml_key(part))
    return parts


def _values(key: str, given: Any, *, differ: bool = True) -> Sequence[Any]:
    """The values of a key, from a list or a range."""
    if isinstance(given, Mapping):
        made = _range(key, given)
        points = given.get("points")
        if type(points) is not int or not 2 <= points <= MOST_STEPS:
            raise InputError(
                f"{key}.points", "must be a whole number of at least 2", format_value(points)
            )
        given = made.at(np.linspace(0, 1, points))
    if not isinstance(given, list) or not given:
        rule = (
            "must be a list of values, or a range such as { low = 500, high = 5000, points = 10 }"
        )
        raise InputError(key, rule, format_value(given))
    if differ:
        _distinct(tuple((value,) for value in given), key)
    return given


def _distinct(steps: tuple[tuple[Any, ...], ...], key: str = "") -> tuple[tuple[Any, ...], ...]:
    seen: set[str] = set()
    for step in steps:
        text = toml_value([_written(value) for value in step])
        if text in seen:
            raise InputError(
                key,
                "must hold different values",
                f"{format_value(step[0] if key else list(step))} twice",
            )
        seen.add(text)
    return steps


def _written(value: Any) -> Any:
    """A value as it is told from others: 1 and 1.0 are one value, and so is what is left as it is."""
    return (
        []
        if value is None
        else [float(value) if type(value) is int and abs(value) < EXACT else value]
    )


def _range(key: str, given: Any) -> Range:
    table = (
        {"low": given[0], "high": given[1]}
        if isinstance(given, list) and len(given) == 2
        else given
    )
    if not isinstance(table, Mapping):
        raise InputError(
            key, "must be a range, [low, high] or { low = 500, high = 5000 }", format_value(given)
        )
    for name in table:
        if name not in OF_RANGES:
            raise InputError(
                f"{key}.{name}",
                "is not a known key",
                format_value(table[name]),
                suggest_name(name, OF_RANGES),
            )
    low = as_number(table["low"])
    high = as_number(table["high"])
    if low is None or high is None or not low < high:
        raise InputError(
            key,
            "must go from a number to a higher one",
            f"{format_value(table['low'])} to {format_value(table['high'])}",
        )
    scale = table.get("scale", "linear")
    whole = table.get("whole", False)
    if scale not in SCALES or type(whole) is not bool:
        found = f"{format_value(scale)}, {format_value(whole)}"
        raise InputError(key, 'must have scale "linear" or "log", and whole true or false', found)
    if scale == "log" and low <= 0:
        raise InputError(key, "must be above 0 on a log scale", format_value(table["low"]))
    return Range(low, high, scale == "log", whole)
