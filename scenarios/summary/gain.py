"""Learner's gain by buying, before training, in every world its public rows allow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from learning.arrays import Array
from learning.forecast.prediction import quantiles

LEVEL = 0.9  # of the interval of the gain: from its 5 % to its 95 % quantile
LIKELIER = 0.5  # chance above which buying may be said to pay


def gain_part(possible: Array) -> dict[str, Any]:
    """Describe the learner's gain in each possible world, (m,), each on average over trainings.

    Returns
    -------
    dict
        ``mean`` and ``median``; ``interval``, in which the gain lies with chance ``level``;
        ``chance_pays``, that it is above 0.
    """
    low, high = quantiles(possible, LEVEL)
    return {
        "mean": float(np.mean(possible)),
        "median": float(np.median(possible)),
        "interval": [low, high],
        "level": LEVEL,
        "chance_pays": chance_above(possible),
    }


def buying_pays(gain: Mapping[str, Any], surplus: float) -> bool:
    """Decide whether buying is said to pay: likely, and a gain on average.

    Chance and mean are of the same worlds. The forecast's own gain, which the market is played on,
    must be above 0 too.

    Parameters
    ----------
    gain: of `gain_part`.
    surplus: the learner's gain as forecast, money.
    """
    return bool(gain["chance_pays"] > LIKELIER and gain["mean"] > 0 and surplus > 0)


def chance_above(possible: Array, amount: float = 0.0) -> float:
    """Chance that the gain is above an amount: (k + 1/2)/(m + 1) where k of m worlds are above.

    The half is Jeffreys' prior: however many worlds agree, worlds that differ make nothing certain.

    >>> chance_above(np.array([-1.0, 2.0, 3.0])), chance_above(np.array([2.0, 2.0]))
    (0.625, 1.0)
    """
    above = int(np.sum(possible > amount))
    if possible.min() == possible.max():
        return float(above > 0)
    return (above + 0.5) / (len(possible) + 1)
