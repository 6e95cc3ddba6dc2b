"""Ranges of columns from public rows alone, and how far beyond these rows they reach."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from learning.arrays import Array
from learning.data.categories import FEWEST
from learning.data.encoding import Bounds, Columns, Encoder, Numbers
from learning.data.rows import Rows
from learning.errors import InputError

OUTERMOST = 0.005  # share of public rows, at either end, outside a feature's range
BEYOND = 0.5  # of the range between the `FEWEST`th values from its ends: further out is too far
FEWEST_TO_SHORTEN = 30  # public rows that show how far out is too far
REACH = 3.0  # width of ranges that reach beyond the public rows, over that of these rows
ROUNDING = 1e-9  # of squared errors: without cells to clip they are equal in theory
DIVISIONS = 5  # of the public rows into halves that are predicted from one another
LEAST_DIRECTION = 1e-9  # second moment, of the largest: a model of half the rows ignores the others


def public_range(
    name: str, columns: Columns, public: Rows, bounds: Bounds, outermost: float
) -> tuple[float, float]:
    """Public range of a column: as stated, or of public rows but a share ``outermost`` at each end.

    Outliers among many public rows would set the scale of a whole column; where nothing is left
    without them (a rare yes among noes), the whole range counts.
    """
    if name in bounds:
        return float(bounds[name][0]), float(bounds[name][1])
    if not len(public):
        raise InputError(
            f"data.bounds.{name}",
            "needs a public range, but there is neither a bound nor a public row",
            remedy=f"Add {name} = [low, high] under [data.bounds], or set data.public_rows.",
        )
    values = columns[name][public].astype(float)
    values = values[np.isfinite(values)]
    if not len(values):
        return 0.0, 0.0
    low, high = np.quantile(values, [outermost, 1 - outermost], method="inverted_cdf")
    if outermost:
        low, high = shorten_range(values, float(low), float(high))
    if not low < high:
        low, high = values.min(), values.max()
    return float(low), float(high)


def shorten_range(values: Array, low: float, high: float) -> tuple[float, float]:
    """Range of some values (n,) without what one or two far ones add to either end.

    An end may lie beyond the value that is `FEWEST`th from it by `BEYOND` of the range between
    these values: the slope of a column would else rest on a row or two.

    >>> values = np.array([*np.linspace(0, 1, 101), 30.0])
    >>> low, high = shorten_range(values, 0.0, 30.0)
    >>> low, round(high, 2)
    (0.0, 1.48)
    """
    if len(values) < FEWEST_TO_SHORTEN:
        return low, high
    inner = np.sort(values)
    first = float(inner[FEWEST - 1])
    last = float(inner[-FEWEST])
    room = BEYOND * (last - first)
    if not room:
        return low, high
    return max(low, first - room), min(high, last + room)


def choose_reach(
    encoder: Encoder, columns: Columns, public: Rows, stated: Bounds, *, rng: Generator
) -> float:
    """Choose the width of ranges that are not stated, over that of the public rows: 1 or `REACH`.

    A cell that is clipped loses what its column tells of the target, and moves its row off the
    others where columns nearly add up to one another. A cell that is not clipped may be an outlier,
    which a linear model misses by far. Halves of the public rows show which is worse: with ranges
    and least squares of one half, the rows of the other are predicted. Ranges reach further if the
    squared errors are then smaller in the mean.

    Parameters
    ----------
    encoder : fitted to the public rows.
    columns, public, stated : as `widen_ranges` has them.
    rng : divides the public rows into halves.
    """
    if len(public) < FEWEST or set(encoder.numbers.names) <= set(stated):
        return 1.0
    y, _ = encoder.target.encode(columns, public)
    rest = np.column_stack([encoder.categories.encode(columns, public), np.ones(len(public))])
    errors = {1.0: 0.0, REACH: 0.0}
    for _ in range(DIVISIONS):
        halves = np.array_split(rng.permutation(len(public)), 2)
        for shown, held in (halves, halves[::-1]):
            near = _fit_ranges(encoder.numbers, columns, public[shown], stated)
            for reach in errors:
                x = np.empty((len(public), len(near.names)))
                _widen_numbers(near, stated, reach).encode(columns, public, x)
                x = np.column_stack([x, rest])
                errors[reach] += _sum_squared_errors(x, y, shown, held)
    return REACH if errors[REACH] < (1 - ROUNDING) * errors[1.0] else 1.0


def _fit_ranges(numbers: Numbers, columns: Columns, public: Rows, stated: Bounds) -> Numbers:
    """Fit the ranges to other public rows; a column that does not vary in them keeps its own."""
    found = [public_range(name, columns, public, stated, OUTERMOST) for name in numbers.names]
    low, high = np.array(found).T
    varies = low < high
    low = np.where(varies, low, numbers.low)
    high = np.where(varies, high, numbers.high)
    return replace(numbers, low=low, high=high)


def _sum_squared_errors(x: Array, y: Array, shown: Rows, held: Rows) -> float:
    """Sum the squared errors on rows held back, of least squares on those shown."""
    moments = x[shown].T @ x[shown]
    inverse = np.linalg.pinv(moments, rcond=LEAST_DIRECTION, hermitian=True)
    missed = y[held] - x[held] @ (inverse @ (x[shown].T @ y[shown]))
    return float(missed @ missed)


def widen_ranges(
    encoder: Encoder, columns: Columns, public: Rows, stated: Bounds, reach: float
) -> Encoder:
    """Widen the ranges that are not stated, about their middle; features keep their scale.

    No claim rests on these ranges where records or their gradients are clipped as well.

    Parameters
    ----------
    encoder : fitted to the public rows.
    columns, public : as `fit_encoder` has them.
    stated : ranges that stay as they are.
    reach : width of the others, over that of the public rows.
    """
    if reach == 1 or not len(public):
        return encoder
    wider = replace(encoder, numbers=_widen_numbers(encoder.numbers, stated, reach))
    parts = encoder.components
    if parts is not None:
        low, high = _stretch(parts.low, parts.high, reach)
        wider = replace(wider, components=replace(parts, low=low, high=high))
    return replace(wider, mean=wider.encode(columns, public)[0].mean(axis=0))


def _widen_numbers(numbers: Numbers, stated: Bounds, reach: float) -> Numbers:
    """Widen ranges of numbers, but the stated ones."""
    reaches = np.array([1.0 if name in stated else reach for name in numbers.names])
    low, high = _stretch(numbers.low, numbers.high, reaches)
    return replace(numbers, low=low, high=high, reach=reaches)


def _stretch(low: Array, high: Array, factor: Array | float) -> tuple[Array, Array]:
    """Stretch ranges (k,) about their middle."""
    further = (factor - 1) / 2 * (high - low)
    return low - further, high + further
