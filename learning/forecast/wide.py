"""What is computed less of where a model has many columns, so that forecasts of wide tables end within seconds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from learning.arrays import Array

WIDE = 100  # columns, up to which nothing is less


def affordable(most: int, least: int, width: int, power: float = 1.0) -> int:
    """How many of something to compute for a model of so many columns p: beyond `WIDE` they fall as (WIDE / p)^power.

    Matrices of n x p and p x p are multiplied and diagonalised for each resample, which takes (p / WIDE)^2 times as long or
    longer. What is lost: averages over fewer resamples are less exact, and an interval is made of fewer worlds
    (`interval.quantiles` reach as far as those of many would); a protocol from fewer candidate bounds, and a plan from fewer
    step sizes, have a forecast a little above the smallest.

    Parameters
    ----------
    most : as many as are wanted.
    least : as few as will do.
    width : p, columns.
    power : how fast they fall.

    >>> [affordable(200, 8, width, power=2) for width in (10, 100, 200, 400, 1000)]
    [200, 200, 50, 12, 8]
    """
    return max(min(least, most), min(most, round(most * (WIDE / width) ** power)))


def thinned(values: Array | Sequence[float], least: int, width: int) -> Array:
    """As many of some values (k,) as are affordable, both ends among them.

    >>> thinned([1.0, 2.0, 3.0, 4.0, 5.0], 2, 100).tolist(), thinned([1.0, 2.0, 3.0, 4.0, 5.0], 2, 200).tolist()
    ([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 5.0])
    """
    count = affordable(len(values), least, width)
    return np.asarray(values)[np.linspace(0, len(values) - 1, count).round().astype(int)]
